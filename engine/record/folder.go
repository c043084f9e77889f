package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The files of a result folder.
const (
	manifestFile = "manifest.json"
	recordsFile  = "records.jsonl"
	scoresFile   = "scores.jsonl"
	damagedFile  = "records.damaged.jsonl"
	ledgerFile   = "spent.jsonl"
	lockFile     = "lock"
	specFolder   = "spec" // copies of what the runs were made of
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
	return replaceWith(folder(dir), name, text)
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
