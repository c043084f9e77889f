package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestPart is how many bytes of an escaped name are in a run's id.
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
	unsafe := func(c rune) bool { // U+FFFD also comes of bytes that are not UTF-8
		return c == '/' || c == '%' || c == utf8.RuneError || unicode.IsSpace(c) || !unicode.IsPrint(c)
	}
	escaped := name
	if strings.IndexFunc(name, unsafe) >= 0 {
		var b strings.Builder
		for at, c := range name {
			_, size := utf8.DecodeRuneInString(name[at:])
			if !unsafe(c) {
				b.WriteString(name[at : at+size])
				continue
			}
			for i := range size {
				fmt.Fprintf(&b, "%%%02X", name[at+i])
			}
		}
		escaped = b.String()
	}
	if len(escaped) <= longestPart {
		return escaped
	}
	length := longestPart / 2 // no character and no escape is broken
	for !utf8.RuneStart(escaped[length]) {
		length--
	}
	if at := strings.LastIndexByte(escaped[:length], '%'); at > length-3 {
		length = max(at, 0)
	}
	sum := sha256.Sum256([]byte(name))
	return escaped[:length] + "%~" + hex.EncodeToString(sum[:16])
}
