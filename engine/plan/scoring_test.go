package plan

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// scoringOf is the worst case of one run's scores, under each of two configurations of 1 and 3 iterations, the first of
// which is the baseline.
func scoringOf(t *testing.T, loop, scorers string) (one, three Scoring) {
	t.Helper()
	suite := `suite: s
tasks: [{input: "x", target: "y"}]
models: {m: {provider: script, responses: [x], price: {input: 1, output: 10}}, free: {provider: script, responses: [x], price: free}, also: {provider: script, responses: [x], price: free}}
configurations: [{name: one, loop: l.yaml, set: {max_iterations: 1}}, {name: three, loop: l.yaml}]
baseline: one
scorers:
` + scorers
	doc := spectest.Document(t, "suite.yaml", map[string]string{"suite.yaml": suite, "l.yaml": "loop: l\nprompt: x\nmax_iterations: 3\nagent: " + loop})
	models := map[string]*spec.Model{}
	for i := range doc.Suite.Models {
		models[doc.Suite.Models[i].Key] = &doc.Suite.Models[i].Value
	}
	asking := AskingOf(doc.Suite)
	for i := range asking {
		one = one.Plus(asking[i].WorstOfRun(&doc.Suite.Resolved[0], models, 400, 40))
		three = three.Plus(asking[i].WorstOfRun(&doc.Suite.Resolved[1], models, 400, 40))
	}
	return one, three
}

func TestWorstCaseOfScores(t *testing.T) {
	const limited = "{model: m, max_output_tokens: 100}"
	// A judge is shown 400 characters of input and 800 of instructions, 4 of a rubric and 100 tokens of output: 401
	// tokens, and again with its answer of 10.
	asked := Worst{Calls: 2, Tokens: 401 + 411 + 20}
	panel := asked.Times(6)
	panel.Beside = 2
	for _, c := range []struct {
		name, loop, scorers string
		one, three          Scoring
	}{
		{"nobody is asked", limited, "- {name: s, type: exact}", Scoring{}, Scoring{}},
		{"a judge", limited, "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10}", Scoring{1, asked, 0}, Scoring{1, asked, 0}},
		{"a panel with votes", limited, "- {name: s, type: judge, models: [free, also], votes: 3, rubric: good, max_output_tokens: 10}", Scoring{1, panel, 0}, Scoring{1, panel, 0}},
		{"criteria", limited, "- {name: s, type: judge, model: free, criteria: [{name: a, rubric: good}, {name: b, rubric: fair}], max_output_tokens: 10}", Scoring{1, asked.Times(2), 0}, Scoring{1, asked.Times(2), 0}},
		{"every iteration", limited, "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10, score: every_iteration}", Scoring{1, asked, 0}, Scoring{3, asked.Times(3), 0}},
		{"every iteration, seen from the end as well", limited, "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10, score: every_iteration, value: best.output}", Scoring{2, asked.Times(2), 0}, Scoring{4, asked.Times(4), 0}},
		{"only when it is asked for", limited, "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10, score: when_asked}", Scoring{1, asked, 0}, Scoring{1, asked, 0}},
		{"in both orders, but for the baseline", limited, "- {name: s, type: pairwise, model: free, rubric: good, max_output_tokens: 10}", Scoring{Scores: 1}, Scoring{1, Worst{Calls: 4, Tokens: 2 * (501 + 511 + 20)}, 0}},
		{"the reference", limited, "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10, reference: true}", Scoring{1, Worst{Calls: 2, Tokens: 411 + 421 + 20}, 0}, Scoring{1, Worst{Calls: 2, Tokens: 411 + 421 + 20}, 0}},
		{"a price", limited, "- {name: s, type: judge, model: m, rubric: good, max_output_tokens: 10}", Scoring{1, Worst{Calls: 2, Tokens: 832, Cost: (812 + 200) * record.USD / 1e6}, 0}, Scoring{1, Worst{Calls: 2, Tokens: 832, Cost: (812 + 200) * record.USD / 1e6}, 0}},
		{"outputs without a limit", "{model: m}", "- {name: s, type: judge, model: free, rubric: good, max_output_tokens: 10}", Scoring{1, Worst{Calls: 2, Tokens: 632, Open: 2}, 0}, Scoring{1, Worst{Calls: 2, Tokens: 632, Open: 2}, 0}},
		{"a program and an endpoint", limited, "- {name: s, type: command, command: [sh]}\n- {name: h, type: http, url: 'http://127.0.0.1/', score: every_iteration}", Scoring{2, Worst{Programs: 1}, 1}, Scoring{4, Worst{Programs: 1}, 3}},
		{"a part of a set", limited, "- {name: s, type: all_of, scorers: [{name: p, type: judge, model: free, rubric: good, max_output_tokens: 10}, named]}\n- {name: named, type: command, command: [sh]}", Scoring{2, asked.Plus(Worst{Programs: 1}), 0}, Scoring{2, asked.Plus(Worst{Programs: 1}), 0}},
		{"a set of every iteration", limited, "- {name: s, type: any_of, scorers: [named]}\n- {name: named, type: command, command: [sh], score: every_iteration}", Scoring{1, Worst{Programs: 1}, 0}, Scoring{3, Worst{Programs: 3}, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, three := scoringOf(t, c.loop, c.scorers)
			if one != c.one || three != c.three {
				t.Errorf("got\n%+v and\n%+v, want\n%+v and\n%+v", one, three, c.one, c.three)
			}
		})
	}
}

func TestWorstCasesOfScoresDoNotWrap(t *testing.T) {
	most := Scoring{Scores: 1e13, Worst: Worst{Calls: 1e13}, Posts: 1e13}.Times(1e6)
	if most.Plus(most) != most || most.Times(0) != (Scoring{}) {
		t.Errorf("%+v", most)
	}
}

// F43: judges whose replies have no limit count, all of a panel at once.
func TestF43_OvershootOfJudges(t *testing.T) {
	judge := &spec.Scorer{Type: "judge"}
	models := map[string]*spec.Model{"dear": {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 10}}}, "cheap": {Price: &spec.Price{Rates: spec.Rates{Input: 1, Output: 1}}}}
	loop := &spec.Loop{Agent: &spec.Agent{Model: "cheap", MaxOutputTokens: 5}}
	p := &Plan{Trials: 1, Tasks: 100}
	for names, want := range map[string]Overshoot{"": {}, "dear": {8, 8 * record.USD / 100}, "dear cheap dear": {24, 24 * record.USD / 100}} {
		asking := Asking{Scorer: judge, Models: strings.Fields(names)}
		scores := asking.WorstOfRun(&spec.Resolved{Loop: loop}, models, 0, 0)
		w := &WorstCase{Each: []Worst{WorstOfRun(loop, models, 0)}, Scoring: []Scoring{scores}}
		if got := w.Overshoot(p, 8); got != want {
			t.Errorf("%q: %+v, want %+v", names, got, want)
		}
	}
}
