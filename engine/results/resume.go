package results

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Earlier is what former sessions left in a result folder. Its zero value is a new
// folder's.
type Earlier struct {
	Found *record.Recovered // nil: a new folder
	// Remaining is how many of the planned runs are still to be made.
	Remaining int
	Effort    record.Effort
	Wall      time.Duration
	// Mixed warns that runs of several specs are mixed from now on; "": they are not.
	Mixed string

	tries int // after which a run with faults is given up
}

// Done reports whether a run needs nothing any more: it counts, or it was given up.
func (e *Earlier) Done(run string) bool {
	if e.Found == nil {
		return false
	}
	_, finished := e.Found.Finished[run]
	return finished || e.Found.Faults[run] >= e.tries
}

// Text says what of a folder is done already.
func (e *Earlier) Text(dir string, planned int) string {
	text := fmt.Sprintf("continuing %s: %d of %s done", dir, len(e.Found.Finished), exit.Plural(planned, "run is", "runs are"))
	again, givenUp := 0, 0
	for _, tries := range e.Found.Faults {
		if tries < e.tries {
			again++
		} else {
			givenUp++
		}
	}
	if again > 0 {
		text += fmt.Sprintf(", %d with a fault to be tried again", again)
	}
	if givenUp > 0 {
		text += fmt.Sprintf(", %d aborted after %s (--attempts)", givenUp, exit.Plural(e.tries, "fault", "faults"))
	}
	return text
}

// OtherSpec means that a folder was made with another spec.
type OtherSpec struct {
	Dir         string
	Lines       []string // what differs
	ScorersOnly bool     // nothing but how runs are judged
}

func (e *OtherSpec) Error() string {
	return strings.Join(append([]string{e.Dir + " was made with another spec:"}, Fewest(e.Lines)...), "\n  ")
}

// KeepNames gives configurations that a folder has under an alias the name that they have there, so that their
// runs are not made again. A folder without a manifest that can be read changes nothing.
func KeepNames(dir string, p *plan.Plan) {
	m, err := record.ReadManifest(dir)
	if err != nil {
		return
	}
	p.Configurations = slices.Clone(p.Configurations)
	for i := range p.Configurations {
		c := &p.Configurations[i]
		named := func(of func(string) bool) int {
			return slices.IndexFunc(m.Configurations, func(head record.ConfigurationHead) bool { return head.Loop == c.Hash && of(head.Name) })
		}
		if at := named(c.Called); at >= 0 && named(func(name string) bool { return name == c.Name }) < 0 {
			*c = *c.As(m.Configurations[at].Name)
		}
	}
}

// Session is what writes to a result folder.
type Session struct {
	Dir   string
	Plan  *plan.Plan
	Tasks iter.Seq2[*spec.Task, error]
	// Force mixes runs of different specs.
	Force bool
	// Tries is how often a run with faults is tried.
	Tries   int
	Options record.Options
	// Document is the suite, of which a copy is kept.
	Document *spec.Document
	Writer
	// Read reads the manifest of a folder, as [Manifest] does.
	Read func(dir string) (record.Manifest, error)
}

// Open opens the journal of a folder, whose results may have been begun before. The
// manifest is then that of all sessions together.
func (s *Session) Open(m *record.Manifest) (*record.Journal, Earlier, error) {
	copies, err := s.NewCopies(s.Document, s.Plan.Selected(s.Tasks))
	if err != nil {
		return nil, Earlier{}, exit.Unmeasured(err)
	}
	if _, err := record.ReadManifest(s.Dir); errors.Is(err, fs.ErrNotExist) {
		journal, err := record.Create(s.Dir, *m, s.Options)
		if _, busy := errors.AsType[*record.InUse](err); busy {
			return nil, Earlier{}, Unresumable(s.Dir, err)
		}
		if err != nil {
			return nil, Earlier{}, exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
		}
		if err := s.keep(copies, nil, m); err != nil {
			return nil, Earlier{}, errors.Join(err, journal.Close())
		}
		return journal, Earlier{Remaining: s.Plan.Runs()}, nil
	}
	var e Earlier
	before, err := s.Read(s.Dir)
	if err == nil {
		e.Mixed, err = s.sameSpec(&before, m)
	}
	if err == nil {
		err = sameShard(s.Dir, &before, m)
	}
	if err != nil {
		return nil, e, err
	}
	journal, found, err := record.Resume(s.Dir, s.Options)
	if err != nil {
		return nil, e, Unresumable(s.Dir, err)
	}
	if err := ClearWorkspaces(s.Dir); err != nil {
		return nil, e, errors.Join(exit.Unmeasured(err), journal.Close())
	}
	e.Found, e.tries = found, s.Tries
	err = s.keep(copies, before.Specs, m)
	if err == nil {
		err = s.takeUp(&e, m)
	}
	if err != nil {
		return nil, e, errors.Join(err, journal.Close())
	}
	return journal, e, nil
}

// keep keeps a copy of the suite, beside those of former sessions, and names it in the manifest.
func (s *Session) keep(copies *Copies, before []record.Spec, m *record.Manifest) error {
	made, err := copies.Keep(s.Dir, before)
	if err != nil {
		return exit.Unmeasured(err)
	}
	made.Scorers = m.Scorers
	for i := range m.Configurations {
		made.Configurations = append(made.Configurations, m.Configurations[i].Name)
	}
	m.Specs = []record.Spec{made}
	return nil
}

// Unresumable is why results cannot be resumed, and what to do.
func Unresumable(dir string, err error) error {
	hint := "finished runs are saved; fix the cause and rerun the same command to resume"
	if _, busy := errors.AsType[*record.InUse](err); busy {
		hint = "wait until it ends, or name another folder with --out"
	} else if damage, is := errors.AsType[*record.Damage](err); is {
		hint = RepairHint(damage)
	}
	return exit.With(exit.NotMeasured, hint, "%w", err)
}

// sameSpec refuses to mix runs of different specs, unless it is forced to.
func (s *Session) sameSpec(before, now *record.Manifest) (mixed string, err error) {
	var found Differences
	if before.SpecHash != now.SpecHash {
		if found, err = s.differences(before, now); err != nil {
			return "", exit.With(exit.NotMeasured, "", "comparing the specs: %w", err)
		}
	}
	found.allPrograms(latest(before), now)
	if len(found) == 0 { // other configurations only
		return "", nil
	}
	other := &OtherSpec{Dir: s.Dir, Lines: found.Lines(), ScorersOnly: !slices.ContainsFunc(found, func(d Difference) bool {
		return !strings.HasPrefix(d.Path, "scorers") && !strings.HasPrefix(d.Path, "metrics")
	})}
	if !s.Force {
		return "", other
	}
	if before.SpecHash != now.SpecHash {
		now.Mixed = append(now.Mixed, before.SpecHash)
	}
	return other.Error(), nil
}

// differences are those between the suite of a folder, and the one that is run now.
func (s *Session) differences(before, now *record.Manifest) (Differences, error) {
	folder, err := Open(&record.Results{Path: s.Dir, Manifest: *before}, nil)
	if err != nil {
		return nil, err
	}
	was, err := s.Binding(folder.Document.Suite, before)
	if err != nil {
		return nil, err
	}
	is, err := s.Binding(s.Document.Suite, now)
	if err != nil {
		return nil, err
	}
	return DifferencesBetween(was, is), nil
}

// latest is a manifest with the latest versions of its coding agents alone.
func latest(m *record.Manifest) *record.Manifest {
	of := *m
	of.Configurations = slices.Clone(m.Configurations)
	for i := range of.Configurations {
		head := &of.Configurations[i]
		head.Programs = nil
		for program, all := range versions(&m.Configurations[i]) {
			head.Programs = append(head.Programs, record.ProgramHead{Program: program, Version: all[len(all)-1]})
		}
	}
	return &of
}

// takeUp puts into a manifest what former sessions did.
func (s *Session) takeUp(e *Earlier, m *record.Manifest) (err error) {
	before := &e.Found.Manifest
	e.Effort, e.Wall = before.Volatile.Effort, before.Volatile.Wall
	if before.Status == record.StateRunning { // it was killed
		e.Effort = e.Found.Effort
	}
	m.Volatile = record.ManifestVolatile{Started: before.Volatile.Started, Wall: e.Wall, Shards: m.Volatile.Shards, Effort: e.Effort, Ledger: before.Volatile.Ledger}
	// Who selects or declares less than before does not make a folder smaller.
	m.Tasks, m.Trials = max(m.Tasks, before.Tasks), max(m.Trials, before.Trials)
	keepConfigurations(before, m)
	if m.SpecHash, err = s.hash(s.Document.Suite, m); err != nil {
		return exit.Unmeasured(err)
	}
	for i := range m.Configurations {
		if was, ok := before.Configuration(m.Configurations[i].Name); ok {
			addPrograms(was, &m.Configurations[i])
		}
	}
	for _, hash := range before.Mixed {
		if hash != m.SpecHash && !slices.Contains(m.Mixed, hash) {
			m.Mixed = append(m.Mixed, hash)
		}
	}
	m.Totals = before.Totals
	m.Totals.Planned = m.Tasks * m.Trials * len(m.Configurations)
	for item, err := range s.Plan.Items(s.Tasks) {
		if err != nil {
			return exit.With(exit.WrongSpec, "", "counting what is to be done: %w", err)
		}
		if !e.Done(item.ID) {
			e.Remaining++
		}
	}
	return nil
}

// keepConfigurations adds to a manifest those of the one before it that only former
// sessions ran, with the copies that have them.
func keepConfigurations(before, m *record.Manifest) {
	var kept []string
	for _, head := range before.Configurations {
		if slices.ContainsFunc(m.Configurations, func(c record.ConfigurationHead) bool { return c.Name == head.Name }) {
			continue
		}
		kept = append(kept, head.Name)
		m.Configurations = append(m.Configurations, head)
		if head.Name == before.Baseline && m.Baseline == "" {
			m.Baseline = head.Name
		}
	}
	now := &m.Specs[0]
	var specs []record.Spec
	for _, s := range before.Specs {
		s.Scorers = nil
		s.Configurations = slices.DeleteFunc(slices.Clone(s.Configurations), func(name string) bool { return !slices.Contains(kept, name) })
		switch {
		case s.Dir == now.Dir:
			now.Configurations = append(now.Configurations, s.Configurations...)
		case len(s.Configurations) > 0:
			specs = append(specs, s)
		}
	}
	m.Specs = append(specs, m.Specs...)
}

// Fewest are the first of many lines.
func Fewest(lines []string) []string {
	const most = 8
	if more := len(lines) - most; more > 0 {
		return append(lines[:most:most], "and "+exit.Plural(more, "more difference", "more differences"))
	}
	return lines
}

// Lines say in a line each what differs.
func (d Differences) Lines() (lines []string) {
	for i := range d {
		lines = append(lines, d[i].Line())
	}
	return lines
}

// Unscorable is why scores cannot be added to a folder.
func Unscorable(dir string, err error) error {
	if _, busy := errors.AsType[*record.InUse](err); busy {
		return exit.With(exit.NotMeasured, "wait until it ends", "%w", err)
	}
	return Unresumable(dir, err)
}
