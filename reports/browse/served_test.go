package browse

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/trajectory"
)

// A page that is served has the numbers of a file, and the texts of every run.
func TestAServedPageHasWhatAFileHas(t *testing.T) {
	s := sourcesOf(recorded(t, []int{1, 2, 3}, "hunter2-hunter2 is secret"))
	s.Flips = map[string]string{"a/task-2/1": "lost"}
	s.Redact = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("hunter2-hunter2"), []byte("***")) }
	page := written(t, s)
	var file, served map[string]any
	unpack(t, page, "runs", &file)
	text, err := s.Head()
	if err := errors.Join(err, json.Unmarshal(text, &served)); err != nil {
		t.Fatal(err)
	}
	for key, want := range file {
		if key == "chunk" { // there are none
			continue
		}
		if is, _ := json.Marshal(served[key]); string(is) != asJSON(t, want) {
			t.Errorf("%s is %s, want %s", key, is, asJSON(t, want))
		}
	}
	var inFile []trajectory.Texts
	unpack(t, page, "texts-0", &inFile)
	for i := range inFile {
		text, err := s.Texts(0, inFile[i].Run)
		if err != nil || string(text) != asJSON(t, inFile[i]) {
			t.Errorf("%s: %s, %v, want %s", inFile[i].Run, text, err, asJSON(t, inFile[i]))
		}
	}
	if len(inFile) != 6 || strings.Contains(asJSON(t, inFile), "hunter2") {
		t.Errorf("the file has the texts of %d runs: %s", len(inFile), asJSON(t, inFile))
	}
	for _, none := range []struct {
		side int
		run  string
	}{{0, "a/task-9/1"}, {0, ""}, {0, "../records.jsonl"}, {1, "a/task-1/1"}, {-1, "a/task-1/1"}} {
		if text, err := s.Texts(none.side, none.run); !errors.Is(err, ErrNone) {
			t.Errorf("%v: %s, %v", none, text, err)
		}
	}
	s.Sides[0].Configuration = "a"
	if text, err := s.Texts(0, "b/task-1/1"); !errors.Is(err, ErrNone) {
		t.Errorf("a run of a configuration that is not shown: %s, %v", text, err)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where nothing can be read there are no runs, and no list is missing: the script waits for some.
func TestNothingIsAPageOfNoRuns(t *testing.T) {
	text, err := (&Sources{}).Head()
	if err != nil || strings.Contains(string(text), "null") || !strings.Contains(string(text), `"sides":[]`) {
		t.Errorf("%v: %s", err, text)
	}
}
