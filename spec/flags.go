package spec

import (
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// commandLine are the settings of --set.
func (l *loader) commandLine() []setting {
	var settings []setting
	for _, s := range l.opt.Set {
		if setting, ok := l.fromFlag(s); ok {
			settings = append(settings, setting)
		}
	}
	return settings
}

// fromFlag reads a setting of --set.
func (l *loader) fromFlag(s Setting) (setting, bool) {
	read, faults := s.read("--set")
	l.add(faults...)
	return read, read.value != nil
}

// read parses the value in a text that is as long as the flag, so that its places are those of the flag. The value is
// nil where it is no YAML.
func (s Setting) read(flag string) (setting, source.Faults) {
	shown := source.NewFile(flag, []byte(s.Path+"="+s.Value))
	if strings.TrimSpace(s.Value) == "" {
		return setting{}, source.Faults{{File: shown, Pos: source.Pos{Line: 1, Col: 1}, What: "no value for " + s.Path, Hint: "write " + s.Path + "=VALUE"}}
	}
	tree, faults := source.Parse(source.NewFile(flag, []byte(strings.Repeat(" ", len([]rune(s.Path))+1)+s.Value)))
	for i := range faults {
		faults[i].File = shown
	}
	if tree == nil {
		return setting{}, faults
	}
	relocate(tree, shown)
	return setting{path: s.Path, at: source.Pos{Line: 1, Col: 1}, value: tree}, faults
}

func relocate(n *source.Node, file *source.File) {
	n.File = file
	for _, item := range n.Items {
		relocate(item, file)
	}
	for _, entry := range n.Entries {
		relocate(entry.Value, file)
	}
}
