package results

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// One row that is too long for a record ends neither its file nor those behind it.
func TestAnImportedRunThatIsTooLongIsLeftOut(t *testing.T) {
	var problems []string
	im := &Import{
		mapping: &spec.Import{Name: "m"}, Dir: filepath.Join(t.TempDir(), "r"), Now: time.Now,
		Writer:  Writer{Redact: func(text []byte) []byte { return text }},
		Problem: func(p *imports.Problem) { problems = append(problems, p.Error()) },
	}
	for id, size := range map[string]int{"c/long/1": 257 << 20, "c/short/1": 3} {
		output := bytes.Repeat([]byte{'x'}, size)
		output[0], output[size-1] = '"', '"'
		run := &record.Run{ID: id, Configuration: "c", Iterations: []record.Iteration{{N: 1, Output: output}}}
		spectest.Must(t, im.add("log.jsonl", &imports.Imported{Run: run, Task: &spec.Task{ID: id}, NewTask: true}))
	}
	spectest.Must(t, errors.Join(im.tasks.Flush(), im.tasksFile.Close(), im.journal.Close()))
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "log.jsonl: run c/long/1 is left out: ") || im.Manifest.Totals.Planned != 1 || im.Manifest.Tasks != 2 {
		t.Errorf("%q, %d runs of %d tasks", problems, im.Manifest.Totals.Planned, im.Manifest.Tasks)
	}
}
