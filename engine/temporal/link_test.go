//go:build unix

package temporal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTheLinkFileIsWrittenThroughNoLink(t *testing.T) {
	for _, name := range []string{linkFile, linkFile + ".tmp"} {
		e, elsewhere := &Executor{Options: Options{Dir: t.TempDir()}}, filepath.Join(t.TempDir(), "elsewhere")
		if err := e.writeLink(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(e.Dir, name)
		_ = os.Remove(path)
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
		if e.writeLink() == nil {
			t.Errorf("%s was a link, and was replaced", name)
		}
		if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what %s leads to was written: %v", name, err)
		}
	}
}
