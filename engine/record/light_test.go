package record

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

// A light run has all numbers, and none of the texts.
func TestALightRunHoldsTheNumbersAndNoTexts(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		run := possibleRun(t)
		run.Outcome.Error = &Error{Class: Program, Message: "secret"}
		it := anyOf[Iteration](t)
		it.Output, it.OutputB64, it.Extra, it.Digest = json.RawMessage(`"secret"`), []byte("secret"), json.RawMessage(`{"secret":1}`), nil
		it.Thinking, it.Prompt, it.Adaptation = "secret", "secret", "secret"
		it.Error, it.Ended = &Error{Class: Program, Message: "secret"}, &Ended{Reason: "capability", Output: json.RawMessage(`"secret"`)}
		it.ToolCalls, it.Steps = []ToolCall{{Tool: "secret", Arguments: json.RawMessage(`"secret"`)}}, []Step{{Text: "secret"}}
		it.Calls = append(it.Calls, Call{Role: RoleJudge, Stderr: "secret", Stdout: "secret", Reported: json.RawMessage(`{"secret":1}`),
			Usage: Usage{Calls: 1, Cost: 5}, Error: &Error{Class: Server, Message: "secret"}})
		it.Evaluation = &Evaluation{Confidence: 0.5, Feedback: "secret", Fault: "secret", Checks: []Check{{Name: "a", Passed: true, Feedback: "secret"}}}
		it.Workspace = &Workspace{Tree: "t", Diff: "secret", Left: []string{"secret"}}
		run.Iterations = append(run.Iterations, it)
		run.Extra, run.Servers = it.Extra, []ToolServer{{Name: "secret"}}
		light := run.Light()
		text, err := json.Marshal(light)
		if err != nil || strings.Contains(string(text), "secret") {
			t.Fatalf("a text is in %s, %v", text, err)
		}
		for i := range run.Iterations {
			got, want := &light.Iterations[i], &run.Iterations[i]
			if got.Total() != want.Total() || got.StepCount() != want.StepCount() || got.MainStepCount() != want.MainStepCount() ||
				got.End != want.End || (got.Error == nil) != (want.Error == nil) || (got.Evaluation == nil) != (want.Evaluation == nil) {
				t.Fatalf("%+v of %+v", got, want)
			}
		}
		last := light.Iterations[len(light.Iterations)-1]
		if last.Error.Class != Program || last.Ended.Reason != "capability" || last.Evaluation.Fault == "" || !last.Evaluation.Checks[0].Passed || last.Workspace.Tree != "t" {
			t.Fatalf("%+v", last)
		}
	})
}

func TestHashesTellEqualFromDifferent(t *testing.T) {
	call := func(tool, arguments string) ToolCall {
		return ToolCall{Tool: tool, Arguments: json.RawMessage(arguments), Start: time.Duration(len(tool))}
	}
	set := func(calls ...ToolCall) string {
		return (&Run{Iterations: []Iteration{{ToolCalls: calls}}}).Light().Iterations[0].Digest.Tools
	}
	a, b, c := call("find", `{"q":1}`), call("read", `{}`), call("find", `{"q": 1}`)
	for _, x := range []struct {
		name       string
		this, that string
		equal      bool
	}{
		{"the same output", OutputHash([]byte(`{"a":1}`)), OutputHash([]byte("{\"a\": 1}\n")), true},
		{"text with two blanks", OutputHash([]byte(`"a  b"`)), OutputHash([]byte(`"a b"`)), false},
		{"a text and a number", OutputHash([]byte(`"1"`)), OutputHash([]byte(`1`)), false},
		{"a value and two of them", OutputHash([]byte(`1`)), OutputHash([]byte(`1 2`)), false},
		{"keys in another order", OutputHash([]byte(`{"a":1,"b":[{"c":2,"d":3}]}`)), OutputHash([]byte(`{"b":[{"d":3,"c":2}],"a":1}`)), true},
		{"a list in another order", OutputHash([]byte(`[1,2]`)), OutputHash([]byte(`[2,1]`)), false},
		{"a number as another literal", OutputHash([]byte(`[1,-0,1200,0.05]`)), OutputHash([]byte(`[1.0,0.0,1.2E+3,50e-3]`)), true},
		{"the sign of a number", OutputHash([]byte(`-1`)), OutputHash([]byte(`1`)), false},
		{"numbers that no float tells apart", OutputHash([]byte(`12345678901234567890`)), OutputHash([]byte(`12345678901234567891`)), false},
		{"a number beyond any float", OutputHash([]byte(`1e999`)), OutputHash([]byte(`10e998`)), true},
		{"a text with escapes", OutputHash([]byte(`"caf\u00e9 <b>"`)), OutputHash([]byte(`"café <b>"`)), true},
		{"a text with a line separator", OutputHash([]byte(`"\u2028"`)), OutputHash([]byte("\"\u2028\"")), true},
		{"no output and none", OutputHash(nil), "", true},
		{"calls in another order", set(a, b), set(b, c), true},
		{"a call with its keys in another order", set(call("f", `{"x":1,"y":2}`)), set(call("f", `{"y":2.0,"x":1}`)), true},
		{"a call twice", set(a), set(a, a), false},
		{"other arguments", set(a), set(call("find", `{"q":2}`)), false},
		{"no calls", set(), "", true},
	} {
		if (x.this == x.that) != x.equal {
			t.Errorf("%s: %q and %q", x.name, x.this, x.that)
		}
	}
}

// What is read of a record without its texts is what the run is without them, whether the record has digests or not.
func TestALightReadIsTheRunWithoutItsTexts(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		run := possibleRun(t)
		line, err := lineOfRun(run)
		must(t, err)
		lines := [][]byte{line}
		if !bytes.Contains(line, []byte(badByte)) {
			without, err := appendLine(nil, run)
			must(t, err)
			lines = append(lines, without)
		}
		for _, line := range lines {
			light, err := readLine(line, lightOf)
			must(t, err)
			if want := run.Light(); !reflect.DeepEqual(light, want) {
				t.Fatalf("light %+v\nwant %+v", *light, want)
			}
		}
	})
}

// A digest that does not fit its iteration is damage to all who read the whole run.
func TestADigestIsChecked(t *testing.T) {
	for _, change := range []func(*Digest){
		func(d *Digest) { d.Output = "0011223344556677" }, func(d *Digest) { d.Tools = "0011223344556677" },
		func(d *Digest) { d.ToolCalls++ }, func(d *Digest) { d.Steps++ }, func(d *Digest) {},
	} {
		run := sampleRun(1, 2).withDigests()
		change(run.Iterations[1].Digest)
		same := *run.Iterations[1].Digest == *sampleRun(1, 2).Iterations[1].digest()
		line, err := appendLine(nil, run)
		must(t, err)
		if _, err := readLine(line, runOf); (err == nil) != same {
			t.Errorf("%+v: %v", run.Iterations[1].Digest, err)
		}
	}
}

// possibleRun is any run that may be read; half of them have texts that are all UTF-8.
func possibleRun(t *rapid.T) *Run {
	run := anyOf[Run](t)
	run.Version, run.Trial, run.Elapsed, run.Outcome.Returned = Version, 1, run.Elapsed&math.MaxInt32, 0
	for _, u := range []*Usage{&run.Usage, &run.Judging, &run.User} {
		*u = u.Minus(Usage{})
	}
	for i := range run.Iterations {
		for c := range run.Iterations[i].Calls {
			call := &run.Iterations[i].Calls[c]
			call.Usage, call.Duration = call.Usage.Minus(Usage{}), call.Duration&math.MaxInt32
		}
	}
	if rapid.Bool().Draw(t, "clean") {
		eachText(reflect.ValueOf(&run).Elem(), "", func(_ string, text reflect.Value) {
			text.SetString(strings.ReplaceAll(strings.ToValidUTF8(text.String(), "?"), badByte, "?"))
		})
	}
	return &run
}
