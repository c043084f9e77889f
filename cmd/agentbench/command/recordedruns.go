package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os/signal"
	"slices"
	"syscall"

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
	"github.com/agentbench/agentbench/spec/source"
)

// recordedFlags say what of recorded runs is replayed, and in what.
type recordedFlags struct {
	configurations []string
	suite          string
	opened         *opened // the suite, where it is open already
}

func (f *recordedFlags) declare(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "set the parameters in this recorded configuration (repeatable; default: in all that were recorded)")
	c.Flags().StringVar(&f.suite, "suite", "", "the suite that has the tasks, where they are not in the folder")
}

// recordedRuns is a result folder that is replayed.
type recordedRuns struct {
	*program
	place  string
	folder *results.Folder
	suite  string // that has the tasks, as it was named; "": none was
	only   string // the configuration whose runs are replayed; "": all
	bases  []sweep.Base
	texts  bool // the runs were read with their texts
	// selection is what was read.
	selection results.Selection
	apart     bool // something that is tried takes the path of no recording
	notes     results.Notes
	replayed  []sweep.Recording
	left      []tune.ReplayNote // tell what of the folder is not among the runs
}

// openRecordedRuns opens DIR or DIR:CONFIGURATION. Runs are read once it is known
// what will be replayed: see read.
func (p *program) openRecordedRuns(text string, f *recordedFlags) (*recordedRuns, error) {
	at, err := p.openPlace(text, results.BaselineFolder)
	if err != nil {
		return nil, err
	}
	if at.Baseline() {
		return nil, exit.Usage("name the result folder that it was made of", "%s is a baseline, which does not hold what runs did: it cannot be replayed", text)
	}
	r := &recordedRuns{program: p, place: at.Path, suite: f.suite, only: at.Configuration}
	suite, err := p.tasksOf(f)
	if err != nil {
		return nil, err
	}
	r.folder, err = results.OpenManifest(at.Path, at.Manifest, results.Options{Suite: suite})
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "agentbench version tells which one this is, and the manifest which one made it", "%s cannot be replayed: %w", at.Path, err)
	}
	if suite != nil {
		if err := r.sameData(suite); err != nil {
			return nil, err
		}
	}
	return r, r.base(f.configurations)
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

// sameData warns of data that has changed since the runs were made.
func (r *recordedRuns) sameData(suite *spec.Document) error {
	other, err := r.folder.OtherData(suite)
	if err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	if len(other) > 0 {
		r.warn("%s of --suite: not the bytes that the runs were made of, so that tasks may differ", exit.Some(other))
	}
	return nil
}

func (r *recordedRuns) warn(format string, args ...any) {
	fmt.Fprintf(r.err, "agentbench: warning: "+format+"\n", args...)
}

// base finds the configurations that parameters are set in.
func (r *recordedRuns) base(names []string) error {
	m := &r.folder.Manifest
	if len(names) == 0 && r.only != "" {
		names = []string{r.only}
	}
	for _, name := range names {
		head, ok := m.Configuration(name)
		if !ok {
			known := results.Names(m)
			return exit.Usage(exit.DidYouMean(name, known, "there are: "+exit.Some(known)), "%s has no configuration %q", r.place, name)
		}
		r.bases = append(r.bases, sweep.Base{Name: head.Name, Loop: r.folder.Loop(head.Name)})
	}
	if len(names) == 0 {
		r.bases = r.all()
	}
	return nil
}

// all are all configurations of the folder.
func (r *recordedRuns) all() []sweep.Base {
	var all []sweep.Base
	for i := range r.folder.Manifest.Configurations {
		name := r.folder.Manifest.Configurations[i].Name
		all = append(all, sweep.Base{Name: name, Loop: r.folder.Loop(name)})
	}
	return all
}

// read reads the runs as far as loops that will be replayed need them.
func (r *recordedRuns) read(loops []*spec.Loop) error {
	selection := results.Selection{Texts: r.needTexts(loops) || len(r.judgesAround()) > 0}
	if r.only != "" {
		selection.Configurations = []string{r.only}
	}
	var err error
	defer reports.Leanly()()
	if r.replayed, r.notes, err = r.folder.Read(selection); err != nil {
		return exit.With(exit.NotMeasured, "", "%w", err)
	}
	r.selection = selection
	r.texts, r.apart = selection.Texts, slices.ContainsFunc(loops, r.leaves)
	r.tellNotes()
	if len(r.replayed) == 0 {
		return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(r.place)+" lists the runs", "%s holds no run that counts", cmp.Or(r.only, r.place))
	}
	return nil
}

// needTexts says whether one of the loops reads what signals do not have.
func (r *recordedRuns) needTexts(loops []*spec.Loop) bool {
	return slices.ContainsFunc(r.all(), func(base sweep.Base) bool {
		return slices.ContainsFunc(loops, func(l *spec.Loop) bool { return sweep.NeedsTexts(base.Loop, l) != "" })
	})
}

// leaves says that a loop takes the path of no recorded configuration.
func (r *recordedRuns) leaves(l *spec.Loop) bool {
	return !slices.ContainsFunc(r.all(), func(base sweep.Base) bool { return replay.Apart(base.Loop, l) == "" })
}

// leftOut tells of runs that are not among those that are replayed, at once and on
// the page.
func (r *recordedRuns) leftOut(text string) {
	r.warn("%s", text)
	r.left = append(r.left, tune.ReplayNote{Kind: tune.LeftOut, More: text})
}

// tellNotes tells what of the folder is not among the runs.
func (r *recordedRuns) tellNotes() {
	n := &r.notes
	for _, note := range []struct {
		count     int
		one, many string
	}{
		{n.Faults, "run with a fault is left out", "runs with a fault are left out"},
		{n.Cancelled, "cancelled run is left out", "cancelled runs are left out"},
		{n.Strangers, "run of no configuration of the manifest is left out", "runs of no configuration of the manifest are left out"},
		{n.Others, "run was made by another loop than the folder's, and is left out", "runs were made by another loop than the folder's, and are left out"},
		{n.Repeated, "run stands in the folder twice, and counts once", "runs stand in the folder twice, and count once"},
		{n.Taskless, "run is of a task that --suite or the folder does not have", "runs are of tasks that --suite or the folder does not have"},
	} {
		if note.count > 0 {
			r.leftOut(page.Plural(note.count, note.one, note.many))
		}
	}
	if n.BadLines > 0 {
		lines := page.Plural(n.BadLines, "line", "lines") + " cannot be read"
		r.warn("%s, the first: %s", lines, n.FirstBad)
		r.left = append(r.left, tune.ReplayNote{Kind: tune.LeftOut, More: lines})
		fmt.Fprintf(r.err, "hint: agentbench repair --dry-run %s says what is damaged\n", exit.ShellWord(r.place))
	}
	r.tellMissing()
}

// tellMissing warns of a folder whose runs have not all been made: those that end
// soon come first.
func (r *recordedRuns) tellMissing() {
	raced := r.leaveRaced()
	m := &r.folder.Manifest
	planned, made := m.Totals.Planned, r.notes.Faults+r.notes.Cancelled
	for i := range r.replayed {
		made += len(r.replayed[i].Runs)
	}
	if r.only != "" {
		planned /= max(1, len(m.Configurations))
	} else {
		planned -= raced * planned / max(1, len(m.Configurations))
	}
	if m.Status != record.StateComplete && made < planned {
		r.leftOut(fmt.Sprintf("only %d of %s made: those that are missing may be the longer ones", made, page.Plural(planned, "run is", "runs are")))
	}
}

// leaveRaced leaves out the configurations that left a race, and counts them: they
// have the first tasks only, on which the others are not to be compared.
func (r *recordedRuns) leaveRaced() (raced int) {
	if r.only != "" {
		return 0
	}
	m := &r.folder.Manifest
	for i := range m.Configurations {
		head := &m.Configurations[i]
		if !slices.ContainsFunc(r.replayed, func(one sweep.Recording) bool { return one.Configuration == head.Name && len(one.Runs) > 0 }) {
			r.leftOut(page.Visible(head.Name) + " is left out: it has no run that counts")
		}
	}
	r.replayed = slices.DeleteFunc(r.replayed, func(one sweep.Recording) bool {
		head, _ := m.Configuration(one.Configuration)
		if head.LeftRace > 0 {
			raced++
			r.leftOut(fmt.Sprintf("%s is left out: it left the race after %d of %s", page.Visible(one.Configuration), head.LeftRace, page.Plural(m.Tasks, "task", "tasks")))
		}
		return head.LeftRace > 0
	})
	return raced
}

// candidates make the configurations that are tried: every combination of axes,
// with parameters set before, in every base. Runs are read by then.
func (r *recordedRuns) candidates(set []spec.Assignment, axes []sweep.Axis) ([]sweep.Candidate, error) {
	if err := sweep.Affords(1, axes); err != nil {
		return nil, r.unusable(err)
	}
	loops, err := r.probes(set, axes)
	if err != nil {
		return nil, err
	}
	if err := r.read(loops); err != nil {
		return nil, err
	}
	if err := r.told(loops); err != nil {
		return nil, err
	}
	for i := range axes {
		if err := r.observe(set, axes, i); err != nil {
			return nil, err
		}
	}
	all, err := sweep.Grid(r.bases, set, axes)
	return all, r.unusable(err)
}

// probes are loops that have each of the values once: what a combination reads,
// one of them reads. Parameters that no base has are a mistake; where one has them, the others are left out.
func (r *recordedRuns) probes(set []spec.Assignment, axes []sweep.Axis) ([]*spec.Loop, error) {
	var loops []*spec.Loop
	var bases []sweep.Base
	var first error
	for _, base := range r.bases {
		found, err := sweep.Probes(base.Loop, set, axes)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		loops, bases = append(loops, found...), append(bases, base)
	}
	if len(bases) == 0 {
		return nil, r.unusable(first)
	}
	r.bases = bases
	return loops, r.readable(loops)
}

// readable refuses to decide by tasks that are not at hand.
func (r *recordedRuns) readable(loops []*spec.Loop) error {
	if !r.folder.KnowsTasks() && slices.ContainsFunc(loops, sweep.ReadsTask) {
		return exit.Usage("name the suite that has the tasks: --suite SUITE", "a condition reads the task, and the tasks are not in %s", r.place)
	}
	return nil
}

// told refuses to decide by what the log of another tool does not tell: that
// would take it for zero.
func (r *recordedRuns) told(loops []*spec.Loop) error {
	if !r.folder.Imported {
		return nil
	}
	for _, l := range loops {
		if what := sweep.Untold(l, r.replayed); what != "" {
			return exit.With(exit.NotMeasured, "the mapping says where the log has it: agentbench import --help", "%s", what)
		}
	}
	return nil
}

// observe finds the values of one of the axes, if it has ends, in the first base
// that has the parameter.
func (r *recordedRuns) observe(set []spec.Assignment, axes []sweep.Axis, which int) error {
	axis := &axes[which]
	base, faults := r.bases[0].Loop.With(set...)
	if base == nil {
		return r.unusable(faults)
	}
	if err := axis.Observe(sweep.Beside(base, axes, which), r.replayed); err != nil {
		return r.unusable(err)
	}
	if axis.Observed > 0 {
		r.warn("%s: %d values were observed, of which %d are tried, evenly by rank", axis.Path, axis.Observed, len(axis.Values))
	}
	return nil
}

// unusable is a mistake in what was asked for, as wrong usage.
func (r *recordedRuns) unusable(err error) error {
	var faults source.Faults
	var many *sweep.TooMany
	switch {
	case err == nil:
		return nil
	case errors.As(err, &many):
		return exit.Usage(many.Hint(), "%w", err)
	case errors.As(err, &faults):
		faults.Print(r.err)
		return exit.Quiet(exit.WrongUsage)
	}
	return exit.Usage("", "%w", err)
}

// sweep holds candidates against the recorded runs.
func (r *recordedRuns) sweep(candidates []sweep.Candidate) (*sweep.Sweep, error) {
	s, err := r.held(candidates)
	if err != nil {
		return nil, err
	}
	if n := s.Unpaired(); n > 0 {
		r.leftOut(page.Plural(n, "recorded run is", "recorded runs are") + " left out: another recording has none of that task and trial")
	}
	return s, nil
}

// held are candidates held against what was read.
func (r *recordedRuns) held(candidates []sweep.Candidate) (*sweep.Sweep, error) {
	for i := range r.replayed {
		r.replayed[i].Judge = r.judge()
	}
	s, err := sweep.New(r.replayed, candidates, sweep.Options{Replay: r.rendering()})
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "", "%w", err)
	}
	return s, nil
}

// rendering makes replays that judge outputs again and, where the tasks are at
// hand, render requests again; nil where the runs have no texts for it.
func (r *recordedRuns) rendering() func(was, target *spec.Loop, announced ...string) *replay.Replay {
	switch {
	case !r.texts:
		return nil
	case !r.folder.KnowsTasks():
		if r.apart {
			r.warn("the tasks are not in %s: prompts are compared as they are declared; --suite SUITE compares what would be sent", r.place)
		}
		return engine.ReplayDeclared
	}
	return engine.Replay
}

// whenAsked are the scorers that judge the iterations that a replay asks for.
func (r *recordedRuns) whenAsked() (names []string) {
	scorers := r.folder.Document.Suite.Scorers
	for i := range scorers {
		if scorers[i].Score == spec.ScoreWhenAsked {
			names = append(names, scorers[i].Name)
		}
	}
	return names
}

// scored is a sweep whose scores are there as far as scorers judge when they are
// asked: those of iterations that a candidate returns, and no others. They are made
// once, and stand in the folder from then on. Where they cannot be made they stay
// missing.
func (r *recordedRuns) scored(ctx context.Context, s *sweep.Sweep, cached cacheFlags) (*sweep.Sweep, error) {
	names := r.whenAsked()
	if len(names) == 0 {
		return s, nil
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	missing, err := s.Unscored(ctx, names)
	if err != nil {
		return nil, exit.With(exit.Stopped, "", "%w", err)
	}
	if len(missing) == 0 {
		return s, nil
	}
	used, err := r.scoreWanted(ctx, r.place, r.suite, missing, names, cached)
	var told *exit.Error
	switch {
	case ctx.Err() != nil:
		return nil, exit.With(exit.Stopped, "what was made is kept; the same command goes on", "interrupted while scores were made")
	case err == nil:
		r.tellAsked(missing, names, used)
	case !errors.As(err, &told) || told.Err != nil: // else it said so
		r.warn("scores of iterations are missing: %v", err)
	}
	if r.replayed, _, err = r.folder.Read(r.selection); err != nil {
		return nil, exit.With(exit.NotMeasured, "", "%w", err)
	}
	return r.held(s.Candidates())
}

// judgesAround are the scorers that ask nobody and of whose scores those of
// iterations tell only some: they judge the runs again that a replay gives.
func (r *recordedRuns) judgesAround() (names []string) {
	if !r.folder.KnowsTasks() {
		return nil
	}
	all := r.folder.Document.Suite.Scorers
	for i := range all {
		switch r.folder.Reads(all[i].Name) {
		case sweep.ReadsAround, sweep.ReadsStop:
			if !all[i].Asks(all) {
				names = append(names, all[i].Name)
			}
		}
	}
	return names
}

// judge judges runs as the recorded suite does, by scorers that ask nobody; nil
// where the runs have no texts, or the tasks are not at hand.
func (r *recordedRuns) judge() sweep.Judge {
	suite := r.folder.Document.Suite
	if !r.texts || !r.folder.KnowsTasks() {
		return nil
	}
	set, _ := scorers.New(suite.Scorers, scorers.Options{Resolved: suite.Resolved, Baseline: suite.Baseline})
	if set == nil {
		return nil
	}
	by := map[string]*scorers.Set{}
	for i := range suite.Scorers {
		if name := suite.Scorers[i].Name; !suite.Scorers[i].Asks(suite.Scorers) {
			by[name] = set.Only(func(one string) bool { return one == name })
		}
	}
	return func(run *sweep.Run, as *record.Run, score string) float64 {
		if by[score] == nil {
			return math.NaN()
		}
		for _, s := range by[score].At(context.Background(), run.Task, as, []int{0}) {
			if s.Unscored == "" {
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
	fmt.Fprintf(r.err, "%s of %s judged by %s: %s, %s as if nothing were cached\n", page.Plural(iterations, "iteration", "iterations"), page.Plural(len(judged), "run", "runs"),
		page.Visible(exit.Some(names)), page.Plural(int(used.Calls), "call", "calls"), trajectory.Cost(used))
}

// agentFailed refuses to choose by runs in all of which the agent failed: every limit
// loses nothing there.
func (r *recordedRuns) agentFailed() error {
	return reports.FailedEverywhere(r.place, func(yield func(*record.Run) bool) {
		for i := range r.replayed {
			for _, run := range r.replayed[i].Runs {
				if !yield(run.Run) {
					return
				}
			}
		}
	})
}
