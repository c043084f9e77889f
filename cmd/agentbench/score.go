package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers/pass"
)

// scoreFlags are the flags of score.
type scoreFlags struct {
	cacheFlags
	scorers, remove                           []string
	again, iterations, dry, compact, force, q bool
	concurrency                               int
	format                                    string
}

func (p *program) scoreCommand() *cobra.Command {
	var f scoreFlags
	c := &cobra.Command{
		Use:     "score DIR [SUITE]",
		Short:   "Make the scores of recorded runs that are missing or out of date",
		GroupID: "look",
		Long: `Judges the runs in a result folder, without a call of an agent: it makes the scores that
are missing or unscored, or that another version of their scorer made, and adds them to
scores.jsonl, where the last one counts. The scorers are those of SUITE, which may have
been edited since, or those that the folder was made with.

What was made is kept when it is interrupted, or when the suite's budget is spent; the
same command goes on.`,
		Args: arguments(1, 2, "a result folder, and perhaps a suite"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.validate(c.Flags().Changed("concurrency")); err != nil {
				return err
			}
			return p.score(c.Context(), args, &f)
		},
	}
	c.Flags().StringArrayVar(&f.scorers, "scorer", nil, "only by this scorer (repeatable)")
	c.Flags().StringArrayVar(&f.remove, "remove", nil, "take the scores of this scorer back (repeatable)")
	c.Flags().BoolVar(&f.again, "again", false, "make also those that are up to date")
	c.Flags().BoolVar(&f.iterations, "iterations", false, "every iteration also by scorers that ask others")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "only say what would be made, and how many calls that takes at most")
	c.Flags().BoolVar(&f.compact, "compact", false, "write scores.jsonl anew with what counts")
	c.Flags().BoolVar(&f.force, "force", false, "score also with tasks that are not those that were run")
	c.Flags().IntVar(&f.concurrency, "concurrency", 0, "runs at the same time where others are asked (default: the suite's, else 8)")
	c.Flags().StringVar(&f.format, "format", "terminal", "of what is told: terminal, json")
	c.Flags().BoolVarP(&f.q, "quiet", "q", false, "no notes on stderr")
	f.cacheFlags.declare(c)
	return c
}

func (f *scoreFlags) validate(concurrency bool) error {
	if f.concurrency < 0 || f.concurrency == 0 && concurrency {
		return usage("--concurrency 1 is one run after the other", "--concurrency %d: want at least 1", f.concurrency)
	}
	if formats := []string{"terminal", "json"}; !slices.Contains(formats, f.format) {
		return usage("there are: terminal, json", "there is no format %q", f.format)
	}
	for _, name := range f.scorers {
		if slices.Contains(f.remove, name) {
			return usage("", "--scorer %s and --remove %s contradict each other", name, name)
		}
	}
	return f.cacheFlags.validate()
}

// score scores a folder, and tells what was done.
func (p *program) score(ctx context.Context, args []string, f *scoreFlags) error {
	s, err := p.openScoring(args, f)
	if err != nil {
		return err
	}
	if f.dry {
		done, err := pass.Look(s.options())
		if err != nil {
			return fail(notMeasured, "", "%w", err)
		}
		return errors.Join(s.tell(done), s.tellWorst(done))
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	done, err := s.make(ctx)
	if err != nil {
		return err
	}
	if f.compact {
		if err := s.compact(); err != nil {
			return err
		}
	}
	s.tellProblems(done)
	if err := s.tell(done); err != nil {
		return err
	}
	return s.verdict(ctx, done)
}

// make makes the scores, and puts them down.
func (s *scoring) make(ctx context.Context) (*pass.Pass, error) {
	journal, m, err := record.OpenScores(s.dir, s.recording())
	if err != nil {
		return nil, unscorable(s.dir, err)
	}
	s.manifest = m
	done, err := s.within(ctx, journal)
	if err == nil {
		err = journal.WriteManifest(s.manifest)
	}
	if err = errors.Join(err, journal.Close()); err != nil {
		return nil, fail(notMeasured, "what was made is kept; once the cause is gone, the same command goes on", "%w", err)
	}
	return done, nil
}

// unscorable says why scores cannot be added to a folder.
func unscorable(dir string, err error) error {
	if busy := (*record.InUse)(nil); errors.As(err, &busy) {
		return fail(notMeasured, "wait until it ends", "%w", err)
	}
	return unresumable(dir, err)
}

// within makes the scores while the folder is held.
func (s *scoring) within(ctx context.Context, journal *record.Journal) (*pass.Pass, error) {
	done, err := pass.Look(s.options())
	if err != nil {
		return nil, err
	}
	endLedger, err := s.keepLedger()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(done.Make(ctx, journal), endLedger()); err != nil {
		return nil, err
	}
	return done, s.takeOver()
}

// options are those of a pass over the folder.
func (s *scoring) options() pass.Options {
	o := pass.Options{
		Dir: s.dir, Set: s.set, Scorers: s.judging, Again: s.flags.again, Iterations: s.flags.iterations,
		Remove: s.remove, Workers: runtime.GOMAXPROCS(0), Spent: s.budget.Refused,
	}
	if s.folder.KnowsTasks() {
		o.Tasks = s.folder.Tasks()
	}
	for _, v := range s.set.Versions() {
		if v.Asks && slices.Contains(s.judging, v.Name) {
			o.Workers = max(o.Workers, workers(s.suite.Suite))
		}
	}
	return o
}

// compact writes the scores anew.
func (s *scoring) compact() error {
	done, err := record.CompactScores(s.dir, s.recording())
	if err != nil {
		return unscorable(s.dir, err)
	}
	if !s.flags.q {
		fmt.Fprintf(s.err, "scores.jsonl: %d bytes, before %d\n", done.After, done.Before)
	}
	return nil
}

// verdict is what the end of a pass means.
func (s *scoring) verdict(ctx context.Context, done *pass.Pass) error {
	again := "what was made is kept; the same command goes on"
	switch {
	case done.Ended():
		return fail(stopped, "with a larger budget in the suite the same command goes on; what was made is kept", "the suite's budget is spent")
	case ctx.Err() != nil:
		return fail(stopped, again, "interrupted")
	case done.Runs > 0 && done.Taskless == done.Runs:
		return fail(notMeasured, "name the suite that the runs were made of: agentbench score "+shellWord(s.dir)+" SUITE", "no run could be scored: their tasks are not at hand")
	}
	return nil
}
