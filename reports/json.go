package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
)

func writeJSON(w io.Writer, p Page, _ Options) error { return p.writeJSON(w) }

// writeJSON writes the whole report as one object with the tasks in "tasks",
// which are made one by one. Its form is that of Report, Configuration and
// Task; "schema" names it.
func (r *Report) writeJSON(w io.Writer) error {
	r.compare()
	head, err := encode(r, "")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n  \"tasks\": [")
	separator := "\n    "
	for task := range r.Tasks() {
		text, err := encode(task, "    ")
		if err != nil {
			return err
		}
		out.WriteString(separator)
		out.Write(text)
		separator = ",\n    "
	}
	out.WriteString("\n  ]\n}\n")
	return out.Flush()
}

func encode(value any, prefix string) ([]byte, error) {
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
