//go:build unix

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestNothingOfTheStoreIsWrittenThroughALink(t *testing.T) {
	s, elsewhere := openStore(t), filepath.Join(t.TempDir(), "elsewhere")
	name := setupName("setup")
	if err := errors.Join(os.MkdirAll(s.dir, 0o755), os.Symlink(elsewhere, filepath.Join(s.dir, setupLock(name)))); err != nil {
		t.Fatal(err)
	}
	if unlock, err := s.lockSetup(context.Background(), name); err == nil {
		unlock()
		t.Error("a link was taken for a lock")
	}
	if err := os.Symlink(elsewhere, filepath.Join(s.dir, firstPack)); err != nil {
		t.Fatal(err)
	}
	if err := s.acquireScratch(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a link leads to was written: %v", err)
	}
}
