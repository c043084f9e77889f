//go:build unix

package record

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// strangers are what can stand in the place of a file, by what it is called.
var strangers = map[string]func(path string) error{
	"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a socket": func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	},
	"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
}

// uses are the ways to open a result folder.
var uses = map[string]func(dir string) error{
	"ReadManifest":  func(dir string) error { _, err := ReadManifest(dir); return err },
	"ReadRuns":      func(dir string) error { return lastError(ReadRuns(dir)) },
	"ReadLight":     func(dir string) error { return lastError(ReadLight(dir)) },
	"ReadScores":    func(dir string) error { return lastError(ReadScores(dir)) },
	"ReadScored":    func(dir string) error { return lastError(ReadScored(dir)) },
	"Open":          func(dir string) error { _, err := Open(dir); return err },
	"OpenRuns":      func(dir string) error { runs, err := OpenRuns(dir); return closed(runs, err) },
	"Find":          func(dir string) error { _, err := Find(dir, "no such run"); return err },
	"Resume":        func(dir string) error { j, _, err := Resume(dir, Options{}); return closed(j, err) },
	"OpenScores":    func(dir string) error { j, _, err := OpenScores(dir, Options{}); return closed(j, err) },
	"Inspect":       func(dir string) error { _, err := Inspect(dir); return err },
	"Repair":        func(dir string) error { _, err := Repair(dir, Options{}); return err },
	"ReplaceFile":   func(dir string) error { return ReplaceFile(dir, manifestFile, []byte("{}\n")) },
	"CompactScores": func(dir string) error { _, err := CompactScores(dir, Options{}); return err },
	"ReadLedger":    func(dir string) error { _, err := ReadLedger(dir, &Manifest{}); return err },
	"OpenLedger": func(dir string) error {
		b, err := ReadLedger(dir, &Manifest{})
		if err != nil {
			return err
		}
		l, err := OpenLedger(dir, b)
		return closed(l, err)
	},
}

// closed closes what could be opened.
func closed(c io.Closer, err error) error {
	if err == nil {
		err = c.Close()
	}
	return err
}

// lastError is how a sequence ends.
func lastError[V any](values iter.Seq2[V, error]) (last error) {
	for _, err := range values {
		last = err
	}
	return last
}

// C.23: whoever opens a result folder refuses at once what is no file in the place of one, and names it. Nobody waits for
// a pipe, or reads a device without end.
func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	whole, refusals := sampleFolder(t, 2), map[string]int{}
	for _, name := range []string{manifestFile, recordsFile, scoresFile, ledgerFile, lockFile, manifestFile + ".tmp", scoresFile + ".tmp"} {
		for kind, put := range strangers {
			for use, do := range uses {
				dir := t.TempDir()
				must(t, os.CopyFS(dir, os.DirFS(whole)))
				path := filepath.Join(dir, name)
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				must(t, put(path))
				done := make(chan error, 1)
				go func() { done <- do(dir) }()
				select {
				case err := <-done:
					var refused *NotRegular
					if errors.As(err, &refused) {
						refusals[use]++
						if refused.Path != path || refused.Kind != kind && refused.Kind != "a link" { // to a device
							t.Errorf("%s of %s that is %s: %v", use, name, kind, err)
						}
					} else if err != nil && !strings.Contains(err.Error(), "no such run") {
						t.Errorf("%s of %s that is %s: %v", use, name, kind, err)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%s waits for %s that is %s", use, name, kind)
				}
			}
		}
	}
	for use := range uses {
		if refusals[use] < len(strangers) {
			t.Errorf("%s refused %d times", use, refusals[use])
		}
	}
}

// A link may lead out of a folder that came from somebody else.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	whole, begun := sampleFolder(t, 2), 0
	names := []string{manifestFile, manifestFile + ".tmp", recordsFile, scoresFile, ledgerFile, lockFile, damagedFile}
	for _, name := range names {
		for use, do := range uses {
			dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
			must(t, os.CopyFS(dir, os.DirFS(whole)))
			torn, err := os.OpenFile(filepath.Join(dir, recordsFile), os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			if _, err := torn.WriteString("{damaged}\n{torn"); errors.Join(err, torn.Close()) != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(filepath.Join(dir, name))
			if err := os.Rename(filepath.Join(dir, name), elsewhere); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			must(t, os.Symlink(elsewhere, filepath.Join(dir, name)))
			if do(dir) == nil {
				begun++
			}
			if after, err := os.ReadFile(elsewhere); string(after) != string(before) {
				t.Errorf("%s changed what %s leads to: %d bytes are %d, %v", use, name, len(before), len(after), err)
			}
		}
	}
	if begun == 0 {
		t.Error("nothing can be done with a folder that has a link")
	}
}

func TestReplacedFilesAreNotWrittenThroughALink(t *testing.T) {
	for _, name := range []string{"other.json", "other.json.tmp"} {
		dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := ReplaceFile(dir, "other.json", []byte("{}\n")); !isNotRegular(err) {
			t.Errorf("%s is a link: %v", name, err)
		}
		if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what %s leads to was written: %v", name, err)
		}
	}
}
