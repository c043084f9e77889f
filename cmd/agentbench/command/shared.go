package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
)

// mostListed is how many files of a shared folder are looked at. Of larger ones nothing is said.
const mostListed = 5000

// sharedFolder is a folder in which the programs of several runs work, because their loop declares
// no workspace.
type sharedFolder struct {
	dir    string
	before map[string]stamp
}

// stamp tells a file from what it was before.
type stamp struct {
	size     int64
	modified time.Time
}

// sharedFolders notes what is in the folders that the runs of a job share.
func (j *job) sharedFolders() (shared []sharedFolder) {
	if j.plan.Runs() < 2 {
		return nil
	}
	for _, loop := range j.Loops() {
		same := func(f sharedFolder) bool { return f.dir == loop.Folder }
		if loop.Folder == "" || !loop.SharesFolder() || slices.ContainsFunc(shared, same) {
			continue
		}
		if before, err := j.listed(loop.Folder); err == nil {
			shared = append(shared, sharedFolder{loop.Folder, before})
		}
	}
	return shared
}

var errMany = errors.New("too many files")

// listed are the files of a folder by their paths, without what we write ourselves.
func (j *job) listed(folder string) (map[string]stamp, error) {
	files := map[string]stamp{}
	ours := j.written()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		at, wrong := filepath.Abs(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil || wrong != nil:
			return errors.Join(err, wrong)
		case e.IsDir() && (slices.Contains(ours, at) || results.IsFolder(path)):
			return filepath.SkipDir
		case e.IsDir() || slices.Contains(ours, at):
			return nil
		case len(files) == mostListed:
			return errMany
		}
		if info, err := e.Info(); err == nil {
			files[path] = stamp{info.Size(), info.ModTime()}
		}
		return nil
	})
	return files, err
}

// written are the whole paths of what this command writes.
func (j *job) written() (paths []string) {
	cached := j.flags.cacheFlags.dir
	if cached == "" {
		cached = filepath.Join(filepath.Dir(filepath.Clean(j.dir)), cacheName)
	}
	own := []string{j.dir, j.flags.events, j.flags.page, cached}
	for _, file := range j.flags.files {
		own = append(own, file.path)
	}
	for _, path := range own {
		if at, err := filepath.Abs(path); path != "" && err == nil {
			paths = append(paths, at)
		}
	}
	return paths
}

// tellShared warns of folders in which programs wrote and that several runs share.
func (p *program) tellShared(j *job, shared []sharedFolder) {
	for _, folder := range shared {
		after, err := j.listed(folder.dir)
		if err != nil {
			continue
		}
		wrote := ""
		for path, is := range after {
			if was, ok := folder.before[path]; (!ok || was != is) && (wrote == "" || path < wrote) {
				wrote = path
			}
		}
		if wrote != "" {
			name := strings.TrimPrefix(wrote, folder.dir+string(filepath.Separator))
			fmt.Fprintf(p.err, "agentbench: warning: runs share the folder %s, and programs wrote files there, such as %s: each run sees those of the others\nhint: declare workspace: {from: …} in the loop; docs/workspaces.md\n",
				page.Visible(folder.dir), page.Visible(name))
		}
	}
}
