package record

import (
	"bytes"
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
	// Damage are the bad lines of ledger, records and scores.
	Damage []*Damage
	// Moved is how many lines of the records are among them. They are in
	// records.damaged.jsonl, byte for byte, once they were repaired.
	Moved int
	// Lost are the runs that have no whole record any more, as far as scores name them.
	Lost []string
	// Unscored is how many lines of scores were dropped: bad ones, and those of
	// runs that have no whole record.
	Unscored int
	// Ledger is what the whole entries of a damaged ledger come to, with which it begins anew; nil: it is not damaged.
	Ledger *Balance
}

// Whole reports whether nothing is to be repaired.
func (r *Repaired) Whole() bool { return len(r.Damage) == 0 && r.Unscored == 0 }

// Inspect finds what Repair would do, and changes nothing.
func Inspect(dir string) (*Repaired, error) { return repair(dir, Options{}, false) }

// Repair makes a folder whole again that readers refuse: damaged records are moved aside, the others stay as they
// are, scores of what is no longer there are dropped, and a damaged ledger is begun anew with what is whole of it. A crash on the way
// leaves a folder that can be repaired. A damaged manifest is an error: what it said is nowhere else.
func Repair(dir string, options Options) (*Repaired, error) { return repair(dir, options, true) }

func repair(dir string, options Options, change bool) (*Repaired, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(folder, options)
	s := &survey{finished: map[string]bool{}}
	err = s.look(dir, &m)
	if err == nil && change {
		err = j.repair(s)
	}
	return &s.Repaired, errors.Join(err, j.leave())
}

// repair changes the files in an order that keeps each of them readable without the next ones.
func (j *Journal) repair(s *survey) error {
	dir := j.folder.dir
	if s.Ledger != nil {
		ledger, err := OpenLedger(dir, s.Ledger)
		if err == nil {
			err = ledger.Close()
		}
		if err != nil {
			return err
		}
	}
	if s.Moved > 0 {
		err := appendTo(j.disk, damagedFile, func(to io.Writer) error {
			_, err := to.Write(s.moved)
			return err
		})
		if err != nil {
			return writing(err)
		}
	}
	if s.Unscored > 0 {
		if err := rewrite(j.disk, filepath.Join(dir, scoresFile), scoresOf, s.keepScores); err != nil {
			return err
		}
	}
	if s.Moved == 0 {
		return nil
	}
	return rewrite(j.disk, filepath.Join(dir, recordsFile), headOf, func(l *line[RunHead]) ([]byte, error) {
		if l.damage != nil {
			return nil, nil
		}
		return l.text, nil
	})
}

// survey is what the files of a folder hold.
type survey struct {
	Repaired
	finished map[string]bool // the runs with a whole record that counts
	moved    []byte          // the damaged records
}

func (s *survey) keepScores(l *line[scoresLine]) ([]byte, error) {
	if l.damage != nil || !s.finished[l.is.Run] {
		return nil, nil
	}
	return l.text, nil
}

func (s *survey) look(dir string, m *Manifest) error {
	ledger, damage, err := readLedger(dir, m)
	if err != nil {
		return err
	}
	if s.Damage = damage; len(damage) > 0 {
		s.Ledger = ledger
	}
	records := filepath.Join(dir, recordsFile)
	if _, err := statRegular(records); err != nil {
		return fmt.Errorf("reading the records: %w", err)
	}
	err = surveyLines(records, headOf, func(l *line[RunHead]) {
		switch {
		case l.damage != nil:
			s.damaged(records, l.Place, l.damage)
			s.moved = append(append(s.moved, bytes.TrimSuffix(l.text, []byte{'\n'})...), '\n')
			s.Moved++
		default:
			s.Kept++
			s.finished[l.is.ID] = s.finished[l.is.ID] || l.is.Outcome.Counts()
		}
	})
	if err != nil {
		return err
	}
	scores, lost := filepath.Join(dir, scoresFile), map[string]bool{}
	return surveyLines(scores, scoresOf, func(l *line[scoresLine]) {
		run := l.is.Run
		switch {
		case l.damage != nil:
			s.damaged(scores, l.Place, l.damage)
			s.Unscored++
		case !s.finished[run]:
			if !lost[run] {
				s.Lost = append(s.Lost, run)
			}
			lost[run] = true
			s.Unscored++
		}
	})
}

func (s *survey) damaged(path string, at Place, what error) {
	s.Damage = append(s.Damage, &Damage{path, at.line, what.Error()})
}

// surveyLines visits all lines of a file but a torn one; a missing file has none.
func surveyLines[T any](path string, read func([]byte) (T, error), visit func(*line[T])) error {
	f, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	defer f.Close()
	for l, err := range allLines(f, 1, read) {
		if err != nil {
			return fmt.Errorf("reading the results: %w", err)
		}
		if l.damage != errTorn {
			visit(l)
		}
	}
	return nil
}

// ReleaseLedger releases all that is in doubt, and returns what the ledger came to before.
func ReleaseLedger(dir string) (b *Balance, err error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	home, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, home.unlock()) }()
	if b, err = ReadLedger(dir, &m); err != nil || !b.Kept {
		return b, err
	}
	ledger, err := OpenLedger(dir, b)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ledger.Correct(b.Doubt, Settlement{}), ledger.Close()); err != nil {
		return nil, err
	}
	m.Volatile.Ledger = new(ledger.Spent())
	text, err := encodeManifest(&m, nil)
	if err != nil {
		return nil, err
	}
	return b, writing(replaceWith(folder(dir), manifestFile, text))
}
