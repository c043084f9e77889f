package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Part is a result folder that holds some of a suite's shards.
type Part struct {
	Dir      string
	Manifest Manifest
}

// Merged is what Merge has made.
type Merged struct {
	Manifest Manifest
	// Dropped are what crashes left half written at the ends of files.
	Dropped []error
}

// Contradiction means that two folders hold one run with different content.
type Contradiction struct{ Run, One, Other, What string }

func (c *Contradiction) Error() string {
	return fmt.Sprintf("%s and %s contradict each other: %s of run %s", c.One, c.Other, c.What, c.Run)
}

// Merge joins the parts of a suite in a new folder, which appears whole or not at
// all. The caller has checked that the parts are of one spec and one partition, and
// hold different shards.
//
// Records and scores are copied line by line, sorted by run, so that the
// result does not depend on the order of the parts, or on which were merged
// before. A run that several parts hold is kept once; where it differs in more
// than what is volatile, the error is a *Contradiction. Its scores are those of the
// part that was scored on from what the others have; without such a part
// and not the same scores count in all, they contradict each other. Damage is an error that
// is a *Problem, except for a torn end of a part that is not complete. Memory
// grows with the number of runs, not with their trajectories.
func Merge(out string, parts []Part, options Options) (*Merged, error) {
	out = filepath.Clean(out)
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("%w: %s", fs.ErrExist, out))
	}
	m := &merger{parts: slices.Clone(parts), done: map[string]int{}, buffer: make([]byte, 1<<16)}
	first := func(p Part) int { return p.Manifest.Volatile.Shards.Held[0].Number }
	slices.SortStableFunc(m.parts, func(a, b Part) int { return cmp.Compare(first(a), first(b)) })
	defer m.close()
	if err := m.read(); err != nil {
		return nil, err
	}
	if err := m.build(out, options); err != nil {
		return nil, err
	}
	return &Merged{m.manifest, m.dropped}, nil
}

// build makes the folder beside its place and moves it there.
func (m *merger) build(out string, options Options) error {
	beside := out + ".merging"
	if err := errors.Join(ours(beside), writing(os.MkdirAll(beside, 0o755))); err != nil {
		return err
	}
	home, err := lock(beside)
	if err != nil {
		return err
	}
	left, err := os.ReadDir(beside) // what a crash left behind of an earlier merge
	for _, e := range left {
		if e.Name() != lockFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(beside, e.Name())))
		}
	}
	if err = writing(err); err == nil {
		err = m.write(newJournal(home, options).disk, beside)
	}
	if err == nil {
		err = writing(os.Rename(beside, out))
	}
	if err != nil {
		return errors.Join(err, home.unlock(), os.RemoveAll(beside))
	}
	return errors.Join(writing(folder(filepath.Dir(out)).sync()), home.unlock())
}

// ours refuses a folder with anything that no merge leaves behind, which would
// be lost. The error is fs.ErrExist.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "merging", Path: dir, Err: fs.ErrExist}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".tmp")
		if !e.Type().IsRegular() || !slices.Contains([]string{lockFile, recordsFile, scoresFile, ledgerFile, ledgerHead, manifestFile, manifestCopy}, name) {
			return &fs.PathError{Op: "merging", Path: filepath.Join(dir, e.Name()), Err: fs.ErrExist}
		}
	}
	return writing(err)
}

// write writes all files of the result.
func (m *merger) write(disk Disk, dir string) error {
	for i, write := range []func(io.Writer) error{m.writeRecords, m.writeScores} {
		if err := disk.Replace(fileNames[i], write); err != nil {
			return writing(err)
		}
	}
	if err := m.join(); err != nil {
		return err
	}
	if m.spent.Kept { // a ledger begins with what those of all parts come to
		ledger, err := OpenLedger(dir, &m.spent)
		if err != nil {
			return err
		}
		m.manifest.Volatile.Ledger = new(ledger.Sealed())
		if err := ledger.Close(); err != nil {
			return err
		}
	}
	text, err := encodeManifest(&m.manifest, nil)
	if err != nil {
		return err
	}
	return replaceManifest(disk, text)
}

// join makes the manifest of all parts from theirs, after their runs were counted.
func (m *merger) join() error {
	all := m.parts[0].Manifest // that with the first shard, whatever the order
	all.Scorers = slices.Clone(all.Scorers)
	v := &all.Volatile
	for i := range m.parts {
		part := &m.parts[i].Manifest
		if err := m.account(&m.parts[i]); err != nil {
			return err
		}
		if i == 0 {
			v.Shards, v.Effort = part.Volatile.Shards, part.Volatile.Effort
			continue
		}
		all.Mixed = slices.Concat(all.Mixed, part.Mixed)
		for _, name := range part.Scorers {
			if !slices.Contains(all.Scorers, name) {
				all.Scorers = append(all.Scorers, name)
			}
		}
		v.Shards = v.Shards.Joined(part.Volatile.Shards)
		v.Effort = v.Effort.Plus(part.Volatile.Effort)
		v.Wall += part.Volatile.Wall
		if part.Volatile.Started.Before(v.Started) {
			v.Started = part.Volatile.Started
		}
		if part.Volatile.Finished.After(v.Finished) {
			v.Finished = part.Volatile.Finished
		}
	}
	slices.Sort(all.Mixed)
	all.Mixed = slices.Compact(all.Mixed)
	all.Tasks, all.Totals, all.Incomplete = v.Shards.Tasks, m.totals, v.Shards.Incomplete()
	all.Totals.Planned = all.Tasks * all.Trials * len(all.Configurations)
	all.Status = StateStopped
	if t := &all.Totals; v.Shards.Whole() && t.Runs()-t.Cancelled >= t.Planned {
		all.Status = StateComplete
	}
	m.manifest = all
	return nil
}

// account sums up what a part spent, and what a session that was killed could
// not say.
func (m *merger) account(part *Part) error {
	spent, err := ReadLedger(part.Dir, &part.Manifest)
	if err != nil {
		return err
	}
	m.spent.join(spent)
	v := &part.Manifest.Volatile
	if part.Manifest.Status == StateRunning {
		if v.Effort, err = EffortOf(part.Dir); err != nil {
			return err
		}
	}
	if len(v.Shards.Held) == 1 && v.Shards.Held[0].Unfinished() {
		shards := *v.Shards
		shards.Held = slices.Clone(shards.Held)
		shards.Held[0].Done = m.done[part.Dir]
		v.Shards = &shards
	}
	return nil
}

// keepOnce leaves of each run what one part holds of it. Better reports whether that is
// to be the other part.
func keepOnce[E any](list []E, oneRun, onePart func(a, b *E) bool, better func(one, other []E) (bool, error)) ([]E, error) {
	kept := list[:0]
	for of, rest := splitOff(list, oneRun); len(of) > 0; of, rest = splitOff(rest, oneRun) {
		chosen, others := splitOff(of, onePart)
		for len(others) > 0 {
			var next []E
			next, others = splitOff(others, onePart)
			isBetter, err := better(chosen, next)
			if err != nil {
				return nil, err
			}
			if isBetter {
				chosen = next
			}
		}
		kept = append(kept, chosen...)
	}
	return kept, nil
}

// splitOff gives the elements at the front that are like the first one.
func splitOff[E any](list []E, alike func(a, b *E) bool) (front, rest []E) {
	n := min(1, len(list))
	for n < len(list) && alike(&list[0], &list[n]) {
		n++
	}
	return list[:n], list[n:]
}

// better reports whether a run is to be kept as the other part has it: where only
// that counts; of two that do, or do not, the one whose line comes first.
func (m *merger) better(records, others []mergedRecord) (bool, error) {
	one, other := &records[len(records)-1], &others[len(others)-1]
	counts := one.status.counts()
	if counts != other.status.counts() {
		return !counts, nil
	}
	line, err := m.line(nil, toRecords, one.part, one.record)
	if err != nil {
		return false, err
	}
	otherLine, err := m.line(nil, toRecords, other.part, other.record)
	if err != nil {
		return false, err
	}
	first := bytes.Compare(line, otherLine)
	if first == 0 || !counts {
		return first > 0, nil
	}
	was, err := lasting(line)
	if err != nil {
		return false, err
	}
	is, err := lasting(otherLine)
	if err == nil && !bytes.Equal(was, is) {
		err = m.contradiction(one.part, other.part, one.run, "the record")
	}
	return first > 0, err
}

func (m *merger) contradiction(one, other int32, run, what string) error {
	return &Contradiction{Run: run, One: m.parts[one].Dir, Other: m.parts[other].Dir, What: what}
}

// lasting is a record's line without what is volatile. It changes the line.
func lasting(line []byte) ([]byte, error) {
	object, err := objectOf(recordsFile, line, place{})
	if err != nil {
		return nil, err
	}
	run, err := readRun(object)
	if err != nil {
		return nil, err
	}
	return appendRun(nil, run.Lasting())
}

// scoredFurther reports whether the scores of a run are to be kept as the other part
// has them: where it was scored on from what the one has. Where the same
// scores count in both, the fewer lines are kept, of as many those that come first;
// where neither continues the other, they contradict each other.
func (m *merger) scoredFurther(one, other []mergedScores) (bool, error) {
	was, before, err := m.scoresOf(one)
	if err != nil {
		return false, err
	}
	is, now, err := m.scoresOf(other)
	if err != nil {
		return false, err
	}
	switch {
	case reflect.DeepEqual(counting(before.Scores), counting(now.Scores)) && reflect.DeepEqual(ordered(before.Snapshots), ordered(now.Snapshots)):
		return cmp.Or(cmp.Compare(len(other), len(one)), bytes.Compare(is, was)) < 0, nil
	case bytes.HasPrefix(is, was):
		return true, nil
	case bytes.HasPrefix(was, is):
		return false, nil
	}
	return false, m.contradiction(one[0].part, other[0].part, m.records[one[0].run].run, "the scores")
}

// scoresOf are the lines of a run in a part, and the scores in them.
func (m *merger) scoresOf(lines []mergedScores) (text []byte, all scoresLine, err error) {
	for _, at := range lines {
		line, err := m.line(nil, toScores, at.part, at.line)
		if err != nil {
			return nil, all, err
		}
		text = append(text, line...)
		object, err := objectOf(scoresFile, line, place{})
		if err != nil {
			return nil, all, err
		}
		more, err := readScores(object)
		if err != nil {
			return nil, all, err
		}
		all.Scores, all.Snapshots = append(all.Scores, more.Scores...), append(all.Snapshots, more.Snapshots...)
	}
	return text, all, nil
}

// counting are the scores that count, in an order that does not depend on when
// they were made. What came from a cache makes no difference.
func counting(scores []Score) []Score {
	standing := Standing(scores)
	for i := range standing {
		standing[i].Votes = slices.Clone(standing[i].Votes)
		for k := range standing[i].Votes {
			standing[i].Votes[k].Cached = false
		}
	}
	slices.SortFunc(standing, func(a, b Score) int {
		return cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Name, b.Name))
	})
	return standing
}

// merger knows where the lines of all parts stand.
type merger struct {
	parts []Part // by their first shard
	files [2][]*os.File
	// records are sorted by run; those of a run are in the order of its attempts.
	records []mergedRecord
	scores  []mergedScores // in the order of their runs
	done    map[string]int // finished runs of each folder that is not complete

	buffer, text []byte // for lines that pass through

	dropped  []error
	totals   Totals
	spent    Balance
	manifest Manifest
}

// mergedRecord is where a record stands.
type mergedRecord struct {
	run    string
	part   int32
	status Status
	record RecordPlace
}

// mergedScores is a line of scores.
type mergedScores struct {
	run  int32 // index of the run's first record
	part int32
	line RecordPlace
}

func (m *merger) close() {
	for i := range m.files {
		for _, f := range m.files[i] {
			if f != nil {
				f.Close()
			}
		}
	}
}

// read finds out where everything stands, and checks every line on the way.
func (m *merger) read() (err error) {
	for part := range m.parts {
		for i, name := range fileNames {
			f, err := openFile(filepath.Join(m.parts[part].Dir, name))
			if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("reading the results: %w", err)
			}
			m.files[i] = append(m.files[i], f)
		}
		if err := m.readRecords(int32(part)); err != nil {
			return err
		}
	}
	slices.SortStableFunc(m.records, func(a, b mergedRecord) int { return cmp.Compare(a.run, b.run) })
	m.records, err = keepOnce(m.records, func(a, b *mergedRecord) bool { return a.run == b.run }, func(a, b *mergedRecord) bool { return a.part == b.part }, m.better)
	if err != nil {
		return err
	}
	for part := range m.parts {
		err := eachGood(m, int32(part), toScores, scoresOf, func(l *line[scoresLine]) {
			at, found := slices.BinarySearchFunc(m.records, l.is.Run, func(r mergedRecord, id string) int { return cmp.Compare(r.run, id) })
			if found {
				m.scores = append(m.scores, mergedScores{int32(at), int32(part), RecordPlace{l.offset, l.bytes}})
			}
		})
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(m.scores, func(a, b mergedScores) int { return cmp.Compare(a.run, b.run) })
	m.scores, err = keepOnce(m.scores, func(a, b *mergedScores) bool { return a.run == b.run }, func(a, b *mergedScores) bool { return a.part == b.part }, m.scoredFurther)
	return err
}

// eachGood visits the good lines of a file of a part; a missing file has none. A bad line is
// an error that names the folder, but what a crash has left half written is dropped.
func eachGood[T any](m *merger, part int32, file int, read func([]byte) (T, error), see func(*line[T])) error {
	f := m.files[file][part]
	if f == nil {
		return nil
	}
	for l, err := range sectionLines(fileNames[file], f, place{}, 1<<62, read) {
		bad, damaged := errors.AsType[*Problem](err)
		switch {
		case err == nil:
			see(l)
		case !damaged:
			return err
		default:
			named := *bad
			named.File = filepath.Join(m.parts[part].Dir, bad.File)
			if !bad.Torn || m.parts[part].Manifest.Status == StateComplete {
				return &Damaged{m.parts[part].Dir, &named}
			}
			m.dropped = append(m.dropped, &named)
		}
	}
	return nil
}

// Damaged is a problem in a folder that is merged. The problem's file is its whole path.
type Damaged struct {
	Dir string
	*Problem
}

func (d *Damaged) Unwrap() error { return d.Problem }

func (m *merger) readRecords(part int32) error {
	first := len(m.records)
	err := eachGood(m, part, toRecords, readStatus, func(l *line[RunHead]) {
		m.records = append(m.records, mergedRecord{run: l.is.ID, part: part, status: l.is.Status, record: RecordPlace{l.offset, l.bytes}})
	})
	if err != nil {
		return err
	}
	records := m.records[first:]
	if m.parts[part].Manifest.Status != StateComplete { // each run is as its last record has it
		last := map[string]Status{}
		for i := range records {
			last[records[i].run] = records[i].status
		}
		maps.DeleteFunc(last, func(_ string, s Status) bool { return s == Cancelled })
		m.done[m.parts[part].Dir] = len(last)
	}
	return nil
}

// line reads a line with its line feed, into a buffer where it is large enough.
func (m *merger) line(buffer []byte, file int, part int32, at RecordPlace) ([]byte, error) {
	line := slices.Grow(buffer[:0], int(at.bytes))[:at.bytes]
	if _, err := m.files[file][part].ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	return line, nil
}

// writeRecords also counts the runs, each by its last record.
func (m *merger) writeRecords(w io.Writer) error {
	m.totals = Totals{}
	for i := range m.records {
		r := &m.records[i]
		if last := i+1 == len(m.records) || m.records[i+1].run != r.run; last {
			var err error
			if m.text, err = m.line(m.text, toRecords, r.part, r.record); err != nil {
				return err
			}
			object, err := objectOf(recordsFile, m.text, place{offset: r.record.offset})
			if err != nil {
				return err
			}
			var used struct {
				Usage   Usage `json:"usage"`
				Judging Usage `json:"judging"`
				User    Usage `json:"user"`
			}
			if err := decode(object, &used); err != nil {
				return err
			}
			m.totals.Add(r.status, used.Usage, used.Judging, used.User)
			m.text = emptied(m.text)
		}
		if err := m.copy(w, toRecords, r.part, r.record); err != nil {
			return err
		}
	}
	return nil
}

// copy goes through one buffer for all lines.
func (m *merger) copy(w io.Writer, file int, part int32, line RecordPlace) error {
	plain := struct{ io.Writer }{w} // whose ReadFrom would take a buffer for each
	if _, err := io.CopyBuffer(plain, io.NewSectionReader(m.files[file][part], line.offset, line.bytes), m.buffer); err != nil {
		return fmt.Errorf("copying the results: %w", err)
	}
	return nil
}

func (m *merger) writeScores(w io.Writer) error {
	for i := range m.scores {
		if err := m.copy(w, toScores, m.scores[i].part, m.scores[i].line); err != nil {
			return err
		}
	}
	return nil
}
