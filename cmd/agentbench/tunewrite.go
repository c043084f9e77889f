package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/rogpeppe/go-internal/diff"
)

// edit changes the files of the suite to what is recommended, and shows how.
func (t *tuning) edit(tuned *tune.Tuning) error {
	if tuned.Unchanged {
		fmt.Fprintf(t.err, "nothing is written: %s is what is recommended\n", printable(t.today().Name))
		return nil
	}
	candidate := &t.candidates[tuned.Recommended.Candidate]
	name, params := t.today().Name, t.assignments(candidate)
	if err := t.unchanged(candidate.Declared(), params); err != nil {
		return err
	}
	known := t.suite.Suite.Configuration(name).Loop
	params = slices.DeleteFunc(params, func(a spec.Assignment) bool {
		same, _ := known.With(a)
		return same != nil && same.Hash() == known.Hash()
	})
	files, err := t.suite.Edit(name, params...)
	if err != nil {
		return t.unedited(err)
	}
	if len(files) == 0 {
		fmt.Fprintf(t.err, "nothing is written: %s has these values already\n", printable(name))
		return nil
	}
	if err := replaceFiles(files); err != nil {
		return fail(notMeasured, "", "--write: %w", err)
	}
	for _, f := range files {
		_, _ = t.err.Write(diff.Diff(f.File.Name, []byte(f.File.Text()), f.File.Name, f.Text))
	}
	return nil
}

// unchanged refuses to write where the configuration of the suite is no longer the
// one that was recorded.
func (t *tuning) unchanged(wanted *spec.Loop, params []spec.Assignment) error {
	known := t.suite.Suite.Configuration(t.today().Name)
	if loop, _ := known.Loop.With(params...); loop == nil || !reflect.DeepEqual(loop.Values(), wanted.Values()) {
		return fail(wrongUsage, "record it again, or take over the values by hand", "--write: the configuration %s of %s is no longer the one that was recorded", printable(t.today().Name), t.suite.path)
	}
	return nil
}

// unedited says why nothing is written.
func (p *program) unedited(err error) error {
	var edit *spec.EditError
	var faults source.Faults
	switch {
	case err == nil:
		return nil
	case errors.As(err, &edit):
		return fail(wrongUsage, edit.Hint, "--write: nothing is written: %w", err)
	case errors.As(err, &faults):
		fmt.Fprintln(p.err, "agentbench: --write: nothing is written:")
		faults.Print(p.err)
		return quiet(wrongUsage)
	}
	return fail(notMeasured, "", "--write: nothing is written: %w", err)
}

// replacement is a file that is about to take the place of another one.
type replacement struct{ temporary, path string }

// replaceFiles writes all files beside those that they replace, and only then puts
// them in their places. What has changed since it was read is left alone.
func replaceFiles(files []spec.Edited) (err error) {
	var all []replacement
	defer func() {
		for _, r := range all {
			err = errors.Join(err, unlessGone(os.Remove(r.temporary)))
		}
	}()
	for _, f := range files {
		r, err := beside(&f)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	for _, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			return err
		}
	}
	return nil
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// beside writes a file next to the one that it will replace, with its mode. A
// symbolic link stays one.
func beside(f *spec.Edited) (replacement, error) {
	path, err := filepath.EvalSymlinks(filepath.FromSlash(f.File.Name))
	if err != nil {
		return replacement{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return replacement{}, err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return replacement{}, err
	}
	if string(now) != f.File.Text() {
		return replacement{}, fmt.Errorf("%s has changed in the meantime", f.File.Name)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
	if err != nil {
		return replacement{}, err
	}
	_, err = temporary.Write(f.Text)
	return replacement{temporary.Name(), path}, errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close())
}
