package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/agentbench/agentbench/spec/source"
)

// place is a file: a folder, and the path below it.
type place struct {
	folder folder
	path   string
}

var rooted = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*):/+(.*)$`)

// roots are the folders that a suite declares.
type roots struct {
	declared source.Named[Root]
	base     folder // relative to which defaults are
	getenv   func(string) string
}

// resolve finds what a path means for a file in the folder from: a path below it, or below a root.
func (r roots) resolve(from folder, reference string) (place, error) {
	m := rooted.FindStringSubmatch(reference)
	if m == nil {
		return place{from, reference}, nil
	}
	root, ok := r.declared.Get(m[1])
	if !ok {
		return place{}, &fileError{fmt.Sprintf("unknown root %q", m[1]), r.rootHint(m[1])}
	}
	at, err := r.folder(m[1], root)
	return place{at, m[2]}, err
}

func (r roots) rootHint(name string) string {
	if hint := didYouMean(name, r.declared.Keys()); hint != "" {
		return hint
	}
	return fmt.Sprintf("declare it: roots: {%s: {default: ../%s}}", name, name)
}

// folder is the folder of a root: what its variable names, else its default.
func (r roots) folder(name string, root Root) (folder, error) {
	disk := ""
	if root.Env != "" {
		disk = r.getenv(root.Env)
	}
	if disk == "" && root.Default != "" {
		disk = root.Default
		if !filepath.IsAbs(disk) {
			disk = filepath.Join(r.base.disk, filepath.FromSlash(disk))
		}
	}
	if disk == "" {
		return folder{}, &fileError{fmt.Sprintf("the root %q has no folder: %s is not set and there is no default", name, root.Env),
			fmt.Sprintf("set %s to the folder", root.Env)}
	}
	if info, err := os.Stat(disk); err != nil || !info.IsDir() {
		return folder{}, &fileError{fmt.Sprintf("the root %q names %s, which is no folder", name, disk), envHint(root)}
	}
	return folder{shown: name + ":/", disk: disk, root: true}, nil
}

func envHint(root Root) string {
	if root.Env == "" {
		return ""
	}
	return fmt.Sprintf("set %s to the folder", root.Env)
}
