package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Repaired is the damage of a result folder: what Repair took out, and what
// Inspect found.
type Repaired struct {
	Kept int // records that are whole
	// Damage are the bad lines of records, signals and scores.
	Damage []*Problem
	// Moved is how many lines of the records are among them. They stand in
	// records.damaged.jsonl, byte for byte, once they were repaired.
	Moved int
	// Lost are the runs that counted and have no whole record any more, as far
	// as signals.jsonl names them.
	Lost []string
	// Unsignalled is how many whole records had no signals, which are made again.
	// Disordered says that the others are not in the order of the records.
	Unsignalled int
	Disordered  bool
	// Unscored is how many lines of scores were dropped: bad ones, and those of
	// runs that have no whole record.
	Unscored int
	// Manifest is what was wrong with the manifest, which was restored from its copy;
	// nil: nothing. Unsealed says that it has no digest: it gets one.
	Manifest error
	Unsealed bool
	// Ledger is what the ledger comes to; what was wrong with it is its Damage. What
	// damaged entries came to stays in doubt. LedgerLost says that it cannot be read:
	// it stays as it is.
	Ledger     *Balance
	LedgerLost *LostLedger
}

// Whole reports whether nothing is to be repaired.
func (r *Repaired) Whole() bool {
	return r.RecordsWhole() && r.Manifest == nil && r.LedgerLost == nil && len(r.Ledger.Damage) == 0
}

// RecordsWhole reports whether no record, signal or score is to be repaired.
func (r *Repaired) RecordsWhole() bool {
	return len(r.Damage) == 0 && len(r.Lost) == 0 && r.Unscored == 0 && r.Unsignalled == 0 && !r.Disordered
}

// Inspect finds what Repair would do, and changes nothing.
func Inspect(dir string) (*Repaired, error) { return repair(dir, Options{}, false) }

// Repair makes a folder whole again that Resume refuses: a damaged manifest is
// restored from its copy, damaged records are moved aside, the others stay as they
// are, the signals are made again, scores of what is no longer there are dropped, and
// a damaged ledger is written anew. A crash on the way leaves a folder that can be
// repaired.
func Repair(dir string, options Options) (*Repaired, error) { return repair(dir, options, true) }

func repair(dir string, options Options, change bool) (*Repaired, error) {
	m, wrong, err := restorable(dir)
	if err != nil {
		return nil, err
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(folder, options)
	s := &survey{finished: map[string]bool{}}
	s.Manifest, s.Unsealed = wrong, m.Unsealed
	err = s.look(dir)
	if err == nil {
		err = s.lookAtLedger(dir, &m)
	}
	if err == nil && change {
		err = j.repairAll(s, &m)
	}
	return &s.Repaired, errors.Join(err, j.leave())
}

// restorable reads the manifest of a folder, or else its copy; wrong is why it was
// the copy.
func restorable(dir string) (m Manifest, wrong, err error) {
	m, wrong = ReadManifest(dir)
	if wrong == nil {
		return m, nil, nil
	}
	m, err = readManifest(filepath.Join(dir, manifestCopy))
	if err != nil || m.Unsealed {
		return m, nil, wrong
	}
	return m, wrong, nil
}

func (s *survey) lookAtLedger(dir string, m *Manifest) (err error) {
	if s.Ledger, err = ReadLedger(dir, m); errors.As(err, &s.LedgerLost) {
		return nil
	}
	return err
}

func (j *Journal) repairAll(s *survey, m *Manifest) error {
	if s.Manifest != nil || s.Unsealed {
		if err := j.WriteManifest(*m); err != nil {
			return err
		}
	}
	if s.LedgerLost == nil && len(s.Ledger.Damage) > 0 {
		ledger, err := OpenLedger(j.folder.dir, s.Ledger)
		if err == nil {
			err = ledger.Close()
		}
		if err != nil {
			return err
		}
	}
	if s.RecordsWhole() {
		return nil
	}
	return j.repair(s)
}

// ReleaseLedger releases all that is in doubt, and returns what that was. Of a
// ledger that cannot be read, has lost entries, or told no causes, what records and
// scores prove to be paid stays.
func ReleaseLedger(dir string) (*Balance, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	b, err := releaseLedger(dir, &m)
	return b, errors.Join(err, folder.unlock())
}

func releaseLedger(dir string, m *Manifest) (*Balance, error) {
	b, err := ReadLedger(dir, m)
	var lost *LostLedger
	if !errors.As(err, &lost) && (err != nil || !b.Kept) {
		return b, err
	}
	proven := Evidence{}
	if lost != nil || b.Earlier || b.Doubt[CauseLost] != (Usage{}) {
		if proven, err = EvidenceOf(dir); err != nil {
			return nil, err
		}
	}
	switch {
	case lost != nil:
		b.rewrite, b.damaged, b.why = true, true, CauseRepair
		b.Paid, b.Doubt = proven.Paid, map[Cause]Usage{}
	case b.Earlier:
		b.Split(proven.Paid, Usage{})
	}
	ledger, err := OpenLedger(dir, b)
	if err != nil {
		return nil, err
	}
	ledger.Release(b, proven.Paid)
	return b, ledger.Close()
}

// repair changes the files in an order that keeps each of them readable without
// the next ones: signals would lie about records that have moved, so they go
// first and are made last.
func (j *Journal) repair(s *survey) error {
	dir := j.folder.dir
	if err := j.keepDamaged(s); err != nil {
		return err
	}
	if err := j.cut(signalsFile, 0); err != nil {
		return err
	}
	if err := j.without(scoresFile, s.scores); err != nil {
		return err
	}
	if err := j.without(recordsFile, s.records); err != nil {
		return err
	}
	if err := j.openFiles(); err != nil {
		return err
	}
	info, err := statRegular(filepath.Join(dir, recordsFile))
	if err != nil {
		return fmt.Errorf("reading the records: %w", err)
	}
	return j.rebuildSignals(&Recovered{}, place{}, info.Size())
}

// keepDamaged appends the bad lines of the records to a file of their own.
func (j *Journal) keepDamaged(s *survey) error {
	if len(s.records) == 0 {
		return nil
	}
	from, _, err := openRecords(j.folder.dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := j.disk.Append(damagedFile)
	if err != nil {
		return writing(err)
	}
	for _, bad := range s.records {
		if _, err = io.Copy(to, io.NewSectionReader(from, bad.offset, bad.bytes)); err == nil {
			_, err = to.Write([]byte{'\n'}) // the end of one that was torn; else a gap
		}
		if err != nil {
			break
		}
	}
	return writing(errors.Join(err, to.Sync(), to.Close()))
}

// without writes a file anew without some of its parts.
func (j *Journal) without(name string, parts []span) error {
	if len(parts) == 0 {
		return nil
	}
	f, err := openFile(filepath.Join(j.folder.dir, name))
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	defer f.Close()
	return writing(j.disk.Replace(name, func(w io.Writer) error {
		at := int64(0)
		for _, part := range parts {
			if _, err := io.Copy(w, io.NewSectionReader(f, at, part.offset-at)); err != nil {
				return err
			}
			at = part.offset + part.bytes
		}
		_, err := io.Copy(w, io.NewSectionReader(f, at, 1<<62-at))
		return err
	}))
}

// span is a part of a file.
type span struct{ offset, bytes int64 }

// recordLine is what a line of signals says of a record.
type recordLine struct {
	run   string
	bytes int64
}

// survey is what the files of a folder hold.
type survey struct {
	Repaired
	finished map[string]bool // the runs with a whole record that counts
	lines    []recordLine    // the whole records
	told     int             // how many of them have signals, in their order
	others   []recordLine    // what the other lines of signals say
	records  []span          // to be taken out
	scores   []span
}

func (s *survey) look(dir string) error {
	if size, err := sizeOfRecords(dir); err == nil && size == noRecords {
		return fmt.Errorf("%s is gone: the signals stand for themselves, and nothing can be repaired", filepath.Join(dir, recordsFile))
	}
	in := new(reader)
	if err := visit(dir, recordsFile, func(o *object, err error) error { return s.record(o, err, in) }); err != nil {
		return err
	}
	if err := visit(dir, signalsFile, func(o *object, err error) error { return s.signals(o, err, in) }); err != nil {
		return err
	}
	s.compareSignals()
	return visit(dir, scoresFile, func(o *object, err error) error { return s.score(o, err, in) })
}

func (s *survey) record(o *object, err error, in *reader) error {
	var head *Signals
	if err == nil {
		if head, err = in.readHead(o.json); err != nil {
			err = o.problem(recordsFile, err)
		}
	}
	if err != nil {
		bad, err := s.bad(err)
		if bad != nil {
			s.records = append(s.records, span{bad.Offset, bad.Bytes})
			s.Moved += bad.Lines
		}
		return err
	}
	s.lines = append(s.lines, recordLine{head.ID, o.bytes})
	if s.Kept++; head.Outcome.Counts() {
		s.finished[head.ID] = true
	}
	return nil
}

func (s *survey) signals(o *object, err error, in *reader) error {
	var head *Signals
	if err == nil {
		head, err = signalsOf(o, (*reader).readHead, in)
	}
	if err != nil {
		_, err = s.bad(err)
		return err
	}
	if head.Outcome.Counts() && !s.finished[head.ID] {
		s.Lost = append(s.Lost, head.ID)
	}
	switch line := (recordLine{head.ID, head.Bytes}); {
	case s.told < len(s.lines) && s.lines[s.told] == line:
		s.told++
	default:
		s.others = append(s.others, line)
	}
	return nil
}

// compareSignals finds the records that no line of signals is of.
func (s *survey) compareSignals() {
	others := map[recordLine]int{}
	for _, line := range s.others {
		others[line]++
	}
	for _, line := range s.lines[s.told:] {
		if others[line] > 0 {
			others[line]--
		} else {
			s.Unsignalled++
		}
	}
	s.Disordered = len(s.others) > 0 && s.RecordsWhole()
}

func (s *survey) score(o *object, err error, in *reader) error {
	var run string
	if err == nil {
		run, _, err = scoresOf(o, in)
	}
	switch {
	case err != nil:
		bad, err := s.bad(err)
		if bad != nil {
			s.scores = append(s.scores, span{bad.Offset, bad.Bytes})
			s.Unscored += bad.Lines
		}
		return err
	case !s.finished[run]:
		s.scores = append(s.scores, span{o.offset, o.bytes})
		s.Unscored++
	}
	return nil
}

// bad notes damage; other errors end the survey.
func (s *survey) bad(err error) (*Problem, error) {
	var damage *Problem
	if !errors.As(err, &damage) {
		return nil, err
	}
	s.Damage = append(s.Damage, damage)
	return damage, nil
}

// visit shows the objects of a file and the problems between them. A missing
// file has none.
func visit(dir, name string, see func(*object, error) error) error {
	f, err := openFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	defer f.Close()
	for o, err := range scan(name, f, place{}) {
		if err := see(&o, err); err != nil {
			return err
		}
	}
	return nil
}
