package cache

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Listed is an entry and its file.
type Listed struct {
	*Entry
	Bytes int64
	Used  time.Time // last, to about a day
}

// List gives the entries of a folder, by key. One that is damaged is an error between the others; one that vanishes
// meanwhile is left out. A folder that is not there is an fs.ErrNotExist.
func List(dir string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		all, err := files(dir)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		for _, path := range all {
			if temporary(path) {
				continue
			}
			listed := Listed{}
			e, info, err := readFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				err = fmt.Errorf("%s: %w", path, err)
			default:
				listed = Listed{e, info.Size(), info.ModTime()}
			}
			if !yield(listed, err) {
				return
			}
		}
	}
}

var ours = regexp.MustCompile(`^[0-9a-f]{2}/([0-9a-f]{62}\.json|` + temporaryPrefix + `.*)$`)

// files are the paths of the cache's files in a folder, by name, temporary ones included.
func files(dir string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), "??/*")
	if _, missing := os.Stat(dir); err != nil || missing != nil {
		return nil, fmt.Errorf("listing the cache: %w", cmp.Or(err, missing))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !ours.MatchString(name) })
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, nil
}

// temporary reports whether a file is no entry, but one that is being written or was left by a crash.
func temporary(path string) bool { return strings.HasPrefix(filepath.Base(path), temporaryPrefix) }

// Pruned says what Prune did.
type Pruned struct {
	Removed, Kept           int
	RemovedBytes, KeptBytes int64
}

// abandoned is the age from which a temporary file is one that a crash left.
const abandoned = time.Hour

// Prune removes the entries that were not used for longest until all together take so many bytes at most, and what
// crashed writers left behind. Suites may go on using the cache meanwhile. What can be removed is removed, also if
// there is an error.
func Prune(dir string, most int64, now time.Time) (p Pruned, failed error) {
	paths, err := files(dir)
	if err != nil {
		return p, err
	}
	type entry struct {
		path string
		size int64
		used time.Time
	}
	var entries []entry
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil || !info.Mode().IsRegular(): // it vanished, or is no entry
		case !temporary(path):
			entries = append(entries, entry{path, info.Size(), info.ModTime()})
		case now.Sub(info.ModTime()) > abandoned:
			failed = errors.Join(failed, remove(path))
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return b.used.Compare(a.used) })
	for _, e := range entries {
		if most -= e.size; most >= 0 {
			p.Kept, p.KeptBytes = p.Kept+1, p.KeptBytes+e.size
			continue
		}
		failed = errors.Join(failed, remove(e.path))
		p.Removed, p.RemovedBytes = p.Removed+1, p.RemovedBytes+e.size
	}
	return p, failed
}

// remove removes a file that another process may have removed.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pruning the cache: %w", err)
	}
	return nil
}
