package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

type scoreFlags struct {
	reportFlags
	cacheFlags
	scorers, remove                  []string
	inline                           []*source.Object // scorers that are written out, of the type cel
	again, iterations, dry, force, q bool
	trust                            bool
	concurrency                      int
	at                               string // atStep: states of workspaces are scored; "": runs
}

func (p *program) scoreCommand() *cobra.Command {
	var f scoreFlags
	c := &cobra.Command{
		Use:     "score DIR [SUITE]",
		Short:   "Compute missing or outdated scores of recorded runs",
		GroupID: "look",
		Long: `Scores recorded runs without running an agent: computes scores that are missing, unscored
or of another version of their scorer, and appends them to scores.jsonl, where the last
one counts. The scorers are those of SUITE, which may have been edited, or those of the
folder. Programs and hosts that only the folder names need --trust: it may be a stranger's.

--at step scores what programs had in their workspaces when each of their model calls arrived
(workspace: {snapshot: step}): each different state once, as if a limit of steps had ended the run
there. Afterwards report shows the score by limit of steps, and replay and tune need no --evaluate.

After an interrupt, or when the suite's budget is spent, finished scores are saved; rerun
the same command to continue.`,
		Example: `  agentbench score results/nightly
  agentbench score results/bugs bugs.suite.yaml --at step
  agentbench score results/log --scorer 'passed=output.contains("refunded")'`,
		Args: arguments(1, 2, "a result folder, and perhaps a suite"),
		RunE: func(c *cobra.Command, args []string) error { return p.score(c.Context(), args, &f) },
	}
	c.Flags().StringArrayVar(&f.scorers, "scorer", nil, "compute only this scorer; `NAME` of the suite, or NAME=CEL for a new one (repeatable)")
	c.Flags().StringArrayVar(&f.remove, "remove", nil, "remove this scorer's scores (repeatable)")
	c.Flags().BoolVar(&f.again, "again", false, "rescore everything")
	choiceFlag(c, &f.at, "at", []string{atStep}, "score what programs had left at each step, instead of runs: step")
	c.Flags().BoolVar(&f.iterations, "iterations", false, "score every iteration, also with scorers that call models or programs")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "only show what would be scored, and the maximum of calls")
	c.Flags().BoolVar(&f.force, "force", false, "score even if the tasks changed since the runs")
	c.Flags().BoolVar(&f.trust, "trust", false, "without SUITE: run the programs and call the hosts that the folder names")
	concurrencyFlag(c, &f.concurrency, "runs scored")
	f.reportFlags.declare(c, overview.ScoreTables)
	quietFlag(c, &f.q, "hide notes")
	f.cacheFlags.declare(c)
	refusing(c, f.validate)
	return c
}

func (f *scoreFlags) validate(args []string) error {
	for i, text := range f.scorers {
		name, cel, inline := strings.Cut(text, "=")
		if !inline {
			continue
		}
		if len(args) > 1 || f.at != "" {
			return exit.Usage("write it into the suite", "--scorer %s: a scorer that is written out goes without SUITE and --at", text)
		}
		f.scorers[i], f.inline = name, append(f.inline, source.ObjectOf("name", name, "type", "cel", "expr", cel))
	}
	if n := len(f.inline); n > 0 && n < len(f.scorers) {
		return exit.Usage("run them one after the other", "--scorer NAME=CEL and --scorer NAME do not go together")
	}
	if f.at != "" && (f.iterations || len(f.remove) > 0) {
		return exit.Usage("run them one after the other", "--at step does not go together with --iterations and --remove")
	}
	for _, name := range f.scorers {
		if slices.Contains(f.remove, name) {
			return exit.Usage("", "--scorer %s and --remove %s contradict each other", name, name)
		}
	}
	return nil
}

func (p *program) score(ctx context.Context, args []string, f *scoreFlags) error {
	s, err := p.openScoring(args, f)
	if err != nil {
		return err
	}
	defer s.shared.Close()
	if f.at == atStep {
		if err := s.trusted(s.judging); err != nil {
			return err
		}
		return s.steps(ctx)
	}
	if f.dry {
		done, err := pass.Look(s.options())
		if err != nil {
			return exit.Unmeasured(err)
		}
		return s.tell(done)
	}
	if err := s.trustedFor(s.options()); err != nil {
		return err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	done, err := s.make(ctx)
	if err != nil {
		return err
	}
	s.tellProblems(done)
	if err := s.tell(done); err != nil {
		return err
	}
	return s.verdict(ctx, done)
}

// held does something while the folder is held, which has no workspaces of killed sessions then.
func (s *scoring) held(do func(*record.Journal) error) error {
	journal, m, err := record.OpenScores(s.dir, s.recording())
	if err != nil {
		return results.Unscorable(s.dir, err)
	}
	s.manifest = m
	if err = results.ClearWorkspaces(s.dir); err == nil {
		err = do(journal)
	}
	return errors.Join(err, journal.Close())
}

// made makes the scores of a pass, whose calls the ledger has.
func (s *scoring) made(ctx context.Context, journal *record.Journal, o pass.Options) (*pass.Pass, error) {
	done, err := pass.Look(o)
	if err != nil {
		return nil, err
	}
	endLedger, err := s.keepLedger()
	if err != nil {
		return nil, err
	}
	return done, errors.Join(done.Make(ctx, journal), endLedger())
}

// make makes the scores, and puts them down.
func (s *scoring) make(ctx context.Context) (done *pass.Pass, err error) {
	begun := false
	err = s.held(func(journal *record.Journal) (err error) {
		begun = true
		if done, err = s.made(ctx, journal, s.options()); err != nil || done.None() && len(s.remove) == 0 {
			return err // what scored nothing is no scorer of the folder
		}
		if err = s.rescored(); err == nil {
			err = journal.WriteManifest(s.manifest)
		}
		return err
	})
	if err != nil && begun {
		err = exit.With(exit.NotMeasured, "finished scores are saved; rerun the same command to continue", "%w", err)
	}
	return done, exit.Unmeasured(err)
}

// rescored puts into the manifest by which scorers the scores are.
func (s *scoring) rescored() error {
	now := results.Rescored{Writer: s.writer(), Folder: s.folder, Judging: s.judging, Removed: s.remove, Whole: len(s.flags.scorers) == 0}
	if s.copies != nil {
		now.Scorers, now.Suite, now.Copies = slices.Clone(s.manifest.Scorers), s.suite, s.copies
	}
	for _, v := range s.set.Versions() {
		if !slices.Contains(now.Scorers, v.Name) {
			now.Scorers = append(now.Scorers, v.Name)
		}
	}
	if s.edited {
		var err error
		if now.Copies, err = now.NewCopies(s.suite, s.suite.Tasks()); err != nil {
			return err
		}
		now.Suite = s.suite
	}
	return now.Into(&s.manifest)
}

func (s *scoring) options() pass.Options {
	o := pass.Options{
		Dir: s.dir, Set: s.set, Scorers: s.judging, Again: s.flags.again, Iterations: s.flags.iterations,
		Remove: s.remove, Workers: runtime.GOMAXPROCS(0), Spent: s.budget.Refused, Tasks: s.folder.Tasks(),
	}
	for _, v := range s.set.Versions() {
		if v.Asks && slices.Contains(s.judging, v.Name) {
			o.Workers = max(o.Workers, workers(s.suite.Suite))
		}
	}
	return o
}

// verdict is what the end of a pass means.
func (s *scoring) verdict(ctx context.Context, done *pass.Pass) error {
	again := "finished scores are saved; rerun the same command to continue"
	switch {
	case done.Ended():
		return exit.With(exit.Stopped, "finished scores are saved; raise the budget in the suite and rerun the same command", "the suite's budget is spent")
	case ctx.Err() != nil:
		return exit.With(exit.Stopped, again, "interrupted")
	case done.None():
		return exit.With(exit.NotMeasured, "name the suite of the runs: agentbench score "+exit.ShellWord(s.dir)+" SUITE", "no run could be scored: the tasks are not in the folder")
	}
	return nil
}

// tell writes what a pass found and did of each scorer.
func (s *scoring) tell(done *pass.Pass) error {
	all, others := make([]overview.Scored, len(done.Counts)), []page.Words{}
	for i := range done.Counts {
		c := &done.Counts[i]
		all[i] = overview.Scored{
			Scorer: c.Name, Version: c.Hash, Kept: c.Kept, Made: c.Made, Unscored: c.Unscored, Removed: c.TakenBack, ToDo: c.Wanted, Reason: s.secrets.String(c.Reason), Asks: c.Asks, Usage: c.Usage,
		}
		if c.Removed {
			all[i].Version = ""
		} else if scores, versions := c.Others(); scores > 0 {
			others = append(others, page.Words(fmt.Sprintf("%s: %s of runs by %s of it were there",
				page.Foreign(c.Name), page.Plural(scores, "score", "scores"), page.Plural(versions, "other version", "other versions"))))
		}
	}
	head := page.Plural(done.Runs, "run", "runs")
	if s.flags.dry {
		head = fmt.Sprintf("%s to be scored, with at most %s", page.Plural(done.Runs, "run is", "runs are"), page.Plural(s.calls(done), "call", "calls"))
	}
	sheet := overview.Scores(s.dir, head, all, s.flags.dry, false)
	sheet.Notes = append(others, sheet.Notes...)
	return s.write(sheet, &s.flags.reportFlags)
}

// calls is how many calls the scores take at most that would be made.
func (s *scoring) calls(done *pass.Pass) (calls int) {
	for i := range done.Counts {
		for k := range s.suite.Suite.Scorers {
			if scorer := &s.suite.Suite.Scorers[k]; scorer.Name == done.Counts[i].Name {
				calls += done.Counts[i].Wanted * pass.CallsAtMost(scorer)
			}
		}
	}
	return calls
}

// tellProblems warns of what could not be scored.
func (s *scoring) tellProblems(done *pass.Pass) {
	if done.Taskless > 0 && done.Taskless < done.Runs {
		fmt.Fprintf(s.err, "agentbench: warning: %s of tasks that are not available, such as %s, and not scored\n",
			page.Plural(done.Taskless, "run is", "runs are"), page.Visible(strings.TrimSpace(done.FirstTaskless)))
	}
}

// scoring is a result folder that is being scored.
type scoring struct {
	*program
	flags    *scoreFlags
	dir      string
	manifest record.Manifest
	folder   *results.Folder
	suite    *spec.Document  // whose scorers judge
	edited   bool            // the user named it
	copies   *results.Copies // of the suite with the scorers of flags; nil: there are none
	budget   *pace.Budget
	parts    *engine.Parts
	shared   engine.Shared // what the parts keep
	set      *scorers.Set
	judging  []string // the scorers that judge
	remove   []string // those whose scores are taken back
}

// openScoring opens a folder, and the scorers that judge its runs.
func (p *program) openScoring(args []string, f *scoreFlags) (*scoring, error) {
	m, err := p.openManifest(args[0])
	if err != nil {
		return nil, err
	}
	s := &scoring{program: p, flags: f, dir: args[0], manifest: m, edited: len(args) > 1}
	if s.edited {
		o, err := p.openSuite(args[1], nil)
		if err != nil {
			return nil, err
		}
		p.warn(o, nil)
		s.suite = o.Document
	}
	return s, s.prepare()
}

// prepare opens the folder, and makes the scorers.
func (s *scoring) prepare() error {
	return firstError(s.open, s.sameTasks, s.compile, s.name)
}

// trustedFor is trusted of the scorers that have something to score.
func (s *scoring) trustedFor(o pass.Options) error {
	if s.trusted(o.Scorers) == nil {
		return nil
	}
	done, err := pass.Look(o)
	if err != nil {
		return exit.Unmeasured(err)
	}
	var wanted []string
	for i := range done.Counts {
		if done.Counts[i].Wanted > 0 {
			wanted = append(wanted, done.Counts[i].Name)
		}
	}
	return s.trusted(wanted)
}

// trusted refuses scorers that start programs or call hosts which only the folder names: it may be a stranger's. So are what
// evaluates the states at steps.
func (s *scoring) trusted(names []string) error {
	if s.edited || s.flags.trust || s.flags.dry {
		return nil
	}
	var all foreign
	suite, steps := s.suite.Suite, s.flags.at == atStep
	for i := range suite.Scorers {
		scorer := &suite.Scorers[i]
		if slices.Contains(names, scorer.Name) && (!steps || !scorer.AsksModels(suite.Scorers)) {
			all.scorer(suite, scorer)
		}
	}
	command := "agentbench score " + exit.ShellWord(s.dir) + " SUITE"
	if steps {
		command += " --at step"
		for _, c := range s.folder.Document.Suite.Resolved {
			if c.Loop.Workspace.BySteps() {
				all.evaluation(c.Loop)
			}
		}
	}
	return all.refused("name the suite: "+command+"; or add --trust if you trust the folder", "scoring", s.dir)
}

// open opens the folder as it was recorded.
func (s *scoring) open() (err error) {
	s.folder, err = results.Open(&record.Results{Path: s.dir, Manifest: s.manifest}, s.suite)
	if err != nil {
		return exit.With(exit.NotMeasured, "compare agentbench version with the version in manifest.json", "%s cannot be scored: %w", s.dir, err)
	}
	if len(s.flags.inline) > 0 {
		if err := s.newNames(); err != nil {
			return err
		}
		s.suite, s.copies, err = s.folder.Alone(s.flags.inline...)
		if faults, wrong := errors.AsType[source.Faults](err); wrong {
			first := faults[slices.IndexFunc(faults, func(f source.Fault) bool { return !f.Warning })]
			return exit.Usage(first.Hint, "--scorer %s: %s", strings.Join(s.flags.scorers, ", "), first.What)
		}
		return exit.Unmeasured(err)
	}
	if s.edited {
		return nil
	}
	s.suite = s.folder.Document
	return nil
}

// newNames refuses scorers that are written out under a name that the folder has: its scores would be replaced, such as labels of
// an import. The same scorer again resumes.
func (s *scoring) newNames() error {
	known := append(s.folder.Declared(), s.manifest.Scorers...)
	for i, name := range s.flags.scorers {
		if slices.Contains(known, name) && !s.folder.Declares(s.flags.inline[i]) {
			return exit.Usage("take another name; there are: "+exit.Some(slices.Compact(slices.Sorted(slices.Values(known)))),
				"--scorer %s: %s has a scorer of this name already", name, s.dir)
		}
	}
	return nil
}

func (s *scoring) compile() error {
	s.budget = pace.OfSuite(s.suite.Suite.Budget)
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	var beside *spec.Document // the suite whose files programs name
	if s.edited {
		beside = s.suite
	}
	parts, err := engine.NewParts(s.suite, engine.BuildOptions{
		Workspaces: filepath.Join(dir, results.Workspaces), Shared: &s.shared, Recorded: !s.edited, Beside: beside,
		Getenv: s.env, Budget: s.budget, Cache: s.cacheAt(s.flags.beside(s.dir)), CacheMode: s.flags.mode,
	})
	if err != nil {
		return s.unwired(err)
	}
	s.parts = parts
	if s.flags.concurrency > 0 {
		s.suite.Suite.Concurrency = s.flags.concurrency
	}
	s.set, err = s.scorers(s.suite.Suite.Scorers, scorers.Options{Resolved: s.folder.Document.Suite.Resolved, Baseline: s.manifest.Baseline, Outside: parts})
	return err
}

// name finds the scorers that the user named, or meant.
func (s *scoring) name() error {
	var known []string
	for _, v := range s.set.Versions() {
		known = append(known, v.Name)
	}
	for _, name := range s.flags.scorers {
		if !slices.Contains(known, name) {
			return exit.Usage(exit.DidYouMean(name, known, "there are: "+exit.Some(known)), "unknown scorer %q", name)
		}
	}
	if err := s.nameRemoved(known); err != nil {
		return err
	}
	s.judging = []string{}
	for _, v := range s.set.Versions() {
		wanted := len(s.flags.scorers) == 0 || slices.Contains(s.flags.scorers, v.Name)
		if !wanted || slices.Contains(s.remove, v.Name) {
			continue
		}
		if lacks := s.lacks(v.Name); v.Asks && !s.edited && lacks != "" {
			if len(s.flags.scorers) > 0 {
				return exit.Usage("agentbench score "+exit.ShellWord(s.dir)+" SUITE", "scorer %s needs the suite: the folder lacks %s", v.Name, lacks)
			}
			fmt.Fprintf(s.err, "agentbench: warning: the scores of %s are unchanged: it needs the suite, because the folder lacks %s\n", page.Visible(v.Name), page.Visible(lacks))
			continue
		}
		s.judging = append(s.judging, v.Name)
	}
	judging := s.set.Only(func(name string) bool { return slices.Contains(s.judging, name) })
	if err := judging.Unable(); err != nil && !s.flags.dry {
		return s.unwired(err)
	}
	if len(s.judging)+len(s.remove) == 0 {
		return exit.Usage("agentbench score "+exit.ShellWord(s.dir)+" SUITE", "%s has no scorer that can run here", s.dir)
	}
	return nil
}

// lacks is what a scorer of the recorded suite needs in order to ask as it did then, and the folder does not have.
func (s *scoring) lacks(name string) string {
	for i := range s.suite.Suite.Scorers {
		switch scorer := &s.suite.Suite.Scorers[i]; {
		case scorer.Name != name:
		case pass.StartsPrograms(s.suite.Suite, scorer):
			return "its programs"
		default:
			if model := s.suite.Suite.WithoutKey(scorer); model != "" {
				return "the key of the model " + model
			}
		}
	}
	return ""
}

// nameRemoved finds those whose scores are taken back: the ones that the user named,
// and those that an edited suite has no more.
func (s *scoring) nameRemoved(known []string) error {
	there := slices.Concat(s.manifest.Scorers, known)
	for _, name := range s.flags.remove {
		if !slices.Contains(there, name) {
			return exit.Usage(exit.DidYouMean(name, there, "there are: "+exit.Some(there)), "unknown scorer %q", name)
		}
	}
	s.remove = slices.Clone(s.flags.remove)
	if s.edited && len(s.flags.scorers) == 0 {
		for _, name := range s.folder.Declared() {
			if !slices.Contains(known, name) && !slices.Contains(s.remove, name) {
				s.remove = append(s.remove, name)
			}
		}
	}
	return nil
}

// sameTasks refuses tasks that are not those that were run.
func (s *scoring) sameTasks() error {
	if !s.edited || s.flags.force {
		return nil
	}
	differences, err := s.taskDifferences()
	if err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	if len(differences) == 0 {
		return nil
	}
	return exit.With(exit.WrongSpec, "--force scores the runs with these tasks; add --again to rescore everything",
		"the tasks of the suite are not those that were run:\n  %s", strings.Join(differences, "\n  "))
}

func (s *scoring) taskDifferences() (lines []string, err error) {
	other, err := s.folder.OtherTasks(s.suite)
	if err != nil {
		return nil, err
	}
	for _, file := range other {
		lines = append(lines, file+": its content has changed")
	}
	found, err := s.folder.TaskDifferences(s.suite.Suite)
	if err != nil {
		return nil, err
	}
	return results.Fewest(append(lines, found.Lines()...)), nil
}

// keepLedger opens the ledger of the folder, which is held, until the function that
// it gives is called.
func (s *scoring) keepLedger() (end func() error, err error) {
	ledger, err := s.openLedger(s.dir, &s.manifest, s.budget)
	if err != nil {
		return nil, err
	}
	return func() error {
		err := ledger.Close()
		s.manifest.Volatile.Ledger = new(ledger.Spent())
		return err
	}, nil
}
