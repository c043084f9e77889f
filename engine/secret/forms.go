package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// formsOf are the ways in which a value could stand in a text. As it is, it must
// not reach over quotes and lines: those may be JSON's own.
func formsOf(value string) []string {
	all := strings.FieldsFunc(value, func(c rune) bool { return c == '"' || c == '\n' || c == '\r' })
	inQuery, inPath := url.QueryEscape(value), url.PathEscape(value)
	all = append(all, inQuery, inPath, lowerEscapes(inQuery), lowerEscapes(inPath), html.EscapeString(value))
	quoted := inJSON(value)
	all = append(all, quoted, inJSON(quoted), inPlainJSON(value))
	digits := hex.EncodeToString([]byte(value))
	all = append(all, digits, strings.ToUpper(digits))
	for before := range 3 {
		all = append(all, inBase64(base64.StdEncoding, value, before)...)
		all = append(all, inBase64(base64.URLEncoding, value, before)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < Shortest || strings.ContainsAny(form, "\n\r") })
}

// inJSON is the value as encoding/json writes it by default.
func inJSON(value string) string {
	quoted, _ := json.Marshal(value) // a string can always be written
	return string(quoted[1 : len(quoted)-1])
}

// inPlainJSON is the value as JSON without escapes for HTML.
func inPlainJSON(value string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string can always be written
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := range b {
		if b[i] == '%' && i+2 < len(b) {
			copy(b[i+1:], strings.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 are the characters that a value gives when so many bytes stand before
// it, modulo 3: those that its neighbours have no part in, and all to the end
// where nothing follows it.
func inBase64(encoding *base64.Encoding, value string, before int) []string {
	encoded := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (8*before + 5) / 6
	whole := 8 * (before + len(value)) / 6
	return []string{encoded[first:whole], encoded[first:]}
}
