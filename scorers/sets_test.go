package scorers

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// setsOf are sets and what they say of the output "abc", with the target "abc".
var setsOf = []struct{ set, want string }{
	{`type: all_of, scorers: [right, wrong]`, `0.5: wrong: want x, got abc`},
	{`type: all_of, scorers: [right, {name: n, type: contains, weight: 3}]`, `1`},
	{`type: all_of, scorers: [right, {name: n, type: contains, not: true, weight: 3}]`, `0.25: n: it holds, and not is set`},
	{`type: all_of, scorers: [right, wrong], threshold: 0.5`, `1 (0.5)`},
	{`type: all_of, scorers: [right, wrong], threshold: 0.51`, `0 (0.5): wrong: want x, got abc`},
	{`type: all_of, scorers: [third, third2, third3], threshold: 0.7`, `1 (0.7)`},
	{`type: all_of, scorers: [right, wrong], not: true`, `0.5`},
	{`type: all_of, scorers: [right, lost]`, `unscored: lost: the target is missing`},
	{`type: all_of, scorers: [lost], threshold: 0.5`, `unscored: lost: the target is missing`},
	{`type: any_of, scorers: [right, wrong]`, `1`},
	{`type: any_of, scorers: [wrong, third]`, `0.7: wrong: want x, got abc; third: 0.7`},
	{`type: any_of, scorers: [wrong, third], threshold: 0.7`, `1 (0.7)`},
	{`type: any_of, scorers: [wrong, third], threshold: 0.8`, `0 (0.7): wrong: want x, got abc; third: 0.7`},
	{`type: any_of, scorers: [lost, right]`, `1`},
	{`type: any_of, scorers: [lost, third], threshold: 0.7`, `1 (0.7)`},
	{`type: any_of, scorers: [lost, third], threshold: 0.8`, `unscored: lost: the target is missing`},
	{`type: any_of, scorers: [lost, third]`, `unscored: lost: the target is missing`},
	{`type: any_of, scorers: [wrong, {name: n, type: all_of, scorers: [right, third]}]`, `0.85: wrong: want x, got abc; n: third: 0.7`},
	{`type: all_of, scorers: [{name: n, type: any_of, scorers: [lost, right]}, right]`, `1`},
	{`type: all_of, scorers: [{name: n, type: latency, at_most: 1}]`, `unscored: n: the record has no times`},
}

const partsOfSets = `
- {name: right, type: exact}
- {name: wrong, type: exact, target: '"x"'}
- {name: lost, type: exact, target: 'null'}
- {name: third, type: cel, expr: '0.7'}
- {name: third2, type: cel, expr: '0.7'}
- {name: third3, type: cel, expr: '0.7'}`

func TestSets(t *testing.T) {
	for _, c := range setsOf {
		t.Run(c.set, func(t *testing.T) {
			s := set(t, "- {name: s, "+c.set+"}"+partsOfSets)
			expect.Equal(t, "result", shown(s.Score(t.Context(), task(t, `"abc"`), run(`"abc"`))[0]), c.want)
		})
	}
}

// A run that returns nothing is not right by what it lacks.
func TestNoAnswerIsWorthNothingToASet(t *testing.T) {
	s := set(t, `
- {name: not bad, type: any_of, not: true, scorers: [{name: a, type: contains, target: '"bad"'}, {name: b, type: refusal}]}
- {name: not all, type: all_of, not: true, scorers: [{name: c, type: contains, target: '"bad"'}, {name: d, type: iterations, at_most: 9}]}`)
	for output, want := range map[string]string{
		`" "`:    "not bad 0 0 (none)\nnot all 0 0 (none)",
		`"good"`: "not bad 0 1\nnot all 0 0.5",
	} {
		expect.Equal(t, output, shownAll(s.Score(t.Context(), task(t, ""), run(output))[:2]), want)
	}
}

// The word none is an answer as any other.
func TestAnAnswerMayBeTheWordNone(t *testing.T) {
	s := setWith(t, judging(models{"j": scripted(`"none"`)}), `
- {name: any, type: any_of, not: true, scorers: [right]}
- {name: all, type: all_of, not: true, scorers: [right, {name: n, type: math, target: '"x"'}]}
- {name: right, type: exact, target: '"x"'}
- {name: path, type: json_path, value: '{"a": output}', expr: json.a, not: true}
- {name: found, type: judge, model: j, rubric: Any errors, choices: {none: 0, some: 1}, not: true}`)
	want := "any 0 1\nall 0 1\nright 0 0 (none): want x, got none\npath 0 1 (none)\nfound 0 1 (none): it is none"
	expect.Equal(t, "result", shownAll(s.Score(t.Context(), task(t, `"x"`), run(`"none"`))[:5]), want)
}

// A part that stands in several sets and for itself is asked once for each output.
func TestPartsOfSetsAreAskedOnce(t *testing.T) {
	o := outside{folder: t.TempDir()}
	s := setWith(t, o, `
- {name: one, type: all_of, scorers: [asked, {name: own, type: command, command: [sh, -c, 'echo own >>asked; echo 1']}]}
- {name: two, type: any_of, scorers: [asked, one]}
- {name: asked, type: command, command: [sh, -c, 'echo asked >>asked; echo 0.5']}
- {name: every, type: any_of, score: every_iteration, scorers: [{name: e, type: command, command: [sh, -c, 'echo every >>asked; echo 1']}]}`)
	scores := s.Score(t.Context(), task(t, ""), run(`"a"`, `"b"`))
	want := "one 0 0.75: asked: 0.5\ntwo 0 0.75: asked: 0.5; one: asked: 0.5\nasked 0 0.5 (b)\nevery 0 1\nevery 1 1\nevery 2 1"
	expect.Equal(t, "result", shownAll(scores), want)
	asked, err := os.ReadFile(o.folder + "/asked")
	must(t, err)
	for line, times := range map[string]int{"asked\n": 1, "own\n": 1, "every\n": 2} {
		expect.Equal(t, line, strings.Count(string(asked), line), times)
	}
}

// Which outputs a set judges follows from its parts, unless it says so itself.
func TestWhichOutputsSetsJudge(t *testing.T) {
	s := setWith(t, outside{}, `
- {name: free, type: all_of, scorers: [right, {name: a, type: exact}]}
- {name: dear, type: all_of, scorers: [right, asked]}
- {name: outer, type: any_of, scorers: [dear]}
- {name: declared, type: any_of, score: every_iteration, scorers: [asked]}
- {name: lazy, type: any_of, scorers: [when, right]}
- {name: ended, type: any_of, scorers: [right, {name: b, type: cel, expr: stop.success}]}
- {name: right, type: exact}
- {name: asked, type: command, command: [sh]}
- {name: when, type: command, command: [sh], score: when_asked}`)
	want := map[string]Version{
		"free": {Judges: spec.ScoreEveryIteration}, "dear": {Judges: spec.ScoreReturned, Asks: true}, "outer": {Judges: spec.ScoreReturned, Asks: true},
		"declared": {Judges: spec.ScoreEveryIteration, Asks: true}, "lazy": {Judges: spec.ScoreWhenAsked, Asks: true}, "ended": {Judges: spec.ScoreReturned},
		"right": {Judges: spec.ScoreEveryIteration}, "asked": {Judges: spec.ScoreReturned, Asks: true}, "when": {Judges: spec.ScoreWhenAsked, Asks: true},
	}
	for _, v := range s.Versions() {
		if w := want[v.Name]; v.Judges != w.Judges || v.Asks != w.Asks {
			t.Errorf("%s judges %s and asks: %v; want %s, %v", v.Name, v.Judges, v.Asks, w.Judges, w.Asks)
		}
	}
}

// What the parts of a set took is in one score: that of the part where it is told, else that of the set that comes first.
func TestWhatPartsTookIsCountedOnce(t *testing.T) {
	used := func(calls int64) comparison {
		return func(context.Context, *subject) verdict {
			return verdict{value: 1, usage: record.Usage{Calls: calls}, votes: []record.Vote{{Judge: "m"}, {Judge: "m", Criterion: "short"}}}
		}
	}
	own := &scorer{Version: Version{Name: "own", Asks: true}, compare: used(1)}
	named := &scorer{Version: Version{Name: "named", Asks: true}, shared: true, compare: used(10)}
	at := newSubject(nil, run(`"a"`), false)
	took := func(told ...*scorer) (calls int64, criteria string) {
		at.scorers = told
		p := judged(t.Context(), at, []part{{own, 1, true}, {named, 1, false}})
		v := p.verdict(p.reaches(p.mean(), nil))
		for _, vote := range v.votes {
			criteria += vote.Criterion + " "
		}
		return v.usage.Calls, criteria
	}
	at.stand(1, 1)
	if calls, criteria := took(named); calls != 1 || criteria != "own own/short " {
		t.Errorf("beside its part's score a set has %d calls, and votes on %s", calls, criteria)
	}
	if calls, criteria := took(); calls != 10 || criteria != "named named/short " {
		t.Errorf("without its part's score a set has %d calls, and votes on %s", calls, criteria)
	}
	if calls, _ := took(); calls != 0 {
		t.Errorf("%d calls are counted again", calls)
	}
}

func TestSetsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ scorers, want string }{
		{"- {name: a, type: all_of, scorers: [b]}", `unknown scorer "b"`},
		{"- {name: a, type: all_of, scorers: [b]}\n- {name: b, type: any_of, scorers: [a]}", `the scorer "a" is a part of itself`},
		{"- {name: a, type: all_of}", "a scorer of type all_of needs scorers"},
		{"- {name: a, type: cel, expr: '1.0', range: [1, 1]}", "want two different numbers"},
		{"- {name: a, type: latency}", "needs one of at_most and range"},
		{"- {name: a, type: json_path}", "needs expr"},
	} {
		if _, faults := New(decoded(t, c.scorers), Options{}); faults.Err() == nil || !strings.Contains(faults.Err().Error(), c.want) {
			t.Errorf("%s: %v", c.scorers, faults)
		}
	}
}
