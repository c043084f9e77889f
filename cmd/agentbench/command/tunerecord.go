package command

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// live is a suite that is recorded in order to be tuned. Several paths race: see
// [tune.Contest].
type live struct {
	*program
	*opened // its configurations are the paths
	paths   *tune.Paths
	plan    *plan.Plan
	flags   *runFlags
	job     *job
	contest *tune.Contest // nil: there is one path
}

// openLive prepares the recording of a suite, up to its first call, and checks what else
// would fail after it.
func (t *tuning) openLive(ctx context.Context) (*live, error) {
	if err := t.target.AppliesTo(t.today().Loop, t.set, t.axes); err != nil {
		return nil, err
	}
	if err := t.options.RefuseComparing(t.opened.Suite.Scorers); err != nil {
		return nil, err
	}
	if left := tune.Comparing(t.opened.Suite.Scorers); len(left) > 0 && !t.flags.quiet {
		fmt.Fprintf(t.err, "not scored, because a comparison needs the runs of another configuration: %s\n", exit.Some(left))
	}
	paths, err := tune.PathsOf(t.opened.Suite.Configuration(t.today().Name), t.set, t.axes)
	if err != nil {
		return nil, t.unusable(err)
	}
	var models []string
	for i := range t.opened.Suite.Models {
		models = append(models, t.opened.Suite.Models[i].Key)
	}
	for i := range paths.Configurations {
		if name := paths.Configurations[i].Loop.Agent.Model; name != "" && !slices.Contains(models, name) {
			return nil, t.unusable(exit.Usage(exit.DidYouMean(name, models, "there are: "+exit.Some(models)), "%s has no model %q", t.opened.path, name))
		}
	}
	t.axes = paths.Axes
	document := *t.opened.Document
	document.Suite = paths.Suite(t.opened.Suite)
	l := &live{program: t.program, opened: &opened{Document: &document, path: t.opened.path}, paths: paths, flags: &runFlags{recordFlags: t.flags.recordFlags, typed: t.flags.typed}}
	tasks, faults := l.CountTasks()
	if faults.Err() != nil {
		l.print(faults)
		return nil, exit.Quiet(exit.WrongSpec)
	}
	if l.plan, err = plan.New(l.Suite, tasks, plan.Selection{}); err != nil {
		return nil, unknown(err)
	}
	var scores []string
	for i := range l.Suite.Scorers {
		scores = append(scores, l.Suite.Scorers[i].Name)
	}
	if err := t.options.Check(scores); err != nil {
		return nil, t.unchosen(err)
	}
	if err := t.options.CheckTasks(ctx, l.Tasks()); err != nil {
		return nil, t.unchosen(err)
	}
	if t.flags.plan {
		return l, nil
	}
	if l.flags.concurrency > 0 {
		l.Suite.Concurrency = l.flags.concurrency
	}
	if err := l.runnable(l.opened); err != nil {
		return nil, err
	}
	l.job = &job{opened: l.opened, plan: l.plan, flags: l.flags, dir: l.flags.out, began: l.now(), command: "tune"}
	if l.job.dir == "" {
		l.job.dir = results.Fresh(l.Suite.Name, l.now())
	}
	if len(paths.Configurations) > 1 {
		if l.contest, err = paths.Contest(l.Suite, &t.options, l.Tasks()); err != nil {
			return nil, exit.With(exit.WrongSpec, "", "%w", err)
		}
	}
	return l, l.wire(l.job)
}

// tellPlan says what would be recorded. Its notes on the parameters take the place of those
// that every plan has.
func (l *live) tellPlan() error {
	l.Suite.Tune = nil
	var notes []page.Words
	for _, words := range l.paths.Words() {
		notes = append(notes, page.Saying(words))
	}
	return l.program.tellPlan(l.opened, l.plan, notes, &reportFlags{format: "terminal"})
}

// record records what the tuning needs, and opens it. ended says why the recording ended
// before its end; what is there can be told before that.
func (t *tuning) record(ctx context.Context) (ended, err error) {
	j := t.live.job
	if t.live.contest != nil {
		ended, err = t.live.race(ctx)
	} else {
		var m *record.Manifest
		var end ending
		if m, end, err = t.live.make(ctx, j); err == nil {
			ended, err = recordedEnough(j, m, end)
		}
	}
	if err != nil {
		return nil, err
	}
	runs, err := t.openRecordedRuns(j.dir, &recordedFlags{suite: t.opened.path, opened: t.opened, evaluate: t.flags.evaluate})
	if err != nil {
		return nil, err
	}
	runs.Bases = t.Bases
	t.recordedRuns = runs
	if c := t.live.contest; c != nil {
		for _, line := range c.Lines(page.Visible) {
			t.options.About.Warnings = append(t.options.About.Warnings, tune.ReplayNote{Kind: tune.RaceTold, More: line})
		}
	}
	return ended, nil
}

// race records the paths in blocks of tasks, of which the worse leave early, and notes
// in the manifest which did.
func (l *live) race(ctx context.Context) (ended, err error) {
	j, c := l.job, l.contest
	r := &racing{contest: c, job: j, Watcher: j.engine.Watch}
	r.Blocks = &engine.Blocks{Place: c.Place, Places: c.Places(), Next: c.Next, In: c.In, Look: r.look}
	j.engine.Watch = r
	j.around = func(inner engine.Executor) engine.Executor {
		r.Inner = inner
		return r
	}
	j.raced = func(m *record.Manifest) {
		for path, out := range c.Outs() {
			for i := range m.Configurations {
				if m.Configurations[i].Name == c.Configurations[path].Name {
					m.Configurations[i].LeftRace = out
				}
			}
		}
	}
	m, end, err := l.make(ctx, j)
	switch {
	case err != nil:
		return nil, err
	case r.Failed != nil:
		return nil, exit.With(exit.NotMeasured, safe(j)+"fix the cause and resume with: "+j.again(), "looking at the race: %w", r.Failed)
	}
	return recordedEnough(j, m, end)
}

// racing runs a race, and follows its folder: what earlier sessions recorded is read
// once, and runs that are made are kept as they are written.
type racing struct {
	*engine.Blocks
	engine.Watcher
	contest *tune.Contest
	job     *job
	runs    *results.Following // nil: nothing is decided by runs
	texts   bool
}

func (r *racing) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	if r.Failed = r.follow(); r.Failed != nil {
		return nil
	}
	return r.Blocks.Execute(ctx, items, run, deliver)
}

func (r *racing) follow() error {
	if r.contest.Score == "" {
		return nil
	}
	if err := r.flush(); err != nil { // scores that were made up for
		return err
	}
	made, err := record.Open(r.job.dir)
	if err != nil {
		return err
	}
	folder, err := results.Open(made, r.job.Document)
	if err != nil {
		return err
	}
	r.texts = r.contest.NeedsTexts()
	r.runs, err = folder.Follow(results.Selection{Texts: r.texts}, r.contest.Tasks)
	return err
}

// flush waits until everything that was made is written, and counted by Finished.
func (r *racing) flush() error {
	if journal, ok := r.job.engine.Journal.(*record.Journal); ok {
		return journal.Flush()
	}
	return nil
}

// look compares the paths by what is recorded.
func (r *racing) look(ctx context.Context, place int) error {
	if err := r.flush(); err != nil {
		return err
	}
	o := sweep.Options{}
	if r.texts {
		o.Replay = engine.Replay
	}
	return r.contest.Look(ctx, place, r.runs.Recordings, o)
}

func (r *racing) Finished(run *record.Run, scores []record.Score) {
	if r.runs != nil {
		r.runs.Add(run, scores)
	}
	r.Watcher.Finished(run, scores)
}

// recordedEnough says why a recording ended before its end; the error is one after which
// there is nothing to be told.
func recordedEnough(j *job, m *record.Manifest, end ending) (ended, err error) {
	if end.Stopped != "" || end.interrupted || end.cancelled || end.Aborted != nil {
		ended = stoppedError(j, m, end)
	}
	if end.cancelled || end.Aborted != nil {
		return nil, ended
	}
	least, ran := results.DefaultCoverage, *m
	if j.Suite.MinCoverage != nil {
		least = *j.Suite.MinCoverage
	}
	ran.Totals.Planned = results.Measured(m) + m.Totals.Faults // a race runs less than was planned
	if ended == nil && float64(results.Measured(m)) < least*float64(ran.Totals.Planned) {
		return nil, coverageError(j, &ran, least)
	}
	return ended, nil
}
