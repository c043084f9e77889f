//go:build unix

package agent

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

func programShell(script string) external.Program {
	return external.Program{Argv: []string{"sh", "-c", script}, Env: external.Environment(os.Getenv), Timeout: time.Minute}
}

func execute(t *testing.T, script string, reply spec.Reply) (Result, error) {
	t.Helper()
	a := &Program{Program: programShell(script), Spec: &spec.Agent{Reply: reply}}
	return a.Execute(t.Context(), endpointTurn())
}

func TestOutputs(t *testing.T) {
	half := 0.5
	for name, c := range map[string]struct {
		stdout string
		reply  spec.Reply
		want   Result // Output, Fault, Thinking, Confidence and Ended
	}{
		"text":            {"hello\n", "", Result{Output: []byte(`"hello"`)}},
		"a number":        {"42\n", "", Result{Output: []byte(`"42"`)}},
		"an object":       {`{"a": 1}`, "", Result{Output: []byte(`{"a": 1}`)}},
		"a list":          {`[1, 2]`, "", Result{Output: []byte(`[1, 2]`)}},
		"half an object":  {`{"a":`, "", Result{Output: []byte(`"{\"a\":"`)}},
		"an envelope":     {`{"output": {"a": 1}}`, "", Result{Output: []byte(`{"a": 1}`)}},
		"text enveloped":  {`{"output": "42"}`, "", Result{Output: []byte(`"42"`)}},
		"with confidence": {`{"output": 1, "confidence": 0.5, "thinking": "hm"}`, "", Result{Output: []byte("1"), Thinking: "hm", Confidence: &half}},
		"JSON wanted":     {`42`, "json", Result{Output: []byte("42")}},
		"JSON missed":     {`nope`, "json", Result{Output: []byte(`"nope"`), Fault: "the reply is not JSON: at byte 2: invalid character 'o' in literal null (expecting 'u')"}},
		"an end": {`{"end": "capability", "output": [1]}`, "",
			Result{Output: []byte("[1]"), Ended: &record.Ended{Reason: "capability", Output: []byte("[1]")}}},
		"an end without output": {`{"end": "question_asked"}`, "", Result{Ended: &record.Ended{Reason: "question_asked"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := execute(t, "cat >/dev/null; printf %s '"+c.stdout+"'", c.reply)
			propertytest.Must(t, err)
			if len(got.Output) > 0 {
				if value, err := expr.ParseJSON(got.Output); err != nil || !expr.Equal(value, got.Value) {
					t.Errorf("expressions see %v of %s", got.Value, got.Output)
				}
			}
			got.Value, got.Calls, got.Request = nil, nil, ""
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   record.Error
	}{
		"exit status":    {"echo first >&2; echo 'the reason' >&2; exit 3", record.Error{Class: record.Program, Message: `the program "sh" failed: exit status 3: the reason`}},
		"silent":         {"exit 1", record.Error{Class: record.Program, Message: `the program "sh" failed: exit status 1`}},
		"a signal":       {"kill -SEGV $$", record.Error{Class: record.Program, Message: `the program "sh" failed: signal: segmentation fault`}},
		"no output":      {"true", record.Error{Class: record.NoAnswer, Message: "the program wrote nothing to its standard output"}},
		"empty end":      {`echo '{"end": ""}'`, record.Error{Class: record.NoAnswer, Message: "the program's answer has neither output nor end"}},
		"unknown end":    {`echo '{"end": "bored"}'`, record.Error{Class: record.Program, Message: `the program ends the run with "bored"; want one of [final_response tool_ended question_asked capability agent_ended]`}},
		"wrong type":     {`echo '{"output": 1, "confidence": "high"}'`, record.Error{Class: record.Program, Message: "reading the program's answer: json: cannot unmarshal string into Go struct field envelope.confidence of type float64"}},
		"too confident":  {`echo '{"output": 1, "confidence": 7}'`, record.Error{Class: record.Program, Message: "the program's confidence is 7; want a number from 0 to 1"}},
		"negative usage": {`echo '{"output": 1, "usage": {"calls": -1}}'`, record.Error{Class: record.Program, Message: "the program's usage cannot be"}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := execute(t, c.script, "")
			var failed *record.Error
			if !errors.As(err, &failed) || *failed != c.want {
				t.Fatalf("got %v, want %v", err, &c.want)
			}
			if len(result.Calls) != 1 || result.Calls[0].Error == nil || *result.Calls[0].Error != c.want {
				t.Errorf("calls %+v", result.Calls)
			}
			if used := result.Calls[0].Usage; used != unreported {
				t.Errorf("it used %+v", used)
			}
		})
	}
}

func TestTheProgramOfAnEndedAgentIsNotRecorded(t *testing.T) {
	result, err := execute(t, `echo '{"end": "agent_ended"}'`, "")
	if !errors.Is(err, model.ErrEnded) || len(result.Calls) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestUsageOfAProgram(t *testing.T) {
	for said, want := range map[string]record.Usage{
		``: {Unreported: 1},
		`, "usage": {"calls": 2, "input_tokens": 30, "output_tokens": 4, "cost_usd": 0.001}`: {Calls: 2, InputTokens: 30, OutputTokens: 4, Cost: 1_000_000_000},
		`, "usage": {"calls": 2, "input_tokens": 30}`:                                        {Calls: 2, InputTokens: 30, Unpriced: 2},
		`, "usage": {"input_tokens": 30}`:                                                    {InputTokens: 30, Unpriced: 1},
		`, "usage": {"cost_usd": 0}`:                                                         {},
	} {
		result, err := execute(t, `echo '{"output": 1`+said+`}'`, "")
		if err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		if got := result.Calls[0].Usage; got != want {
			t.Errorf("%s: got %+v, want %+v", said, got, want)
		}
	}
}

// history is a scope with an iteration behind it.
type history map[string]any

func (h history) Lookup(name string) (any, bool) {
	value, ok := h[name]
	return value, ok
}

type record3 struct{ output, confidence, iteration any }

func (r record3) Field(name string) any {
	return map[string]any{"output": r.output, "confidence": r.confidence, "iteration": r.iteration}[name]
}

// F39: a program sees the task and what came before, and never the target.
func TestInput(t *testing.T) {
	first := endpointTurn()
	later := endpointTurn()
	later.Iteration, later.Phase, later.Strategy, later.System = 2, "execution", "cheap", "be brief"
	later.Scope = history{
		"feedback": "more", "improvements": []any{"a", "b"}, "output": []any{1.0}, "confidence": 0.5,
		"passed": false, "error": "", "best": record3{[]any{1.0}, 0.5, int64(1)},
	}
	for want, tu := range map[string]*Turn{
		`{"task":{"id":"x","input":"in","vars":null,"metadata":null},"trial":1,"iteration":1,"phase":"","strategy":"","system":"","prompt":"go","feedback":"","improvements":[],"previous":null,"best":null}`:                                                                                                                                first,
		`{"task":{"id":"x","input":"in","vars":null,"metadata":null},"trial":1,"iteration":2,"phase":"execution","strategy":"cheap","system":"be brief","prompt":"go","feedback":"more","improvements":["a","b"],"previous":{"output":[1],"confidence":0.5,"passed":false,"error":""},"best":{"output":[1],"confidence":0.5,"iteration":1}}`: later,
	} {
		a := &Program{Program: programShell("cat"), Spec: &spec.Agent{}}
		result, err := a.Execute(t.Context(), tu)
		if err != nil || string(result.Output) != want {
			t.Errorf("got  %s (%v)\nwant %s", result.Output, err, want)
		}
		if want := Hash(a.Program.Argv, []byte(want)); result.Request != want || result.Calls[0].Request != want {
			t.Errorf("hash %s, of the call %s, want %s", result.Request, result.Calls[0].Request, want)
		}
	}
}

// Whatever a program writes is an output that is JSON, an end or a classed error.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "42", `{"output": 1}`, `{"end": "capability"}`, `{"end": ""}`, `{"output": null, "usage": {"calls": 1}}`, "[1", "\xff"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, stdout []byte, wantJSON bool) {
		var result Result
		var call record.Call
		reply := spec.ReplyText
		if wantJSON {
			reply = spec.ReplyJSON
		}
		if err := programWriter.read(stdout, reply, &result, &call); err != nil {
			var failed *record.Error
			if !errors.As(err, &failed) {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		if _, err := expr.ParseJSON(result.Output); err != nil && (result.Ended == nil || result.Output != nil) {
			t.Fatalf("%q gives %q: %v", stdout, result.Output, err)
		}
	})
}

// F34, F75: what cannot be an output as it stands is kept in the record.
func TestF34_OutputIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		script, bytes, stdout string
		failed                bool
	}{
		"UTF-8":         {"echo fine", "", "", false},
		"not UTF-8":     {`printf ' a\377b\n'`, "a\xffb", "", false},
		"an envelope":   {`printf '{"output":"a\377"}'`, "\"a\xff\"", "{\"output\":\"a\xff\"}", false},
		"other bytes":   {`printf '{"output":1,"thinking":"\377"}'`, "", "{\"output\":1,\"thinking\":\"\xff\"}", false},
		"a failure":     {"echo so far; exit 1", "", "so far\n", true},
		"a bad envelop": {`echo '{"output": 1, "confidence": 7}'`, "", "{\"output\": 1, \"confidence\": 7}\n", true},
	} {
		result, err := execute(t, c.script, "")
		var failed *record.Error
		if errors.As(err, &failed) != c.failed || len(result.Calls) != 1 || result.Calls[0].Stdout != c.stdout || string(result.Bytes) != c.bytes {
			t.Errorf("%s: %q, %+v, %v", name, result.Bytes, result.Calls, err)
		}
	}
}
