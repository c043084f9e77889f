package record

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Results are what reports read, in a result folder or in a baseline file.
type Results struct {
	Path     string
	Manifest Manifest

	baseline *baselineHead // nil: a folder
}

// Open opens a result folder or a baseline file. An error is fs.ErrNotExist
// where there is none, a [NoBaseline] where a file is none.
func Open(path string) (*Results, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	if !info.IsDir() {
		return openBaseline(path)
	}
	m, err := ReadManifest(path)
	if err != nil {
		return nil, err
	}
	return &Results{Path: path, Manifest: m}, nil
}

// Baseline says that the results are a baseline file.
func (r *Results) Baseline() bool { return r.baseline != nil }

// Signals are the runs, as [ReadSignals] gives them. Those of a baseline have
// as many iterations as the run had, and of these only the confidence of the
// returned one.
func (r *Results) Signals() iter.Seq2[*Signals, error] {
	if r.baseline != nil {
		return r.baselineSignals()
	}
	return ReadSignals(r.Path)
}

// Scores are the scores, as [ReadScores] gives them. Those of a baseline are of
// runs, not of iterations, and do not tell why a run is unscored.
func (r *Results) Scores() iter.Seq2[Score, error] {
	if r.baseline != nil {
		return r.baselineScores()
	}
	return ReadScores(r.Path)
}

// Configuration finds a configuration by its name or an alias.
func (m *Manifest) Configuration(name string) (*ConfigurationHead, bool) {
	for i := range m.Configurations {
		if m.Configurations[i].Called(name) {
			return &m.Configurations[i], true
		}
	}
	return nil, false
}

// Called says whether this is the configuration's name or an alias.
func (c *ConfigurationHead) Called(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// NoBaseline says why a file is no baseline.
type NoBaseline struct {
	File, What string
	// Ours says that it is one after all, but damaged or of another version.
	Ours bool
}

// Error names the file.
func (e *NoBaseline) Error() string { return e.File + " is no baseline: " + e.What }

// Runs are the records of a result folder, each of which can be read by itself,
// in any order. They are safe for concurrent use. What is written to the folder
// after OpenRuns is not among them.
type Runs struct {
	dir  string
	file *os.File
	size int64

	index sync.Once
	seed  maphash.Seed
	byID  []placedID
	err   error
}

// placedID is where the record of a run stands: 16 bytes for each.
type placedID struct {
	id     uint64 // hashed
	offset int64
}

// RunHead is what a run is of, and where its record stands.
type RunHead struct {
	ID            string
	Configuration string
	Task          string
	Trial         int
	Status        Status
	Returned      int // the iteration whose output is returned, 0: none
	Iterations    int
	At            RecordPlace
}

// RecordPlace is where a record stands.
type RecordPlace struct{ offset, bytes int64 }

// Compare orders places as they stand in the file.
func (p RecordPlace) Compare(q RecordPlace) int { return cmp.Compare(p.offset, q.offset) }

// OpenRuns opens the records of a result folder. The caller closes them.
func OpenRuns(dir string) (*Runs, error) {
	f, size, err := openRecords(dir)
	if err != nil {
		return nil, err
	}
	return &Runs{dir: dir, file: f, size: size, seed: maphash.MakeSeed()}, nil
}

// Close closes the file.
func (r *Runs) Close() error { return r.file.Close() }

// Heads yields the head of every run that counts, in the order in which they
// finished. Each is valid until the next one; the errors are as those of
// [ReadRuns].
func (r *Runs) Heads() iter.Seq2[*RunHead, error] {
	return func(yield func(*RunHead, error) bool) {
		head := new(RunHead)
		for s, err := range placedSignals(r.dir, r.size, (*reader).readCounts) {
			if err == nil && !s.Outcome.Counts() {
				continue
			}
			if err == nil {
				*head = RunHead{
					ID: s.ID, Configuration: s.Configuration, Task: s.Task, Trial: s.Trial, Status: s.Outcome.Status,
					Returned: s.Outcome.Returned, Iterations: len(s.Iterations), At: RecordPlace{s.offset, s.Bytes},
				}
			}
			if !yield(head, err) {
				return
			}
		}
	}
}

// Read reads the record at a place.
func (r *Runs) Read(at RecordPlace) (*Run, error) {
	line := make([]byte, at.bytes)
	if _, err := r.file.ReadAt(line, at.offset); err != nil {
		return nil, fmt.Errorf("reading the records: %w", err)
	}
	o := object{place: place{offset: at.offset}, bytes: at.bytes}
	var err error
	if o.json, err = unseal(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
		return nil, o.problem(recordsFile, err)
	}
	return runOf(&o)
}

// Run reads the run of that id; of one that was tried again, the last record. The
// first call reads the heads of all. The error is ErrNoRun where there is none.
func (r *Runs) Run(id string) (*Run, error) {
	r.index.Do(r.place)
	if r.err != nil {
		return nil, r.err
	}
	hashed := maphash.String(r.seed, id)
	for i := r.behind(hashed) - 1; i >= 0 && r.byID[i].id == hashed; i-- {
		run, err := r.at(r.byID[i].offset)
		if err != nil {
			return nil, err
		}
		if run.ID == id {
			return run, nil
		}
	}
	return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, r.dir, id)
}

// behind is the index behind the last record of a hashed id.
func (r *Runs) behind(hashed uint64) int {
	at, _ := slices.BinarySearchFunc(r.byID, hashed, func(p placedID, id uint64) int {
		if p.id <= id {
			return -1
		}
		return 1
	})
	return at
}

// place finds out where the record of each run stands. Bad lines have no id.
func (r *Runs) place() {
	for s, err := range placedSignals(r.dir, r.size, (*reader).readHead) {
		var bad *Problem
		switch {
		case errors.As(err, &bad):
		case err != nil:
			r.err = err
			return
		default:
			r.byID = append(r.byID, placedID{maphash.String(r.seed, s.ID), s.offset})
		}
	}
	slices.SortFunc(r.byID, func(a, b placedID) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.offset, b.offset)) })
}

// at reads the record that begins at an offset.
func (r *Runs) at(offset int64) (*Run, error) {
	from := place{offset: offset}
	for o, err := range scan(recordsFile, io.NewSectionReader(r.file, offset, r.size-offset), from) {
		if err != nil {
			return nil, err
		}
		return runOf(&o)
	}
	return nil, io.ErrUnexpectedEOF
}

// readCounts reads what a RunHead holds. The iterations are empty: only their
// number is told. The result is valid until the next one.
func (r *reader) readCounts(text []byte) (*Signals, error) {
	r.begin(text)
	r.head = Signals{}
	s := &r.head
	for key := range r.object() {
		if r.ofHead(key, s) {
			continue
		}
		switch string(key) {
		case "configuration":
			s.Configuration = r.name()
		case "task":
			s.Task = r.string()
		case "trial":
			s.Trial = int(r.integer())
		case "outcome":
			r.outcome(&s.Outcome)
		case "iterations":
			r.iterations = r.iterations[:0]
			for range r.list() {
				r.pass()
				r.iterations = append(r.iterations, IterationSignals{})
			}
			s.Iterations = r.iterations
		default:
			r.pass()
		}
	}
	return s, r.end()
}

// ErrNoRun says that a folder holds no run of that id.
var ErrNoRun = errors.New("no such run")

// ReadRuns yields the runs of a result folder in the order in which they
// finished, each once: of a run that was tried again, the last record. Memory
// does not grow with the number of runs.
//
// An error that is a *Problem tells of bad lines, and the reading goes on; any
// other error is the last element.
func ReadRuns(dir string) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		f, size, err := openRecords(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		tries := countTries(placedSignals(dir, size, (*reader).readHead))
		for o, err := range scan(recordsFile, io.NewSectionReader(f, 0, size), place{}) {
			var run *Run
			if err == nil {
				run, err = runOf(&o)
			}
			if err == nil && !tries.last(run.ID) {
				continue
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// ReadSignals yields the signals of the runs of a result folder, as ReadRuns
// does. Where signals.jsonl is missing, damaged or lacks lines they are made from
// the records. Where there are no records at all, signals.jsonl stands for itself.
func ReadSignals(dir string) iter.Seq2[*Signals, error] {
	return func(yield func(*Signals, error) bool) {
		size, err := sizeOfRecords(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		signals, err := derivedSignals(dir, size)
		if err != nil {
			yield(nil, err)
			return
		}
		tries := countTries(signals.placed((*reader).readHead))
		for s, err := range signals.placed((*reader).readSignals) {
			if err == nil && !tries.last(s.ID) {
				continue
			}
			if !yield(s.Signals, err) {
				return
			}
		}
	}
}

// ReadScores yields the scores of a result folder in the order in which they
// were made; the errors are as those of ReadRuns. A folder may hold scores of
// runs whose records were lost; it holds none of a run that does not count.
func ReadScores(dir string) iter.Seq2[Score, error] {
	return func(yield func(Score, error) bool) {
		f, err := openFile(filepath.Join(dir, scoresFile))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Score{}, fmt.Errorf("reading the scores: %w", err))
			return
		}
		defer f.Close()
		in := new(reader)
		for o, err := range scan(scoresFile, f, place{}) {
			var scores []Score
			if err == nil {
				_, scores, err = scoresOf(&o, in)
			}
			if err != nil {
				scores = []Score{{}}
			}
			for i := range scores {
				if !yield(scores[i], err) {
					return
				}
			}
		}
	}
}

// Find reads the run of that id, or returns ErrNoRun.
func Find(dir, run string) (*Run, error) {
	f, size, err := openRecords(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, length := place{}, int64(0)
	for s, err := range placedSignals(dir, size, (*reader).readHead) {
		if err == nil && s.ID == run {
			found, length = s.place, s.Bytes
		}
	}
	if length == 0 {
		return nil, fmt.Errorf("%w in %s: %q", ErrNoRun, dir, run)
	}
	for o, err := range scan(recordsFile, io.NewSectionReader(f, found.offset, length), found) {
		if err != nil {
			return nil, err
		}
		return runOf(&o)
	}
	return nil, io.ErrUnexpectedEOF
}

// runOf, like the functions below it, tells of a line that is whole but cannot be read as
// a *Problem: another version may have written it.
func runOf(o *object) (*Run, error) {
	run, err := readRun(o.json)
	if err == nil {
		err = knownVersion(run.Version)
	}
	if err == nil {
		err = (&Signals{Trial: run.Trial, Elapsed: run.Elapsed, Usage: run.Usage, Judging: run.Judging, User: run.User}).amounts()
	}
	if err != nil {
		return nil, o.problem(recordsFile, err)
	}
	return run, nil
}

func signalsOf(o *object, read readFunc, in *reader) (*Signals, error) {
	s, err := read(in, o.json)
	if err == nil {
		err = knownVersion(s.Version)
	}
	if err == nil {
		err = s.impossible()
	}
	if err != nil {
		return nil, o.problem(signalsFile, err)
	}
	return s, nil
}

func scoresOf(o *object, in *reader) (run string, scores []Score, err error) {
	run, scores, err = in.readScores(o.json)
	if err == nil {
		err = impossibleScores(scores)
	}
	if err != nil {
		err = o.problem(scoresFile, err)
	}
	return run, scores, err
}

func openRecords(dir string) (*os.File, int64, error) {
	f, err := openFile(filepath.Join(dir, recordsFile))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the records: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("reading the records: %w", err)
	}
	return f, info.Size(), nil
}

// place is where a line of a file begins.
type place struct {
	line   int // lines before it
	offset int64
}

// object is the content of a good line. Its JSON is valid until the next one.
type object struct {
	place
	bytes int64 // of the whole line
	json  []byte
}

func (o *object) end() place { return place{o.line + 1, o.offset + o.bytes} }

// scanner takes a file apart into lines.
type scanner struct {
	name string
	in   *bufio.Reader
	at   place
	long []byte // a line that is longer than the reader's buffer
}

// scan yields the objects of a file's lines and, where lines are bad, a *Problem
// for all of them that follow each other. Any other error is the last element.
// The input begins at the given place of the file.
func scan(name string, in io.Reader, at place) iter.Seq2[object, error] {
	s := &scanner{name: name, in: bufio.NewReaderSize(in, 1<<16), at: at}
	return func(yield func(object, error) bool) {
		var bad *Problem
		for {
			o, err := s.next()
			if err == io.EOF {
				break
			}
			if problem, ok := err.(*Problem); ok {
				bad = bad.and(problem)
				continue
			}
			if bad != nil && !yield(object{}, bad) {
				return
			}
			bad = nil
			if !yield(o, err) || err != nil {
				return
			}
		}
		if bad != nil {
			bad.Torn = true
			yield(object{}, bad)
		}
	}
}

// and joins the next bad line to the ones before it.
func (p *Problem) and(next *Problem) *Problem {
	if p == nil {
		return next
	}
	p.Lines, p.Bytes = p.Lines+next.Lines, p.Bytes+next.Bytes
	return p
}

// next is the object of the next line, io.EOF at the end.
func (s *scanner) next() (object, error) {
	o := object{place: s.at}
	line, size, err := s.line()
	if size == 0 {
		return o, err
	}
	o.bytes = size
	s.at = o.end()
	switch {
	case err == io.EOF:
		err = errors.New("a line that breaks off")
	case err == nil:
		o.json, err = unseal(line)
	case !errors.Is(err, errTooLong):
		return o, err
	}
	if err != nil {
		return o, o.problem(s.name, err)
	}
	return o, nil
}

func (o *object) problem(file string, err error) *Problem {
	return &Problem{File: file, Line: o.line + 1, Lines: 1, Offset: o.offset, Bytes: o.bytes, What: err.Error()}
}

var errTooLong = fmt.Errorf("a line of more than %d MiB", longestLine>>20)

// line is the next line without its line feed, and its size with it.
func (s *scanner) line() (line []byte, size int64, err error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		size += int64(len(part))
		if err == nil && len(s.long) == 0 {
			return part[:len(part)-1], size, nil
		}
		if size <= longestLine {
			s.long = append(s.long, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil:
			return nil, size, err
		case size > longestLine:
			return nil, size, errTooLong
		}
		return s.long[:len(s.long)-1], size, nil
	}
}
