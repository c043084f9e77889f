package record

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Repaired is the damage of a result folder: what Repair took out, and what
// Inspect found.
type Repaired struct {
	Kept int // records that are whole
	// Damage are the bad lines of records and scores.
	Damage []*Problem
	// Moved is how many lines of the records are among them. They are in
	// records.damaged.jsonl, byte for byte, once they were repaired.
	Moved int
	// Lost are the runs that have no whole record any more, as far as scores name them.
	Lost []string
	// Unscored is how many lines of scores were dropped: bad ones, and those of
	// runs that have no whole record.
	Unscored int
	// Manifest is what was wrong with the manifest, which was restored from its copy;
	// nil: nothing. Unsealed means that it has no digest: it gets one.
	Manifest error
	Unsealed bool
	// Ledger is what the ledger comes to. What is damaged of it is dropped.
	Ledger *Balance
}

// Whole reports whether nothing is to be repaired.
func (r *Repaired) Whole() bool {
	return r.recordsWhole() && r.Manifest == nil && len(r.Ledger.Damage) == 0
}

// recordsWhole reports whether no record or score is to be repaired.
func (r *Repaired) recordsWhole() bool { return len(r.Damage) == 0 && r.Unscored == 0 }

// Inspect finds what Repair would do, and changes nothing.
func Inspect(dir string) (*Repaired, error) { return repair(dir, Options{}, false) }

// Repair makes a folder whole again that Resume refuses: a damaged manifest is
// restored from its copy, damaged records are moved aside, the others stay as they
// are, scores of what is no longer there are dropped, and a damaged ledger is begun anew with what is whole of it. A crash on the way leaves a folder that can be
// repaired.
func Repair(dir string, options Options) (*Repaired, error) { return repair(dir, options, true) }

func repair(dir string, options Options, change bool) (*Repaired, error) {
	m, wrong := ReadManifest(dir)
	if wrong != nil {
		var err error
		if m, err = readManifest(filepath.Join(dir, manifestCopy)); err != nil || m.Unsealed {
			return nil, wrong
		}
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(folder, options)
	s := &survey{finished: map[string]bool{}, lost: map[string]bool{}}
	s.Manifest, s.Unsealed = wrong, m.Unsealed
	if err = s.look(dir); err == nil {
		s.Ledger, err = ReadLedger(dir, &m)
	}
	if err == nil && change {
		err = j.repair(s, &m)
	}
	return &s.Repaired, errors.Join(err, j.leave())
}

// repair changes the files in an order that keeps each of them readable without the next ones.
func (j *Journal) repair(s *survey, m *Manifest) error {
	dir := j.folder.dir
	if s.Manifest != nil || s.Unsealed {
		if err := j.WriteManifest(*m); err != nil {
			return err
		}
	}
	if len(s.Ledger.Damage) > 0 {
		ledger, err := OpenLedger(dir, s.Ledger)
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
	if err := j.keepDamaged(s.records); err != nil {
		return err
	}
	if err := j.without(scoresFile, s.scores); err != nil {
		return err
	}
	return j.without(recordsFile, s.records)
}

// ReleaseLedger releases all that is in doubt, and returns what the ledger came to before.
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
	if err != nil || !b.Kept {
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
	text, err := encodeManifest(m, nil)
	if err != nil {
		return nil, err
	}
	return b, replaceManifest(folder(dir), text)
}

// keepDamaged appends bad lines of the records to a file of their own.
func (j *Journal) keepDamaged(lines []RecordPlace) error {
	if len(lines) == 0 {
		return nil
	}
	from, _, err := openRecords(j.folder.dir)
	if err != nil {
		return err
	}
	defer from.Close()
	return writing(appendTo(j.disk, damagedFile, func(to io.Writer) error {
		for _, bad := range lines {
			if _, err := io.Copy(to, io.NewSectionReader(from, bad.offset, bad.bytes)); err != nil {
				return err
			}
			if _, err := to.Write([]byte{'\n'}); err != nil { // the end of one that was torn; else a gap
				return err
			}
		}
		return nil
	}))
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

// survey is what the files of a folder hold.
type survey struct {
	Repaired
	finished map[string]bool // the runs with a whole record that counts
	lost     map[string]bool // those of Lost
	records  []RecordPlace   // to be taken out
	scores   []RecordPlace
}

func (s *survey) look(dir string) error {
	if _, err := statRegular(filepath.Join(dir, recordsFile)); err != nil {
		return fmt.Errorf("reading the records: %w", err)
	}
	// damage notes bad lines, which go out of a file; other errors end the survey.
	damage := func(err error, out *[]RecordPlace, lines *int) error {
		bad, is := errors.AsType[*Problem](err)
		if !is {
			return err
		}
		s.Damage = append(s.Damage, bad)
		*out, *lines = append(*out, RecordPlace{bad.Offset, bad.Bytes}), *lines+bad.Lines
		return nil
	}
	for l, err := range fileLines(dir, recordsFile, readStatus) {
		if err != nil {
			if err := damage(err, &s.records, &s.Moved); err != nil {
				return err
			}
			continue
		}
		if s.Kept++; l.is.Status.counts() {
			s.finished[l.is.ID] = true
		}
	}
	for l, err := range fileLines(dir, scoresFile, scoresOf) {
		if err != nil {
			if err := damage(err, &s.scores, &s.Unscored); err != nil {
				return err
			}
		} else if !s.finished[l.is.Run] {
			s.scores = append(s.scores, RecordPlace{l.offset, l.bytes})
			s.Unscored++
			if !s.lost[l.is.Run] {
				s.lost[l.is.Run] = true
				s.Lost = append(s.Lost, l.is.Run)
			}
		}
	}
	return nil
}
