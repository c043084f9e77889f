package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

type runFlags struct {
	selectionFlags
	reportFlags
	recordFlags
	againstFlags
	thresholdFlags
	rerunFlags
	alsoPage
	placeFlags
	seed   int64
	events string
	force  bool
	typed  *pflag.FlagSet // all of them
}

func (p *program) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:     "run SUITE",
		Short:   "Run a suite and compare its configurations",
		GroupID: "run",
		Long: `Runs every task under every configuration and prints the comparison. The suite is a
file, a folder that holds a suite.yaml, - for stdin, or one of those that ship:

` + listing() + `

Results go to a new folder. If --out names a folder with results of the same suite,
run resumes: finished runs are kept, missing, faulty and cancelled ones are run. The
first interrupt stops new runs and lets running ones finish (see --grace); the second
one cancels them.

Exit codes: 0 success; 1 a threshold fails; 2 wrong usage; 3 the suite is wrong;
4 interrupted, or the budget is spent; 5 too few runs could be measured.`,
		Args: func(c *cobra.Command, args []string) error {
			if at := slices.IndexFunc(args, results.IsFolder); f.lastFailed == newestResults && len(args) == 2 && at >= 0 {
				return exit.Usage("write --last-failed="+exit.ShellWord(args[at]), "run: want one suite, got 2")
			}
			return arguments(1, 1, "one suite")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			keepPipes()
			return p.run(c.Context(), args[0], &f)
		},
	}
	f.selectionFlags.declare(c)
	f.reportFlags.declare(c, reports.TableNames)
	f.declareAll(c)
	f.recordFlags.declare(c, "result folder; results of the same suite in it are resumed (default results/SUITE-TIME-…)")
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	f.rerunFlags.declare(c)
	f.alsoPage.declare(c)
	f.placeFlags.declare(c, p.places)
	c.Flags().Int64Var(&f.seed, "seed", 0, "seed of simulated models (default: the suite's)")
	c.Flags().StringVar(&f.events, "events", "", "write events as JSON Lines to `FILE`; - for stdout, instead of the report")
	c.Flags().BoolVar(&f.force, "force", false, "resume even if the spec changed")
	f.typed = c.Flags()
	return c
}

// job is a suite that is about to run.
type job struct {
	*opened
	plan   *plan.Plan
	engine *engine.Engine
	parts  *engine.Parts
	set    *scorers.Set
	flags  *runFlags
	dir    string
	tally  *overview.Tally
	cache  *cache.Store
	budget *pace.Budget
	ledger *record.Ledger
	gates  []*pace.Gate
	named  map[string]*pace.Gate // of models that declare limits
	shared engine.Shared
	placed PlacedExecutor // nil: the runs are made here
	// around puts an executor around the one that takes no more runs after an
	// interrupt; nil: none.
	around  func(engine.Executor) engine.Executor
	raced   func(*record.Manifest) // notes who left a race; nil: there is none
	command string                 // "": run
	// draining is closed once no run is to be begun any more.
	draining <-chan struct{}
	unpaired bool // the budget did not last for judging runs beside each other

	began   time.Time
	earlier results.Earlier
}

func (p *program) run(ctx context.Context, path string, f *runFlags) error {
	o, planned, err := p.openPlan(path, &f.selectionFlags, func(o *opened) error { return p.onlyFailed(o, f) })
	if err != nil {
		return err
	}
	if f.typed.Changed("seed") {
		o.Suite.Seed = f.seed
	}
	if f.concurrency > 0 {
		o.Suite.Concurrency = f.concurrency
	}
	err = firstError(
		func() error { return p.startable(ctx, o) },
		func() error { return f.read(o.Suite.Misreads) },
		func() error { return f.comparable(o.Suite, planned) },
	)
	if err != nil {
		return err
	}
	if planned.Part != nil && !f.quiet {
		fmt.Fprintln(p.err, overview.PartText(planned))
	}
	j := &job{opened: o, plan: planned, flags: f, dir: f.out, began: p.now()}
	if j.dir == "" {
		j.dir = results.Fresh(o.Suite.Name, p.now())
	}
	results.KeepNames(j.dir, planned)
	if err := p.wire(j); err != nil {
		return err
	}
	if err := p.goElsewhere(ctx, j); err != nil {
		return err
	}
	return errors.Join(p.execute(ctx, j), j.closePlace())
}

// startable refuses what cannot run here, and sandboxes that cannot be had.
func (p *program) startable(ctx context.Context, o *opened) error {
	return firstError(func() error { return p.runnable(o) }, func() error { return p.sandboxed(ctx, o) })
}

// firstError takes steps until one of them fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// runnable refuses what cannot run here.
func (p *program) runnable(o *opened) error {
	faults := o.Programs()
	p.warn(o, faults)
	p.print(faults)
	if faults.Err() != nil {
		return exit.Quiet(exit.WrongSpec)
	}
	return nil
}

// wire makes the engine that the suite asks for.
func (p *program) wire(j *job) error {
	j.cache, j.budget, j.named = p.cacheAt(j.flags.beside(j.dir)), pace.OfSuite(j.Suite.Budget), map[string]*pace.Gate{}
	dir, err := filepath.Abs(j.dir)
	if err != nil {
		return err
	}
	parts, err := engine.NewParts(j.Document, engine.BuildOptions{
		Workspaces: filepath.Join(dir, results.Workspaces),
		Getenv:     p.env, Budget: j.budget, Cache: j.cache, CacheMode: j.flags.mode, Shared: &j.shared,
		Gate: func(model string, g *pace.Gate) {
			j.gates = append(j.gates, g)
			if m, _ := j.Suite.Models.Get(model); limited(&m) {
				j.named[model] = g
			}
		},
	})
	if err != nil {
		return p.unwired(err)
	}
	loops, err := parts.Loops(j.plan.Configurations)
	if err != nil {
		return p.unwired(err)
	}
	set, err := p.scorers(j.Suite.Scorers, scorers.Options{Resolved: j.plan.Configurations, Baseline: j.Suite.Baseline, Outside: parts})
	if err != nil {
		return err
	}
	if err := set.Unable(); err != nil {
		return p.unwired(err)
	}
	j.parts, j.set, j.tally = parts, set, &overview.Tally{}
	j.engine = &engine.Engine{
		Executor: engine.Pool{Workers: workers(j.Suite)},
		Loops:    loops,
		Score:    set.Score,
		Watch:    j.tally,
		Starved:  func() bool { r := j.budget.Refusal(); return r != nil && r.InDoubt }, Unreachable: parts.Unreachable,
		Duration: j.Suite.Budget.Duration,
		Now:      p.now,
	}
	return nil
}

// scorers compiles those that a suite declares, and prints what is wrong with them.
func (p *program) scorers(declared []spec.Scorer, o scorers.Options) (*scorers.Set, error) {
	set, faults := scorers.New(declared, o)
	p.print(faults)
	if faults.Err() != nil {
		return nil, exit.Quiet(exit.WrongSpec)
	}
	return set, nil
}

// unwired says why the loops of a suite cannot be made: recordings that cannot
// be read are faults of the spec, a key that is not set is none.
func (p *program) unwired(err error) error {
	var fault source.Fault
	var faults source.Faults
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &hinted):
		return exit.With(exit.NotMeasured, hinted.Hint(), "%w", err)
	case errors.As(err, &faults):
	case errors.As(err, &fault):
		faults = source.Faults{fault}
	default:
		return exit.With(exit.NotMeasured, "", "%w", err)
	}
	p.print(faults)
	return exit.Quiet(exit.WrongSpec)
}

const defaultConcurrency = 8

func workers(s *spec.Suite) int {
	if s.Concurrency == 0 {
		return defaultConcurrency
	}
	return s.Concurrency
}

// pace is what holds the calls of all models back.
func (j *job) pace() (waiting int, backingOff time.Duration) {
	for _, g := range j.gates {
		s := g.Status()
		waiting, backingOff = waiting+s.Waiting, max(backingOff, s.Pause)
	}
	return waiting, backingOff
}

// execute runs a job, reports on it, and says what its end means.
func (p *program) execute(ctx context.Context, j *job) error {
	manifest, end, err := p.make(ctx, j)
	if err != nil {
		return err
	}
	var unscored error
	if !end.interrupted && end.Stopped == "" {
		unscored = p.scoreSteps(ctx, j)
	}
	return cmp.Or(p.conclude(ctx, j, manifest, end), unscored)
}

// make makes the runs of a job, and puts them down.
func (p *program) make(ctx context.Context, j *job) (*record.Manifest, ending, error) {
	closeEvents, err := p.observe(j)
	if err != nil {
		return nil, ending{}, err
	}
	manifest, journal, err := p.begin(ctx, j)
	if err != nil {
		return nil, ending{}, errors.Join(err, closeEvents())
	}
	end, err := p.drive(ctx, j, journal)
	j.shared.Close()
	err = errors.Join(err, closeEvents())
	err = errors.Join(err, p.close(j, journal, manifest, end, err))
	if err != nil {
		return nil, end, exit.With(exit.NotMeasured, safe(j)+"fix the cause and resume with: "+j.again(), "%w", err)
	}
	return manifest, end, nil
}

// begin makes the result folder, or opens it where it is to be gone on with.
func (p *program) begin(ctx context.Context, j *job) (*record.Manifest, *record.Journal, error) {
	if err := j.makeFolder(); err != nil {
		return nil, nil, err
	}
	manifest, err := p.writer().Manifest(j.Document, j.plan)
	if err != nil {
		return nil, nil, exit.Unmeasured(err)
	}
	if j.placed == nil { // else they run on other machines
		ctx, stop := untilSignal(ctx)
		for i, heads := range j.parts.Versions(ctx, j.plan.Configurations, p.secrets.String, func(text string) { p.note("agentbench: warning: " + page.Visible(text)) }) {
			manifest.Configurations[i].Programs = heads
		}
		ended := ctx.Err() != nil
		if stop(); ended {
			return nil, nil, exit.With(exit.Stopped, "", "interrupted before the first run")
		}
	}
	journal, err := p.openResults(j, &manifest)
	if err != nil {
		return nil, nil, err
	}
	if err := p.keepLedger(j, &manifest, journal); err != nil {
		return nil, nil, errors.Join(err, journal.Close())
	}
	return &manifest, journal, nil
}

// makeFolder makes the result folder. The same command may write more into it.
func (j *job) makeFolder() error {
	return results.MakeFolder(j.dir, append(j.written(), j.flags.cacheFlags.dir)...)
}

// written are the files that the command writes beside the results.
func (j *job) written() []string {
	paths := []string{j.flags.events, j.flags.page}
	for _, file := range j.flags.files {
		paths = append(paths, file.path)
	}
	return paths
}

// keepLedger opens the ledger of a job, and notes it in the manifest, so that it is
// missed should it be lost.
func (p *program) keepLedger(j *job, m *record.Manifest, journal *record.Journal) (err error) {
	before := m
	if j.earlier.Found != nil {
		before = &j.earlier.Found.Manifest
	}
	if j.ledger, err = p.openLedger(j.dir, before, j.budget); err != nil {
		return err
	}
	m.Volatile.Ledger = new(j.ledger.Spent())
	if err := journal.WriteManifest(*m); err != nil {
		return errors.Join(exit.Unmeasured(err), j.ledger.Close())
	}
	return nil
}

// observe lets the events of all runs be written, if they are asked for. It comes
// before there is a folder, unless that is where they go.
func (p *program) observe(j *job) (end func() error, err error) {
	path := j.flags.events
	if path == "" {
		return func() error { return nil }, nil
	}
	if filepath.Dir(path) == filepath.Clean(j.dir) {
		if err := j.makeFolder(); err != nil {
			return nil, err
		}
	}
	events, err := p.openEvents(path)
	if err != nil {
		return nil, err
	}
	j.engine.Observe = events.write
	return func() error {
		if err := unlessClosed(events.end()); err != nil {
			return fmt.Errorf("writing the events: %w", err)
		}
		return nil
	}, nil
}

// safe says that finished runs are not lost, where there are any.
func safe(j *job) string {
	if j.earlier.Found == nil && !j.tally.Any.Load() {
		return ""
	}
	return "finished runs are saved; "
}

// ending is how a plan ended.
type ending struct {
	engine.Summary
	interrupted bool
	cancelled   bool // by a second signal: whoever waits wants it to end
}

// drive runs the plan with everything that watches it.
func (p *program) drive(ctx context.Context, j *job, journal *record.Journal) (_ ending, err error) {
	interrupts := p.interrupts(ctx, j.flags.grace, func() string { return safe(j) + "resume with: " + j.again() })
	defer interrupts.stop()
	traced, endTrace := p.trace(interrupts.Context, j.Suite)
	defer endTrace()
	if j.placed != nil {
		var end func(error)
		traced, end = trace.StartSuite(traced, j.Suite.Name)
		defer func() { end(err) }()
		if err := j.placed.Begin(traced); err != nil {
			return ending{}, err
		}
	}
	j.engine.Journal, j.engine.Skip, j.draining = journal, j.earlier.Done, interrupts.Draining
	keeping, err := p.keeping(j)
	if err != nil {
		return ending{}, exit.Unmeasured(err)
	}
	j.engine.Executor = draining{j.engine.Executor, interrupts.Draining, func(run *record.Run) {
		keeping.note(ctx, run)
		j.tally.Executed()
	}}
	if j.around != nil {
		j.engine.Executor = j.around(j.engine.Executor)
	}
	var shared []results.SharedFolder
	if j.plan.Runs() > 1 {
		shared = results.SharedFolders(j.Loops(), append(j.written(), j.dir, j.flags.beside(j.dir))...)
	}
	summary, err := p.finish(traced, j, journal)
	for _, folder := range shared {
		if wrote := folder.Wrote(); wrote != "" {
			fmt.Fprintf(p.err, "agentbench: warning: runs share the folder %s, and programs wrote files there, such as %s: each run sees those of the others\nhint: declare workspace: {from: …} in the loop; docs/coding-agents.md\n",
				page.Visible(folder.Dir), page.Visible(wrote))
		}
	}
	keeping.tell(p.err, j.dir)
	return ending{summary, interrupts.interrupted(), interrupts.cancelled()}, err
}

// keeping counts runs whose workspaces hold secrets.
type keeping struct {
	secrets *secret.Redactor
	search  *workspace.Search // nil: no secret is known, or there are no workspaces

	mu            sync.Mutex
	holding, past noted
}

// noted counts the runs that a warning is about, and has the first of them.
type noted struct {
	runs  int
	first string
}

func (n *noted) add(run *record.Run) { n.runs, n.first = n.runs+1, cmp.Or(n.first, run.ID) }

func (n *noted) String() string {
	return fmt.Sprintf("%s, such as %s", page.Plural(n.runs, "run", "runs"), page.Visible(n.first))
}

// mostSearched is how many bytes of the files of a run are searched for secrets.
const mostSearched = 256 << 20

func (p *program) keeping(j *job) (*keeping, error) {
	k := &keeping{secrets: p.secrets}
	store, err := j.parts.States()
	if longest := p.secrets.Longest(); store != nil && longest > 0 {
		k.search = &workspace.Search{Store: store, Holds: p.secrets.Knows, Longest: longest, Most: mostSearched}
	}
	return k, err
}

// note looks at what the states of a run have besides their seed.
func (k *keeping) note(ctx context.Context, run *record.Run) {
	holds, all := k.shows(run), true
	if !holds && k.search != nil {
		seeds, states, err := results.StatesOf(run)
		if err == nil {
			holds, all, err = k.search.Find(ctx, seeds, states)
		}
		all = all && err == nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case holds:
		k.holding.add(run)
	case !all:
		k.past.add(run)
	}
}

// shows reports whether what changed shows a secret, or what looks like one.
func (k *keeping) shows(run *record.Run) bool {
	return slices.ContainsFunc(run.Iterations, func(it record.Iteration) bool {
		return it.Workspace != nil && k.secrets.String(it.Workspace.Diff) != it.Workspace.Diff
	})
}

// tell warns of what was found.
func (k *keeping) tell(to io.Writer, dir string) {
	states := filepath.Join(dir, results.Workspaces)
	if k.holding.runs > 0 {
		fmt.Fprintf(to, "agentbench: warning: the workspaces of %v, hold a secret: their states in %s keep it as it is\nhint: name its files under workspace: {ignore: […]}\n", &k.holding, states)
	}
	if k.past.runs > 0 {
		fmt.Fprintf(to, "agentbench: warning: the workspaces of %v, were not searched to their end for secrets, which their states in %s would keep: they are unreadable, or more than %d MiB changed\n", &k.past, states, mostSearched>>20)
	}
}

// finish does what former sessions left to be done: scores first, whose calls
// count against the suite's budget like others, then runs.
func (p *program) finish(ctx context.Context, j *job, journal *record.Journal) (engine.Summary, error) {
	if err := j.rescore(ctx, journal); err != nil {
		return engine.Summary{}, err
	}
	summary := engine.Summary{Stopped: record.ReasonSuiteBudget}
	var err error
	if !j.budget.Exhausted() || j.earlier.Remaining == 0 {
		summary, err = p.watched(ctx, j)
		if err == nil && summary.Stopped == "" && !closed(j.draining) {
			var spent bool
			if spent, err = j.scorePairs(ctx, journal); spent {
				summary.Stopped, j.unpaired = record.ReasonSuiteBudget, true
			}
		}
	}
	return summary, err
}

// watched runs the plan and tells its progress.
func (p *program) watched(ctx context.Context, j *job) (engine.Summary, error) {
	view := &overview.Progress{
		Out: p.err, Live: p.isTerminal(p.err), Width: p.width(p.err), Now: p.now, Total: j.plan.Runs(), Budget: j.Suite.Budget,
		Pace: j.pace, Before: j.plan.Runs() - j.earlier.Remaining, Spent: j.ledger.Spent,
		Keep: func(parts []string) { results.KeepProgress(j.dir, parts, p.secrets.Redact) },
	}
	if j.flags.quiet {
		view.Out = nil
	}
	if len(j.Suite.Scorers) > 0 {
		view.Score = j.Suite.Scorers[0].Name
	}
	j.tally.View = view
	view.Start()
	defer os.Remove(filepath.Join(j.dir, results.Progress)) // it may not be there
	defer view.Finish()
	if j.placed == nil && j.earlier.Remaining > 0 {
		if aborted := j.parts.StartShared(ctx); aborted != nil {
			return engine.Summary{Stopped: record.ReasonCancelled, Aborted: aborted}, nil
		}
	}
	return j.engine.Run(ctx, j.plan, j.Tasks())
}

// draining is an executor that takes no more items once a channel is closed, and
// tells of each run that was executed, before it is put down.
type draining struct {
	engine.Executor
	stop     <-chan struct{}
	executed func(*record.Run)
}

// Execute implements engine.Executor.
func (d draining) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	until := func(yield func(plan.Item, error) bool) {
		for item, err := range items {
			select {
			case <-d.stop:
				return
			default:
			}
			if !yield(item, err) {
				return
			}
		}
	}
	return d.Executor.Execute(ctx, until, run, func(ctx context.Context, item plan.Item, r *record.Run) {
		d.executed(r)
		deliver(ctx, item, r)
	})
}

// close puts the state of the results down and closes the journal.
func (p *program) close(j *job, journal *record.Journal, m *record.Manifest, end ending, failed error) error {
	err := errors.Join(journal.Close(), j.sumUp(m), j.ledger.Close())
	m.Volatile.Ledger = new(j.ledger.Spent())
	now := p.now()
	m.Volatile.Finished = now.UTC()
	m.Volatile.Wall = j.earlier.Wall + max(0, now.Sub(j.began)) // the clock may be set back
	m.Volatile.Effort = j.earlier.Effort.Plus(j.tally.Effort)
	switch {
	case failed != nil || err != nil:
		m.Status = record.StateFailed
	case results.Measured(m)+m.Totals.Faults < m.Totals.Planned, j.unpaired:
		m.Status = record.StateStopped
	default:
		m.Status = record.StateComplete
	}
	results.EndShard(m)
	if j.raced != nil {
		j.raced(m)
	}
	return errors.Join(err, journal.WriteManifest(*m))
}

// conclude reports on results that are safe, and gives their verdict.
func (p *program) conclude(ctx context.Context, j *job, m *record.Manifest, end ending) error {
	if end.cancelled {
		return stoppedError(j, m, end)
	}
	report, err := reports.Of(&record.Results{Path: j.dir, Manifest: *m})
	if err != nil {
		return err
	}
	report.Where, report.Named = exit.ShellWord(j.dir), exit.ShellWord(j.path)
	advise(report, j.Suite)
	if there(j.path) && len(j.flags.set) == 0 { // not one that ships, nor one that only this run has
		report.From = exit.ShellWord(j.path)
	}
	unanswered := p.judge(ctx, j, m, report, end)
	write := func() error {
		return p.write(report, &j.flags.reportFlags, "configurations", "metrics", "curve", "steps")
	}
	hopeless := end.Aborted != nil && (end.Aborted.Unreachable != nil || end.Aborted.Early) // no run was made
	if j.flags.events == "-" || hopeless {
		write = func() error { return p.writeFiles(report, &j.flags.reportFlags) }
	}
	at := &results.Place{Text: j.dir, Results: &record.Results{Path: j.dir, Manifest: *m}}
	if err := write(); err != nil {
		return err
	}
	if err := p.writeAlso(&j.flags.alsoPage, report, p.sourcesOf(report.Differences, at)); err != nil {
		return err
	}
	p.tellOvershoot(j.budget)
	if !j.flags.quiet && !hopeless {
		p.tellEffort(j, m, report.Volatile)
		fmt.Fprintf(p.err, "results: %s\n", j.dir)
	}
	return p.verdict(report, unanswered, &j.flags.reportFlags, j.flags.quiet, j.flags.events != "-" && !hopeless)
}

// again is the command that resumes a job where it was stopped.
func (j *job) again() string {
	words := []string{cmp.Or(j.command, "run"), j.path}
	return commandLine(words, j.flags.typed, "out", "force", "events", "all", "color") + " --out " + exit.ShellWord(j.dir)
}

// rescore makes the scores that finished runs lack, because a crash came in
// between, or because they were taken back. Those that are there stay.
func (j *job) rescore(ctx context.Context, journal *record.Journal) error {
	if j.earlier.Found == nil || len(j.earlier.Found.Unscored) == 0 {
		return nil
	}
	if _, err := j.scoreMissing(ctx, journal, func(v scorers.Version) bool { return !v.Pairs }); err != nil {
		return fmt.Errorf("scoring what was not scored: %w", err)
	}
	return nil
}

// scorePairs has runs judged beside each other, once all are made. spent says that
// the budget did not last for that.
func (j *job) scorePairs(ctx context.Context, journal *record.Journal) (spent bool, err error) {
	if err := journal.Flush(); err != nil {
		return false, err
	}
	spent, err = j.scoreMissing(ctx, journal, func(v scorers.Version) bool { return v.Pairs })
	if err != nil {
		return spent, fmt.Errorf("scoring runs beside each other: %w", err)
	}
	return spent, nil
}

// scoreMissing makes the scores that there are not by some of the scorers. What
// those could not judge is tried again that judge runs beside others: these may
// have been made since.
func (j *job) scoreMissing(ctx context.Context, journal *record.Journal, by func(scorers.Version) bool) (spent bool, err error) {
	var names []string
	missing := true
	for _, v := range j.set.Versions() {
		if by(v) {
			names = append(names, v.Name)
			missing = missing && !v.Pairs
		}
	}
	if len(names) == 0 {
		return false, nil
	}
	p, err := pass.Look(pass.Options{
		Dir: j.dir, Set: j.set, Tasks: j.Tasks(), Scorers: names, Missing: missing, Workers: workers(j.Suite), Spent: j.budget.Refused,
	})
	if err != nil {
		return false, err
	}
	ctx, end := j.untilDraining(ctx)
	defer end()
	err = p.Make(ctx, journal)
	return p.Ended(), err
}

// untilDraining is a context that ends when no run is to be begun any more: what is
// not scored then, the next session scores.
func (j *job) untilDraining(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-j.draining:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waiting.Wait()
	}
}

// scoreWanted has some iterations of recorded runs judged by some scorers, as far
// as they have no score, and puts the scores down. It says how many calls that
// took. The folder has to be free.
//
// suite names the suite that has the scorers; "": those that were recorded.
func (p *program) scoreWanted(ctx context.Context, dir, suite string, wanted map[string][]int, by []string, cached cacheFlags) (record.Usage, error) {
	var used record.Usage
	args := []string{dir}
	if suite != "" {
		args = append(args, suite)
	}
	s, err := p.openScoring(args, &scoreFlags{cacheFlags: cached, scorers: by, q: true})
	if err != nil {
		return used, err
	}
	o := s.options()
	o.Wanted, o.Scorers = wanted, slices.Clone(s.judging)
	if err := s.trustedFor(o); err != nil {
		return used, err
	}
	var done *pass.Pass
	err = s.held(func(journal *record.Journal) (err error) {
		done, err = s.made(ctx, journal, o)
		return err
	})
	if err != nil {
		return used, exit.Unmeasured(err)
	}
	for i := range done.Counts {
		used = used.Plus(done.Counts[i].Usage)
	}
	s.tellProblems(done)
	return used, s.verdict(ctx, done)
}
