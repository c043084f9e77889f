package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
		pending: &group{}, spare: &group{},
		hurry: make(chan struct{}, 1), ended: make(chan struct{}),
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
	lines [2][]byte // for each file
	done  []func(error)
	since time.Time // when it began, if it is not empty
}

func (g *group) size() int { return len(g.lines[toRecords]) + len(g.lines[toScores]) }

// add puts lines behind those that wait; they may be other ones afterwards.
func (g *group) add(lines *[2][]byte, done func(error)) {
	if g.size() == 0 {
		g.since = time.Now()
	}
	for i := range lines {
		if len(g.lines[i]) == 0 && len(lines[i]) > fullGroup {
			g.lines[i], lines[i] = lines[i], g.lines[i] // not copied: it may be huge
			continue
		}
		if have, more := g.lines[i], len(lines[i]); more > cap(have)-len(have) {
			g.lines[i] = slices.Grow(have, max(more, len(have), leastRoom)) // twice as much: append would copy more often
		}
		g.lines[i] = append(g.lines[i], lines[i]...)
	}
	if done != nil {
		g.done = append(g.done, done)
	}
}

// finish reports to everyone what became of the group, and empties it.
func (g *group) finish(err error) {
	for _, done := range g.done {
		done(err)
	}
	clear(g.done)
	g.done = g.done[:0]
	for i := range g.lines {
		g.lines[i] = emptied(g.lines[i])
	}
}

// emptied keeps a buffer's memory, but not that of an extraordinary run.
func emptied(buffer []byte) []byte {
	if cap(buffer) > 2*mostPending {
		return nil
	}
	return buffer[:0]
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
		j.pending, j.spare, j.writing, last = j.spare, nil, true, j.closed
		j.changed.Broadcast()
		j.mu.Unlock()
		j.settle(g)
		j.mu.Lock()
		j.spare, j.writing = g, false // its memory is for the group after the next
		j.changed.Broadcast()
		j.mu.Unlock()
	}
}

// await waits until something is pending, and then for more of it.
func (j *Journal) await() {
	j.mu.Lock()
	for j.pending.size() == 0 && !j.closed {
		j.changed.Wait()
	}
	begun, wait := j.pending.since, j.pending.size() < fullGroup && !j.closed
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
			g.done = nil // it may have been one of them
			g.finish(nil)
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
		if _, err := j.files[i].Write(lines); err != nil {
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
	pages  sync.Pool           // of *page, for the encoding

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
	leastRoom    = 16 << 10
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
	return j.append(done, func(p *page) error { return j.encodeRun(p, run, scores) })
}

// page is where lines are written before they go to a group.
type page struct {
	lines [2][]byte // for each file
}

// clean keeps a page's memory, but not that of an extraordinary run.
func (p *page) clean() {
	for i := range p.lines {
		p.lines[i] = emptied(p.lines[i])
	}
}

func (j *Journal) encodeRun(p *page, run *Run, scores []Score) (err error) {
	if p.lines[toRecords], err = j.runLine(p.lines[toRecords], run); err != nil {
		return err
	}
	if len(scores) > 0 && run.Outcome.Counts() {
		p.lines[toScores], err = j.scoresLine(p.lines[toScores], run.ID, scores, nil)
	}
	return err
}

// AppendScores writes the scores of a run whose record is in the folder already,
// as Append does.
func (j *Journal) AppendScores(run string, scores []Score, done func(error)) error {
	return j.append(done, func(p *page) (err error) {
		p.lines[toScores], err = j.scoresLine(p.lines[toScores], run, scores, nil)
		return err
	})
}

// AppendSnapshots writes what was found of states of a run's workspace, as Append does.
// Their Run is not read.
func (j *Journal) AppendSnapshots(run string, snapshots []Snapshot, done func(error)) error {
	return j.append(done, func(p *page) (err error) {
		p.lines[toScores], err = j.scoresLine(p.lines[toScores], run, nil, snapshots)
		return err
	})
}

func (j *Journal) append(done func(error), encode func(*page) error) error {
	p, _ := j.pages.Get().(*page)
	if p == nil {
		p = &page{}
	}
	defer j.pages.Put(p)
	p.clean()
	if err := encode(p); err != nil {
		return err
	}
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
	j.pending.add(&p.lines, done)
	if j.pending.size() >= fullGroup {
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
	j.mu.Lock()
	j.pending, j.spare = &group{}, &group{} // their memory is for who reads the results now
	j.mu.Unlock()
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

// The files of a result folder.
const (
	manifestFile = "manifest.json"
	manifestCopy = "manifest.copy.json"
	recordsFile  = "records.jsonl"
	scoresFile   = "scores.jsonl"
	damagedFile  = "records.damaged.jsonl"
	ledgerFile   = "spent.jsonl"
	ledgerHead   = "spent.head"
	lockFile     = "lock"

	damagedLedger = "spent.damaged.jsonl"
)

// Disk is what a journal does to its folder; names are those of files in it.
// Tests make it fail.
type Disk interface {
	// Append opens a file for appending and makes it where it is missing.
	Append(name string) (File, error)
	// Replace writes a whole file so that a crash leaves the old or the new one.
	Replace(name string, write func(io.Writer) error) error
	// Truncate cuts a file to that many bytes.
	Truncate(name string, size int64) error
}

// replaceWith writes a whole file that consists of a text.
func replaceWith(disk Disk, name string, text []byte) error {
	return disk.Replace(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// appendTo appends to a file, and syncs it.
func appendTo(disk Disk, name string, write func(io.Writer) error) error {
	to, err := disk.Append(name)
	if err != nil {
		return err
	}
	return errors.Join(write(to), to.Sync(), to.Close())
}

// File is a file that is being appended to.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// folder is the Disk of a real folder.
type folder string

// NotRegular means that something else has the name of a file of results, such as a named pipe, which would be waited for.
type NotRegular struct {
	Path string
	Kind string // a folder, a named pipe, a link
}

// Error names the file and what it is.
func (e *NotRegular) Error() string { return fmt.Sprintf("%s is %s, not a file", e.Path, e.Kind) }

// openFile opens a file of a result folder for reading.
func openFile(path string) (*os.File, error) { return openRegular(path, os.O_RDONLY) }

// openRegular looks before it opens: to open a named pipe would wait for another process, and to read a device might
// never end. A file that is written to is no link either: it may lead out of the folder.
func openRegular(path string, flags int) (*os.File, error) {
	stat := os.Stat
	if flags&(os.O_WRONLY|os.O_RDWR) != 0 {
		stat, flags = os.Lstat, flags|noFollow
	}
	if _, err := regular(path, stat); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o644)
}

func statRegular(path string) (fs.FileInfo, error) { return regular(path, os.Stat) }

func regular(path string, stat func(string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	info, err := stat(path)
	if err != nil || info.Mode().IsRegular() {
		return info, err
	}
	kind := "a device"
	switch mode := info.Mode(); {
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeSymlink != 0:
		kind = "a link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return info, &NotRegular{path, kind}
}

func isNotRegular(err error) bool {
	_, is := errors.AsType[*NotRegular](err)
	return is
}

func readWhole(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (dir folder) Append(name string) (File, error) {
	f, err := openRegular(filepath.Join(string(dir), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	return f, dir.sync() // the name, where the file is new
}

func (dir folder) Replace(name string, write func(io.Writer) error) error {
	path := filepath.Join(string(dir), name)
	for _, name := range []string{path, path + ".tmp"} {
		if _, err := regular(name, os.Lstat); isNotRegular(err) {
			return err
		}
	}
	_ = os.Remove(path + ".tmp") // left by a crash
	f, err := openRegular(path+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	return dir.sync()
}

// ReplaceFile writes a file of a result folder that is no file of results. No link is followed.
func ReplaceFile(dir, name string, text []byte) error {
	return folder(dir).Replace(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (dir folder) Truncate(name string, size int64) error {
	path := filepath.Join(string(dir), name)
	f, err := openRegular(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// sync makes the names in the folder durable.
func (dir folder) sync() error {
	d, err := os.Open(string(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil // some file systems cannot, and need not
	}
	return err
}

var errLocked = errors.New("locked")

// InUse means that another process writes to a result folder.
type InUse struct {
	Dir   string
	PID   int // 0 where it is not known
	Since time.Time
}

// Error names the process.
func (e *InUse) Error() string {
	by := "another process"
	if e.PID != 0 {
		by = "pid " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("%s is in use by %s since %s", e.Dir, by, e.Since.Format(time.DateTime))
}

// locked is a folder that no other process writes to. The kernel gives it free
// when the process ends, in whatever way; the file itself stays.
type locked struct {
	dir  string
	file *os.File
}

func lock(dir string) (*locked, error) {
	f, err := openRegular(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("opening the results: %w", err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("locking the results: %w", err)
		}
		busy := &InUse{Dir: dir}
		if info, err := f.Stat(); err == nil { // it was locked when the file was last written
			busy.Since = info.ModTime()
		}
		if text, err := os.ReadFile(f.Name()); err == nil {
			busy.PID, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return nil, busy
	}
	if f.Truncate(0) == nil {
		f.WriteString(strconv.Itoa(os.Getpid()) + "\n") // a hint for others; a full disk shows elsewhere
	}
	return &locked{dir: dir, file: f}, nil
}

// Hold keeps all sessions away from a result folder until it is released. The error may be
// *InUse.
func Hold(dir string) (release func() error, err error) {
	folder, err := lock(dir)
	if err != nil {
		return nil, err
	}
	return folder.unlock, nil
}

// there fails where the folder was removed or renamed: what is written to its open files is lost with them.
func (l *locked) there() error {
	held, err := l.file.Stat()
	if err != nil {
		return err
	}
	if at, err := os.Lstat(l.file.Name()); err != nil || !os.SameFile(held, at) {
		return fmt.Errorf("%s was removed or renamed", l.dir)
	}
	return nil
}

func (l *locked) unlock() error { return l.file.Close() }

// Problem is a fault in a file of a result folder. Readers report it as an error
// and go on behind it.
type Problem struct {
	File   string // its name in the folder
	Line   int    // the first bad line, from 1
	Lines  int    // how many bad ones follow each other
	Offset int64  // of the first one's first byte
	Bytes  int64  // how many bytes they take
	// Torn means that nothing good follows: what a crash leaves behind.
	Torn bool
	What string
}

// Error names the place and what is wrong there.
func (p *Problem) Error() string {
	more := ""
	if p.Lines > 1 {
		more = fmt.Sprintf(", and %d more bad lines", p.Lines-1)
	}
	return fmt.Sprintf("%s:%d: %s (byte %d, %d bytes%s)", p.File, p.Line, p.What, p.Offset, p.Bytes, more)
}

// Unreadable reports whether an error of a reader means that the rest of a file cannot be
// read; after a Problem alone the lines behind it are read.
func Unreadable(err error) bool { return err != nil && !isDamage(err) }

// Sound are the lines that can be read. Damage is passed over: it is left to those who report it. Why the rest of the file
// cannot be read is the last error.
func Sound[T any](lines iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for line, err := range lines {
			if !isDamage(err) && !yield(line, err) {
				return
			}
		}
	}
}

func isDamage(err error) bool {
	_, is := errors.AsType[*Problem](err)
	return is
}

func isTorn(err error) bool {
	p, is := errors.AsType[*Problem](err)
	return is && p.Torn
}
