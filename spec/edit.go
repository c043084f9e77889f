package spec

import (
	"fmt"
	"maps"
	"slices"

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

// Edit gives the texts of the files of a suite in which a configuration has parameters of other values; of one that is given twice the last holds. A parameter is
// changed where its value stands: in the configuration's set, else in its loop file, unless this would change another
// configuration; then it is added to the set. Comments and layout stay. The files are loaded again as they would be: the
// error is a source.Faults or an *EditError where they would not mean exactly what is wanted. No file: nothing would change.
func (d *Document) Edit(configuration string, params ...Assignment) ([]Edited, error) {
	e, err := d.editor(configuration, params)
	if err != nil || len(e.params) == 0 {
		return nil, err
	}
	edited, err := e.try(func(a Assignment) bool { return e.set(a) != "" })
	if err == nil {
		return edited, nil
	}
	if inSet, again := e.try(func(Assignment) bool { return true }); again == nil {
		return inSet, nil
	}
	return nil, err
}

// Editable says why the values of a configuration cannot be changed in files; nil where they can.
func (d *Document) Editable(configuration string) error {
	_, err := d.editor(configuration, nil)
	return err
}

// editor changes the files of one configuration.
type editor struct {
	*Document
	name     string // of the configuration
	resolved *Resolved
	at       int // of the configuration in its list
	params   []Assignment
	wanted   string // the hash of the loop as it is to be
}

func (d *Document) editor(configuration string, params []Assignment) (*editor, error) {
	if d.load == nil {
		return nil, &EditError{"this suite is not on disk", "agentbench init DIR writes one of those that ship into a folder"}
	}
	e := &editor{Document: d, name: configuration, resolved: d.Suite.Configuration(configuration)}
	if e.resolved == nil {
		return nil, &EditError{fmt.Sprintf("the suite has no configuration %q", configuration), didYouMean(configuration, d.configurationNames())}
	}
	e.at = slices.IndexFunc(d.Suite.Configurations, func(c Configuration) bool {
		return c.Name == configuration && c.Node.Get("sweep") == nil
	})
	if e.at < 0 {
		return nil, &EditError{configuration + " is one of a sweep, so it has no values of its own in the suite", "write it as a configuration"}
	}
	loop, faults := e.resolved.Loop.With(params...)
	if loop == nil {
		return nil, faults
	}
	e.wanted = loop.Hash()
	e.params = e.needed(params)
	return e, nil
}

// needed are the parameters without which the loop would not be the wanted one, the last of each path.
func (e *editor) needed(params []Assignment) []Assignment {
	for i := 0; i < len(params); i++ {
		without := slices.Delete(slices.Clone(params), i, i+1)
		if loop, _ := e.resolved.Loop.With(without...); loop != nil && loop.Hash() == e.wanted {
			params, i = without, -1
		}
	}
	return params
}

func (d *Document) configurationNames() (names []string) {
	for i := range d.Suite.Resolved {
		names = append(append(names, d.Suite.Resolved[i].Name), d.Suite.Resolved[i].Aliases...)
	}
	return names
}

// set is the key under which the configuration sets a parameter, "" if it does not.
func (e *editor) set(a Assignment) string {
	written := e.Suite.Configurations[e.at].Node.Get("set")
	if written == nil {
		return ""
	}
	for _, entry := range written.Entries {
		if FullPath(entry.Key) == FullPath(a.Path) {
			return entry.Key
		}
	}
	return ""
}

// try changes the files, some parameters in the suite, the others in the loop, and sees whether that is what is wanted.
func (e *editor) try(inSet func(Assignment) bool) ([]Edited, error) {
	var set, loop []Assignment
	for _, a := range e.params {
		if inSet(a) {
			set = append(set, a)
		} else {
			loop = append(loop, a)
		}
	}
	var edited []Edited
	if len(loop) > 0 {
		text, err := e.loopText(loop)
		if err != nil {
			return nil, err
		}
		edited = append(edited, *text)
	}
	if len(set) > 0 {
		text, err := e.suiteText(set)
		if err != nil {
			return nil, err
		}
		edited = append(edited, *text)
	}
	return edited, e.means(edited)
}

// loopText is the text of the loop file with parameters of other values.
func (e *editor) loopText(params []Assignment) (*Edited, error) {
	file := e.resolved.Loop.origin.file
	tree := file.tree
	for _, a := range params {
		changed, fault := written(tree, a)
		if fault != nil {
			return nil, source.Faults{*fault}
		}
		tree = changed
	}
	return rewritten(file.tree, tree)
}

func rewritten(was, now *source.Node) (*Edited, error) {
	text, fault := source.Rewrite(was, now)
	if fault != nil {
		return nil, source.Faults{*fault}
	}
	return &Edited{was.File, text}, nil
}

// written sets a parameter in the tree of a loop file, where a person would write it.
func written(tree *source.Node, a Assignment) (*source.Node, *source.Fault) {
	if FullPath(a.Path) == "terminate.max_iterations" && tree.Get("max_iterations") != nil {
		return withEntry(tree, "max_iterations", a.Value), nil
	}
	s := setting{path: a.Path, at: a.At, value: a.Value}
	changed, fault := s.with(tree)
	if fault == nil {
		return changed, nil
	}
	return s.with(withRole(tree)) // of a phase that only the role presets
}

// suiteText is the text of the suite whose configuration sets parameters.
func (e *editor) suiteText(params []Assignment) (*Edited, error) {
	tree := e.Suite.Tree.Clone()
	configuration := tree.Get("configurations").Items[e.at]
	set := configuration.Get("set")
	if set == nil {
		set = source.New(configuration, &source.Object{})
		configuration.Set("set", set)
	}
	for _, a := range params {
		key := e.set(a)
		if key == "" {
			key = a.Path
		}
		set.Set(key, a.Value)
	}
	return rewritten(e.Suite.Tree, tree)
}

// means loads the suite as it would be: the configuration is to be the wanted one, and all others what they are.
func (e *editor) means(edited []Edited) error {
	texts := maps.Clone(e.texts)
	if texts == nil {
		texts = map[string][]byte{}
	}
	for _, file := range edited {
		texts[file.File.Name] = file.Text
	}
	again, faults := e.load(texts)
	if again == nil {
		return faults
	}
	for i := range e.Suite.Resolved {
		was := &e.Suite.Resolved[i]
		for _, name := range append([]string{was.Name}, was.Aliases...) {
			wanted := was.Hash
			if name == e.name {
				wanted = e.wanted
			}
			if now := again.Suite.Configuration(name); now == nil || now.Hash != wanted {
				return &EditError{fmt.Sprintf("the change would not make %s what it is to be", name), "change the files by hand"}
			}
		}
	}
	return nil
}
