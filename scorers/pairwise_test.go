package scorers

import (
	"context"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// polite prefers the output with a please, wherever it stands, and counts how often it is asked.
type polite struct{ asked *int }

func (p polite) Call(_ context.Context, r *model.Request) (*model.Reply, error) {
	*p.asked++
	_, first, _ := strings.Cut(r.Messages[1].Text, "=== first output ")
	first, second, _ := strings.Cut(first, "=== second output ")
	word := "tie"
	switch a, b := strings.Contains(first, "please"), strings.Contains(second, "please"); {
	case a && !b:
		word = "first"
	case b && !a:
		word = "second"
	}
	return &model.Reply{Text: `{"score": "` + word + `", "explanation": "manners"}`, Finish: "stop", Usage: record.Usage{Calls: 1}}, nil
}

// other is a run of another configuration.
func other(configuration string, outputs ...string) *record.Run {
	r := run(outputs...)
	r.ID, r.Configuration = record.RunID(configuration, "t", 1), configuration
	return r
}

func besideOnly(r *record.Run) func(string) *record.Run {
	return func(configuration string) *record.Run {
		if r == nil || r.Configuration != configuration {
			return nil
		}
		return r
	}
}

func TestPairs(t *testing.T) {
	fault := other("base", `"wait, please"`)
	fault.Outcome.Status = record.Faulted
	for name, c := range map[string]struct {
		more   string
		own    *record.Run
		beside *record.Run
		want   string
		calls  int
	}{
		"a win":                     {"", run(`"wait, please"`), other("base", `"wait"`), "1 (2 wins): manners", 2},
		"a loss":                    {"", run(`"wait"`), other("base", `"wait, please"`), "0 (2 losses): manners", 2},
		"turned":                    {", not: true", run(`"wait"`), other("base", `"wait, please"`), "1 (2 losses)", 2},
		"a tie":                     {"", run(`"wait"`), other("base", `"stop"`), "0.5 (2 ties): manners", 2},
		"the same":                  {"", run(`"wait"`), other("base", `"wait"`), "0.5 (tie): both gave the same", 0},
		"the same value":            {", value: output.a", run(`{"a": 1, "b": 2}`), other("base", `{"a": 1}`), "0.5 (tie): both gave the same", 0},
		"the baseline's own":        {"", other("base", `"wait"`), nil, "0.5 (tie): it is the baseline", 0},
		"the baseline's, empty":     {"", other("base", ""), nil, "0.5 (tie): it is the baseline", 0},
		"no answer":                 {"", run(""), other("base", `"wait"`), "0 (none)", 0},
		"no answers at all":         {"", run(""), other("base", ""), "0.5 (tie): both gave nothing", 0},
		"no answer, and no other":   {"", run(""), nil, "unscored: the run of base is missing", 0},
		"no answer beside it":       {"", run(`"wait"`), other("base", ""), "1 (win): the other gave nothing", 0},
		"nothing beside it":         {"", run(`"wait"`), nil, "unscored: the run of base is missing", 0},
		"a fault beside it":         {"", run(`"wait"`), fault, "unscored: the run of base did not end by itself", 0},
		"no such value beside it":   {", value: output.a", run(`{"a": 1}`), other("base", `{}`), "unscored: the run of base: value: ", 0},
		"against another one":       {", against: rude", run(`"wait, please"`), other("rude", `"wait"`), "1 (2 wins): manners", 2},
		"under another name":        {", against: blunt", run(`"wait, please"`), other("rude", `"wait"`), "1 (2 wins): manners", 2},
		"a reference that is not":   {", reference: true", run(`"wait"`), other("base", `"stop"`), "unscored: the target is missing", 0},
		"a rubric over the task":    {", rubric: 'Of {{ task.id }}'", run(`"wait, please"`), other("base", `"wait"`), "1 (2 wins): manners", 2},
		"every iteration is not it": {"", run(`"x"`, `"wait, please"`), other("base", `"please"`, `"wait"`), "1 (2 wins): manners", 2},
	} {
		t.Run(name, func(t *testing.T) {
			more, asked := c.more, 0
			if !strings.Contains(more, "rubric") {
				more += ", rubric: 'Which is more polite?'"
			}
			s, faults := New(decoded(t, "- {name: s, type: pairwise, model: j"+more+"}\n- {name: e, type: exact}"), Options{
				Outside: outside{models: map[string]model.Model{"j": polite{&asked}}}, Baseline: "base",
				Resolved: []spec.Resolved{{Name: "rude", Aliases: []string{"blunt"}, Loop: &spec.Loop{}}},
			})
			must(t, faults.Err())
			scores := s.Pair(t.Context(), task(t, ""), c.own, all, besideOnly(c.beside))
			if got := shownAll(scores); len(scores) != 1 || !strings.HasPrefix(got, "s 0 "+c.want) || asked != c.calls {
				t.Errorf("got %s after %d calls, want %s after %d", got, asked, c.want, c.calls)
			}
			if scores[0].Usage.Calls != int64(c.calls) || scores[0].Run != c.own.ID {
				t.Errorf("got %+v", scores[0])
			}
		})
	}
}

// A set tells who needs another run, and scores a run without them.
func TestPairsAreApart(t *testing.T) {
	s, faults := New(decoded(t, "- {name: s, type: pairwise, model: j, rubric: r}\n- {name: e, type: exact}"), Options{Baseline: "base"})
	must(t, faults.Err())
	if v := s.Versions()[0]; !v.Asks || !v.Pairs || v.Against != "base" || v.Judges != spec.ScoreReturned {
		t.Errorf("the version is %+v", v)
	}
	expect.Equal(t, "result", shownAll(s.Score(t.Context(), task(t, `"x"`), run(`"x"`))), "e 0 1 (x)\ne 1 1 (x)")
	if got := shownAll(s.Pair(t.Context(), nil, run(`"x"`), all, besideOnly(other("base", `"y"`)))); got != "s 0 unscored: no model is configured" {
		t.Errorf("nobody to ask: %s", got)
	}
	alone, _ := New(decoded(t, "- {name: s, type: pairwise, model: j, rubric: r}"), Options{Outside: outside{models: map[string]model.Model{"j": polite{new(int)}}}})
	if got := shownAll(alone.Pair(t.Context(), nil, run(`"x"`), all, besideOnly(nil))); got != "s 0 unscored: no baseline is configured to compare with" {
		t.Errorf("no baseline: %s", got)
	}
}

func all(*Version, int) bool { return true }
