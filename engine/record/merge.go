package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is a result folder that holds some of a suite's shards.
type Part struct {
	Dir      string
	Manifest Manifest
}

// Overlap means that two folders hold the same run.
type Overlap struct{ Run, One, Other string }

func (o *Overlap) Error() string {
	return fmt.Sprintf("%s and %s both hold run %s", o.One, o.Other, o.Run)
}

// Merge joins the parts of a suite in a new folder, which appears whole or not at
// all. The caller has checked that the parts are of one spec and one partition, and
// hold different shards.
//
// Records and scores are copied line by line, sorted by run, so that the result does
// not depend on the order of the parts, or on which were merged before. A run that two
// parts hold is an *Overlap; the error may also be a *[Damage]. Memory grows with the number of runs, not with their trajectories.
func Merge(out string, parts []Part, options Options) (*Manifest, error) {
	out = filepath.Clean(out)
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("%w: %s", fs.ErrExist, out))
	}
	m := &merger{parts: slices.Clone(parts), done: make([]int, len(parts)), took: make([]Effort, len(parts))}
	first := func(p Part) int { return p.Manifest.Volatile.Shards.Held[0].Number }
	slices.SortStableFunc(m.parts, func(a, b Part) int { return cmp.Compare(first(a), first(b)) })
	defer m.close()
	if err := m.read(); err != nil {
		return nil, err
	}
	if err := m.build(out, options); err != nil {
		return nil, err
	}
	return &m.manifest, nil
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
		if name == specFolder && e.IsDir() {
			continue
		}
		if !e.Type().IsRegular() || !slices.Contains([]string{lockFile, recordsFile, scoresFile, ledgerFile, manifestFile}, name) {
			return &fs.PathError{Op: "merging", Path: filepath.Join(dir, e.Name()), Err: fs.ErrExist}
		}
	}
	return writing(err)
}

// write writes all files of the result.
func (m *merger) write(disk Disk, dir string) error {
	for i, name := range fileNames {
		if err := disk.Replace(name, func(w io.Writer) error { return m.copyLines(w, i) }); err != nil {
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
		m.manifest.Volatile.Ledger = new(ledger.Spent())
		if err := ledger.Close(); err != nil {
			return err
		}
	}
	for _, s := range m.manifest.Specs { // those of all parts say the same
		if err := os.CopyFS(filepath.Join(dir, s.Dir), os.DirFS(filepath.Join(m.parts[0].Dir, s.Dir))); err != nil {
			return writing(err)
		}
	}
	text, err := encodeManifest(&m.manifest, nil)
	if err != nil {
		return err
	}
	return writing(replaceWith(disk, manifestFile, text))
}

// join makes the manifest of all parts from theirs, after their runs were counted.
func (m *merger) join() error {
	all := m.parts[0].Manifest // that with the first shard, whatever the order
	all.Scorers = slices.Clone(all.Scorers)
	v := &all.Volatile
	for i := range m.parts {
		part := &m.parts[i].Manifest
		if err := m.account(i); err != nil {
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
func (m *merger) account(number int) error {
	part := &m.parts[number]
	spent, err := ReadLedger(part.Dir, &part.Manifest)
	if err != nil {
		return err
	}
	m.spent.join(spent)
	v := &part.Manifest.Volatile
	if part.Manifest.Status == StateRunning {
		v.Effort = m.took[number]
	}
	if len(v.Shards.Held) == 1 && v.Shards.Held[0].Unfinished() {
		shards := *v.Shards
		shards.Held = slices.Clone(shards.Held)
		shards.Held[0].Done = m.done[number]
		v.Shards = &shards
	}
	return nil
}

// merger knows where the lines of all parts stand.
type merger struct {
	parts []Part // by their first shard
	files [2][]*os.File
	lines [2][]mergedLine // of records and scores, by run; those of a run in the order in which they were written
	done  []int           // runs of each part that ended
	took  []Effort        // what all attempts at the runs of each part took

	totals   Totals
	spent    Balance
	manifest Manifest
}

// mergedLine is where a line stands, and whose it is.
type mergedLine struct {
	run  string
	part int
	at   Place
}

func (m *merger) close() {
	for _, f := range slices.Concat(m.files[toRecords], m.files[toScores]) {
		if f != nil {
			f.Close()
		}
	}
}

// read finds out where everything stands, and checks every line on the way.
func (m *merger) read() error {
	for part := range m.parts {
		for i, name := range fileNames {
			f, err := openFile(filepath.Join(m.parts[part].Dir, name))
			if err != nil && (i == toRecords || !errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("reading the results: %w", err)
			}
			m.files[i] = append(m.files[i], f)
		}
		if err := m.readPart(part); err != nil {
			return err
		}
	}
	for _, lines := range m.lines {
		slices.SortStableFunc(lines, func(a, b mergedLine) int { return cmp.Compare(a.run, b.run) })
	}
	records := m.lines[toRecords]
	for i := range records[:max(0, len(records)-1)] {
		if a, b := &records[i], &records[i+1]; a.run == b.run && a.part != b.part {
			return &Overlap{a.run, m.parts[a.part].Dir, m.parts[b.part].Dir}
		}
	}
	return nil
}

// readPart adds the lines of a part, and its runs to the totals, each as its last record
// has it. Scores of runs that the part does not hold are left out.
func (m *merger) readPart(part int) error {
	last := map[string]RunHead{}
	for l, err := range partLines(m, part, toRecords, headOf) {
		if err != nil {
			return err
		}
		last[l.is.ID] = l.is
		m.took[part] = m.took[part].Plus(l.is.effort())
		m.lines[toRecords] = append(m.lines[toRecords], mergedLine{l.is.ID, part, l.Place})
	}
	for _, e := range last {
		m.totals.Add(e.Outcome.Status, e.Usage, e.Judging, e.User)
		if e.Outcome.Status != Cancelled {
			m.done[part]++
		}
	}
	for l, err := range partLines(m, part, toScores, scoresOf) {
		if err != nil {
			return err
		}
		if _, held := last[l.is.Run]; held {
			m.lines[toScores] = append(m.lines[toScores], mergedLine{l.is.Run, part, l.Place})
		}
	}
	return nil
}

// partLines are the lines of a file of a part; a missing file has none.
func partLines[T any](m *merger, part, file int, read func([]byte) (T, error)) iter.Seq2[*line[T], error] {
	f := m.files[file][part]
	if f == nil {
		return func(func(*line[T], error) bool) {}
	}
	return goodLines(filepath.Join(m.parts[part].Dir, fileNames[file]), f, 1, read)
}

// copyLines copies the lines of one of the files of all parts.
func (m *merger) copyLines(w io.Writer, file int) error {
	buffer := make([]byte, 1<<16)
	for _, l := range m.lines[file] {
		part := io.NewSectionReader(m.files[file][l.part], l.at.offset, l.at.bytes)
		if _, err := io.CopyBuffer(struct{ io.Writer }{w}, part, buffer); err != nil { // w has a ReadFrom, which would take a buffer for each line
			return fmt.Errorf("copying the results: %w", err)
		}
	}
	return nil
}
