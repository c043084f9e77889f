package record

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// A run that travels as a line is the same run, and a line with damage is none.
func TestEncodeRun(t *testing.T) {
	run := &Run{Version: Version, ID: "a/b/1", Configuration: "a", Task: "b", Trial: 1, Outcome: Outcome{Status: Completed, Reason: ReasonMaxIterations}}
	run.Iterations = []Iteration{{N: 1, Output: []byte(`"the key is sk-1234567890"`)}}
	line, err := EncodeRun(run, Options{})
	must(t, err)
	read, err := DecodeRun(line)
	if err != nil || !reflect.DeepEqual(read, run) {
		t.Errorf("got %+v, %v; want %+v", read, err, run)
	}
	if _, err := DecodeRun(bytes.Replace(line, []byte("the key"), []byte("the kex"), 1)); err == nil {
		t.Error("a damaged line was read")
	}
	hide := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("sk-1234567890"), []byte("[redacted]")) }
	line, err = EncodeRun(run, Options{Redact: hide})
	if err != nil || strings.Contains(string(line), "sk-1234567890") {
		t.Errorf("the line holds the secret: %s, %v", line, err)
	}
}
