// Package external runs what is outside of agentbench. Program.Run gives a program its standard input and takes its
// output, with a small environment without keys; Start lets it be frozen and killed meanwhile, and Open talks to
// it. A Confinement hides other processes from programs and ends them as a whole, where the system allows it, and a
// Sandbox decides what they see of the machine. Endpoint.Post sends JSON over HTTP; Watch reports whether a byte of a
// request may have been sent.
//
// It is no stable API.
package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// The limits of a program where it declares none.
const (
	defaultMaxOutput = 256 << 10
	maxStderr        = 16 << 10
	// defaultFarewell is how long a session's program may take to end by itself
	// once its input is over.
	defaultFarewell = 2 * time.Second
	// drain is how long pipes may stay open after the program ended, for
	// children that hold them.
	drain = 500 * time.Millisecond
)

// Program is how a program is run.
type Program struct {
	Argv      []string
	Dir       string        // relative programs and files are looked up here
	Env       []string      // the whole environment, see Environment; nil: empty
	Timeout   time.Duration // 0: as long as the context
	MaxOutput int           // bytes of standard output; 0: defaultMaxOutput
	// Cuts leaves too much output at its head and tail; otherwise it is a failure.
	Cuts     bool
	Called   string        // what errors call it; "": the program and its name
	Farewell time.Duration // of a session; 0: defaultFarewell
	// Confinement gives it a namespace; nil: it has its process group alone.
	Confinement *Confinement

	container *container // that Argv starts; nil: none
}

// Finished is what a program left.
type Finished struct {
	Stdout   []byte        // head and tail where there was too much
	Stderr   string        // likewise; not always UTF-8
	Duration time.Duration // without the time during which it was frozen
	Exit     int           // the exit code of a program that ended by itself; for a signal 128 and its number
}

// Run runs the program to its end, or kills it with all its children. Errors
// are *record.Error and the context's cause; what was left so far is given with
// them.
func (p *Program) Run(ctx context.Context, stdin []byte) (Finished, error) {
	running, err := p.Start(ctx, stdin)
	if err != nil {
		return Finished{}, err
	}
	return running.Wait()
}

func (p *Program) called() string { return cmp.Or(p.Called, fmt.Sprintf("the program %q", p.Argv[0])) }

// notNow is the error of what the system refused us, which is no failure of the program.
func notNow(what string, err error) error {
	if ours := outOfFiles(err); ours != nil {
		return ours
	}
	return record.Errorf(record.Internal, "%s: %v", what, err)
}

// outOfFiles is record.OutOfFiles for the start of a program too: what is passed on gets
// another number in the new process, and a number beyond the limit is a bad descriptor.
func outOfFiles(err error) *record.Error {
	var starting *fs.PathError
	if errors.As(err, &starting) && starting.Op == "fork/exec" && errors.Is(starting.Err, syscall.EBADF) {
		err = fmt.Errorf("%w: %w", err, syscall.EMFILE)
	}
	return record.OutOfFiles(err)
}

func (p *Program) explain(err error, stderr string) error {
	var exit *exec.ExitError
	var died signalled
	var known *record.Error
	name := p.called()
	if ours := outOfFiles(err); ours != nil {
		return ours
	}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &exit), errors.As(err, &died):
		message := fmt.Sprintf("%s failed: %s", name, err)
		if line := errorLine(stderr); line != "" {
			message += ": " + line
		}
		return &record.Error{Class: record.Program, Message: message}
	case errors.Is(err, exec.ErrNotFound):
		return record.Errorf(record.InvalidRequest, "%s was not found; is it installed and on PATH?", name)
	case errors.Is(err, fs.ErrNotExist):
		return record.Errorf(record.InvalidRequest, "%s was not found; a path is relative to the folder of the file that names it", name)
	case errors.Is(err, fs.ErrPermission):
		return record.Errorf(record.InvalidRequest, "%s may not be executed; is it marked as executable?", name)
	}
	return record.Errorf(record.InvalidRequest, "%s did not start: %v", name, err)
}

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

// find looks a bare name up in the PATH that the program itself will see, and in ours
// where it sees none. Relative folders in it are skipped: it does not say what they are relative to.
func (p *Program) find() (string, error) {
	name := p.Argv[0]
	if filepath.Base(name) != name {
		return name, nil
	}
	for _, entry := range slices.Backward(p.Env) { // of two, programs see the last one
		folders, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(folders) {
			if path, err := exec.LookPath(filepath.Join(folder, name)); filepath.IsAbs(folder) && err == nil {
				return path, nil
			}
		}
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	return exec.LookPath(name)
}

// Beside is a command for a program that works in another folder: words that name files
// in this one are their whole paths. In "", no file is.
func Beside(folder string, argv []string) []string {
	beside := slices.Clone(argv)
	for i, word := range argv {
		if folder == "" || !filepath.IsLocal(filepath.FromSlash(word)) || i == 0 && filepath.Base(word) == word {
			continue
		}
		path, err := filepath.Abs(filepath.Join(folder, filepath.FromSlash(word)))
		if info, missing := os.Stat(path); err == nil && missing == nil && info.Mode().IsRegular() {
			beside[i] = path
		}
	}
	return beside
}
