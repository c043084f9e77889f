package record

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

func TestMarksTellWhichCheckPassed(t *testing.T) {
	check := func(name string, weight float64, passed bool) Check {
		return Check{Name: name, Weight: weight, Passed: passed}
	}
	run := &Run{Iterations: []Iteration{
		{Evaluation: &Evaluation{Checks: []Check{check("a", 0, true), check("b", 2, false)}}},
		{},
		{Evaluation: &Evaluation{Checks: []Check{check("b", 2, true), check("c", 0, false)}}},
		{Evaluation: &Evaluation{Checks: []Check{check("c", 0, true), check("c", 0, false)}}},
	}}
	signals := run.Signals()
	want := []CheckHead{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c"}, {Name: "c"}}
	if !reflect.DeepEqual(signals.Checks, want) {
		t.Errorf("checks %+v", signals.Checks)
	}
	for i, marks := range []Marks{"10", "", "-10", "--10"} {
		if got := signals.Iterations[i].Checks; got != marks {
			t.Errorf("iteration %d: marks %q instead of %q", i+1, got, marks)
		}
	}
	for i, c := range []struct{ passed, judged bool }{{}, {true, true}, {false, true}, {}} {
		if passed, judged := Marks("-10").Passed(i); passed != c.passed || judged != c.judged {
			t.Errorf("check %d: passed %v, judged %v", i, passed, judged)
		}
	}
}

func TestSignalsHoldTheNumbersAndNoTexts(t *testing.T) {
	run := sampleRun(1, 1)
	run.Outcome.Error = &Error{Class: Program, Message: "secret"}
	it := &run.Iterations[0]
	it.Error = &Error{Class: Program, Message: "secret"}
	it.Ended = &Ended{Reason: "capability", Output: json.RawMessage(`"secret"`)}
	it.ToolCalls = []ToolCall{{Tool: "secret", Arguments: json.RawMessage(`"secret"`)}}
	it.Calls = append(it.Calls, Call{Role: RoleJudge, Stderr: "secret", Usage: Usage{Calls: 1, Cost: 5},
		Reserved: &Usage{Calls: 2}, Start: time.Second, Duration: 2 * time.Second, Error: &Error{Class: Server, Message: "secret"}})
	it.Evaluation.Feedback, it.Evaluation.Fault = "secret", "secret"
	signals := run.Signals()
	if got := signals.Iterations[0]; got.Error != Program || got.Ended != "capability" || !got.Fault || got.ToolCalls != 1 {
		t.Errorf("signals %+v", got)
	}
	want := CallSignals{Role: RoleJudge, Usage: Usage{Calls: 1, Cost: 5}, Reserved: &Usage{Calls: 2},
		Start: time.Second, Duration: 2 * time.Second, Error: Server}
	if got := signals.Iterations[0].Calls[1]; !reflect.DeepEqual(got, want) {
		t.Errorf("call %+v", got)
	}
	if text := fmt.Sprintf("%+v", signals); strings.Contains(text, "secret") {
		t.Errorf("a text is in %s", text)
	}
	agent, judging := signals.Iterations[0].Spent()
	wantAgent, wantJudging := it.Spent()
	if agent != wantAgent || judging != wantJudging || judging.Cost != 5 {
		t.Errorf("spent %+v and %+v", agent, judging)
	}
}

func TestHashesTellEqualFromDifferent(t *testing.T) {
	call := func(tool, arguments string) ToolCall {
		return ToolCall{Tool: tool, Arguments: json.RawMessage(arguments), Start: time.Duration(len(tool))}
	}
	set := func(calls ...ToolCall) string {
		return (&Run{Iterations: []Iteration{{ToolCalls: calls}}}).Signals().Iterations[0].Tools
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

func TestErrorsOfOneClassAreToldApart(t *testing.T) {
	run := &Run{Iterations: []Iteration{
		{Error: &Error{Class: Program, Message: "exit 1"}},
		{Error: &Error{Class: Program, Message: "exit 2"}},
		{Error: &Error{Class: Program, Message: "exit 1"}},
	}}
	its := run.Signals().Iterations
	if its[0].ErrorHash == its[1].ErrorHash || its[0].ErrorHash != its[2].ErrorHash {
		t.Errorf("hashes %s %s %s", its[0].ErrorHash, its[1].ErrorHash, its[2].ErrorHash)
	}
}

// What is read of a record without its texts is what the run's own signals are.
func TestALightReadIsTheSignalsOfTheRun(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		run := possibleRun(t)
		line, err := appendRun(nil, run)
		if err != nil {
			t.Fatal(err)
		}
		light, err := readLine(line, signalsOf)
		if err != nil {
			t.Fatal(err)
		}
		if want := run.Signals(); !reflect.DeepEqual(*light, want) {
			t.Fatalf("signals %+v\nwant %+v", *light, want)
		}
		for i := range run.Iterations {
			it, sig := &run.Iterations[i], &light.Iterations[i]
			if sig.Steps != it.StepCount() || sig.Output != it.OutputHash() || sig.Evaluated != (it.Evaluation != nil) || sig.Total() != it.Total() {
				t.Fatalf("iteration %+v has the signals %+v", it, sig)
			}
		}
	})
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
