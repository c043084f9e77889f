package record

import (
	"errors"
	"sync"
	"time"
)

// Journal appends finished runs to a result folder. Runs are written in groups:
// one goroutine writes and syncs what others appended in the meantime, so that
// the price of a sync is shared. Its methods are safe for concurrent use.
//
// The records of a group are on the disk before its signals and scores are
// written. So signals.jsonl and scores.jsonl never hold more than records.jsonl
// does; what a crash leaves them short of, Resume finds.
type Journal struct {
	folder *locked
	disk   Disk
	files  [3]File // in the order of fileNames
	delay  time.Duration
	redact func([]byte) []byte // nil: nothing is redacted
	lines  sync.Pool           // of *[3][]byte, for the encoding

	manifest sync.Mutex // one writes it at a time

	mu      sync.Mutex
	changed sync.Cond // of any of these
	pending *group
	spare   *group
	writing bool  // a group is on its way to the disk
	err     error // the first write that failed; it is the last one
	closed  bool
	hurry   chan struct{} // the pending group shall not wait any longer
	ended   chan struct{} // the committing goroutine has returned
}

var fileNames = [3]string{recordsFile, signalsFile, scoresFile}

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
	mostPending  = 4 << 20 // bytes after which Append waits
)

// ErrClosed is returned by what is called after Close.
var ErrClosed = errors.New("the journal is closed")

// Append encodes a finished run and its scores and has them written. It returns
// as soon as they are encoded, or, when the disk is slow, as soon as there is
// room; it takes no reference to its arguments. Where it returns an error, the
// run is not written and done is never called.
//
// done, where it is not nil, is called once: with nil when the record and the
// scores are on the disk, with an error when they may not be. It is called by
// the goroutine that writes, must be quick and must not call the journal.
//
// The scores of a run that does not count are not written: it will be tried
// again. Their Run is not read.
func (j *Journal) Append(run *Run, scores []Score, done func(error)) error {
	return j.append(done, func(lines *[3][]byte) error { return j.encodeRun(lines, run, scores) })
}

func (j *Journal) encodeRun(lines *[3][]byte, run *Run, scores []Score) (err error) {
	if lines[0], run, err = j.runLine(lines[0], run); err != nil {
		return err
	}
	signals := run.Signals()
	signals.Bytes = int64(len(lines[0]))
	if lines[1], err = appendSignals(lines[1], &signals); err != nil {
		return err
	}
	if len(scores) > 0 && run.Outcome.Counts() {
		lines[2], err = j.scoresLine(lines[2], run.ID, scores)
	}
	return err
}

// AppendScores writes the scores of a run whose record is in the folder already,
// as Append does.
func (j *Journal) AppendScores(run string, scores []Score, done func(error)) error {
	return j.append(done, func(lines *[3][]byte) (err error) {
		lines[2], err = j.scoresLine(lines[2], run, scores)
		return err
	})
}

func (j *Journal) append(done func(error), encode func(*[3][]byte) error) error {
	lines, _ := j.lines.Get().(*[3][]byte)
	if lines == nil {
		lines = new([3][]byte)
	}
	defer j.lines.Put(lines)
	for i := range lines {
		lines[i] = emptied(lines[i])
	}
	if err := encode(lines); err != nil {
		return err
	}
	return j.enqueue(lines, done)
}

func (j *Journal) enqueue(lines *[3][]byte, done func(error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.pending.size() > mostPending && j.err == nil && !j.closed {
		j.changed.Wait()
	}
	switch {
	case j.err != nil:
		return j.err
	case j.closed:
		return ErrClosed
	}
	j.pending.add(lines, done)
	if j.pending.size() >= fullGroup {
		j.hurryUp()
	}
	j.changed.Broadcast()
	return nil
}

func (j *Journal) hurryUp() {
	select {
	case j.hurry <- struct{}{}:
	default: // it was told already
	}
}

// Flush waits until everything that was appended is on the disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for (j.pending.size() > 0 || j.writing) && j.err == nil && !j.closed {
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
	return replaceManifest(j.disk, text)
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
