package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var errLocked = errors.New("locked")

// InUse says that another process writes to a result folder.
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
		if errors.Is(err, errLocked) {
			return nil, inUse(dir, f)
		}
		return nil, fmt.Errorf("locking the results: %w", err)
	}
	if f.Truncate(0) == nil {
		f.WriteString(strconv.Itoa(os.Getpid()) + "\n") // a hint for others; a full disk shows elsewhere
	}
	return &locked{dir: dir, file: f}, nil
}

// inUse reads who holds the lock; it was taken when the file was last written.
func inUse(dir string, f *os.File) error {
	busy := &InUse{Dir: dir}
	if info, err := f.Stat(); err == nil {
		busy.Since = info.ModTime()
	}
	text, err := os.ReadFile(f.Name())
	if err == nil {
		busy.PID, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return busy
}

func (l *locked) unlock() error { return l.file.Close() }
