package loop

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"pgregory.net/rapid"
)

// loopScope is what the loop's history says before this iteration is evaluated.
type loopScope map[string]any

func (s loopScope) Lookup(name string) (any, bool) {
	value, ok := s[name]
	return value, ok
}

func compile(t *testing.T, text string, want expr.Want) *spec.Expr {
	t.Helper()
	if text == "" {
		return nil
	}
	program, faults := expr.Evaluate(expr.Any).Compile(text, want)
	for _, fault := range faults {
		if !fault.Warning {
			t.Fatalf("%s: %s", text, fault.What)
		}
	}
	return &spec.Expr{Text: text, Program: program}
}

func check(t *testing.T, name, text, feedback string, weight float64) spec.Check {
	c := spec.Check{Name: name, Expr: compile(t, text, expr.WantBool), Feedback: feedback}
	if weight != 0 {
		c.Weight = &weight
	}
	return c
}

func trialOf(t *testing.T, output string) *Trial {
	t.Helper()
	value, err := expr.ParseJSON([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	return &Trial{
		Scope:     loopScope{"confidence": nil, "passed": false, "iteration": int64(1), "checks": expr.NewObject(0)},
		Task:      &spec.Task{ID: "x", Input: "the question", Target: "TARGET"},
		Trial:     1,
		Iteration: 1,
		Output:    value,
		Calls:     map[string]int{},
	}
}

// S1.6: an evaluation is confidence, passed, feedback and improvements, each
// declared or following from the checks and the pattern.
func TestS1_6_Evaluation(t *testing.T) {
	checks := func(t *testing.T) []spec.Check {
		return []spec.Check{
			check(t, "name", `output.name != ""`, "the name is missing", 0),
			check(t, "skills", "size(output.skills) >= 3", "name three skills", 2),
			check(t, "years", "output.years >= 0.0", "", 1),
		}
	}
	const half = `{"name": "Ann", "skills": ["go"], "years": 3}`
	const full = `{"name": "Ann", "skills": ["go", "sql", "ml"], "years": 3}`
	for name, c := range map[string]struct {
		spec    spec.Evaluate
		pattern spec.Pattern
		output  string
		want    record.Evaluation // without the checks
	}{
		"a weighted share": {spec.Evaluate{Checks: checks(t)}, "", half,
			record.Evaluation{Confidence: 0.5, Feedback: "name three skills", Improvements: []string{"name three skills"}}},
		"all hold": {spec.Evaluate{Checks: checks(t)}, "", full,
			record.Evaluation{Confidence: 1}},
		"all hold in a checklist": {spec.Evaluate{Checks: checks(t)}, spec.PatternChecklist, full,
			record.Evaluation{Confidence: 1, Passed: true}},
		"not all in a checklist": {spec.Evaluate{Checks: checks(t)}, spec.PatternChecklist, half,
			record.Evaluation{Confidence: 0.5, Feedback: "name three skills", Improvements: []string{"name three skills"}}},
		"every failing check": {spec.Evaluate{Checks: checks(t)}, "", `{"name": ""}`,
			record.Evaluation{Confidence: 0, Feedback: `the name is missing; name three skills; the check "years" fails`,
				Improvements: []string{"the name is missing", "name three skills", `the check "years" fails`}}},
		"only the first": {spec.Evaluate{Checks: checks(t), Fix: "one"}, "", `{"name": ""}`,
			record.Evaluation{Confidence: 0, Feedback: "the name is missing", Improvements: []string{"the name is missing"}}},
		"strategies with checks": {spec.Evaluate{Checks: checks(t)}, spec.PatternMultiStrategy, full,
			record.Evaluation{Confidence: 1, Passed: true}},
		"strategies without, confident": {spec.Evaluate{Confidence: compile(t, "0.8", expr.WantNumber)}, spec.PatternMultiStrategy, half,
			record.Evaluation{Confidence: 0.8, Passed: true}},
		"strategies without, not": {spec.Evaluate{Confidence: compile(t, "0.79", expr.WantNumber)}, spec.PatternMultiStrategy, half,
			record.Evaluation{Confidence: 0.79}},
		"a checklist without checks": {spec.Evaluate{Confidence: compile(t, "1.0", expr.WantNumber)}, spec.PatternChecklist, half,
			record.Evaluation{Confidence: 1}},
		"declared confidence may be negative": {spec.Evaluate{Confidence: compile(t, "double(output.years) - 10.0", expr.WantNumber), Checks: checks(t)}, "", full,
			record.Evaluation{Confidence: -7}},
		"declared passed": {spec.Evaluate{Passed: compile(t, `output.name == "Ann"`, expr.WantBool), Checks: checks(t)}, spec.PatternChecklist, half,
			record.Evaluation{Confidence: 0.5, Passed: true, Feedback: "name three skills", Improvements: []string{"name three skills"}}},
		"confidence from passed": {spec.Evaluate{Passed: compile(t, "true", expr.WantBool)}, "", half,
			record.Evaluation{Confidence: 1, Passed: true}},
		"confidence from not passed": {spec.Evaluate{Passed: compile(t, "false", expr.WantBool)}, "", half,
			record.Evaluation{}},
		"declared feedback": {spec.Evaluate{Feedback: compile(t, `"years: " + string(output.years)`, expr.WantString), Checks: checks(t)}, "", full,
			record.Evaluation{Confidence: 1, Feedback: "years: 3"}},
		"what is known so far": {spec.Evaluate{
			Checks:     checks(t),
			Confidence: compile(t, `(checks["name"].passed ? 0.25 : 0.0) + double(size(failing)) / 8.0`, expr.WantNumber),
			Passed:     compile(t, "confidence == 0.375", expr.WantBool),
			Feedback:   compile(t, `passed ? improvements.join(",") + " of iteration " + string(iteration) : ""`, expr.WantString),
		}, "", half, record.Evaluation{Confidence: 0.375, Passed: true, Feedback: "name three skills of iteration 1", Improvements: []string{"name three skills"}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &DeclaredEvaluator{Spec: &c.spec, Pattern: c.pattern}
			got, calls, err := e.Evaluate(t.Context(), trialOf(t, c.output))
			if err != nil || len(calls) != 0 {
				t.Fatal(calls, err)
			}
			if len(got.Checks) != len(c.spec.Checks) {
				t.Errorf("%d checks recorded", len(got.Checks))
			}
			got.Checks = nil
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
		})
	}
}

// What the agent's program said of its own output counts where nothing judges it.
func TestAnAgentsOwnConfidence(t *testing.T) {
	own := 0.4
	for _, c := range []struct {
		spec spec.Evaluate
		want float64
	}{
		{spec.Evaluate{}, 0.4},
		{spec.Evaluate{Checks: []spec.Check{check(t, "a", "true", "", 0)}}, 1},
		{spec.Evaluate{Confidence: compile(t, "0.3", expr.WantNumber)}, 0.3},
	} {
		trial := trialOf(t, `{}`)
		trial.Confidence = &own
		got, _, err := (&DeclaredEvaluator{Spec: &c.spec}).Evaluate(t.Context(), trial)
		if err != nil || got.Confidence != c.want {
			t.Errorf("got %+v, %v; want %v", got, err, c.want)
		}
	}
}

// An error on the output fails the check; it is recorded, and its feedback sent.
func TestAnErrorInACheckFailsIt(t *testing.T) {
	e := &DeclaredEvaluator{Spec: &spec.Evaluate{Checks: []spec.Check{
		check(t, "present", "size(output.name) > 0", "say the name", 3),
		check(t, "fine", "true", "never told", 0),
	}}}
	got, _, err := e.Evaluate(t.Context(), trialOf(t, `{"nom": "Ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []record.Check{
		{Name: "present", Weight: 3, Feedback: "say the name", Error: `there is no key "name"`},
		{Name: "fine", Passed: true},
	}
	if !reflect.DeepEqual(got.Checks, want) || got.Confidence != 0.25 || got.Feedback != "say the name" {
		t.Errorf("got %+v", got)
	}
}

// In confidence, passed and feedback an error fails the iteration. It is the
// agent's failure: the run counts.
func TestAnErrorInWhatIsDeclaredFailsTheIteration(t *testing.T) {
	for want, declared := range map[string]spec.Evaluate{
		`confidence: there is no key "x"`:               {Confidence: compile(t, "double(output.x)", expr.WantNumber)},
		`confidence: the result is not a finite number`: {Confidence: compile(t, "0.0 / 0.0", expr.WantNumber)},
		`passed: there is no key "x"`:                   {Passed: compile(t, "bool(output.x)", expr.WantBool)},
		`feedback: there is no key "x"`:                 {Feedback: compile(t, "string(output.x)", expr.WantString)},
	} {
		_, _, err := (&DeclaredEvaluator{Spec: &declared}).Evaluate(t.Context(), trialOf(t, `{}`))
		var failed *record.Error
		if !errors.As(err, &failed) || failed.Class != record.Unjudged || failed.Class.Fault() || failed.Message != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A reply that is not JSON is an evaluation that says so, not a failed
// iteration; nobody is asked about it.
func TestAReplyThatIsNotJSON(t *testing.T) {
	e := &DeclaredEvaluator{
		Spec: &spec.Evaluate{
			Checks:     []spec.Check{check(t, "name", `output.name != ""`, "the name is missing", 0)},
			Confidence: compile(t, "1.0", expr.WantNumber),
			Judge:      &spec.Judge{Model: "critic"},
		},
		Pattern: spec.PatternMultiStrategy,
	}
	trial := trialOf(t, `"Sorry."`)
	trial.Fault = "the reply is not JSON: at byte 1: 'S' where a JSON value should begin"
	got, calls, err := e.Evaluate(t.Context(), trial)
	if err != nil || len(calls) != 0 {
		t.Fatal(calls, err)
	}
	want := &record.Evaluation{
		Feedback: trial.Fault, Fault: trial.Fault, Improvements: []string{trial.Fault},
		Checks: []record.Check{{Name: "name", Feedback: "the name is missing", Error: trial.Fault}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestACancelledEvaluationIsNoVerdict(t *testing.T) {
	e := &DeclaredEvaluator{Spec: &spec.Evaluate{Checks: []spec.Check{check(t, "a", "true", "", 0)}}}
	ctx, cancel := cancelled(t)
	defer cancel(nil)
	if _, _, err := e.Evaluate(ctx, trialOf(t, `{}`)); err != errEnough {
		t.Errorf("got %v", err)
	}
}

// The share stays within 0 and 1, is 1 exactly where all pass, and grows with
// every check that does.
func TestShare(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		checks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record.Check {
			return record.Check{
				Passed: rapid.Bool().Draw(t, "passed"),
				Weight: rapid.SampledFrom([]float64{0, 0.1, 1, 2, 1000}).Draw(t, "weight"),
			}
		}), 1, 8).Draw(t, "checks")
		before := record.Share(checks)
		if before < 0 || before > 1 || (before == 1) != allPassed(checks) {
			t.Fatalf("share %v, all passed: %v", before, allPassed(checks))
		}
		if i := rapid.IntRange(0, len(checks)-1).Draw(t, "which"); !checks[i].Passed {
			checks[i].Passed = true
			if record.Share(checks) <= before {
				t.Fatalf("share %v, before %v", record.Share(checks), before)
			}
		}
	})
}

func TestTheTargetIsNotInTheEnvironment(t *testing.T) {
	for _, text := range []string{"target == 1", "task.target == 1", `judge.confidence > 0.5 && target != ""`} {
		_, faults := expr.Evaluate(expr.Any).Compile(text, expr.WantBool)
		if len(faults) == 0 || !strings.Contains(faults[0].What, "target") {
			t.Errorf("%s compiles: %v", text, faults)
		}
	}
}
