package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// merger knows where the lines of all parts stand.
type merger struct {
	parts []Part // by their first shard
	files [3][]*os.File
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

// mergedRecord is where a record and its signals stand.
type mergedRecord struct {
	run     string
	part    int32
	status  Status
	record  span
	signals span // of no bytes where they are missing
}

// mergedScores is a line of scores.
type mergedScores struct {
	run  int32 // index of the run's first record
	part int32
	line span
}

func newMerger(parts []Part) *merger {
	m := &merger{parts: slices.Clone(parts), done: map[string]int{}}
	first := func(p Part) int { return p.Manifest.Volatile.Shards.Held[0].Number }
	slices.SortStableFunc(m.parts, func(a, b Part) int { return cmp.Compare(first(a), first(b)) })
	return m
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
func (m *merger) read() error {
	for part := range m.parts {
		if err := m.open(part); err != nil {
			return err
		}
		if err := m.readRecords(int32(part)); err != nil {
			return err
		}
	}
	slices.SortStableFunc(m.records, func(a, b mergedRecord) int { return cmp.Compare(a.run, b.run) })
	if err := m.keepOnce(); err != nil {
		return err
	}
	for part := range m.parts {
		if err := m.readScores(int32(part)); err != nil {
			return err
		}
	}
	slices.SortStableFunc(m.scores, func(a, b mergedScores) int { return cmp.Compare(a.run, b.run) })
	return m.scoreOnce()
}

func (m *merger) open(part int) error {
	for i, name := range fileNames {
		f, err := openFile(filepath.Join(m.parts[part].Dir, name))
		if err != nil && (i == 0 || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("reading the results: %w", err)
		}
		m.files[i] = append(m.files[i], f)
	}
	return nil
}

// each visits the good lines of a file of a part; a missing file has none.
func (m *merger) each(part int32, file int, see func(*object) error) error {
	f := m.files[file][part]
	if f == nil {
		return nil
	}
	for o, err := range scan(fileNames[file], io.NewSectionReader(f, 0, 1<<62), place{}) {
		if err == nil {
			err = see(&o)
		}
		if err = m.damage(part, err); err != nil {
			return err
		}
	}
	return nil
}

// damage names the folder in which a bad line stands. What a crash has left half
// written is dropped.
func (m *merger) damage(part int32, err error) error {
	var bad *Problem
	if !errors.As(err, &bad) {
		return err
	}
	named := *bad
	named.File = filepath.Join(m.parts[part].Dir, bad.File)
	if bad.Torn && m.parts[part].Manifest.Status != StateComplete {
		m.dropped = append(m.dropped, &named)
		return nil
	}
	return &Damaged{m.parts[part].Dir, &named}
}

// Damaged says which folder a problem is in. The problem's file is its whole path.
type Damaged struct {
	Dir string
	*Problem
}

func (d *Damaged) Unwrap() error { return d.Problem }

func (m *merger) readRecords(part int32) error {
	in, first := new(reader), len(m.records)
	err := m.each(part, 0, func(o *object) error {
		head, err := in.readHead(o.json)
		if err != nil {
			return o.problem(recordsFile, err)
		}
		m.records = append(m.records, mergedRecord{run: head.ID, part: part, status: head.Outcome.Status, record: span{o.offset, o.bytes}})
		return nil
	})
	if err != nil {
		return err
	}
	if m.parts[part].Manifest.Status != StateComplete {
		m.done[m.parts[part].Dir] = countDone(m.records[first:])
	}
	return m.placeSignals(part, m.records[first:])
}

// countDone counts the runs that need not be made any more, each by its last
// record.
func countDone(records []mergedRecord) (done int) {
	last := map[string]Status{}
	for i := range records {
		last[records[i].run] = records[i].status
	}
	for _, status := range last {
		if status != Cancelled {
			done++
		}
	}
	return done
}

// placeSignals finds the signals of a part's records, as far as they go together.
func (m *merger) placeSignals(part int32, records []mergedRecord) error {
	in, n, apart := new(reader), 0, false
	return m.each(part, 1, func(o *object) error {
		head, err := signalsOf(o, (*reader).readHead, in)
		if err != nil {
			return err
		}
		if apart = apart || n == len(records) || head.ID != records[n].run || head.Bytes != records[n].record.bytes; !apart {
			records[n].signals = span{o.offset, o.bytes}
			n++
		}
		return nil
	})
}

// readScores finds the scores of the runs that are there.
func (m *merger) readScores(part int32) error {
	in := new(reader)
	return m.each(part, 2, func(o *object) error {
		run, _, err := scoresOf(o, in)
		if err != nil {
			return err
		}
		at, found := slices.BinarySearchFunc(m.records, run, func(r mergedRecord, id string) int { return cmp.Compare(r.run, id) })
		if found {
			m.scores = append(m.scores, mergedScores{int32(at), part, span{o.offset, o.bytes}})
		}
		return nil
	})
}

// line reads a line with its line feed, into a buffer where it is large enough.
func (m *merger) line(buffer []byte, file int, part int32, at span) ([]byte, error) {
	line := slices.Grow(buffer[:0], int(at.bytes))[:at.bytes]
	if _, err := m.files[file][part].ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	return line, nil
}
