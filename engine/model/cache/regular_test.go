//go:build unix

package cache

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// C.23: what is no file in the place of an entry is replaced like a damaged one: nobody waits for a pipe, or reads a device
// without end.
func TestEntriesThatAreNoFilesAreReplacedAtOnce(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"socket": func(path string) error {
			t.Chdir(t.TempDir()) // the name of a socket must be short
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "s"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			l.Close()
			return os.Rename("s", path)
		},
	} {
		dir, inner := t.TempDir(), &counting{}
		call(t, Wrap(inner, Open(dir, Options{}), openAI, On), t.Context(), ask("x"))
		path := onlyFile(t, dir)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := put(path); err != nil {
			t.Fatal(name, err)
		}
		for listed, err := range List(dir) {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: listed %v, %v", name, listed, err)
			}
		}
		store := Open(dir, Options{Warn: func(err error) { t.Errorf("%s: %v", name, err) }})
		call(t, Wrap(inner, store, openAI, On), t.Context(), ask("x"))
		if got := store.Stats(); got != (Stats{Misses: 1, Stored: 1, Damaged: 1}) {
			t.Errorf("%s: stats %+v", name, got)
		}
		if got := call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("x")).Text; got != "answer 2 to x" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
