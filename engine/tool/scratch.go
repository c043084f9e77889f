package tool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

type scratchKey struct{}

// scratch is the folder in which the programs of a run work: empty at first, and
// removed when the run is closed. A program may have removed it, and the next one
// is given it anew. Outside of a run it is the caller's to remove.
func scratch(ctx context.Context) (folder string, remove func(), err error) {
	run := RunOf(ctx)
	if run == nil {
		folder, err = os.MkdirTemp("", "agentbench-tool-")
		return folder, func() { removeAll(folder) }, err
	}
	kept, err := run.Keep(scratchKey{}, func() (any, func(), error) {
		folder, err := os.MkdirTemp("", "agentbench-run-")
		return folder, func() { removeAll(folder) }, err
	})
	if err != nil {
		return "", nil, err
	}
	folder = kept.(string)
	return folder, func() {}, os.MkdirAll(folder, 0o700)
}

// removeAll also removes folders that their maker closed to writing.
func removeAll(folder string) {
	if folder == "" || os.RemoveAll(folder) == nil {
		return
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}
