package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"
)

// Recovered is what Resume found in a result folder.
type Recovered struct {
	Manifest Manifest
	// Finished are the ids of the runs that count; the others are to be tried
	// again.
	Finished map[string]struct{}
	// Faults counts how often each of those others was tried and had a fault.
	Faults map[string]int
	// Unscored are the finished ones that some scorer of the manifest has not
	// judged, in the order in which they finished: a crash came in between, a score
	// was taken back, or there are no scorers and no scores.
	Unscored []string
	// Rebuilt is how many runs had lost their signals; they have them again.
	Rebuilt int
	// Problems are the lines that were dropped. None of them were acknowledged,
	// unless the disk lost them.
	Problems []*Problem
}

// Resume opens the journal of a folder that holds results. It cuts off what a
// crash left half written, makes missing signals again, and tells what is still
// to be done. Damage in the middle of the records is an error that is a
// *Problem. The caller closes the journal.
func Resume(dir string, options Options) (*Journal, *Recovered, error) {
	folder, err := lock(dir)
	if err != nil {
		return nil, nil, err
	}
	j := newJournal(folder, options)
	r := &Recovered{Finished: map[string]struct{}{}, Faults: map[string]int{}}
	if err := j.resume(r); err != nil {
		return nil, nil, errors.Join(err, j.leave())
	}
	go j.commit()
	return j, r, nil
}

func (j *Journal) resume(r *Recovered) error {
	var err error
	if r.Manifest, err = ReadManifest(j.folder.dir); err != nil {
		return err
	}
	order, size, err := j.recoverRecords(r)
	if err != nil {
		return err
	}
	if err := j.recoverScores(r, order); err != nil {
		return err
	}
	missing, err := j.cutSignals(r, size)
	if err != nil {
		return err
	}
	if err := j.openFiles(); err != nil {
		return err
	}
	return j.rebuildSignals(r, missing, size)
}

// recoverRecords returns the ids of the finished runs in their order and how far
// the good records reach.
func (j *Journal) recoverRecords(r *Recovered) (order []string, size int64, err error) {
	in := new(reader)
	size, err = j.eachLine(recordsFile, r, func(o *object, err error) error {
		if err != nil {
			return err
		}
		head, err := in.readHead(o.json)
		if err != nil {
			return o.problem(recordsFile, err)
		}
		if _, known := r.Finished[head.ID]; !known && head.Outcome.Counts() {
			r.Finished[head.ID] = struct{}{}
			order = append(order, head.ID)
			delete(r.Faults, head.ID)
		}
		if _, finished := r.Finished[head.ID]; !finished && head.Outcome.Status == Faulted {
			r.Faults[head.ID]++
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%s is damaged: %w", j.folder.dir, err)
	}
	return order, size, nil
}

// recoverScores finds the runs that lack scores. Damaged scores are made again
// too; their lines stay.
func (j *Journal) recoverScores(r *Recovered, order []string) error {
	in, line, scored := new(reader), new(Scored), map[string]uint64{}
	_, err := j.eachLine(scoresFile, r, func(o *object, err error) error {
		if err == nil {
			if err = in.readScored(o.json, line); err != nil {
				err = o.problem(scoresFile, err)
			}
		}
		if damage := (*Problem)(nil); errors.As(err, &damage) {
			r.Problems = append(r.Problems, damage)
			return nil
		}
		scored[line.Run] = judgedBy(r.Manifest.Scorers, line.Scores, scored[line.Run])
		return err
	})
	if err != nil {
		return err
	}
	all := judgedByAll(r.Manifest.Scorers)
	for _, id := range order {
		if by, ok := scored[id]; !ok || by&all != all {
			r.Unscored = append(r.Unscored, id)
		}
	}
	return nil
}

// mostJudges are the scorers that are told apart by a run's bits; those beyond
// share the last one.
const mostJudges = 64

// judgedByAll has a bit for each scorer.
func judgedByAll(scorers []string) uint64 {
	return 1<<min(len(scorers), mostJudges) - 1
}

// judgedBy are the scorers that have judged a run, after these scores of it.
func judgedBy(scorers []string, scores []ScoreHead, by uint64) uint64 {
	for _, s := range scores {
		at := slices.Index(scorers, s.Name)
		if at < 0 || s.Iteration != 0 {
			continue
		}
		bit := uint64(1) << min(at, mostJudges-1)
		if by |= bit; s.Removed {
			by &^= bit
		}
	}
	return by
}

// cutSignals leaves of signals.jsonl what belongs to the first size bytes of the
// records, and returns the place of the first record without signals.
func (j *Journal) cutSignals(r *Recovered, size int64) (place, error) {
	var missing place
	var keep int64
	signals, err := derivedSignals(j.folder.dir, size)
	if err != nil {
		return missing, err
	}
	for s, err := range signals.written((*reader).readHead) {
		var damage *Problem
		if errors.As(err, &damage) {
			r.Problems = append(r.Problems, damage)
			break
		}
		if err != nil {
			return missing, err
		}
		missing, keep = s.end(), s.written
	}
	return missing, j.cut(signalsFile, keep)
}

// cut shortens a file that is longer.
func (j *Journal) cut(name string, size int64) error {
	info, err := statRegular(filepath.Join(j.folder.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the results: %w", err)
	}
	if info.Size() <= size {
		return nil
	}
	return writing(j.disk.Truncate(name, size))
}

// rebuildSignals appends what is missing, a group at a time.
func (j *Journal) rebuildSignals(r *Recovered, from place, size int64) error {
	if from.offset >= size {
		return nil
	}
	g := &group{}
	for s, err := range rebuiltSignals(j.folder.dir, from, size) {
		if err != nil {
			return err
		}
		if g.lines[1], err = appendSignals(g.lines[1], s.Signals); err != nil {
			return err
		}
		r.Rebuilt++
		if g.size() >= fullGroup {
			if err := j.writeFiles(g); err != nil {
				return err
			}
			g.finish(nil)
		}
	}
	return j.writeFiles(g)
}

// eachLine visits the lines of a file and the errors between them, cuts off a
// torn end, and returns the size that is left. A missing file has no lines.
func (j *Journal) eachLine(name string, r *Recovered, visit func(*object, error) error) (int64, error) {
	f, err := openFile(filepath.Join(j.folder.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening the results: %w", err)
	}
	defer f.Close()
	var size int64
	for o, err := range scan(name, f, place{}) {
		var torn *Problem
		if errors.As(err, &torn) && torn.Torn {
			r.Problems = append(r.Problems, torn)
			break
		}
		if err := visit(&o, err); err != nil {
			return 0, err
		}
		if err == nil {
			size = o.end().offset
		}
	}
	return size, j.cut(name, size)
}

// placed are the signals of a run and the place of its record.
type placed struct {
	*Signals
	place
	written int64 // the offset behind their line in signals.jsonl; 0: rebuilt
}

func (p *placed) end() place { return place{p.line + 1, p.offset + p.Bytes} }

type readFunc func(r *reader, text []byte) (*Signals, error)

// noRecords is the size of records that are missing.
const noRecords = -1

func sizeOfRecords(dir string) (int64, error) {
	info, err := statRegular(filepath.Join(dir, recordsFile))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := statRegular(filepath.Join(dir, signalsFile))
		if err != nil {
			return 0, fmt.Errorf("reading the results: %w", err)
		}
		return noRecords, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the records: %w", err)
	}
	return info.Size(), nil
}

// derived is signals.jsonl of a folder, as far as it fits the records.
type derived struct {
	dir  string
	size int64 // of the records
	// fits is how many bytes of it are of the records in their order, and misfit is
	// what stands behind them where that is of other records.
	fits   int64
	misfit *Problem
}

// derivedSignals finds out how far the signals fit the first size bytes of the
// records. A line says how long its record is, so all of them fit where the record
// at the place of the last one is of its run.
func derivedSignals(dir string, size int64) (*derived, error) {
	d := &derived{dir: dir, size: size, fits: math.MaxInt64}
	if size == noRecords {
		return d, nil
	}
	var last placedLine
	for s, err := range d.written((*reader).readHead) {
		if err == nil {
			last = lineOf(&s)
		}
	}
	f, _, err := openRecords(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if last.bytes == 0 || last.fits(f) {
		return d, nil
	}
	return d, d.cut(f, last)
}

// placedLine is a line of signals.jsonl and the place of its record.
type placedLine struct {
	place
	run     string
	bytes   int64 // of the record
	written place // behind the line
}

func lineOf(s *placed) placedLine {
	return placedLine{place: s.place, run: s.ID, bytes: s.Bytes, written: place{s.line + 1, s.written}}
}

// fits reports whether the record at the place of a line is of its run. One that is
// damaged does not say.
func (l *placedLine) fits(records io.ReaderAt) bool {
	for o, err := range scan(recordsFile, io.NewSectionReader(records, l.offset, l.bytes), l.place) {
		if err != nil {
			return false
		}
		head, err := new(reader).readHead(o.json)
		return err == nil && o.bytes == l.bytes && head.ID == l.run
	}
	return false
}

// cut finds the last line that fits. Where a whole record stands among those of the
// lines behind it, these are not in their places.
func (d *derived) cut(records io.ReaderAt, last placedLine) error {
	var good, bad placedLine
	for s, err := range d.written((*reader).readHead) {
		if err != nil {
			break
		}
		switch line := lineOf(&s); {
		case line.fits(records):
			good, bad = line, placedLine{}
		case bad.bytes == 0:
			bad = line
		}
	}
	from, to := good.offset+good.bytes, last.offset+last.bytes
	for o, err := range scan(recordsFile, io.NewSectionReader(records, from, d.size-from), place{good.written.line, from}) {
		switch {
		case err != nil && !isDamage(err):
			return err
		case err == nil && o.offset < to:
			d.fits = good.written.offset
			d.misfit = &Problem{
				File: signalsFile, Line: bad.written.line, Lines: 1, Offset: d.fits, Bytes: bad.written.offset - d.fits,
				What: "it is not of the record that comes next",
			}
			return nil
		}
	}
	return nil
}

// placedSignals yields the signals of all records in the first size bytes of
// records.jsonl, those that are superseded too. The signals of a run tell how
// long its record is, so that what signals.jsonl lacks is found without reading
// the records before.
//
// They are read with readSignals, or with readHead where no more is needed.
func placedSignals(dir string, size int64, read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		d, err := derivedSignals(dir, size)
		if err != nil {
			yield(placed{}, err)
			return
		}
		d.placed(read)(yield)
	}
}

func (d *derived) placed(read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		at := place{}
		for s, err := range d.written(read) {
			if !yield(s, err) || isNotRegular(err) {
				return
			}
			if err == nil {
				at = s.end()
			}
		}
		if d.size <= at.offset {
			return
		}
		for s, err := range rebuiltSignals(d.dir, at, d.size) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// written yields what signals.jsonl holds, up to its first bad line, to one that is
// not of the record in its place, or to a run whose record does not end within the
// size. Without records there is nothing to make signals from, and bad lines are
// passed over.
func (d *derived) written(read readFunc) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		f, err := openFile(filepath.Join(d.dir, signalsFile))
		if isNotRegular(err) {
			yield(placed{}, err)
			return
		}
		if err != nil {
			return // then all are rebuilt
		}
		defer f.Close()
		at, in := place{}, new(reader)
		for o, err := range scan(signalsFile, f, place{}) {
			s := placed{place: at, written: o.end().offset}
			if err == nil {
				s.Signals, err = signalsOf(&o, read, in)
			}
			if d.size == noRecords {
				if !yield(s, err) {
					return
				}
				continue
			}
			if err == nil && o.offset >= d.fits {
				err = d.misfit
			}
			if err != nil {
				if !isTorn(err) {
					yield(placed{}, err)
				}
				return
			}
			if s.Bytes <= 0 || s.end().offset > d.size || !yield(s, nil) {
				return
			}
			at = s.end()
		}
	}
}

// rebuiltSignals makes signals from the records between a place and an offset.
func rebuiltSignals(dir string, from place, to int64) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		f, _, err := openRecords(dir)
		if err != nil {
			yield(placed{}, err)
			return
		}
		defer f.Close()
		for o, err := range scan(recordsFile, io.NewSectionReader(f, from.offset, to-from.offset), from) {
			s := placed{place: o.place}
			var run *Run
			if err == nil {
				run, err = runOf(&o)
			}
			if err == nil {
				signals := run.Signals()
				signals.Bytes = o.bytes
				s.Signals = &signals
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
