package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
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
			if err := f.validate(); err != nil {
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
	concurrencyFlag(c, &f.concurrency, "where others are asked: runs")
	c.Flags().StringVar(&f.format, "format", "terminal", "of what is told: terminal, json")
	quietFlag(c, &f.q, "no notes")
	f.cacheFlags.declare(c)
	return c
}

func (f *scoreFlags) validate() error {
	if formats := []string{"terminal", "json"}; !slices.Contains(formats, f.format) {
		return exit.Usage("there are: terminal, json", "there is no format %q", f.format)
	}
	for _, name := range f.scorers {
		if slices.Contains(f.remove, name) {
			return exit.Usage("", "--scorer %s and --remove %s contradict each other", name, name)
		}
	}
	return nil
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
			return exit.Unmeasured(err)
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
		return nil, exit.With(exit.NotMeasured, "what was made is kept; once the cause is gone, the same command goes on", "%w", err)
	}
	return done, nil
}

// unscorable says why scores cannot be added to a folder.
func unscorable(dir string, err error) error {
	if busy := (*record.InUse)(nil); errors.As(err, &busy) {
		return exit.With(exit.NotMeasured, "wait until it ends", "%w", err)
	}
	return results.Unresumable(dir, err)
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
		return exit.With(exit.Stopped, "with a larger budget in the suite the same command goes on; what was made is kept", "the suite's budget is spent")
	case ctx.Err() != nil:
		return exit.With(exit.Stopped, again, "interrupted")
	case done.Runs > 0 && done.Taskless == done.Runs:
		return exit.With(exit.NotMeasured, "name the suite that the runs were made of: agentbench score "+exit.ShellWord(s.dir)+" SUITE", "no run could be scored: their tasks are not at hand")
	}
	return nil
}

// takeOver puts into the manifest by which scorers the runs are judged now.
func (s *scoring) takeOver() error {
	s.manifest.Scorers = s.standing()
	s.manifest.Metrics = s.metrics()
	if !s.edited && len(s.remove) == 0 {
		return nil
	}
	if err := s.takeOverSpec(); err != nil {
		return err
	}
	if s.edited {
		if err := s.takeOverData(); err != nil {
			return err
		}
	}
	var err error
	s.manifest.SpecHash, err = results.Hash(&s.manifest)
	return err
}

// standing are the names of the scorers that have judged: those of the suite in
// its order, then the others.
func (s *scoring) standing() []string {
	names := []string{}
	for _, v := range s.set.Versions() {
		if !slices.Contains(s.remove, v.Name) && (slices.Contains(s.judging, v.Name) || slices.Contains(s.manifest.Scorers, v.Name)) {
			names = append(names, v.Name)
		}
	}
	for _, name := range s.manifest.Scorers {
		if !slices.Contains(names, name) && !slices.Contains(s.remove, name) {
			names = append(names, name)
		}
	}
	return names
}

// metrics are those of the suite, and those of other scorers that there are.
func (s *scoring) metrics() []record.MetricHead {
	heads := slices.Clone(s.manifest.Metrics)
	if s.edited && len(s.flags.scorers) == 0 {
		heads = results.Metrics(s.suite.Suite.SingleMetrics())
		for _, head := range s.manifest.Metrics {
			same := func(h record.MetricHead) bool { return h.Name == head.Name }
			if !slices.Contains(s.declared(), head.Score) && !slices.ContainsFunc(heads, same) {
				heads = append(heads, head)
			}
		}
	}
	known := func(name string) bool { return name == "" || slices.Contains(s.manifest.Scorers, name) }
	return slices.DeleteFunc(heads, func(h record.MetricHead) bool { return !known(h.Score) || !known(h.By) })
}

// takeOverSpec puts the scorers that judge now in the place of the recorded ones,
// with what goes with them.
func (s *scoring) takeOverSpec() error {
	var now *results.Resolved
	if s.edited {
		resolved, err := results.Resolve(s.suite.Suite, nil)
		if err != nil {
			return err
		}
		if now, err = s.writer().Clean(resolved); err != nil {
			return err
		}
	}
	return results.TakeOverScorers(&s.manifest, now, s.judging, len(s.flags.scorers) == 0)
}

// takeOverData adds files of recorded answers that were not there.
func (s *scoring) takeOverData() error {
	files, err := s.suite.DataFiles()
	if err != nil {
		return fmt.Errorf("hashing the data: %w", err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(s.manifest.Data, func(d record.DataFile) bool { return d.Name == f.Name }) {
			s.manifest.Data = append(s.manifest.Data, record.DataFile(f))
		}
	}
	return nil
}

// scoreLine is what was done of one scorer, as JSON has it.
type scoreLine struct {
	Scorer   string         `json:"scorer"`
	Version  string         `json:"version"`
	Found    map[string]int `json:"found"` // scores of runs, by the version that made them
	Kept     int            `json:"kept"`
	Made     int            `json:"made"`
	Unscored int            `json:"unscored"`
	Removed  int            `json:"removed"`
	Reason   string         `json:"reason,omitempty"` // why one of them is unscored
	Wanted   int            `json:"wanted"`
	Usage    record.Usage   `json:"usage"`
}

// tell prints what a pass found and did of each scorer.
func (s *scoring) tell(done *pass.Pass) error {
	if s.flags.format == "json" {
		for i := range done.Counts {
			c := &done.Counts[i]
			err := s.line(scoreLine{c.Name, c.Hash, c.Found, c.Kept, c.Made, c.Unscored, c.TakenBack, c.Reason, c.Wanted, c.Usage})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := page.Terminal(s.out, scoreTable(done, s.flags.dry), page.Screen{Width: s.width(s.out)}); unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	for i := range done.Counts {
		s.remark(&done.Counts[i])
	}
	return nil
}

// remark tells of a scorer what the table has no room for.
func (s *scoring) remark(c *pass.Count) {
	if scores, versions := c.Others(); scores > 0 && !c.Removed {
		fmt.Fprintf(s.out, "%s: %s of runs by %s of it stood there\n", page.Visible(c.Name), page.Plural(scores, "score", "scores"), page.Plural(versions, "other version", "other versions"))
	}
	if c.Unscored > 0 {
		fmt.Fprintf(s.out, "%s: one of the reasons for what is unscored: %s\n", page.Visible(c.Name), page.Visible(c.Reason))
	}
}

// scoreTable has a line for each scorer. Kept are scores of runs, the others also
// those of iterations.
func scoreTable(done *pass.Pass, dry bool) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{{Head: "scorer"}, {Head: "version"}, {Head: "kept", Right: true}}}
	heads := []string{"made", "unscored", "removed", "calls", "cost"}
	if dry {
		heads = []string{"to make"}
	}
	for _, head := range heads {
		t.Columns = append(t.Columns, page.GridColumn{Head: head, Right: true})
	}
	for i := range done.Counts {
		c := &done.Counts[i]
		version := c.Hash
		if c.Removed {
			version = "-"
		}
		row := []string{page.Visible(c.Name), version, fmt.Sprint(c.Kept)}
		if dry {
			row = append(row, fmt.Sprint(c.Wanted))
		} else {
			row = append(row, fmt.Sprint(c.Made), fmt.Sprint(c.Unscored), fmt.Sprint(c.TakenBack), fmt.Sprint(c.Usage.Calls), scoreCost(c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func scoreCost(c *pass.Count) string {
	if !c.Asks {
		return "-"
	}
	return trajectory.Cost(c.Usage)
}

// tellWorst says how many calls the scores take at most that would be made.
func (s *scoring) tellWorst(done *pass.Pass) error {
	calls := 0
	for i := range done.Counts {
		for k := range s.suite.Suite.Scorers {
			if scorer := &s.suite.Suite.Scorers[k]; scorer.Name == done.Counts[i].Name {
				calls += done.Counts[i].Wanted * callsAtMost(scorer)
			}
		}
	}
	if s.flags.format == "json" {
		return nil
	}
	_, err := fmt.Fprintf(s.out, "%s to be scored, with at most %s\n", page.Plural(done.Runs, "run is", "runs are"), page.Plural(calls, "call", "calls"))
	return unlessClosed(err)
}

// callsAtMost is how many calls one score takes, each answer asked for twice.
// Scorers of the suite that are parts of another one count for themselves.
func callsAtMost(s *spec.Scorer) int {
	asked := max(1, len(s.Models)) * max(1, s.Votes) * max(1, len(s.Criteria))
	switch s.Type {
	case "command", "http":
		return 1
	case "judge":
		return 2 * asked
	case "pairwise":
		return 4 * asked // in both orders
	}
	calls := 0
	for _, part := range s.Parts {
		if part.Scorer != nil {
			calls += callsAtMost(part.Scorer)
		}
	}
	return calls
}

// tellProblems warns of what could not be scored.
func (s *scoring) tellProblems(done *pass.Pass) {
	if n := len(done.Problems); n > 0 {
		fmt.Fprintf(s.err, "agentbench: warning: %s cannot be read, the first: %v\nhint: agentbench repair --dry-run %s says what is damaged\n",
			page.Plural(n, "place", "places"), done.Problems[0], exit.ShellWord(s.dir))
	}
	if done.Taskless > 0 && done.Taskless < done.Runs {
		fmt.Fprintf(s.err, "agentbench: warning: %s of tasks that are not at hand, such as %s, and not scored\n",
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
	suite    *spec.Document // whose scorers judge
	edited   bool           // the user named it
	budget   *pace.Budget
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
	return s, firstOfSteps(s.open, s.sameTasks, s.compile, s.name)
}

// firstOfSteps goes on as long as nothing fails.
func firstOfSteps(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// open opens the folder as it was recorded.
func (s *scoring) open() (err error) {
	s.folder, err = results.OpenManifest(s.dir, s.manifest, results.Options{Suite: s.suite})
	if err != nil {
		return exit.With(exit.NotMeasured, "agentbench version tells which one this is, and the manifest which one made it", "%s cannot be scored: %w", s.dir, err)
	}
	if s.edited {
		return nil
	}
	s.suite = s.folder.Document
	whole, err := s.folder.Whole(s.env)
	if err != nil {
		return nil // those that ask nobody can judge all the same
	}
	s.suite = whole
	return nil
}

// compile makes the scorers.
func (s *scoring) compile() error {
	s.budget = pace.OfSuite(s.suite.Suite.Budget)
	parts, err := engine.NewParts(s.suite, engine.BuildOptions{
		Getenv: s.env, Budget: s.budget, Cache: s.openCache(), CacheMode: s.flags.mode,
	})
	if err != nil {
		return s.unwired(err)
	}
	if s.flags.concurrency > 0 {
		s.suite.Suite.Concurrency = s.flags.concurrency
	}
	set, faults := scorers.New(s.suite.Suite.Scorers, scorers.Options{
		Resolved: s.folder.Document.Suite.Resolved, Baseline: s.manifest.Baseline, Outside: parts,
	})
	faults.Print(s.err)
	if faults.Err() != nil {
		return exit.Quiet(exit.WrongSpec)
	}
	s.set = set
	return nil
}

func (s *scoring) openCache() *cache.Store {
	dir := s.flags.dir
	if dir == "" {
		dir = filepath.Join(filepath.Dir(filepath.Clean(s.dir)), cacheName)
	}
	return s.cacheAt(dir)
}

// name finds the scorers that the user named, or meant.
func (s *scoring) name() error {
	var known []string
	for _, v := range s.set.Versions() {
		known = append(known, v.Name)
	}
	for _, name := range s.flags.scorers {
		if !slices.Contains(known, name) {
			return exit.Usage(exit.DidYouMean(name, known, "there are: "+exit.Some(known)), "there is no scorer %q", name)
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
		if v.Asks && !s.edited && !s.asksAsRecorded(v.Name) {
			if len(s.flags.scorers) > 0 {
				return exit.Usage("agentbench score "+exit.ShellWord(s.dir)+" SUITE", "%s asks what is not in the folder: name the suite", v.Name)
			}
			fmt.Fprintf(s.err, "agentbench: warning: the scores of %s stay as they are: it asks what is not in the folder; name the suite\n", page.Visible(v.Name))
			continue
		}
		s.judging = append(s.judging, v.Name)
	}
	judging := s.set.Only(func(name string) bool { return slices.Contains(s.judging, name) })
	if err := judging.Unable(); err != nil && !s.flags.dry {
		return s.unwired(err)
	}
	if len(s.judging)+len(s.remove) == 0 && !s.flags.compact {
		return exit.Usage("agentbench score "+exit.ShellWord(s.dir)+" SUITE", "%s has no scorer that can judge here", s.dir)
	}
	return nil
}

// asksAsRecorded says whether a scorer of the recorded suite asks as it did then: a
// program needs the suite's folder.
func (s *scoring) asksAsRecorded(name string) bool {
	if s.suite == s.folder.Document {
		return false
	}
	for i := range s.suite.Suite.Scorers {
		if scorer := &s.suite.Suite.Scorers[i]; scorer.Name == name {
			return !s.startsPrograms(scorer, map[string]bool{})
		}
	}
	return false
}

// startsPrograms says whether a scorer, or a part of it, is a program.
func (s *scoring) startsPrograms(scorer *spec.Scorer, seen map[string]bool) bool {
	seen[scorer.Name] = true
	if scorer.Type == "command" {
		return true
	}
	for _, part := range scorer.Parts {
		inner := part.Scorer
		for i := range s.suite.Suite.Scorers {
			if other := &s.suite.Suite.Scorers[i]; inner == nil && other.Name == part.Named {
				inner = other
			}
		}
		if inner != nil && !seen[inner.Name] && s.startsPrograms(inner, seen) {
			return true
		}
	}
	return false
}

// nameRemoved finds those whose scores are taken back: the ones that the user named,
// and those that an edited suite has no more.
func (s *scoring) nameRemoved(known []string) error {
	there := slices.Concat(s.manifest.Scorers, known)
	for _, name := range s.flags.remove {
		if !slices.Contains(there, name) {
			return exit.Usage(exit.DidYouMean(name, there, "there are: "+exit.Some(there)), "there is no scorer %q", name)
		}
	}
	s.remove = slices.Clone(s.flags.remove)
	if s.edited && len(s.flags.scorers) == 0 {
		for _, name := range s.declared() {
			if !slices.Contains(known, name) && !slices.Contains(s.remove, name) {
				s.remove = append(s.remove, name)
			}
		}
	}
	return nil
}

// declared are the scorers that the recorded suite declares, those that judged the
// log of another tool not among them.
func (s *scoring) declared() (names []string) {
	var recorded struct {
		Suite struct{ Scorers []struct{ Name string } }
	}
	if json.Unmarshal(s.manifest.Spec, &recorded) != nil {
		return nil // it declares none that can be read
	}
	for _, scorer := range recorded.Suite.Scorers {
		names = append(names, scorer.Name)
	}
	return names
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
	return exit.With(exit.WrongSpec, "--force scores the runs with these tasks; with --again also what is up to date",
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
	found, err := results.TaskDifferences(&s.manifest, s.suite.Suite)
	if err != nil {
		return nil, err
	}
	return results.Fewest(append(lines, found.Lines()...)), nil
}

// keepLedger opens the ledger of the folder, which is held, until the function that
// it gives is called.
func (s *scoring) keepLedger() (end func() error, err error) {
	ledger, err := s.openLedger(s.dir, &s.manifest, s.suite.Suite, s.budget, s.manifest.Volatile.Paid)
	if err != nil || ledger == nil {
		return func() error { return nil }, err
	}
	return func() error {
		err := ledger.Close()
		sealed := ledger.Sealed()
		s.manifest.Volatile.Ledger = &sealed
		return err
	}, nil
}
