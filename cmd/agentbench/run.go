package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run.
type runFlags struct {
	selectionFlags
	reportFlags
	cacheFlags
	againstFlags
	thresholdFlags
	out         string
	concurrency int
	seed        int64
	events      string
	quiet       bool
	grace       time.Duration
	attempts    int
	force       bool
	all         *pflag.FlagSet
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

Results go to a new folder. With --out and a folder that holds results of the same
suite, run goes on where they end: runs that are done are not made again, those that
had a fault or were cancelled are. The first interrupt lets the runs in flight end;
the second one cancels them.`,
		Args: arguments(1, 1, "one suite"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			keepPipes()
			return p.run(c.Context(), args[0], &f)
		},
	}
	f.selectionFlags.declare(c)
	f.reportFlags.declare(c, reports.TableNames)
	f.cacheFlags.declare(c)
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	c.Flags().StringVarP(&f.out, "out", "o", "", "folder for the results (default results/SUITE-TIME-…)")
	c.Flags().IntVar(&f.concurrency, "concurrency", 0, "runs at the same time (default: the suite's, else 8)")
	c.Flags().Int64Var(&f.seed, "seed", 0, "seed of what is simulated (default: the suite's)")
	c.Flags().StringVar(&f.events, "events", "", "write what happens as JSON lines to a file; - puts it in the report's place on stdout")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no notes on stderr")
	c.Flags().DurationVar(&f.grace, "grace", 30*time.Second, "time that runs in flight have to end after an interrupt")
	c.Flags().IntVar(&f.attempts, "attempts", 3, "how often a run with faults is tried, all sessions together")
	c.Flags().BoolVar(&f.force, "force", false, "go on in a folder that was made with another spec")
	f.changed, f.all = c.Flags().Changed, c.Flags()
	return c
}

func (f *runFlags) validate() error {
	if f.concurrency < 0 || f.concurrency == 0 && f.changed("concurrency") {
		return usage("--concurrency 1 is one run after the other", "--concurrency %d: want at least 1", f.concurrency)
	}
	if f.grace < 0 {
		return usage("--grace 0s cancels them at once", "--grace %v: want no less than 0s", f.grace)
	}
	if f.attempts < 1 {
		return usage("", "--attempts %d: want at least 1", f.attempts)
	}
	if err := f.selectionFlags.validate(); err != nil {
		return err
	}
	if err := f.cacheFlags.validate(); err != nil {
		return err
	}
	return firstOf(f.againstFlags.validate(), f.thresholdFlags.validate(), f.reportFlags.validate())
}

// job is a suite that is about to run.
type job struct {
	*opened
	plan   *plan.Plan
	engine *engine.Engine
	set    *scorers.Set
	flags  *runFlags
	dir    string
	tally  *tally
	cache  *cache.Store
	budget *pace.Budget
	ledger *record.Ledger // of the budget; nil: there is none
	gates  []*pace.Gate
	shared tool.Run // what tools keep for all runs
	// around puts an executor around the one that takes no more runs after an
	// interrupt; nil: none.
	around  func(engine.Executor) engine.Executor
	raced   func(*record.Manifest) // notes who left a race; nil: there is none
	command string                 // "": run
	// draining is closed once no run is to be begun any more.
	draining <-chan struct{}
	unpaired bool // the budget did not last for judging runs beside each other

	began   time.Time
	earlier earlier
}

// run runs a suite and reports on it.
func (p *program) run(ctx context.Context, path string, f *runFlags) error {
	o, planned, err := p.openPlan(path, &f.selectionFlags)
	if err != nil {
		return err
	}
	if f.changed("seed") {
		o.Suite.Seed = f.seed
	}
	if f.concurrency > 0 {
		o.Suite.Concurrency = f.concurrency
	}
	if err := firstOf(p.runnable(o), f.named(o.Suite), f.comparable(o.Suite, planned)); err != nil {
		return err
	}
	if planned.Part != nil && !f.quiet {
		fmt.Fprintln(p.err, partText(planned))
	}
	j := &job{opened: o, plan: planned, flags: f, dir: f.out, began: p.now()}
	if j.dir == "" {
		j.dir = freshFolder(o.Suite.Name, p.now())
	}
	if err := p.wire(j); err != nil {
		return err
	}
	return p.execute(ctx, j)
}

// runnable refuses what cannot run here.
func (p *program) runnable(o *opened) error {
	faults := o.Programs()
	p.warn(o, faults)
	faults.Print(p.err)
	if faults.Err() != nil {
		return quiet(wrongSpec)
	}
	return nil
}

// wire makes the engine that the suite asks for.
func (p *program) wire(j *job) error {
	j.cache, j.budget = p.openCache(j), pace.OfSuite(j.Suite.Budget)
	parts, err := engine.NewParts(j.Document, engine.BuildOptions{
		Getenv: p.env, Budget: j.budget, Cache: j.cache, CacheMode: j.flags.mode, Shared: &j.shared,
		Gate: func(g *pace.Gate) { j.gates = append(j.gates, g) },
	})
	if err != nil {
		return p.unwired(err)
	}
	loops, err := parts.Loops(j.plan.Configurations)
	if err != nil {
		return p.unwired(err)
	}
	set, faults := scorers.New(j.Suite.Scorers, scorers.Options{Resolved: j.plan.Configurations, Baseline: j.Suite.Baseline, Outside: parts})
	faults.Print(p.err)
	if faults.Err() != nil {
		return quiet(wrongSpec)
	}
	if err := set.Unable(); err != nil {
		return p.unwired(err)
	}
	j.set, j.tally = set, &tally{}
	j.engine = &engine.Engine{
		Executor: engine.Pool{Workers: workers(j.Suite)},
		Loops:    loops,
		Score:    set.Score,
		Watch:    j.tally,
		Starved:  j.budget.Starved,
		Duration: j.Suite.Budget.Duration,
		Now:      p.now,
	}
	return nil
}

// unwired says why the loops of a suite cannot be made: recordings that cannot
// be read are faults of the spec, a key that is not set is none.
func (p *program) unwired(err error) error {
	var fault source.Fault
	var faults source.Faults
	switch {
	case errors.As(err, &faults):
	case errors.As(err, &fault):
		faults = source.Faults{fault}
	default:
		return fail(notMeasured, "keys come from OPENAI_API_KEY, or from the variable that api_key_env names; agentbench run quickstart needs none", "%w", err)
	}
	faults.Print(p.err)
	return quiet(wrongSpec)
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
		waiting, backingOff = waiting+s.Waiting, max(backingOff, s.Cooling)
	}
	return waiting, backingOff
}
