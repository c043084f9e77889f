package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// tuneRecording records a suite as its tuning needs it, and recommends from that.
func (p *program) tuneRecording(ctx context.Context, path string, f *tuneFlags) error {
	if f.suite != "" {
		return usage("leave it out", "--suite names the suite of a result folder, and %s is a suite", path)
	}
	o, err := p.openSuite(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	if f.termFlags.changed("seed") {
		o.Suite.Seed = f.seed
	}
	l, today, err := p.liveOf(o, f)
	if err != nil {
		return err
	}
	if f.plan {
		return p.planLive(l)
	}
	if f.edit {
		if err := p.unedited(o.Editable(today.Name)); err != nil {
			return err
		}
	}
	made, err := l.record(ctx)
	if err != nil {
		return err
	}
	if err := p.tuneRecorded(ctx, l, o, today, made, f); err != nil {
		return cmp.Or(made.ended, err)
	}
	return made.ended
}

// liveOf is what is to be recorded, and the configuration that is tuned.
func (p *program) liveOf(o *opened, f *tuneFlags) (*live, *spec.Resolved, error) {
	today, err := tunedIn(o, f.configuration)
	if err != nil {
		return nil, nil, err
	}
	axes, err := p.axesOf(o, today, f)
	if err != nil {
		return nil, nil, err
	}
	var scorers []string
	for i := range o.Suite.Scorers {
		scorers = append(scorers, o.Suite.Scorers[i].Name)
	}
	terms, err := p.terms(&f.termFlags, o.Suite.Tune, scorers)
	if err != nil {
		return nil, nil, err
	}
	if err := p.withoutComparing(o, &terms, f.quiet); err != nil {
		return nil, nil, err
	}
	l, err := p.openLive(o, today, axes, &terms, &runFlags{recordFlags: f.recordFlags, all: f.all})
	unusable := tuning{recordedRuns: &recordedRuns{program: p}, flags: f, suite: o}
	return l, today, unusable.fromSpec(unusable.unusable(err))
}

// tunedIn is the configuration of a suite whose loop is tuned.
func tunedIn(o *opened, name string) (*spec.Resolved, error) {
	var known []string
	for i := range o.Suite.Resolved {
		known = append(known, o.Suite.Resolved[i].Name)
	}
	wanted := cmp.Or(name, o.Suite.Baseline)
	if wanted == "" && len(known) == 1 {
		wanted = known[0]
	}
	found := o.Suite.Configuration(wanted)
	switch {
	case wanted == "":
		return nil, usage("there are: "+some(known), "%s has %d configurations and no baseline: --configuration names the one that is tuned", o.path, len(known))
	case found == nil:
		return nil, usage(didYouMean(wanted, known, "there are: "+some(known)), "%s has no configuration %q", o.path, wanted)
	}
	return found, nil
}

// axesOf are the parameters that are named, else the limits of the loop and of the
// suite's configurations that take its path.
func (p *program) axesOf(o *opened, today *spec.Resolved, f *tuneFlags) ([]sweep.Axis, error) {
	axes := namedAxes(f, o.Suite.Tune)
	if len(axes) > 0 {
		return axes, nil
	}
	var all []sweep.Base
	for i := range o.Suite.Resolved {
		all = append(all, sweep.Base{Name: o.Suite.Resolved[i].Name, Loop: o.Suite.Resolved[i].Loop})
	}
	axes = limitsOf(today.Loop, all, false)
	if !f.quiet {
		p.tellLoosest(o, today, axes)
	}
	return axes, nil
}

// planLive says what would be recorded.
func (p *program) planLive(l *live) error {
	planned, err := l.plan()
	if err != nil {
		return err
	}
	paths := "one configuration is recorded, under the loosest values"
	if n := len(l.paths); n > 1 {
		paths = fmt.Sprintf("%d configurations are recorded, each under the loosest values, because they need calls of their own; they race, so that the worse ones leave early", n)
	}
	notes := []page.Words{page.Saying(paths)}
	for i := range l.replayed {
		notes = append(notes, page.Saying("replayed without a call: "+tried(&l.replayed[i])))
	}
	return p.tellPlan(l.opened, planned, notes, &reportFlags{format: "terminal"})
}

// tried says which values of a parameter are tried. Counts that lie between ends
// are among those.
func tried(a *sweep.Axis) string {
	var values []string
	for i := range a.Between {
		values = append(values, fmt.Sprintf("from %v to %v", a.Between[i].From, a.Between[i].To))
	}
	for _, v := range a.Values {
		n, _ := sweep.Number(v.Text)
		among := func(e sweep.Ends) bool { return v.Kind == source.Int && n >= e.From && n <= e.To }
		if !slices.ContainsFunc(a.Between, among) {
			values = append(values, v.Text)
		}
	}
	return a.Path + " " + strings.Join(values, ", ")
}

// tuneRecorded recommends from what was recorded of the paths that are left.
func (p *program) tuneRecorded(ctx context.Context, l *live, o *opened, today *spec.Resolved, made *recording, f *tuneFlags) error {
	runs, err := p.openRecordedRuns(made.dir, &recordedFlags{suite: o.path})
	if err != nil {
		return err
	}
	runs.bases = []sweep.Base{{Name: today.Name, Loop: today.Loop}}
	t := &tuning{recordedRuns: runs, flags: f, suite: o, axes: l.axes}
	if err := firstFailing(t.ask, t.asked); err != nil {
		return err
	}
	if made.raced != nil {
		for _, line := range made.raced.Lines(printable) {
			t.options.About.Warnings = append(t.options.About.Warnings, tune.ReplayNote{Kind: tune.RaceTold, More: line})
		}
	}
	defer reports.Leanly()()
	if err := t.grid(); err != nil {
		return err
	}
	of, err := t.sweep(t.candidates)
	if err != nil {
		return err
	}
	if of, err = t.scored(ctx, of, f.cacheFlags); err != nil {
		return err
	}
	if !f.quiet {
		defer fmt.Fprintf(p.err, "\nrecorded: %s\nmore: agentbench tune %s --suite %s%s\n", made.dir, shellWord(made.dir), shellWord(o.path), f.again())
	}
	return t.choose(ctx, of)
}

// live is a suite that is recorded in order to be tuned. What replay answers
// exactly is recorded once, under the loosest values; parameters that need calls
// make paths, each of which is recorded, and which race: see [tune.Race].
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

// recording is what a live tuning left behind.
type recording struct {
	dir string
	// paths are the recorded configurations that are left, the best first.
	paths []string
	// raced tells of the race; nil where there was only one path.
	raced *tune.RaceNews
	// ended says why the recording ended before its end; nil: it did not.
	ended error
}

// record runs the paths, or goes on with them where they were begun in the same
// folder. Several paths race.
func (l *live) record(ctx context.Context) (*recording, error) {
	j, err := l.job()
	if err != nil {
		return nil, err
	}
	var r *racing
	if len(l.paths) > 1 {
		if r, err = l.racing(j); err != nil {
			return nil, err
		}
	}
	m, end, err := l.make(ctx, j)
	if err != nil {
		return nil, err
	}
	made := &recording{dir: j.dir, paths: l.pathNames()}
	if r != nil && r.failed != nil {
		return nil, fail(notMeasured, safe(j)+"once the cause is gone, this goes on: "+j.again(), "%w", r.failed)
	}
	if r != nil {
		made.paths, made.raced = r.left(), l.race.Told(l.pathNames(), l.terms.score)
	}
	return made, made.end(j, m, end)
}

// job is the recording, ready to be made.
func (l *live) job() (*job, error) {
	planned, err := l.plan()
	if err != nil {
		return nil, err
	}
	if l.flags.concurrency > 0 {
		l.Suite.Concurrency = l.flags.concurrency
	}
	if err := l.runnable(l.opened); err != nil {
		return nil, err
	}
	j := &job{opened: l.opened, plan: planned, flags: l.flags, dir: l.flags.out, began: l.now(), command: "tune"}
	if j.dir == "" {
		j.dir = results.Fresh(l.Suite.Name, l.now())
	}
	return j, l.wire(j)
}

// end says why a recording ended before its end, so that what is there can be told
// before that; the error is one after which there is nothing to be told.
func (r *recording) end(j *job, m *record.Manifest, end ending) error {
	if end.Stopped != "" || end.interrupted || end.cancelled || end.Blown != nil {
		r.ended = stoppedError(j, m, end)
	}
	if end.cancelled || end.Blown != nil {
		return r.ended
	}
	least, ran := results.DefaultCoverage, *m
	if j.Suite.MinCoverage != nil {
		least = *j.Suite.MinCoverage
	}
	ran.Totals.Planned = results.Measured(m) + m.Totals.Faults // a race runs less than was planned
	if r.ended == nil && float64(results.Measured(m)) < least*float64(ran.Totals.Planned) {
		return coverageError(j, &ran, least)
	}
	return nil
}
