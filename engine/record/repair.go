package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	return r.recordsWhole() && r.Manifest == nil && r.LedgerLost == nil && len(r.Ledger.Damage) == 0
}

// recordsWhole reports whether no record, signal or score is to be repaired.
func (r *Repaired) recordsWhole() bool {
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
	if s.recordsWhole() {
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
func (j *Journal) without(name string, parts []RecordPlace) error {
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
	records  []RecordPlace   // to be taken out
	scores   []RecordPlace
}

func (s *survey) look(dir string) error {
	if size, err := sizeOfRecords(dir); err == nil && size == noRecords {
		return fmt.Errorf("%s is gone: the signals stand for themselves, and nothing can be repaired", filepath.Join(dir, recordsFile))
	}
	for l, err := range fileLines(dir, recordsFile, readStatus) {
		if err := s.record(l, err); err != nil {
			return err
		}
	}
	for l, err := range fileLines(dir, signalsFile, statusOf) {
		if err := s.signals(l, err); err != nil {
			return err
		}
	}
	s.compareSignals()
	for l, err := range fileLines(dir, scoresFile, scoresOf) {
		if err := s.score(l, err); err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) record(l *line[RunHead], err error) error {
	if err != nil {
		bad, err := s.bad(err)
		if bad != nil {
			s.records = append(s.records, RecordPlace{bad.Offset, bad.Bytes})
			s.Moved += bad.Lines
		}
		return err
	}
	s.lines = append(s.lines, recordLine{l.is.ID, l.bytes})
	if s.Kept++; l.is.Status.counts() {
		s.finished[l.is.ID] = true
	}
	return nil
}

func (s *survey) signals(l *line[RunHead], err error) error {
	if err != nil {
		_, err = s.bad(err)
		return err
	}
	if l.is.Status.counts() && !s.finished[l.is.ID] {
		s.Lost = append(s.Lost, l.is.ID)
	}
	switch line := (recordLine{l.is.ID, l.is.At.bytes}); {
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
	s.Disordered = len(s.others) > 0 && s.recordsWhole()
}

func (s *survey) score(l *line[scoresLine[Score]], err error) error {
	switch {
	case err != nil:
		bad, err := s.bad(err)
		if bad != nil {
			s.scores = append(s.scores, RecordPlace{bad.Offset, bad.Bytes})
			s.Unscored += bad.Lines
		}
		return err
	case !s.finished[l.is.Run]:
		s.scores = append(s.scores, RecordPlace{l.offset, l.bytes})
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

// Damage lists the bad lines of the records of a folder. ReadSignals reads no
// more of the records than it needs, and so does not know of all of them.
//
// It reads all of what is no larger than most bytes; 0 means any size. Of what
// is larger it reads about so many bytes, at both ends and evenly between, and
// the rest only where it finds a bad line: whole is then false where there may
// be more.
func Damage(dir string, most int64) (found []*Problem, whole bool, err error) {
	f, size, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if most > 0 && size > most {
		sound, err := soundInPlaces(f, size, most)
		if err != nil {
			return nil, false, fmt.Errorf("reading the records: %w", err)
		}
		if sound {
			return nil, false, nil
		}
	}
	found, err = badLines(f, 0, size)
	return found, true, err
}

// badLines are those of a part of the records that begins with a line.
func badLines(f io.ReaderAt, from, to int64) (found []*Problem, err error) {
	for _, err := range sectionLines(recordsFile, f, place{offset: from}, to, checked) {
		var problem *Problem
		switch {
		case errors.As(err, &problem):
			found = append(found, problem)
		case err != nil:
			return found, fmt.Errorf("reading the records: %w", err)
		}
	}
	return found, nil
}

// samples is in how many places large records are looked at.
const samples = 64

// soundInPlaces says whether the lines are good that begin in evenly spaced
// parts of the records, the first at their beginning and the last at their end.
func soundInPlaces(f *os.File, size, most int64) (bool, error) {
	length := most / samples
	for i := range int64(samples) {
		from := (size - length) / (samples - 1) * i
		if i == samples-1 {
			from = size - length
		}
		start, err := lineAfter(f, from, size)
		if err != nil || start > from+length { // one line, or none, fills the part
			return false, err
		}
		end, err := lineAfter(f, min(from+length, size), size)
		if err != nil {
			return false, err
		}
		if bad, err := badLines(f, start, end); err != nil || len(bad) > 0 {
			return false, err
		}
	}
	return true, nil
}

// lineAfter is where the first line begins at or behind an offset.
func lineAfter(f io.ReaderAt, offset, size int64) (int64, error) {
	if offset == 0 || offset == size {
		return offset, nil
	}
	in := bufio.NewReader(io.NewSectionReader(f, offset-1, size-offset+1))
	for at := offset - 1; ; {
		part, err := in.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case err == nil || err == io.EOF:
			return at, nil
		case err != bufio.ErrBufferFull:
			return 0, err
		}
	}
}

var errNegative = errors.New("its usage or time is negative")

// impossible says what no run can have, though the line that tells of it is
// whole: nothing of this package writes it, and sums over it would be wrong.
func (s *Signals) impossible() error {
	if err := s.amounts(); err != nil {
		return err
	}
	if err := noneReturned(s.Outcome.Returned, len(s.Iterations)); err != nil {
		return err
	}
	for i := range s.Iterations {
		for c := range s.Iterations[i].Calls {
			if call := &s.Iterations[i].Calls[c]; call.Usage.negative() || call.Duration < 0 {
				return errNegative
			}
		}
	}
	return nil
}

// noneReturned says that the iteration that is returned is not there.
func noneReturned(returned, iterations int) error {
	if iterations > 0 && (returned < 0 || returned > iterations) {
		return fmt.Errorf("iteration %d is returned, of %d", returned, iterations)
	}
	return nil
}

// amounts are impossible if one is below zero, or the trial beyond what can be
// counted.
func (s *Signals) amounts() error {
	switch {
	case s.Trial < 0 || s.Trial > math.MaxInt32:
		return fmt.Errorf("there is no trial %d", s.Trial)
	case s.negative():
		return errNegative
	}
	return nil
}

func (s *Signals) negative() bool {
	return s.Elapsed < 0 || s.Usage.negative() || s.Judging.negative() || s.User.negative()
}

// mostScored iterations of a run fit into a line of the records: each takes some 64 bytes
// at least.
const mostScored = longestLine / 64

// noIteration says what no run has: who reads scores takes memory for all
// iterations up to the last one.
func noIteration(n int) error {
	if n < 0 || n > mostScored {
		return fmt.Errorf("there is no iteration %d", n)
	}
	return nil
}

// Compacted is what CompactScores has done to scores.jsonl.
type Compacted struct {
	Before, After int64 // bytes
	// Damage are the bad lines that went.
	Damage []*Problem
}

// CompactScores writes scores.jsonl anew with the scores that count: of several
// by one scorer on the same thing the last one, unless it was taken back. Each run
// has one line, where its last one stood. A crash leaves the old file or the new
// one. Memory grows by 24 bytes a line.
func CompactScores(dir string, options Options) (*Compacted, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, err
	}
	home, err := lock(dir)
	if err != nil {
		return nil, err
	}
	c := &compaction{disk: options.Disk, seed: maphash.MakeSeed()}
	if c.disk == nil {
		c.disk = folder(dir)
	}
	err = c.run(dir)
	return &c.Compacted, errors.Join(err, home.unlock())
}

// compaction is scores.jsonl while it is written anew.
type compaction struct {
	Compacted
	disk  Disk
	seed  maphash.Seed
	from  *os.File
	lines []scoreLine
}

// scoreLine is where a line stands, and whose it is.
type scoreLine struct {
	run uint64 // the hash of its id
	RecordPlace
}

func (c *compaction) run(dir string) error {
	f, err := openFile(filepath.Join(dir, scoresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the scores: %w", err)
	}
	defer f.Close()
	c.from = f
	if err := c.read(); err != nil {
		return err
	}
	return writing(c.disk.Replace(scoresFile, c.write))
}

// read finds the lines of each run and puts them beside each other, the runs in
// the order of their last lines.
func (c *compaction) read() error {
	last := map[uint64]int64{}
	for l, err := range walk(scoresFile, c.from, place{}, scoresOf) {
		if bad := (*Problem)(nil); errors.As(err, &bad) {
			c.Before += bad.Bytes
			c.Damage = append(c.Damage, bad)
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the scores: %w", err)
		}
		c.Before += l.bytes
		run := maphash.String(c.seed, l.is.Run)
		c.lines = append(c.lines, scoreLine{run, RecordPlace{l.offset, l.bytes}})
		last[run] = l.offset
	}
	slices.SortFunc(c.lines, func(a, b scoreLine) int {
		return cmp.Or(cmp.Compare(last[a.run], last[b.run]), cmp.Compare(a.offset, b.offset))
	})
	return nil
}

func (c *compaction) write(to io.Writer) error {
	sameRun := func(a, b *scoreLine) bool { return a.run == b.run }
	var text []byte
	for of, rest := splitOff(c.lines, sameRun); len(of) > 0; of, rest = splitOff(rest, sameRun) {
		var err error
		if text, err = c.lineOf(emptied(text), of); err != nil {
			return err
		}
		c.After += int64(len(text))
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// lineOf is the one line of all lines of a run; none where nothing counts. Runs
// whose ids share a hash have a line each.
func (c *compaction) lineOf(text []byte, lines []scoreLine) ([]byte, error) {
	var runs []string
	all := map[string][]Score{}
	for i := range lines {
		run, scores, err := c.scores(lines[i].RecordPlace)
		if err != nil {
			return nil, err
		}
		if _, known := all[run]; !known {
			runs = append(runs, run)
		}
		all[run] = append(all[run], scores...)
	}
	for _, run := range runs {
		standing := Standing(all[run])
		if len(standing) == 0 {
			continue
		}
		var err error
		if text, err = appendScores(text, run, standing); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (c *compaction) scores(at RecordPlace) (run string, scores []Score, err error) {
	object, err := objectAt(scoresFile, c.from, place{offset: at.offset}, at.bytes)
	if err != nil {
		return "", nil, err
	}
	line, err := readScores(object)
	return line.Run, line.Scores, err
}

// Standing are the scores that count among those of one run, which come in the
// order in which they were made: of several by one scorer on the same thing the
// last one, unless it was taken back. They are in the order in which their things
// were first judged.
func Standing(scores []Score) []Score {
	type thing struct {
		name      string
		iteration int
	}
	at := make(map[thing]int, len(scores))
	var last []Score
	for _, s := range scores {
		key := thing{s.Name, s.Iteration}
		i, judged := at[key]
		if !judged {
			at[key], last = len(last), append(last, s)
			continue
		}
		last[i] = s
	}
	return slices.DeleteFunc(last, func(s Score) bool { return s.Removed })
}
