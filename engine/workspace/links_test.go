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
	for _, name := range []string{filesFolder, treesFolder, scratchFolder} {
		s, elsewhere := openStore(t), filepath.Join(t.TempDir(), "elsewhere")
		must(t, errors.Join(os.MkdirAll(s.dir, 0o755), os.Symlink(elsewhere, filepath.Join(s.dir, name))))
		if _, err := s.Plant(context.Background(), Seed{Files: map[string]string{"a": "a"}}, Limits{}); err == nil {
			t.Errorf("a link was taken for %s", name)
		}
		if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what a link leads to was written: %v", err)
		}
	}
}
