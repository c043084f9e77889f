package reports

import (
	"bufio"
	"bytes"
	"io"

	"github.com/agentbench/agentbench/reports/page"
)

// WriteJSON writes the whole report as one object with the tasks in "tasks",
// which are made one by one. Its form is that of Report, Configuration and
// Task; "schema" names it.
func (r *Report) WriteJSON(w io.Writer) error {
	r.compare()
	r.front()
	head, err := page.EncodeJSON(r, "")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n  \"tasks\": [")
	separator := "\n    "
	for task := range r.Tasks() {
		text, err := page.EncodeJSON(task, "    ")
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
