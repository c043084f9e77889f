package scorers

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// evaluate gives the iterations of a run confidences; below 0 there is no evaluation.
func evaluate(r *record.Run, confidences ...float64) *record.Run {
	for i, c := range confidences {
		if c >= 0 {
			r.Iterations[i].Evaluation = &record.Evaluation{Confidence: c}
		}
	}
	return r
}

func TestRunHasScoreOfReturnedIteration(t *testing.T) {
	s := set(t, `
- {name: right, type: exact}
- {name: vowel, type: regex, pattern: "[aeiou]"}`)
	r := run(`"b"`, `"a"`, ``, `"c"`)
	r.Outcome.Returned = 2
	want := `right 0 1 (a)
vowel 0 1 (a)
right 1 0 (b): want a, got b
vowel 1 0 (b): no match of [aeiou]
right 2 1 (a)
vowel 2 1 (a)
right 3 0 (none)
vowel 3 0 (none)
right 4 0 (c): want a, got c
vowel 4 0 (c): no match of [aeiou]`
	scores := s.Score(context.Background(), task(t, `"a"`), r)
	expect.Equal(t, "result", shownAll(scores), want)
	for _, score := range scores {
		if score.Run != r.ID {
			t.Errorf("a score is of run %q", score.Run)
		}
	}
}

// scoreLines scores with a single cel scorer and shows iteration and value alone.
func scoreLines(t *testing.T, expression string, r *record.Run, options Options) string {
	t.Helper()
	s, faults := New(decoded(t, "- {name: s, type: cel, expr: '"+expression+"'}"), options)
	must(t, faults.Err())
	return shownAll(s.Score(context.Background(), task(t, `"a"`), r))
}

func TestIterationIsSeenAsIfTheRunHadStoppedThere(t *testing.T) {
	r := evaluate(run(`{"r": 0.1}`, `{"r": 0.7}`, `{"r": 0.3}`, ``), 0.1, 0.7, 0.3)
	r.Outcome.Returned = 2
	r.Iterations[3].Error = &record.Error{Class: record.Server, Message: "down"}
	for i := range r.Iterations {
		r.Iterations[i].Calls = []record.Call{{Role: record.RoleAgent, Usage: record.Usage{Calls: 1}}, {Role: record.RoleJudge, Usage: record.Usage{Calls: 1}}}
	}
	r.Usage, r.Judging = record.Usage{Calls: 4}, record.Usage{Calls: 4}
	cases := map[string]string{
		`double(best.output.r)`:               "s 0 0.7\ns 1 0.1\ns 2 0.7\ns 3 0.7\ns 4 0.7",
		`double(best.iteration) / 10.0`:       "s 0 0.2\ns 1 0.1\ns 2 0.2\ns 3 0.2\ns 4 0.2",
		`double(size(iterations)) / 10.0`:     "s 0 0.4\ns 1 0.1\ns 2 0.2\ns 3 0.3\ns 4 0.4",
		`double(usage.calls) / 10.0`:          "s 0 0.8\ns 1 0.2\ns 2 0.4\ns 3 0.6\ns 4 0.8",
		`double(output.r)`:                    "s 0 0.7\ns 1 0.1\ns 2 0.7\ns 3 0.3\ns 4 0 (none)",
		`iterations.exists(i, i.error != "")`: "s 0 1\ns 1 0: iterations.exists(i, i.error != \"\") is false\ns 2 0: iterations.exists(i, i.error != \"\") is false\ns 3 0: iterations.exists(i, i.error != \"\") is false\ns 4 1",
	}
	for expression, want := range cases {
		expect.Equal(t, expression, scoreLines(t, expression, r, Options{}), want)
	}
}

func TestBest(t *testing.T) {
	check := func(name string, weight float64, passed bool) record.Check {
		return record.Check{Name: name, Weight: weight, Passed: passed}
	}
	equal := evaluate(run(`"a"`, `"b"`, `"c"`), 0.5, 0.5, 0.2)
	atZero := evaluate(run(`"a"`, `"b"`), -1, 0)
	failed := evaluate(run(`"a"`, `"b"`, `"c"`, `"d"`), 0.1, 0.9, 0.8, 0.7)
	failed.Iterations[1].Error = &record.Error{}
	failed.Iterations[2].Cut = "timeout"
	failed.Iterations[3].Skipped = true
	checked := evaluate(run(`"a"`, `"b"`, `"c"`, `"d"`), 0.9, 0.1, 0.1, 0.1)
	checked.Iterations[0].Evaluation.Checks = []record.Check{check("x", 0, true), check("y", 3, false)}
	checked.Iterations[1].Evaluation.Checks = []record.Check{check("x", 0, false), check("y", 3, true)}
	checked.Iterations[2].Evaluation.Checks = []record.Check{check("x", 0, false), check("y", 3, true)}
	checked.Iterations[3].Evaluation.Checks = []record.Check{check("x", 0, true), check("y", 3, false)}
	checklist := Options{Resolved: []spec.Resolved{{Name: "default", Loop: &spec.Loop{Pattern: spec.PatternChecklist}}}}
	for _, c := range []struct {
		name    string
		run     *record.Run
		options Options
		want    int
	}{
		{"the earliest among equals", equal, Options{}, 1},
		{"even at 0", atZero, Options{}, 2},
		{"not what failed, was cut or skipped", failed, Options{}, 1},
		{"by confidence", checked, Options{}, 1},
		{"by weighted checks under checklist, the latest among equals", checked, checklist, 3},
		{"none without an evaluation", run(`"a"`), Options{}, 0},
	} {
		s := newSubject(nil, c.run, len(c.options.Resolved) > 0)
		s.stand(0, len(c.run.Iterations))
		expect.Equal(t, c.name, s.best(), c.want)
	}
	if got := scoreLines(t, `best.iteration == 3`, checked, checklist); got[:5] != "s 0 1" {
		t.Errorf("the pattern does not reach the scorer: %s", got)
	}
}

func TestNothingReturned(t *testing.T) {
	s := set(t, `
- {name: exact, type: exact}
- {name: checks, type: checks}
- {name: best, type: cel, expr: double(best.output.reward)}
- {name: output, type: cel, expr: output == "a"}
- {name: stop, type: cel, expr: stop.status == "failed"}
- {name: calls, type: cel, expr: usage.calls == 0}`)
	want := `exact 0 0 (none)
checks 0 0 (none)
best 0 0 (none)
output 0 0 (none)
stop 0 1
calls 0 1`
	r := run()
	r.Outcome.Status = record.Failed
	expect.Equal(t, "result", shownAll(s.Score(context.Background(), task(t, `"a"`), r)), want)
	r = run(`"a"`)
	r.Outcome.Returned = 0
	scores := s.Score(context.Background(), task(t, `"a"`), r)
	expect.Equal(t, "a run that returns nothing has the score", shown(scores[0]), "0 (none)")
	r.Outcome.Returned = 7 // a broken record
	expect.Equal(t, "a run that returns what is not there has the score", shown(s.Score(context.Background(), task(t, `"a"`), r)[0]), "0 (none)")
}

func TestNoTask(t *testing.T) {
	s := set(t, `
- {name: exact, type: exact}
- {name: cel, type: cel, expr: task.id == "t"}`)
	scores := s.Score(context.Background(), nil, run(`"a"`))
	if scores[0].Unscored == "" || scores[1].Unscored == "" {
		t.Errorf("got %s", shownAll(scores))
	}
}

func TestChecks(t *testing.T) {
	evaluation := &record.Evaluation{Checks: []record.Check{
		{Name: "short", Passed: true, Weight: 3}, {Name: "polite", Feedback: "say please"}, {Name: "true", Passed: true},
	}}
	r := run(`"a"`, `"b"`, `"c"`, `"d"`)
	r.Iterations[0].Evaluation = evaluation
	r.Iterations[1].Evaluation = &record.Evaluation{Confidence: 1}
	r.Iterations[3].Evaluation = evaluation
	r.Iterations[3].Skipped = true
	cases := map[string]string{
		`type: checks`:                "s 1 0.8 (2 of 3): failing: polite\ns 2 unscored: the evaluation has no checks\ns 3 unscored: iteration 3 was not evaluated\ns 4 unscored: iteration 4 was not evaluated",
		`type: checks, not: true`:     "s 1 0.2 (2 of 3)\ns 2 unscored: the evaluation has no checks\ns 3 unscored: iteration 3 was not evaluated\ns 4 unscored: iteration 4 was not evaluated",
		`type: checks, check: short`:  "s 1 1 (passed)\ns 2 unscored: the evaluation has no checks\ns 3 unscored: iteration 3 was not evaluated\ns 4 unscored: iteration 4 was not evaluated",
		`type: checks, check: polite`: "s 1 0 (failed): say please\ns 2 unscored: the evaluation has no checks\ns 3 unscored: iteration 3 was not evaluated\ns 4 unscored: iteration 4 was not evaluated",
		`type: checks, check: polit`:  "s 1 unscored: the evaluation has no check \"polit\"\ns 2 unscored: the evaluation has no checks\ns 3 unscored: iteration 3 was not evaluated\ns 4 unscored: iteration 4 was not evaluated",
	}
	for scorer, want := range cases {
		s := set(t, "- {name: s, "+scorer+"}")
		expect.Equal(t, scorer, shownAll(s.Score(context.Background(), task(t, ""), r)[1:]), want)
	}
}

// Every field that the environment of scorers promises has a value of its type: were one missing, its expression would
// fail and the score be unscored.
func TestExpressionsSeeEveryField(t *testing.T) {
	r := run(`"a"`)
	r.Iterations[0] = record.Iteration{
		N: 1, Output: r.Iterations[0].Output, Phase: "p", Strategy: "q", End: time.Second,
		Evaluation: &record.Evaluation{
			Confidence: 0.5, Passed: true, Feedback: "f", Improvements: []string{"i"},
			Checks: []record.Check{{Name: "c", Feedback: "cf"}, {Name: "d", Passed: true}},
		},
		Error: nil,
	}
	r.Usage = record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, ToolCalls: 4, Cost: record.USD}
	for _, expression := range []string{
		`task.id == "t" && task.input == null && size(task.vars) == 0 && size(task.metadata) == 0 && task.target == target`,
		`iterations.all(i, i.iteration == 1 && i.phase == "p" && i.strategy == "q" && i.output == "a" && i.confidence == 0.5)`,
		`iterations.all(i, i.passed && i.feedback == "f" && i.improvements == ["i"] && i.error == "" && i.elapsed == duration("1s"))`,
		`iterations.all(i, i.checks["c"].feedback == "cf" && !i.checks["c"].passed && i.checks["d"].passed)`,
		`iterations.all(i, size(i.failing) == 1 && i.failing[0].name == "c" && i.failing[0].feedback == "cf")`,
		`best.output == "a" && best.confidence == 0.5 && best.iteration == 1`,
		`usage.tokens == 5 && usage.input_tokens == 2 && usage.output_tokens == 3 && usage.calls == 1 && usage.tool_calls == 4 && usage.cost_usd == 1.0`,
	} {
		if got := scoreLines(t, expression, r, Options{}); got[:5] != "s 0 1" {
			t.Errorf("%s\n%s", expression, got)
		}
	}
}

func TestPanicIsUnscored(t *testing.T) {
	s := &Set{scorers: []*scorer{{Version: Version{Name: "s"}, compare: func(context.Context, *subject) verdict { panic("oh") }}}}
	expect.Equal(t, "result", shown(s.Score(context.Background(), nil, run(`"a"`))[0]), "unscored: panic: oh")
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	s := set(t, `
- {name: exact, type: exact, extract: '\w+'}
- {name: schema, type: json_schema, schema: {type: string, pattern: a}}
- {name: cel, type: cel, expr: best == null && output == target}`)
	want := shownAll(s.Score(context.Background(), task(t, `"a"`), run(`"a"`, `"b"`)))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				expect.Equal(t, "result", shownAll(s.Score(context.Background(), task(t, `"a"`), run(`"a"`, `"b"`))), want)
			}
		})
	}
	group.Wait()
}
