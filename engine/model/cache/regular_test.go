//go:build unix

package cache

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// C.23: what is no file in the place of an entry is replaced like a damaged one: nobody waits for a pipe, or reads a device
// without end.
func TestEntriesThatAreNoFilesAreReplacedAtOnce(t *testing.T) {
	for name, place := range map[string]func(path string) error{
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
		t.Run(name, func(t *testing.T) {
			isReplaced(t, func(path string, _ []byte) error {
				if err := place(path); err != nil {
					return err
				}
				for listed, err := range List(filepath.Dir(filepath.Dir(path))) {
					if !errors.Is(err, ErrDamaged) {
						t.Errorf("listed %v, %v", listed, err)
					}
				}
				return nil
			})
		})
	}
}
