package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const canary = "sk-CANARY-0123456789"

// hide is a redactor as a journal gets one.
func hide(text []byte) []byte {
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:24]} {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte("[redacted]"))
		}
	}
	return text
}

// leaky is a run whose every text tells the secret.
func leaky() *Run {
	r := sampleRun(1, 2)
	it := &r.Iterations[0]
	it.Output, it.Thinking = json.RawMessage(`{"a":["`+canary+`"]}`), "\xff"+canary
	it.NotUTF8, it.OutputB64 = true, []byte(canary+"\xff")
	it.Evaluation.Feedback, it.Evaluation.Improvements = canary, []string{canary}
	it.Evaluation.Checks = []Check{{Name: canary, Error: canary}}
	it.Calls[0].Stderr, it.Calls[0].Error = "a "+canary+"\xfe", &Error{Class: Server, Message: canary}
	it.ToolCalls = []ToolCall{{Tool: canary, Arguments: json.RawMessage(`{"` + canary + `":1}`), Result: json.RawMessage(`"` + canary + `"`)}}
	it.Ended = &Ended{Reason: "capability", Output: json.RawMessage(`"` + canary + `"`)}
	r.Outcome.Error = &Error{Class: Internal, Message: "panic: " + canary}
	return r
}

func TestF70_NothingThatIsWrittenHoldsASecret(t *testing.T) {
	dir := t.TempDir()
	m := Manifest{Suite: "s", Baseline: canary}
	j, err := Create(dir, m, Options{Redact: hide})
	must(t, err)
	r := leaky()
	scores := []Score{{Name: "exact", Value: 1, Answer: canary, Explanation: "it said " + canary}}
	must(t, errors.Join(j.Append(r, scores, nil), j.AppendScores("other", scores, nil), j.WriteManifest(m), j.Close()))
	if !reflect.DeepEqual(r, leaky()) || scores[0].Answer != canary {
		t.Error("the caller's run or scores were changed")
	}
	for _, name := range append([]string{manifestFile}, fileNames[:]...) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(hide(text), text) {
			t.Errorf("%s holds the secret (%v): %s", name, err, text)
		}
	}
	runs, _ := collected(t, ReadRuns(dir))
	if it := &runs[0].Iterations[0]; it.Thinking != "\xff[redacted]" || string(it.OutputB64) != "[redacted]\xff" {
		t.Errorf("thinking %q, bytes of the output %q", it.Thinking, it.OutputB64)
	}
	if _, err := ReadManifest(dir); err != nil {
		t.Error(err)
	}
}

func TestF70_ANameThatIsASecretIsRefused(t *testing.T) {
	j, err := Create(t.TempDir(), Manifest{}, Options{Redact: hide})
	must(t, err)
	r := sampleRun(1, 1)
	r.ID = canary + "/task/1"
	if err := j.Append(r, nil, nil); !errors.Is(err, errSecretName) {
		t.Errorf("got %v", err)
	}
	if err := j.Append(sampleRun(2, 1), nil, nil); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// A run that travels as a line is the same run, without secrets, and a line with damage is none.
func TestEncodeRun(t *testing.T) {
	run := sampleRun(1, 2)
	line, err := EncodeRun(run, Options{Redact: hide})
	must(t, err)
	if read, err := DecodeRun(line); err != nil || !reflect.DeepEqual(read, run) {
		t.Errorf("got %+v, %v; want %+v", read, err, run)
	}
	if _, err := DecodeRun(bytes.Replace(line, []byte("is 42"), []byte("is 43"), 1)); err == nil {
		t.Error("a damaged line was read")
	}
	if line, err = EncodeRun(leaky(), Options{Redact: hide}); err != nil || !bytes.Equal(hide(line), line) {
		t.Errorf("the line holds the secret: %s, %v", line, err)
	}
}
