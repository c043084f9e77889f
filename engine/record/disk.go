package record

import (
	"bufio"
	"errors"
	"io"
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

func (dir folder) Append(name string) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(dir), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return f, dir.sync() // the name, where the file is new
}

func (dir folder) Replace(name string, write func(io.Writer) error) error {
	path := filepath.Join(string(dir), name)
	f, err := os.Create(path + ".tmp")
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
	return os.Truncate(filepath.Join(string(dir), name), size)
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
