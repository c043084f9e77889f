package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestPart is how many bytes of an escaped name stand in a run's id.
const longestPart = 100

// RunID is the id of a run: "default/backend-1/1". Different runs have different
// ids. The names in it are escaped so that an id is one word with two slashes,
// holds nothing that a terminal obeys, and stays short: white space, slashes,
// per cents and what cannot be printed become %XX for each byte, and the end of
// a name that is longer than 100 bytes then becomes "%~" and a hash of it.
func RunID(configuration, task string, trial int) string {
	return idPart(configuration) + "/" + idPart(task) + "/" + strconv.Itoa(trial)
}

func idPart(name string) string {
	switch name {
	case "":
		return "%"
	case ".", "..": // would mean something as part of a path
		return strings.ReplaceAll(name, ".", "%2E")
	}
	escaped := escapeID(name)
	if len(escaped) <= longestPart {
		return escaped
	}
	sum := sha256.Sum256([]byte(name))
	return cutID(escaped, longestPart/2) + "%~" + hex.EncodeToString(sum[:16])
}

func escapeID(name string) string {
	if strings.IndexFunc(name, unsafeInID) < 0 {
		return name
	}
	var b strings.Builder
	for at, c := range name {
		_, size := utf8.DecodeRuneInString(name[at:])
		text := name[at : at+size]
		if !unsafeInID(c) {
			b.WriteString(text)
			continue
		}
		for i := range len(text) {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte(text[i:i+1]))))
		}
	}
	return b.String()
}

// unsafeInID also holds for U+FFFD, which stands for bytes that are not UTF-8.
func unsafeInID(c rune) bool {
	return c == '/' || c == '%' || c == utf8.RuneError || unicode.IsSpace(c) || !unicode.IsPrint(c)
}

// cutID shortens an escaped name to at most that many bytes without breaking a
// character or an escape.
func cutID(escaped string, length int) string {
	for !utf8.RuneStart(escaped[length]) {
		length--
	}
	if at := strings.LastIndexByte(escaped[:length], '%'); at > length-3 {
		length = max(at, 0)
	}
	return escaped[:length]
}
