package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// Edited is a file in which values were changed.
type Edited struct {
	File *source.File // as it was read
	Text []byte       // as it is to be
}

// EditError says why a file is not changed.
type EditError struct{ What, Hint string }

func (e *EditError) Error() string { return e.What }

// Edit gives the texts of the files of a suite in which a configuration has parameters of other values, or of a loop file where
// the document is one; of a parameter that is given twice the last value holds. It is changed where its value stands: in the
// configuration's set, else in its loop file, unless this would change another configuration; then it is added to the set.
// Comments and layout stay. The files are loaded again as they would be: the error is a source.Faults or an *EditError where
// they would not mean exactly what is wanted. No file: nothing would change.
func (d *Document) Edit(configuration string, params ...Assignment) ([]Edited, error) {
	e, err := d.editor(configuration)
	if err != nil {
		return nil, err
	}
	if err := e.want(params); err != nil || len(e.params) == 0 {
		return nil, err
	}
	edited, err := e.write(func(a Assignment) bool { return e.set(a) != "" })
	if err != nil && e.configuration != nil {
		if inSet, again := e.write(func(Assignment) bool { return true }); again == nil {
			return inSet, nil
		}
	}
	return edited, err
}

// Editable says why the values of a configuration cannot be changed in files; nil where they can.
func (d *Document) Editable(configuration string) error {
	_, err := d.editor(configuration)
	return err
}

// editor changes the files of one configuration, or of one loop.
type editor struct {
	*Document
	loop          *Loop
	configuration *Configuration // nil: the document is the loop
	params        []Assignment   // that make a difference
	wanted        string         // the hash of the loop as it is to be
}

func (d *Document) editor(configuration string) (*editor, error) {
	switch {
	case d.load == nil:
		return nil, &EditError{"this suite is not on disk", "agentbench init DIR writes one of those that ship into a folder"}
	case d.Loop != nil:
		return &editor{Document: d, loop: d.Loop}, nil
	}
	resolved := d.Suite.Configuration(configuration)
	if resolved == nil {
		return nil, &EditError{fmt.Sprintf("the suite has no configuration %q", configuration), didYouMean(configuration, d.Suite.names())}
	}
	for i := range d.Suite.Configurations {
		if c := &d.Suite.Configurations[i]; c.Name == configuration && c.Node.Get("sweep") == nil {
			return &editor{Document: d, loop: resolved.Loop, configuration: c}, nil
		}
	}
	return nil, &EditError{configuration + " is one of a sweep, so it has no values of its own in the suite", "write it as a configuration"}
}

// want makes the loop that the parameters give, and keeps those without which it would be another one.
func (e *editor) want(params []Assignment) error {
	loop, faults := e.loop.With(params...)
	if loop == nil {
		return faults
	}
	e.wanted = loop.Hash()
	e.params = slices.Clone(params)
	for i := 0; i < len(e.params); i++ {
		without := slices.Delete(slices.Clone(e.params), i, i+1)
		if loop, _ := e.loop.With(without...); loop != nil && loop.Hash() == e.wanted {
			e.params, i = without, -1
		}
	}
	return nil
}

// set is the key under which the configuration sets a parameter, "" if it does not.
func (e *editor) set(a Assignment) string {
	if e.configuration == nil {
		return ""
	}
	for _, set := range e.configuration.Set {
		if FullPath(set.Key) == FullPath(a.Path) {
			return set.Key
		}
	}
	return ""
}

// write changes the files, some parameters in the suite, the others in the loop, and sees whether that is what is wanted.
func (e *editor) write(inSet func(Assignment) bool) (edited []Edited, err error) {
	var suite *source.Node
	if e.Suite != nil {
		suite = e.Suite.Tree
	}
	loop := e.loop.origin.file.tree
	changedSuite, changedLoop := suite, loop
	for _, a := range e.params {
		var fault *source.Fault
		if inSet(a) {
			changedSuite = e.withSet(changedSuite, a)
		} else if changedLoop, fault = written(changedLoop, a); fault != nil {
			return nil, source.Faults{*fault}
		}
	}
	for _, change := range []struct{ was, now *source.Node }{{loop, changedLoop}, {suite, changedSuite}} {
		if change.was == change.now {
			continue
		}
		text, fault := source.Edit(change.was, change.now)
		if fault != nil {
			fault.Hint = "write it there: " + e.listed()
			return nil, source.Faults{*fault}
		}
		edited = append(edited, Edited{change.was.File, text})
	}
	return edited, e.check(edited)
}

// listed are the parameters as a person would write them.
func (e *editor) listed() string {
	var all []string
	for _, a := range e.params {
		all = append(all, a.Path+": "+a.Text())
	}
	return strings.Join(all, ", ")
}

// withSet is the tree of the suite whose configuration sets a parameter.
func (e *editor) withSet(tree *source.Node, a Assignment) *source.Node {
	tree = tree.Clone()
	at := slices.IndexFunc(e.Suite.Configurations, func(c Configuration) bool { return c.Node == e.configuration.Node })
	configuration := tree.Get("configurations").Items[at]
	set := configuration.Get("set")
	if set == nil {
		set = source.New(configuration, &source.Object{})
		configuration.Set("set", set)
	}
	set.Set(cmp.Or(e.set(a), a.Path), a.Value)
	return tree
}

// written sets a parameter in the tree of a loop file, where a person would write it.
func written(tree *source.Node, a Assignment) (*source.Node, *source.Fault) {
	if FullPath(a.Path) == "terminate.max_iterations" && tree.Get("max_iterations") != nil {
		return withEntry(tree, "max_iterations", a.Value), nil
	}
	changed, fault := a.with(tree)
	if fault == nil {
		return changed, nil
	}
	return a.with(withRole(tree)) // of a phase that only the role presets
}

// check loads the document as it would be: the loop or configuration is to be the wanted one, all others what they are.
func (e *editor) check(edited []Edited) error {
	texts := map[string][]byte{}
	for _, file := range edited {
		texts[file.File.Name] = file.Text
	}
	again, faults := e.load(texts)
	if again == nil {
		return faults
	}
	wrong := &EditError{"the change would not make it what it is to be", "write by hand: " + e.listed()}
	if e.configuration == nil {
		if again.Loop.Hash() != e.wanted {
			return wrong
		}
		return nil
	}
	for i := range e.Suite.Resolved {
		was := &e.Suite.Resolved[i]
		for _, name := range append([]string{was.Name}, was.Aliases...) {
			wanted := was.Hash
			if name == e.configuration.Name {
				wanted = e.wanted
			}
			if now := again.Suite.Configuration(name); now == nil || now.Hash != wanted {
				return wrong
			}
		}
	}
	return nil
}

// ReplaceFiles puts new texts in the place of files. All are written beside what they
// replace, with its mode, before the first takes its place; a symbolic link stays one. A
// file that has changed since it was read is an error, and then nothing is replaced.
func ReplaceFiles(files []Edited) (err error) {
	type replacement struct{ temporary, path string }
	var all []replacement
	defer func() {
		for _, r := range all {
			if gone := os.Remove(r.temporary); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	for _, f := range files {
		path, err := filepath.EvalSymlinks(filepath.FromSlash(f.File.Name))
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(now) != f.File.Text() {
			return fmt.Errorf("%s has changed in the meantime", f.File.Name)
		}
		temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
		if err != nil {
			return err
		}
		all = append(all, replacement{temporary.Name(), path})
		_, err = temporary.Write(f.Text)
		if err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close()); err != nil {
			return err
		}
	}
	for _, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			return err
		}
	}
	return nil
}
