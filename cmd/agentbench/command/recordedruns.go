package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// recordedFlags say what of recorded runs is replayed, and in what.
type recordedFlags struct {
	configurations []string
	suite          string
	opened         *opened // the suite, where it is open already
	evaluate       bool
}

func (f *recordedFlags) declare(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "recorded configuration to change (repeatable; default: all)")
	c.Flags().StringVar(&f.suite, "suite", "", "suite with the tasks, if they are not in the result folder")
	evaluateFlag(c, &f.evaluate)
}

// evaluateFlag declares the flag that runs tests in replays.
func evaluateFlag(c *cobra.Command, evaluate *bool) {
	c.Flags().BoolVar(evaluate, "evaluate", false, "run tests in kept states of workspaces that were not evaluated, without model calls")
}

// recordedRuns is a result folder that is replayed.
type recordedRuns struct {
	*program
	*results.Recorded
	suite string // that has the tasks, as it was named; "": none was
	// snapshots are what is known of states of workspaces, and parts know the states; nil: there are none. With
	// evaluate the parts run tests in them. Shared is what they keep.
	snapshots *results.Snapshots
	parts     *engine.Parts
	evaluate  bool
	shared    engine.Shared
}

// openRecordedRuns opens DIR or DIR:CONFIGURATION.
func (p *program) openRecordedRuns(text string, f *recordedFlags) (*recordedRuns, error) {
	at, err := p.openPlace(text, results.BaselineFolder)
	if err != nil {
		return nil, err
	}
	suite, err := p.tasksOf(f)
	if err != nil {
		return nil, err
	}
	r := &recordedRuns{program: p, suite: f.suite, evaluate: f.evaluate}
	at.Text = text
	r.Recorded, err = results.OpenRecorded(at, suite, f.configurations, results.RecordedOptions{
		Warn: r.warnOf, Judge: r.judge, Replay: r.rendering,
	})
	if err != nil {
		return r, err
	}
	if suite == nil && r.evaluate {
		if err := r.trusted(); err != nil {
			return r, err
		}
	}
	return r, r.openSnapshots(at.Path, suite)
}

// trusted refuses tests of states that only the folder names: it may be a stranger's.
func (r *recordedRuns) trusted() error {
	var all foreign
	suite := r.Document.Suite
	for i := range suite.Scorers {
		if suite.Scorers[i].Type == "test" {
			all.scorer(suite, &suite.Scorers[i])
		}
	}
	for _, c := range suite.Resolved {
		all.evaluation(c.Loop)
	}
	return all.refused("name the suite: --suite SUITE; or, if you trust the folder, leave --evaluate out after: agentbench score "+exit.ShellWord(r.Path)+" --at step --trust",
		"evaluating", r.Path)
}

// openSnapshots reads what is known of states of workspaces, if any run has them.
func (r *recordedRuns) openSnapshots(at string, suite *spec.Document) error {
	if !slices.ContainsFunc(r.Document.Loops(), func(l *spec.Loop) bool { return l.Workspace != nil }) {
		return nil
	}
	dir, err := filepath.Abs(at)
	if err != nil {
		return err
	}
	if r.snapshots, err = results.OpenSnapshots(at); err != nil {
		return err
	}
	r.parts, err = engine.NewParts(r.Document, engine.BuildOptions{
		Getenv: r.env, Shared: &r.shared, Workspaces: filepath.Join(dir, results.Workspaces), Recorded: true, Beside: suite,
	})
	return err
}

func (r *recordedRuns) warnOf(text string) {
	r.note("agentbench: warning: " + visibleLines(text, "\n"))
}

// left tells what of the folder is not among the runs.
func (r *recordedRuns) left() (notes []tune.ReplayNote) {
	for _, text := range r.Left {
		notes = append(notes, tune.ReplayNote{Kind: tune.LeftOut, More: page.Visible(text)})
	}
	return notes
}

// tasksOf is the suite of --suite; nil where none is named.
func (p *program) tasksOf(f *recordedFlags) (_ *spec.Document, err error) {
	if f.opened == nil && f.suite != "" {
		f.opened, err = p.openSuite(f.suite, nil)
	}
	if f.opened == nil {
		return nil, err
	}
	return f.opened.Document, nil
}

// rendering makes replays that judge outputs and render requests again; nil where the runs have no texts for it.
func (r *recordedRuns) rendering() func(was, target *spec.Loop, announced ...string) *replay.Replay {
	switch {
	case !r.Texts:
		return nil
	case r.parts == nil:
		return engine.Replay
	}
	return r.parts.Replaying(r.snapshots, r.evaluate)
}

// scored is a sweep whose scores are there as far as scorers judge when they are
// asked: those of iterations that a candidate returns, and no others. They are made
// once, and stand in the folder from then on. Where they cannot be made they stay
// missing.
func (r *recordedRuns) scored(ctx context.Context, s *sweep.Sweep, cached cacheFlags) (*sweep.Sweep, error) {
	names := r.WhenAsked()
	if len(names) == 0 {
		return s, nil
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	missing, err := s.Unscored(ctx, names)
	if err != nil {
		return nil, exit.With(exit.Stopped, "", "%w", err)
	}
	if len(missing) == 0 {
		return s, nil
	}
	used, err := r.scoreWanted(ctx, r.Path, r.suite, missing, names, cached)
	var told *exit.Error
	switch {
	case ctx.Err() != nil:
		return nil, exit.With(exit.Stopped, "finished scores are saved; rerun the same command to continue", "interrupted while scoring")
	case err == nil:
		r.tellAsked(missing, names, used)
	case !errors.As(err, &told) || told.Err != nil: // else it said so
		r.warnOf(fmt.Sprintf("scores of iterations are missing: %v", err))
	}
	if r.Replayed, _, err = r.Folder.Read(r.Selection); err != nil {
		return nil, exit.With(exit.NotMeasured, "", "%w", err)
	}
	return r.Held(s.Candidates())
}

// judge judges runs as the recorded suite does, by scorers that ask nobody and by what is known of
// states; nil where the runs have no texts.
func (r *recordedRuns) judge() sweep.Judge {
	suite := r.Folder.Document.Suite
	if !r.Texts {
		return nil
	}
	options := scorers.Options{Resolved: suite.Resolved, Baseline: suite.Baseline}
	if r.parts != nil {
		options.Outside = r.parts
	}
	set, _ := scorers.New(suite.Scorers, options)
	if set == nil {
		return nil
	}
	by, states := map[string]*scorers.Set{}, r.states(set)
	for i := range suite.Scorers {
		tests := r.evaluate && r.parts != nil && suite.Scorers[i].Type == "test" // in states that were kept, and without a call
		if name := suite.Scorers[i].Name; tests || !suite.Scorers[i].Asks(suite.Scorers) {
			by[name] = set.Only(func(one string) bool { return one == name })
		}
	}
	return func(ctx context.Context, run *sweep.Run, as *record.Run, score string) float64 {
		if states != nil && as != run.Run {
			if value, ok := states.Known(as, score); ok {
				return value
			}
		}
		if by[score] == nil {
			if states != nil && as == run.Run {
				return states.Recorded(run.Run, score)
			}
			return math.NaN()
		}
		for _, s := range by[score].At(ctx, run.Task, as, 0) {
			if s.Unscored == "" {
				if states != nil && as != run.Run {
					states.Keep(as, s)
				}
				return s.Value
			}
		}
		return math.NaN()
	}
}

// tellAsked says what was judged, and what it took.
func (r *recordedRuns) tellAsked(judged map[string][]int, names []string, used record.Usage) {
	iterations := 0
	for _, of := range judged {
		iterations += len(of)
	}
	fmt.Fprintf(r.err, "%s of %s judged by %s: %s, uncached cost %s\n", page.Plural(iterations, "iteration", "iterations"), page.Plural(len(judged), "run", "runs"),
		page.Visible(exit.Some(names)), page.Plural(int(used.Calls), "call", "calls"), trajectory.Cost(used))
}

// agentFailed refuses to choose by runs in all of which the agent failed: every limit
// loses nothing there.
func (r *recordedRuns) agentFailed() error {
	return reports.FailedEverywhere(r.Path, func(yield func(*record.Run) bool) {
		for i := range r.Replayed {
			for _, run := range r.Replayed[i].Runs {
				if !yield(run.Run) {
					return
				}
			}
		}
	})
}
