package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

// ErrExists means that a folder holds results already.
var ErrExists = errors.New("results exist already")

// Create makes a result folder, which may be there but must hold no results, and
// opens its journal. The caller closes it.
func Create(dir string, m Manifest, options Options) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the results folder: %w", err)
	}
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	j := newJournal(folder, options)
	if err := j.create(m); err != nil {
		return nil, errors.Join(err, j.leave())
	}
	go j.commit()
	return j, nil
}

func (j *Journal) create(m Manifest) error {
	for _, name := range append([]string{manifestFile}, fileNames[:]...) {
		switch _, err := os.Lstat(filepath.Join(j.folder.dir, name)); {
		case err == nil:
			return fmt.Errorf("%w in %s", ErrExists, j.folder.dir)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("making the results folder: %w", err)
		}
	}
	if err := j.WriteManifest(m); err != nil {
		return err
	}
	return j.openFiles()
}

func newJournal(home *locked, options Options) *Journal {
	j := &Journal{
		folder: home, disk: options.Disk, delay: options.Delay, redact: options.Redact,
		pending: &group{}, hurry: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	j.changed.L = &j.mu
	if j.disk == nil {
		j.disk = folder(home.dir)
	}
	j.delay = cmp.Or(j.delay, defaultDelay)
	return j
}

func (j *Journal) openFiles() error {
	for i, name := range fileNames {
		f, err := j.disk.Append(name)
		if err != nil {
			return writing(err)
		}
		j.files[i] = f
	}
	return nil
}

// group is what is written and synced together.
type group struct {
	lines [2][][]byte // for each file
	size  int         // of all, in bytes
	done  []func(error)
	since time.Time // when it began, if it is not empty
}

// add puts lines behind those that wait, and keeps them.
func (g *group) add(lines [2][]byte, done func(error)) {
	if g.size == 0 {
		g.since = time.Now()
	}
	for i, line := range lines {
		if len(line) > 0 {
			g.lines[i], g.size = append(g.lines[i], line), g.size+len(line)
		}
	}
	if done != nil {
		g.done = append(g.done, done)
	}
}

// finish reports to everyone what became of the group.
func (g *group) finish(err error) {
	for _, done := range g.done {
		done(err)
	}
}

// commit writes one group after the other until the journal is closed.
func (j *Journal) commit() {
	defer close(j.ended)
	for last := false; !last; {
		j.await()
		j.mu.Lock()
		select {
		case <-j.hurry: // it was meant for this group
		default:
		}
		g := j.pending
		j.pending, j.writing, last = &group{}, true, j.closed
		j.changed.Broadcast()
		j.mu.Unlock()
		j.settle(g)
		j.mu.Lock()
		j.writing = false
		j.changed.Broadcast()
		j.mu.Unlock()
	}
}

// await waits until something is pending, and then for more of it.
func (j *Journal) await() {
	j.mu.Lock()
	for j.pending.size == 0 && !j.closed {
		j.changed.Wait()
	}
	begun, wait := j.pending.since, j.pending.size < fullGroup && !j.closed
	j.mu.Unlock()
	if !wait {
		return
	}
	timer := time.NewTimer(j.delay - time.Since(begun))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.hurry:
	}
}

// settle writes a group and reports to everyone what became of it; the first error is the
// journal's last word. A panic ends the journal as an error does: who reads the error says
// it without its secrets, which the runtime would not.
func (j *Journal) settle(g *group) {
	defer func() {
		if cause := recover(); cause != nil {
			j.fail(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	err := j.err
	if err == nil {
		if err = j.writeFiles(g); err != nil {
			j.fail(err)
		}
	}
	g.finish(err)
}

// fail lets nothing more be written.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
	j.changed.Broadcast()
}

// writeFiles has the records on the disk before it begins with the others.
func (j *Journal) writeFiles(g *group) error {
	for i, lines := range g.lines {
		if len(lines) == 0 {
			continue
		}
		to := bufio.NewWriterSize(j.files[i], batchSize)
		for _, line := range lines {
			to.Write(line) // what fails, Flush tells
		}
		if err := to.Flush(); err != nil {
			return writing(err)
		}
		if err := j.files[i].Sync(); err != nil {
			return writing(err)
		}
	}
	return writing(j.folder.there())
}

func writing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the results: %w", err)
}

// Journal appends finished runs to a result folder. Runs are written in groups:
// one goroutine writes and syncs what others appended in the meantime, so that
// the price of a sync is shared. Its methods are safe for concurrent use.
//
// The records of a group are on the disk before its scores are written. So scores.jsonl never holds
// more than records.jsonl does; what a crash leaves it short of, Resume finds.
type Journal struct {
	folder *locked
	disk   Disk
	files  [2]File // in the order of fileNames
	delay  time.Duration
	redact func([]byte) []byte // nil: nothing is redacted

	manifest sync.Mutex // one writes it at a time

	mu      sync.Mutex
	changed sync.Cond // of any of these
	pending *group
	writing bool  // a group is on its way to the disk
	err     error // the first write that failed; it is the last one
	closed  bool
	hurry   chan struct{} // the pending group shall not wait any longer
	ended   chan struct{} // the committing goroutine has returned
}

var fileNames = [2]string{recordsFile, scoresFile}

const (
	toRecords = iota
	toScores
)

// Options are the options of a journal; the zero value is what users want.
type Options struct {
	// Delay is how long the first run of a group waits for others; default 50 ms.
	Delay time.Duration
	// Redact hides secrets in whatever is written; it returns a text without any
	// as it is, and leaves JSON valid. nil: nothing is hidden.
	Redact func([]byte) []byte
	// Disk is the folder, for tests that make it fail.
	Disk Disk
}

const (
	defaultDelay = 50 * time.Millisecond
	fullGroup    = 1 << 20 // bytes after which a group waits no longer
	mostPending  = 2 << 20 // bytes after which Append waits
)

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("the journal is closed")

// Append encodes a finished run and its scores and has them written. It returns
// as soon as they are encoded, or, when the disk is slow, as soon as there is
// room; it keeps no reference to its arguments. Where it returns an error, the
// run is not written and done is never called.
//
// done, where it is not nil, is called once: with nil when the record and the
// scores are on the disk, with an error when they may not be. It is called by
// the goroutine that writes, must be quick and must not call the journal.
//
// The scores of a run that does not count are not written: it will be tried
// again. Their Run is not read.
func (j *Journal) Append(run *Run, scores []Score, done func(error)) error {
	record, err := j.runLine(run)
	if err != nil || len(scores) == 0 || !run.Outcome.Counts() {
		return j.append(record, nil, err, done)
	}
	scored, err := j.scoresLine(run.ID, scores, nil)
	return j.append(record, scored, err, done)
}

// AppendScores writes the scores of a run whose record is in the folder already,
// as Append does.
func (j *Journal) AppendScores(run string, scores []Score, done func(error)) error {
	line, err := j.scoresLine(run, scores, nil)
	return j.append(nil, line, err, done)
}

// AppendSnapshots writes what was found of states of a run's workspace, as Append does.
// Their Run is not read.
func (j *Journal) AppendSnapshots(run string, snapshots []Snapshot, done func(error)) error {
	line, err := j.scoresLine(run, nil, snapshots)
	return j.append(nil, line, err, done)
}

// append has lines of both files written, unless they could not be made.
func (j *Journal) append(records, scores []byte, err error, done func(error)) error {
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.pending.size > mostPending && j.err == nil && !j.closed {
		j.changed.Wait()
	}
	switch {
	case j.err != nil:
		return j.err
	case j.closed:
		return ErrClosed
	}
	j.pending.add([2][]byte{records, scores}, done)
	if j.pending.size >= fullGroup {
		j.hurryUp()
	}
	j.changed.Broadcast()
	return nil
}

func (j *Journal) hurryUp() {
	select {
	case j.hurry <- struct{}{}:
	default: // one is waiting to be read
	}
}

// Flush waits until everything that was appended is on the disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for (j.pending.size > 0 || j.writing) && j.err == nil && !j.closed {
		j.hurryUp()
		j.changed.Wait()
	}
	return j.err
}

// WriteManifest replaces the manifest.
func (j *Journal) WriteManifest(m Manifest) error {
	text, err := encodeManifest(&m, j.redact)
	if err != nil {
		return err
	}
	j.manifest.Lock()
	defer j.manifest.Unlock()
	return writing(replaceWith(j.disk, manifestFile, text))
}

// Close writes what is pending, waits for it and leaves the folder. It returns
// the first error of the journal; the folder can be resumed all the same.
func (j *Journal) Close() error {
	j.mu.Lock()
	again := j.closed
	j.closed = true
	j.hurryUp()
	j.changed.Broadcast()
	j.mu.Unlock()
	<-j.ended
	if again {
		return j.err
	}
	return errors.Join(j.err, j.leave())
}

// leave closes the files and gives the folder free.
func (j *Journal) leave() error {
	var err error
	for _, f := range j.files {
		if f != nil {
			err = errors.Join(err, writing(f.Close()))
		}
	}
	return errors.Join(err, j.folder.unlock())
}
