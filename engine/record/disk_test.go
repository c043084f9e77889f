package record

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestMain keeps the folders of tests where TMPDIR is, which may be in memory: GOTMPDIR is for the compiler's files.
func TestMain(m *testing.M) {
	os.Unsetenv("GOTMPDIR")
	m.Run()
}

// faultyDisk is a real folder whose n-th call and all after it fail, as on a
// full disk: a failing write leaves half of its bytes. It logs what it does.
type faultyDisk struct {
	Disk
	failAt int // from 1; 0: never

	mu    sync.Mutex
	calls int
	log   []string
}

var errFull = syscall.ENOSPC

// fails counts a call and says whether it fails.
func (d *faultyDisk) fails(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.log = append(d.log, what)
	return d.failAt > 0 && d.calls >= d.failAt
}

// note puts something down between the calls.
func (d *faultyDisk) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, what)
}

func (d *faultyDisk) Append(name string) (File, error) {
	if d.fails("open " + name) {
		return nil, errFull
	}
	f, err := d.Disk.Append(name)
	return &faultyFile{File: f, disk: d, name: name}, err
}

func (d *faultyDisk) Replace(name string, write func(io.Writer) error) error {
	if d.fails("replace " + name) {
		return errFull
	}
	return d.Disk.Replace(name, write)
}

func (d *faultyDisk) Truncate(name string, size int64) error {
	if d.fails("truncate " + name) {
		return errFull
	}
	return d.Disk.Truncate(name, size)
}

type faultyFile struct {
	File
	disk *faultyDisk
	name string
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.disk.fails("write " + f.name) {
		n, err := f.File.Write(p[:len(p)/2])
		return n, errors.Join(errFull, err)
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if f.disk.fails("sync " + f.name) {
		return syscall.EIO
	}
	return f.File.Sync()
}

// nowhere is a disk that takes everything and keeps nothing.
type nowhere struct{}

func (nowhere) Append(string) (File, error)                 { return nowhere{}, nil }
func (nowhere) Replace(string, func(io.Writer) error) error { return nil }
func (nowhere) Truncate(string, int64) error                { return nil }
func (nowhere) Write(p []byte) (int, error)                 { return len(p), nil }
func (nowhere) Sync() error                                 { return nil }
func (nowhere) Close() error                                { return nil }

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type fataler interface {
	Helper()
	Fatal(...any)
}
