package plan

import (
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

func suiteOf(trials int, configurations ...string) *spec.Suite {
	s := &spec.Suite{Trials: trials}
	for _, name := range configurations {
		s.Resolved = append(s.Resolved, spec.Resolved{Name: name, Aliases: []string{name + "-alias"}})
	}
	return s
}

func tasks(ids ...string) iter.Seq2[*spec.Task, error] {
	return func(yield func(*spec.Task, error) bool) {
		for _, id := range ids {
			if !yield(&spec.Task{ID: id}, nil) {
				return
			}
		}
	}
}

func items(t *testing.T, p *Plan, ids ...string) []string {
	t.Helper()
	var all []string
	for item, err := range p.Items(tasks(ids...)) {
		spectest.Must(t, err)
		all = append(all, item.ID)
	}
	return all
}

func TestItemsGoTaskByTask(t *testing.T) {
	p, err := New(suiteOf(2, "a", "b"), 2, Selection{})
	spectest.Must(t, err)
	want := []string{"a/x/1", "b/x/1", "a/x/2", "b/x/2", "a/y/1", "b/y/1", "a/y/2", "b/y/2"}
	if got := items(t, p, "x", "y"); !slices.Equal(got, want) || p.Runs() != len(want) {
		t.Errorf("%d runs %v, want %v", p.Runs(), got, want)
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name string
		only Selection
		want []string
	}{
		{"a configuration", Selection{Configurations: []string{"b"}}, []string{"b/x/1", "b/y/1", "b/z/1"}},
		{"by alias", Selection{Configurations: []string{"a-alias"}}, []string{"a-alias/x/1", "a-alias/y/1", "a-alias/z/1"}},
		{"a task", Selection{Tasks: []string{"y"}}, []string{"a/y/1", "b/y/1"}},
		{"the first two tasks", Selection{Limit: 2}, []string{"a/x/1", "b/x/1", "a/y/1", "b/y/1"}},
		{"all three", Selection{Configurations: []string{"a"}, Tasks: []string{"z", "y"}, Limit: 1}, []string{"a/y/1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(suiteOf(1, "a", "b"), 3, c.only)
			spectest.Must(t, err)
			if got := items(t, p, "x", "y", "z"); !slices.Equal(got, c.want) || p.Runs() != len(c.want) {
				t.Errorf("%d runs %v, want %v", p.Runs(), got, c.want)
			}
		})
	}
}

func TestAnUnknownConfiguration(t *testing.T) {
	_, err := New(suiteOf(1, "a", "b"), 3, Selection{Configurations: []string{"a", "c"}})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Name != "c" || !slices.Equal(unknown.Known, []string{"a", "b"}) {
		t.Errorf("the error is %v", err)
	}
}

func worstOf(t *testing.T, loop string) Worst {
	t.Helper()
	return WorstOfRun(spectest.Loop(t, loop), map[string]*spec.Model{
		"dear": {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 10}}},
		"free": {Price: &spec.Price{Free: true}},
		"toy":  {Price: &spec.Price{Free: true}, Tokens: spec.TokenCounts{Input: 500, Output: 50, Spread: 0.1}},
	}, 400)
}

func TestWorstCaseOfARun(t *testing.T) {
	for _, c := range []struct {
		name, loop string
		want       Worst
	}{
		{"a limit", "agent: {model: dear, max_output_tokens: 900}\nprompt: ''\nmax_iterations: 2", Worst{Iterations: 2, Calls: 2, Tokens: 2000, Cost: 2 * (100 + 9000) * record.USD / 1e6}},
		{"no limit but the absolute one", "agent: {model: free, max_output_tokens: 100}\nprompt: ''", Worst{Iterations: 10, Calls: 10, Tokens: 2000}},
		{"an unbounded reply at an unknown price", "agent: {model: other}\nprompt: ''\nmax_iterations: 1", Worst{Iterations: 1, Calls: 1, Tokens: 100, Unbounded: 1, Unpriced: 1}},
		{"declared tokens, with their spread", "agent: {model: toy, max_output_tokens: 900}\nprompt: ''\nmax_iterations: 1", Worst{Iterations: 1, Calls: 1, Tokens: 700 + 70}},
		{"declared tokens are a limit, and limited", "agent: {model: toy}\nprompt: ''\nmax_iterations: 1\nevaluate: {judge: {model: toy, rubric: '', max_output_tokens: 10}}", Worst{Iterations: 1, Calls: 2, Tokens: 700 + 70 + 700 + 10}},
		{"phases", "agent: {model: free, max_output_tokens: 100}\npreset: qa_specialist\nprompt: ''", Worst{Iterations: 8, Calls: 8, Tokens: 1600}},
		{"a judge is called each time", "agent: {model: free, max_output_tokens: 100}\nprompt: ''\nmax_iterations: 3\nevaluate: {judge: {model: free, rubric: '', max_output_tokens: 100}}", Worst{Iterations: 3, Calls: 6, Tokens: 1200}},
		{"strategies", "pattern: multi_strategy\nprompt: ''\nevaluate: {passed: 'true'}\nstrategies: [{name: a, agent: {command: [prog]}}, {name: b, max_iterations: 2, agent: {model: free, max_output_tokens: 100}}]", Worst{Iterations: 3, Calls: 2, Tokens: 400, Programs: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := worstOf(t, c.loop); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// F43: where replies have no limit, the plan says by how much the budget may be
// exceeded.
func TestF43_Overshoot(t *testing.T) {
	models := map[string]*spec.Model{
		"dear":  {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 10}}},
		"cheap": {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 1}}},
		"free":  {Price: &spec.Price{Free: true}},
		"toy":   {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 1}}, Tokens: spec.TokenCounts{Output: 50}},
	}
	judge := "\nevaluate: {judge: {model: dear, rubric: ''}}"
	for name, c := range map[string]struct {
		loop string
		runs int
		want Overshoot
	}{
		"all replies are limited": {"agent: {model: dear, max_output_tokens: 5}", 100, Overshoot{}},
		"declared tokens":         {"agent: {model: toy}", 100, Overshoot{}},
		"none is limited":         {"agent: {model: dear}", 100, Overshoot{8, 8 * record.USD / 100}},
		"the dearest counts":      {"agent: {model: cheap}" + judge, 100, Overshoot{8, 8 * record.USD / 100}},
		"only the judge's":        {"agent: {model: cheap, max_output_tokens: 5}" + judge, 100, Overshoot{8, 8 * record.USD / 100}},
		"free":                    {"agent: {model: free}", 100, Overshoot{8, 0}},
		"fewer runs than workers": {"agent: {model: dear}", 3, Overshoot{3, 3 * record.USD / 100}},
		"tasks not counted":       {"agent: {model: dear}", -1, Overshoot{8, 8 * record.USD / 100}},
		"a program":               {"agent: {command: [cat]}", 100, Overshoot{}},
	} {
		w := &WorstCase{Each: []Worst{WorstOfRun(spectest.Loop(t, "prompt: ''\n"+c.loop), models, 0)}}
		if got := w.Overshoot(&Plan{Trials: 1, Tasks: c.runs}, 8); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// All trials have the same worst case, so one is planned and multiplied.
func TestOneTrialTellsTheWorstCaseOfAll(t *testing.T) {
	p, err := New(suiteOf(3, "a", "b"), 2, Selection{})
	spectest.Must(t, err)
	if got, want := items(t, p.Once(), "x", "y"), []string{"a/x/1", "b/x/1", "a/y/1", "b/y/1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if p.Trials != 3 || p.Runs() != 3*p.Once().Runs() {
		t.Errorf("%d trials, %d runs", p.Trials, p.Runs())
	}
	one := Worst{Iterations: 1, Calls: 2, Tokens: 3, Cost: 4, Unbounded: 5, Unpriced: 6, Programs: 7}
	if got, want := one.Times(3), one.Plus(one).Plus(one); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWorstCasesDoNotWrap(t *testing.T) {
	most := Worst{Iterations: 1e13, Calls: 1e13, Tokens: 1e13, Cost: 1e13, Unbounded: 1e13, Unpriced: 1e13, Programs: 1e13}.Times(1e6)
	if most.Tokens != math.MaxInt64 || most.Plus(most) != most || most.Times(2) != most || most.Times(0) != (Worst{}) {
		t.Errorf("%+v", most)
	}
}
