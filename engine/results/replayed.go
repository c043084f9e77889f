package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Recorded are the runs of a folder that are replayed.
type Recorded struct {
	*Folder
	Only  string // the configuration whose runs are replayed; "": all
	Bases []sweep.Base
	Texts bool // the runs were read with their texts
	// Faults are runs that ended in a fault: they are read, too, and answer for what stops before it.
	Faults bool
	Apart  bool // something that is tried takes the path of no recording
	// Selection is what was read, and Replayed are the runs. Notes and Left tell what of
	// the folder is not among them.
	Selection Selection
	Replayed  []sweep.Recording
	Notes     Notes
	Left      []string

	RecordedOptions
}

// RecordedOptions are what a folder does not say.
type RecordedOptions struct {
	// Warn gets what is left out.
	Warn func(text string)
	// Judge judges runs again; it may return nil. Replay makes replays that render
	// requests; nil: the runs have no texts for it.
	Judge  func() sweep.Judge
	Replay func() func(was, target *spec.Loop, announced ...string) *replay.Replay
}

// OpenRecorded opens the folder of a place for replays in some configurations; none: in
// all. Runs are read once it is known what will be replayed: see ReadFor.
func OpenRecorded(at *Place, suite *spec.Document, configurations []string, o RecordedOptions) (*Recorded, error) {
	if at.Baseline() {
		return nil, exit.Usage("name the result folder that it was made of", "%s is a baseline, which does not hold what runs did: it cannot be replayed", at.Text)
	}
	folder, err := Open(at.Results, suite)
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "agentbench version prints this version, and the manifest holds the version that made it", "%s cannot be replayed: %w", at.Path, err)
	}
	r := &Recorded{Folder: folder, Only: at.Configuration, RecordedOptions: o}
	if suite != nil {
		other, err := folder.OtherData(suite)
		if err != nil {
			return nil, exit.With(exit.WrongSpec, "", "%w", err)
		}
		if len(other) > 0 {
			o.Warn(exit.Some(other) + " of --suite: not the bytes that the runs were made of, so that tasks may differ")
		}
	}
	return r, r.SetBases(configurations)
}

// SetBases finds the configurations that parameters are set in.
func (r *Recorded) SetBases(names []string) error {
	m := &r.Manifest
	if len(names) == 0 && r.Only != "" {
		names = []string{r.Only}
	}
	for _, name := range names {
		head, ok := m.Configuration(name)
		if !ok {
			known := Names(m)
			return exit.Usage(exit.DidYouMean(name, known, "there are: "+exit.Some(known)), "%s has no configuration %q", r.Path, name)
		}
		r.Bases = append(r.Bases, sweep.Base{Name: head.Name, Aliases: head.Aliases, Loop: r.Loop(head.Name)})
	}
	if len(names) == 0 {
		r.Bases = r.All()
	}
	return nil
}

// All are all configurations of the folder.
func (r *Recorded) All() (all []sweep.Base) {
	for i := range r.Manifest.Configurations {
		name := r.Manifest.Configurations[i].Name
		all = append(all, sweep.Base{Name: name, Aliases: r.Manifest.Configurations[i].Aliases, Loop: r.Loop(name)})
	}
	return all
}

// Swept are the parameters, with their values, by which configurations that were recorded
// differ from a loop, and that is all by which they do: what a suite sweeps. Each value was
// recorded, so that a parameter of which only calls can tell is among them.
func (r *Recorded) Swept(loop *spec.Loop) (axes []sweep.Axis) {
	for i := range r.Manifest.Configurations {
		head := &r.Manifest.Configurations[i]
		var set []spec.Assignment
		for _, p := range head.Params {
			if a, faults := (spec.Setting{Path: p.Path, Value: string(p.Value)}).Assign("sweep"); faults.Err() == nil { // JSON is YAML
				set = append(set, a)
			}
		}
		if same, _ := loop.With(set...); same == nil || same.Hash() != r.Loop(head.Name).Hash() {
			continue
		}
		for _, a := range set {
			at := slices.IndexFunc(axes, func(known sweep.Axis) bool { return known.Path == a.Path })
			if at < 0 {
				at, axes = len(axes), append(axes, sweep.Axis{Path: a.Path})
			}
			if !slices.ContainsFunc(axes[at].Values, func(known *source.Node) bool { return spec.Assignment{Value: known}.Text() == a.Text() }) {
				axes[at].Values = append(axes[at].Values, a.Value)
			}
		}
	}
	return slices.DeleteFunc(axes, func(a sweep.Axis) bool { return len(a.Values) < 2 })
}

// ReadFor reads the runs as far as loops that will be replayed need them: with their texts
// where a loop, or a scorer that judges again, reads what signals do not have, and with the states of workspaces.
func (r *Recorded) ReadFor(loops []*spec.Loop) error {
	recorded := r.All()
	faults := r.Faults && r.Manifest.Totals.Faults > 0
	selection := Selection{Faults: r.Faults, Texts: r.judgesAround() || faults || slices.ContainsFunc(recorded, func(base sweep.Base) bool {
		return base.Loop.Workspace != nil || slices.ContainsFunc(loops, func(l *spec.Loop) bool { return sweep.NeedsTexts(base.Loop, l) != "" })
	})}
	switch {
	case r.Only != "":
		selection.Configurations = []string{r.Only}
	case r.Imported: // the configurations of a log are other agents, with tasks of their own
		for _, base := range recorded {
			if slices.ContainsFunc(loops, func(l *spec.Loop) bool { return replay.Apart(base.Loop, l) == "" }) {
				selection.Configurations = append(selection.Configurations, base.Name)
			}
		}
	}
	var err error
	if r.Replayed, r.Notes, err = r.Read(selection); err != nil {
		return exit.With(exit.NotMeasured, "", "%w", err)
	}
	r.Selection, r.Texts = selection, selection.Texts
	r.Apart = slices.ContainsFunc(loops, func(l *spec.Loop) bool {
		return !slices.ContainsFunc(recorded, func(base sweep.Base) bool { return replay.Apart(base.Loop, l) == "" })
	})
	r.tellNotes()
	if len(r.Replayed) == 0 {
		return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(r.Path)+" lists the runs", "%s holds no run that counts", cmp.Or(r.Only, r.Path))
	}
	return nil
}

// leaveOut tells of runs that are not among those that are replayed, at once and on
// the page.
func (r *Recorded) leaveOut(text string) {
	r.Warn(text)
	r.Left = append(r.Left, text)
}

// tellNotes tells what of the folder is not among the runs.
func (r *Recorded) tellNotes() {
	n, unlike := &r.Notes, ""
	if !r.Faults {
		unlike = "; agentbench replay counts what they did before it"
	}
	for _, note := range []struct {
		count     int
		one, many string
	}{
		{n.Faults, "run with a fault is left out of all rows" + unlike, "runs with a fault are left out of all rows" + unlike},
		{n.Cancelled, "cancelled run is left out", "cancelled runs are left out"},
		{n.UnknownConfigurations, "run of no configuration of the manifest is left out", "runs of no configuration of the manifest are left out"},
		{n.Others, "run was made by another loop than the folder's, and is left out", "runs were made by another loop than the folder's, and are left out"},
		{n.Repeated, "run is in the folder twice, and counts once", "runs are in the folder twice, and count once"},
		{n.Taskless, "run is of a task that --suite or the folder does not have", "runs are of tasks that --suite or the folder does not have"},
	} {
		if note.count > 0 {
			r.leaveOut(exit.Plural(note.count, note.one, note.many))
		}
	}
	r.tellMissing()
}

// tellMissing warns of a folder that lacks runs: of a session in progress those that end
// soon come first.
func (r *Recorded) tellMissing() {
	r.leaveRaced()
	m := &r.Manifest
	planned, made := 0, r.Notes.Faults+r.Notes.Cancelled+r.Notes.Others
	for i := range r.Replayed {
		made += len(r.Replayed[i].Runs)
	}
	each := m.Totals.Planned / max(1, len(m.Configurations))
	for i := range m.Configurations {
		switch head := &m.Configurations[i]; {
		case len(r.Selection.Configurations) > 0 && !slices.Contains(r.Selection.Configurations, head.Name):
		case head.LeftRace == 0:
			planned += each
		case len(r.Selection.Configurations) > 0: // else it is left out
			planned += each * head.LeftRace / max(1, m.Tasks)
		}
	}
	if made < planned {
		r.leaveOut(fmt.Sprintf("only %d of %s there: those that are missing may be the longer ones", made, exit.Plural(planned, "run is", "runs are")))
	}
}

// leaveRaced leaves out the configurations that left a race: they
// have the first tasks only, on which the others are not to be compared.
func (r *Recorded) leaveRaced() {
	if len(r.Selection.Configurations) > 0 {
		return
	}
	m := &r.Manifest
	for i := range m.Configurations {
		head := &m.Configurations[i]
		if !slices.ContainsFunc(r.Replayed, func(one sweep.Recording) bool { return one.Configuration == head.Name && len(one.Runs) > 0 }) {
			r.leaveOut(head.Name + " is left out: it has no run that counts")
		}
	}
	r.Replayed = slices.DeleteFunc(r.Replayed, func(one sweep.Recording) bool {
		head, _ := m.Configuration(one.Configuration)
		if head.LeftRace > 0 {
			r.leaveOut(fmt.Sprintf("%s is left out: it was dropped after %d of %s", one.Configuration, head.LeftRace, exit.Plural(m.Tasks, "task", "tasks")))
		}
		return head.LeftRace > 0
	})
}

// Candidates make the configurations that are tried: every combination of axes,
// with parameters set before, in every base. Runs are read by then.
func (r *Recorded) Candidates(set []spec.Assignment, axes []sweep.Axis) ([]sweep.Candidate, error) {
	if err := sweep.Affords(1, axes); err != nil {
		return nil, Unusable(err)
	}
	loops, err := r.Probes(set, axes)
	if err != nil {
		return nil, err
	}
	if err := r.ReadFor(loops); err != nil {
		return nil, err
	}
	if err := r.Told(loops); err != nil {
		return nil, err
	}
	for i := range axes {
		if err := r.Observe(set, axes, i); err != nil {
			return nil, err
		}
	}
	all, err := sweep.Grid(r.Bases, set, axes)
	return all, Unusable(err)
}

// Probes are loops that have each of the values once: what a combination reads,
// one of them reads. Parameters that no base has are a mistake; where one has them, the others are left out.
func (r *Recorded) Probes(set []spec.Assignment, axes []sweep.Axis) ([]*spec.Loop, error) {
	var loops []*spec.Loop
	var bases []sweep.Base
	var first error
	for _, base := range r.Bases {
		found, err := sweep.Probes(base.Loop, set, axes)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		loops, bases = append(loops, found...), append(bases, base)
	}
	if len(bases) == 0 {
		return nil, Unusable(first)
	}
	r.Bases = bases
	return loops, nil
}

// Told refuses to decide by what the log of another tool lacks: that
// would take it for zero.
func (r *Recorded) Told(loops []*spec.Loop) error {
	if !r.Imported {
		return nil
	}
	for _, l := range loops {
		if what := sweep.MissingSignals(l, r.Replayed); what != "" {
			return exit.With(exit.NotMeasured, "name its place in the mapping: agentbench import --help", "%s", what)
		}
	}
	return nil
}

// Observe finds the values of one of the axes, if it has ends, in the first base
// of which recorded runs tell some apart.
func (r *Recorded) Observe(set []spec.Assignment, axes []sweep.Axis, which int) error {
	axis := &axes[which]
	if len(axis.Between) == 0 {
		return nil
	}
	base, err := r.observed(set, axes, which)
	if err != nil {
		return Unusable(err)
	}
	if text := axis.Beyond(base, r.Replayed); text != "" {
		r.Warn(text)
	}
	if axis.Observed > 0 {
		r.Warn(fmt.Sprintf("%s: %d values were observed, of which %d are tried, evenly by rank", axis.Path, axis.Observed, len(axis.Values)))
	}
	return nil
}

func (r *Recorded) observed(set []spec.Assignment, axes []sweep.Axis, which int) (*spec.Loop, error) {
	var first error
	for i := range r.Bases {
		base, faults := r.Bases[i].Loop.With(set...)
		err := faults.Err()
		if err == nil {
			base = sweep.Beside(base, axes, which)
			err = axes[which].Observe(base, r.Replayed)
		}
		if err == nil {
			return base, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// Sweep applies candidates to the recorded runs.
func (r *Recorded) Sweep(candidates []sweep.Candidate) (*sweep.Sweep, error) {
	s, err := r.Held(candidates)
	if err != nil {
		return nil, err
	}
	if n := s.Unpaired(); n > 0 {
		r.leaveOut(exit.Plural(n, "recorded run is", "recorded runs are") + " left out: another recording has none of that task and trial")
	}
	return s, nil
}

// Held applies candidates to what was read.
func (r *Recorded) Held(candidates []sweep.Candidate) (*sweep.Sweep, error) {
	for i := range r.Replayed {
		r.Replayed[i].Judge, r.Replayed[i].OfLog = r.Judge(), r.Imported
	}
	s, err := sweep.New(r.Replayed, candidates, sweep.Options{Replay: r.Replay()})
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "", "%w", err)
	}
	return s, nil
}

// judgesAround reports whether there are scorers that ask nothing and whose scores those of
// iterations do not give: they judge the runs again that a replay gives.
func (r *Recorded) judgesAround() bool {
	all := r.Document.Suite.Scorers
	return slices.ContainsFunc(all, func(s spec.Scorer) bool {
		reads := r.Reads(s.Name)
		return (reads == sweep.ReadsAround || reads == sweep.ReadsStop) && !s.Asks(all)
	})
}

// WhenAsked are the scorers that judge the iterations that a replay asks for.
func (r *Recorded) WhenAsked() (names []string) {
	scorers := r.Document.Suite.Scorers
	for i := range scorers {
		if scorers[i].Score == spec.ScoreWhenAsked {
			names = append(names, scorers[i].Name)
		}
	}
	return names
}

// Unusable is a mistake in what was asked for, as wrong usage.
func Unusable(err error) error {
	if err == nil {
		return nil
	}
	if many, is := errors.AsType[*sweep.TooMany](err); is {
		return exit.Usage(many.Hint(), "%w", err)
	}
	if faults, is := errors.AsType[source.Faults](err); is {
		return &exit.Error{Code: exit.WrongUsage, Err: faults}
	}
	return exit.Usage("", "%w", err)
}
