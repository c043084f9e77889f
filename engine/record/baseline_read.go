package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
)

// openBaseline reads the head of a baseline.
func openBaseline(path string) (*Results, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	defer f.Close()
	for o, err := range scan(filepath.Base(path), unixLines{f}, place{}) {
		if err != nil {
			return nil, noBaseline(path, err)
		}
		head, ours, err := readBaselineHead(o.json)
		if err != nil {
			return nil, &NoBaseline{File: path, What: err.Error(), Ours: ours}
		}
		return &Results{Path: path, Manifest: head.Manifest, baseline: head}, nil
	}
	return nil, &NoBaseline{File: path, What: "it is empty"}
}

// noBaseline says what is wrong with the first line.
func noBaseline(path string, err error) error {
	var problem *Problem
	if errors.As(err, &problem) {
		return &NoBaseline{File: path, What: fmt.Sprintf("line %d: %s", problem.Line, problem.What), Ours: problem.What == errChecksum.Error()}
	}
	return fmt.Errorf("opening the baseline: %w", err)
}

// unixLines drops carriage returns, which no line has and git may add.
type unixLines struct{ in io.Reader }

func (u unixLines) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	kept := p[:0]
	for rest := p[:n]; len(rest) > 0; {
		part, after, _ := bytes.Cut(rest, []byte{'\r'})
		kept, rest = append(kept, part...), after
	}
	return len(kept), err
}

func (r *Results) baselineSignals() iter.Seq2[*Signals, error] {
	return func(yield func(*Signals, error) bool) {
		for run, err := range r.baselineRuns() {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !yield(run.signals(), nil) {
				return
			}
		}
	}
}

// baselineScores tells only of errors of which the signals did not tell.
func (r *Results) baselineScores() iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		for run, err := range r.baselineRuns() {
			var problem *Problem
			if err != nil {
				if !errors.As(err, &problem) && !yield(Score{}, err) {
					return
				}
				continue
			}
			for i := range run.scores {
				if !yield(run.scores[i], nil) {
					return
				}
			}
		}
	}
}

// baselineRuns are the lines behind the head; a run is valid until the next one.
// Bad lines are *Problems, and the reading goes on; any other error is the last
// element.
func (r *Results) baselineRuns() iter.Seq2[*baselineRun, error] {
	return func(yield func(*baselineRun, error) bool) {
		f, err := openFile(r.Path)
		if err != nil {
			yield(nil, fmt.Errorf("reading the baseline: %w", err))
			return
		}
		defer f.Close()
		in := &baselineReader{file: filepath.Base(r.Path), head: r.baseline}
		in.runs(f, yield)
	}
}

// baselineReader reads the lines of a baseline.
type baselineReader struct {
	file  string
	head  *baselineHead
	in    reader
	run   baselineRun
	last  baselineKey
	found int
	bad   int // lines
	place map[string]int
}

// baselineKey is what the lines are sorted by.
type baselineKey struct {
	configuration int
	task          string
	trial         int
}

func (b *baselineReader) runs(in io.Reader, yield func(*baselineRun, error) bool) {
	b.place = map[string]int{}
	for i := range b.head.Manifest.Configurations {
		b.place[b.head.Manifest.Configurations[i].Name] = i
	}
	b.last.configuration = -1
	end := place{}
	for o, err := range scan(b.file, unixLines{in}, place{}) {
		if err == nil {
			end = o.end()
		}
		if err == nil && o.line == 0 {
			continue // the head, which was read before
		}
		if err == nil {
			err = b.line(&o)
		}
		b.count(err)
		if !yield(&b.run, err) {
			return
		}
	}
	if missing := b.head.Runs - b.found; missing > 0 && b.bad == 0 {
		yield(nil, &Problem{File: b.file, Line: end.line + 1, Lines: missing, Offset: end.offset, Torn: true,
			What: fmt.Sprintf("it breaks off: %d of %d runs are there", b.found, b.head.Runs)})
	} else if missing < 0 {
		yield(nil, fmt.Errorf("%s holds %d runs, and its head tells of %d: it was put together from several files", b.file, b.found, b.head.Runs))
	}
}

func (b *baselineReader) count(err error) {
	var problem *Problem
	switch {
	case err == nil:
		b.found++
	case errors.As(err, &problem):
		b.bad += problem.Lines
	}
}

// line reads a run.
func (b *baselineReader) line(o *object) error {
	b.in.begin(o.json)
	b.run = baselineRun{scores: b.run.scores[:0]}
	b.in.baselineRun(&b.run, b.head)
	err := b.in.end()
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return o.problem(b.file, err)
	}
	b.run.ID = RunID(b.run.Configuration, b.run.Task, b.run.Trial)
	for i := range b.run.scores {
		b.run.scores[i].Run = b.run.ID
	}
	return nil
}

var (
	errOrder       = errors.New("it is not behind the line before it in the order of a baseline, or is there twice")
	errIncomplete  = errors.New("the trial or the status of the run is missing")
	errTwiceScored = errors.New("it has two scores of one name")
)

func (b *baselineReader) twiceScored() bool {
	for i := range b.run.scores {
		for k := range i {
			if b.run.scores[k].Name == b.run.scores[i].Name {
				return true
			}
		}
	}
	return false
}

// check refuses what no writer of this package writes.
func (b *baselineReader) check() error {
	configuration, ok := b.place[b.run.Configuration]
	key := baselineKey{configuration, b.run.Task, b.run.Trial}
	impossible := b.run.amounts()
	switch {
	case !ok:
		return fmt.Errorf("its manifest has no configuration %q", b.run.Configuration)
	case b.run.Trial < 1 || b.run.Outcome.Status == "":
		return errIncomplete
	case impossible != nil:
		return impossible
	case b.twiceScored():
		return errTwiceScored
	case b.run.iterations < 0 || b.run.iterations > mostIterations || b.run.Outcome.Returned < 0 || b.run.Outcome.Returned > b.run.iterations:
		return fmt.Errorf("%d iterations, of which %d is returned", b.run.iterations, b.run.Outcome.Returned)
	case b.run.rated && b.run.Outcome.Returned == 0:
		return errors.New("it has a confidence of no iteration")
	case b.last.compare(key) >= 0:
		return errOrder
	}
	b.last = key
	return nil
}

// mostIterations bounds the memory that a bad number can take.
const mostIterations = 1 << 16

func (k baselineKey) compare(l baselineKey) int {
	return cmp.Or(cmp.Compare(k.configuration, l.configuration), cmp.Compare(k.task, l.task), cmp.Compare(k.trial, l.trial))
}
