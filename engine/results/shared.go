package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

// mostListed is how many files of a shared folder are looked at. Of larger ones nothing is said.
const mostListed = 5000

// SharedFolder is a folder in which the programs of several runs work, because their loop
// declares no workspace.
type SharedFolder struct {
	Dir    string
	ours   []string          // whole paths of what we write ourselves, which is left out
	before map[string]string // stamps, by path
}

// SharedFolders notes what is in the folders in which programs of loops work, without what a
// command itself writes.
func SharedFolders(loops []*spec.Loop, written ...string) (shared []SharedFolder) {
	var ours []string
	for _, path := range written {
		if at, err := filepath.Abs(path); path != "" && err == nil {
			ours = append(ours, at)
		}
	}
	for _, loop := range loops {
		f := SharedFolder{Dir: loop.Folder, ours: ours}
		if f.Dir == "" || !loop.SharesFolder() || slices.ContainsFunc(shared, func(other SharedFolder) bool { return other.Dir == f.Dir }) {
			continue
		}
		var err error
		if f.before, err = f.list(); err == nil {
			shared = append(shared, f)
		}
	}
	return shared
}

var errMany = errors.New("too many files")

// list has the files of the folder by their paths.
func (f *SharedFolder) list() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(f.Dir, func(path string, e fs.DirEntry, err error) error {
		at, wrong := filepath.Abs(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil || wrong != nil:
			return errors.Join(err, wrong)
		case e.IsDir() && (slices.Contains(f.ours, at) || IsFolder(path)):
			return filepath.SkipDir
		case e.IsDir() || slices.Contains(f.ours, at):
			return nil
		case len(files) == mostListed:
			return errMany
		}
		files[path] = stampOf(os.Lstat(path)) // what a link leads to is elsewhere
		return nil
	})
	return files, err
}

// Wrote names the first file, in the folder, that is new or has changed; "": none is known.
func (f *SharedFolder) Wrote() (first string) {
	after, err := f.list()
	if err != nil {
		return ""
	}
	for path, is := range after {
		if was, ok := f.before[path]; (!ok || was != is) && (first == "" || path < first) {
			first = path
		}
	}
	return strings.TrimPrefix(first, f.Dir+string(filepath.Separator))
}
