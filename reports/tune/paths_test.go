package tune_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

const pathsSuite = `suite: live
tasks: [{id: a, input: x, target: 1, metadata: {group: 1}}, {id: b, input: y, target: 2, metadata: {group: 1}}, {id: c, input: y, target: 2, metadata: {group: 2}}]
cluster: string(task.metadata.group)
models:
  weak: {provider: simulate, reply: '{"answer": {{ answer }}}'}
  good: {provider: simulate, reply: '{"answer": {{ answer }}}'}
configurations: [{name: default, loop: answer.loop.yaml}]
scorers: [{name: right, type: numeric, value: output.answer}]
`

func pathsOf(t *testing.T, set []spec.Assignment, flags ...string) (*spec.Document, *tune.Paths, error) {
	t.Helper()
	loop := `loop: answer
agent: {model: good, reply: json}
prompt: "{{ task.input }} {{ iteration }}"
evaluate: {confidence: "0.5"}
terminate: {confidence: {threshold: 0.85}, max_iterations: 3}
`
	doc, faults := spec.LoadFS(fstest.MapFS{"suite.yaml": {Data: []byte(pathsSuite)}, "answer.loop.yaml": {Data: []byte(loop)}}, "suite.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	var axes []sweep.Axis
	for _, text := range flags {
		axis, faults := sweep.AxisFrom("--parameter", text)
		if err := faults.Err(); err != nil {
			t.Fatal(err)
		}
		axes = append(axes, axis)
	}
	paths, err := tune.PathsOf(&doc.Suite.Resolved[0], set, axes)
	return doc, paths, err
}

func assign(t *testing.T, path, value string) spec.Assignment {
	t.Helper()
	a, faults := spec.Setting{Path: path, Value: value}.Assign("--set")
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return a
}

// One path is recorded for each combination of what needs calls, under the loosest of
// what replays; what is set in all that is tried is among it.
func TestPathsOfASuite(t *testing.T) {
	for name, c := range map[string]struct {
		set   []spec.Assignment
		axes  []string
		want  string
		today int
	}{
		"replayed":      {nil, []string{"max_iterations=1..6", "terminate.confidence.threshold=0.7,0.8"}, "default@max_iterations=6", 1},
		"needs calls":   {nil, []string{"agent.model=weak,good", "max_iterations=1,2"}, "default@model=weak default@model=good", 1},
		"set, replayed": {[]spec.Assignment{assign(t, "terminate.confidence.threshold", "0.95")}, []string{"max_iterations=1,2"}, "default@threshold=0.95", 1},
		"set, tighter":  {[]spec.Assignment{assign(t, "terminate.confidence.threshold", "0.5")}, []string{"max_iterations=1,2"}, "default", 1},
		"set, calls":    {[]spec.Assignment{assign(t, "agent.temperature", "0.5")}, []string{"max_iterations=1,9"}, "default@temperature=0.5,max_iterations=9", 0},
	} {
		_, paths, err := pathsOf(t, c.set, c.axes...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(paths.Names(), " "); got != c.want || len(paths.Today) != c.today || len(paths.Axes) != len(c.axes) {
			t.Errorf("%s: %s, today's %v; want %s", name, got, paths.Today, c.want)
		}
	}
}

// What cannot be tried is refused before there are runs.
func TestPathsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		set  []spec.Assignment
		axes []string
		want string
	}{
		"a range that needs calls": {nil, []string{"agent.temperature=0..0.7"}, "agent.temperature needs calls for each value"},
		"no such parameter":        {nil, []string{"nosuch.path=1"}, "nosuch"},
		"nothing to set":           {[]spec.Assignment{assign(t, "nosuch.path", "3")}, []string{"max_iterations=1,2"}, "nosuch"},
		"set and tried":            {[]spec.Assignment{assign(t, "max_iterations", "3")}, []string{"max_iterations=1,2"}, "both set and swept"},
	} {
		if _, _, err := pathsOf(t, c.set, c.axes...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Only an objective that is the mean of a score is raced by; tasks of a cluster share a
// place.
func TestWhatIsRacedBy(t *testing.T) {
	doc, paths, err := pathsOf(t, nil, "agent.model=weak,good")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options tune.ChoiceOptions
		score   string
	}{
		{tune.ChoiceOptions{}, "right"},
		{tune.ChoiceOptions{Objective: &tune.Term{Text: `scores["right"].mean`}, Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.1}}, "right"},
		{tune.ChoiceOptions{Objective: &tune.Term{Text: `scores.right.mean`}, Minimize: true, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.75}}, "right"},
		{tune.ChoiceOptions{Objective: &tune.Term{Text: `scores.right.mean - cost_usd.mean`}, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}}, ""},
	} {
		contest, err := paths.Contest(doc.Suite, &c.options, doc.Tasks())
		if err != nil {
			t.Fatal(err)
		}
		if contest.Score != c.score || contest.Places() != 2 || contest.Place["a"] != contest.Place["b"] || contest.Place["a"] == contest.Place["c"] || len(contest.Tasks) != 3 {
			t.Errorf("%+v: by %q, places %v; want %q", c.options, contest.Score, contest.Place, c.score)
		}
	}
}

// Scorers that compare are left out of what is recorded, and nothing is chosen by them.
func TestScorersThatCompareAreLeftOut(t *testing.T) {
	doc, paths, err := pathsOf(t, nil, "max_iterations=1,2")
	if err != nil {
		t.Fatal(err)
	}
	suite := *doc.Suite
	suite.Scorers = append([]spec.Scorer{{Name: "better", Type: "pairwise"}}, suite.Scorers...)
	suite.Metrics = []spec.Metric{{Name: "of the first"}, {Name: "m", Score: "better"}, {Name: "n", Score: "right", By: "better"}, {Name: "kept", Score: "right"}}
	if kept := paths.Suite(&suite); len(kept.Scorers) != 1 || kept.Scorers[0].Name != "right" || len(kept.Metrics) != 1 || kept.Metrics[0].Name != "kept" || len(suite.Scorers) != 2 {
		t.Errorf("kept: %+v, %+v", kept.Scorers, kept.Metrics)
	}
	var o tune.ChoiceOptions
	if err := o.RefuseComparing(suite.Scorers); err == nil || !strings.Contains(err.Error(), "cannot choose by this score") {
		t.Errorf("the error is %v", err)
	}
	o.Objective = &tune.Term{Text: "iterations.mean"}
	if err := o.RefuseComparing(suite.Scorers[1:]); err != nil {
		t.Error(err)
	}
}

// Tasks that cannot be put into folds are found before runs are made of them.
func TestTasksThatCannotBePutIntoFolds(t *testing.T) {
	doc, _, err := pathsOf(t, nil, "max_iterations=1,2")
	if err != nil {
		t.Fatal(err)
	}
	flags := tune.Asked{FoldBy: "1 / (int(task.metadata.group) - 2)", Given: func(flag string) bool { return false }}
	o, err := flags.Options(nil, []string{"right"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.CheckTasks(t.Context(), doc.Tasks()); err == nil || !strings.Contains(err.Error(), `the fold of task "c"`) {
		t.Errorf("the error is %v", err)
	}
}
