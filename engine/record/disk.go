package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The files of a result folder.
const (
	manifestFile = "manifest.json"
	manifestCopy = "manifest.copy.json"
	recordsFile  = "records.jsonl"
	signalsFile  = "signals.jsonl"
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

// File is a file that is being appended to.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// folder is the Disk of a real folder.
type folder string

// NotRegular refuses what stands in the place of a file of results, such as a named pipe, which would be waited for.
type NotRegular struct {
	Path string
	Kind string // a folder, a named pipe
}

// Error names the file and what it is.
func (e *NotRegular) Error() string { return fmt.Sprintf("%s is %s, not a file", e.Path, e.Kind) }

func isNotRegular(err error) bool {
	_, is := errors.AsType[*NotRegular](err)
	return is
}

// openFile opens a file of a result folder for reading.
func openFile(path string) (*os.File, error) { return openRegular(path, os.O_RDONLY) }

// openRegular looks before it opens: to open a named pipe would wait for another process, and to read a device might
// never end.
func openRegular(path string, flags int) (*os.File, error) {
	if _, err := statRegular(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o644)
}

func statRegular(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &NotRegular{path, kindOf(info.Mode())}
	}
	return info, err
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
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
	if _, err := statRegular(path); isNotRegular(err) {
		return err
	}
	f, err := openRegular(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
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

func (dir folder) Truncate(name string, size int64) error {
	path := filepath.Join(string(dir), name)
	if _, err := statRegular(path); err != nil {
		return err
	}
	return os.Truncate(path, size)
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
