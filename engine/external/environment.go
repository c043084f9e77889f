package external

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// allowed are the variables that programs need to run at all. Keys are not
// among them.
var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "VIRTUAL_ENV",
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ",
	"TMPDIR", "TMP", "TEMP",
	"SYSTEMROOT", "PATHEXT", "COMSPEC",
}

// Environment is the part of an environment that programs may see, as
// "NAME=value".
func Environment(getenv func(string) string) []string {
	kept := []string{}
	for _, name := range allowed {
		if value := getenv(name); value != "" {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// find is where the program lies: a bare name is looked up in the PATH that the
// program itself will see, and in ours where it sees none.
func (p *Program) find() (string, error) {
	name := p.Argv[0]
	if filepath.Base(name) != name {
		return name, nil
	}
	for _, entry := range p.Env {
		if folders, ok := strings.CutPrefix(entry, "PATH="); ok {
			return search(folders, name)
		}
	}
	return exec.LookPath(name)
}

// search passes over relative folders: what they are relative to is not for a
// PATH to say.
func search(folders, name string) (string, error) {
	for _, folder := range filepath.SplitList(folders) {
		if !filepath.IsAbs(folder) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(folder, name))
		if err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
