package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
)

func writeJSON(w io.Writer, p Page, _ Options) error { return p.WriteJSON(w) }

// EncodeJSON is a value as JSON, indented by two spaces behind the prefix, without
// anything that a terminal would obey or hide.
func EncodeJSON(value any, prefix string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(prefix, "  ")
	err := encoder.Encode(value)
	return PlainJSON(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), err
}

// PlainJSON is the same JSON with escapes for all that a terminal would obey or
// hide, which stands inside strings.
func PlainJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, hiddenInJSON) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if !hiddenInJSON(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.Bytes()
}

func hiddenInJSON(r rune) bool { return r != '\n' && invisible(r) }
