package main

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

// live is a suite that is recorded in order to be tuned. What replay answers
// exactly is recorded once, under the loosest values; parameters that need calls
// make paths, each of which is recorded, and which race: see [race.Race].
type live struct {
	*program
	*opened // its configurations are the paths
	flags   *runFlags
	paths   []sweep.Candidate
	today   []int        // the path that today's configuration takes, if one does
	axes    []sweep.Axis // all
	// replayed are those that replay answers on each of the paths.
	replayed []sweep.Axis
	race     *tune.Race
	terms    raceTerms
}

// raceTerms are what a race is about.
type raceTerms struct {
	score    string // the objective is its mean; "": it is something else
	minimize bool
	margin   float64 // that the rule of choice may give away
}

// openLive says what is to be recorded to tune a configuration of a suite. The
// error is that of wrong usage, with a hint.
func (p *program) openLive(o *opened, base *spec.Resolved, axes []sweep.Axis, terms *tune.ChoiceOptions, f *runFlags) (*live, error) {
	l := &live{program: p, flags: f, terms: raceTermsOf(o.Suite, terms)}
	var loosest []spec.Assignment
	var needCalls []sweep.Axis
	l.axes = slices.Clone(axes)
	for i := range l.axes {
		a := &l.axes[i]
		switch {
		case !needsCalls(base.Loop, a):
			l.replayed = append(l.replayed, *a)
			loosest = append(loosest, a.Loosest(base.Loop)...)
		case a.Whole():
			needCalls = append(needCalls, *a)
		default:
			return nil, usage("name the values: "+a.Path+"=a,b,c", "%s needs calls for each value, so that none can be observed before", a.Path)
		}
	}
	var err error
	if l.paths, err = pathsOf(base, loosest, needCalls); err != nil {
		return nil, err
	}
	for i := range l.paths {
		if replay.Apart(l.paths[i].Loop, base.Loop) == "" {
			l.today = append(l.today, i)
		}
	}
	l.opened = o.with(l.paths)
	return l, nil
}

// needsCalls says that recorded runs do not answer for other values of a
// parameter.
func needsCalls(l *spec.Loop, a *sweep.Axis) bool {
	switch replay.AnalysePath(l, spec.FullPath(a.Path)).Class {
	case replay.Calls, replay.Partly:
		return true
	}
	return false
}

// pathsOf are the configurations to be recorded: one for every combination of
// what needs calls.
func pathsOf(base *spec.Resolved, loosest []spec.Assignment, needCalls []sweep.Axis) ([]sweep.Candidate, error) {
	paths, err := sweep.Grid([]sweep.Base{{Name: base.Name, Loop: base.Loop}}, loosest, needCalls)
	if err != nil {
		return nil, err
	}
	for i := range paths {
		paths[i].Loop = paths[i].Declared()
		if len(paths[i].Params) > 0 {
			paths[i].Name = base.Name + "[" + paths[i].Name + "]"
		}
		paths[i].Params = append(slices.Clone(base.Params), paths[i].Params...)
	}
	return paths, nil
}

// with is the suite with other configurations. Scorers that compare their runs with
// those of the suite's own are left out.
func (o *opened) with(configurations []sweep.Candidate) *opened {
	document, suite := *o.Document, *o.Suite
	suite.Resolved, suite.Baseline = nil, ""
	suite.Scorers = slices.DeleteFunc(slices.Clone(suite.Scorers), func(scorer spec.Scorer) bool { return scorer.Type == comparing })
	suite.Metrics = slices.DeleteFunc(slices.Clone(suite.Metrics), func(m spec.Metric) bool {
		of := m.Score
		if of == "" {
			of = o.Suite.Scorers[0].Name
		}
		return slices.ContainsFunc(o.comparing(), func(name string) bool { return name == of || name == m.By })
	})
	for _, c := range configurations {
		suite.Resolved = append(suite.Resolved, spec.Resolved{Name: c.Name, Loop: c.Loop, Params: c.Params, Hash: c.Loop.Hash()})
	}
	document.Suite = &suite
	return &opened{Document: &document, path: o.path}
}

// comparing is the type of scorers that judge a run beside that of another configuration.
const comparing = "pairwise"

// comparing are the scorers of that type.
func (o *opened) comparing() (names []string) {
	for i := range o.Suite.Scorers {
		if o.Suite.Scorers[i].Type == comparing {
			names = append(names, o.Suite.Scorers[i].Name)
		}
	}
	return names
}

// withoutComparing refuses to choose by what scorers say that compare: what is recorded
// for a tuning are paths of one configuration, and nothing to compare them with. It
// notes which scorers are left out.
func (p *program) withoutComparing(o *opened, terms *tune.ChoiceOptions, quiet bool) error {
	names := o.comparing()
	if len(names) == 0 {
		return nil
	}
	var others []string
	for i := range o.Suite.Scorers {
		if name := o.Suite.Scorers[i].Name; !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	for _, read := range terms.ScoresRead(o.Suite.Scorers[0].Name) {
		if !slices.Contains(names, read) {
			continue
		}
		hint := "tune needs a scorer that judges a run by itself"
		if len(others) > 0 {
			hint = fmt.Sprintf("for example --objective %s", shellWord(fmt.Sprintf("scores[%q].mean", printable(others[0]))))
		}
		return usage(hint, "%s compares runs with those of another configuration, and tune records only the one that is tuned: it cannot choose by this score", quoteName(read))
	}
	if !quiet {
		fmt.Fprintf(p.err, "not scored, because a comparison needs the runs of another configuration: %s\n", some(names))
	}
	return nil
}

// plan is the list of runs of all paths.
func (l *live) plan() (*plan.Plan, error) {
	tasks, faults := l.CountTasks()
	if faults.Err() != nil {
		faults.Print(l.err)
		return nil, quiet(wrongSpec)
	}
	planned, err := plan.New(l.Suite, tasks, plan.Selection{Tasks: l.flags.tasks, Limit: l.flags.limit})
	if err != nil {
		return nil, unknown(err)
	}
	return planned, nil
}

func (l *live) pathNames() []string {
	names := make([]string, len(l.paths))
	for i := range l.paths {
		names[i] = l.paths[i].Name
	}
	return names
}

// raceTermsOf are those of a race by an objective that is the mean of a score.
func raceTermsOf(s *spec.Suite, o *tune.ChoiceOptions) raceTerms {
	t := raceTerms{minimize: o.Minimize}
	if o.Objective == nil && len(s.Scorers) > 0 {
		t.score = s.Scorers[0].Name
	}
	for i := range s.Scorers {
		if o.Objective != nil && isMeanOf(o.Objective.Text, s.Scorers[i].Name) {
			t.score = s.Scorers[i].Name
		}
	}
	switch o.Choose.Rule {
	case "":
		t.margin = tune.DefaultMaxLoss
	case tune.MaxLoss:
		t.margin = o.Choose.Number
	case tune.AtLeast:
		t.margin = 1 - o.Choose.Number
	}
	return t
}

// isMeanOf says whether an objective is the mean of a score and nothing else.
func isMeanOf(objective, score string) bool {
	forms := []string{fmt.Sprintf("scores[%q].mean", score), fmt.Sprintf("scores['%s'].mean", score), "scores." + score + ".mean"}
	return slices.Contains(forms, objective)
}
