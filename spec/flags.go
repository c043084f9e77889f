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

// fromFlag parses the value in a text that is as long as the flag, so that its places are those of the flag.
func (l *loader) fromFlag(s Setting) (setting, bool) {
	shown := source.NewFile("--set", []byte(s.Path+"="+s.Value))
	if strings.TrimSpace(s.Value) == "" {
		l.add(source.Fault{File: shown, Pos: source.Pos{Line: 1, Col: 1}, What: "no value for " + s.Path, Hint: "write " + s.Path + "=VALUE"})
		return setting{}, false
	}
	tree, faults := source.Parse(source.NewFile("--set", []byte(strings.Repeat(" ", len([]rune(s.Path))+1)+s.Value)))
	for _, f := range faults {
		f.File = shown
		l.add(f)
	}
	if tree == nil {
		return setting{}, false
	}
	relocate(tree, shown)
	return setting{path: s.Path, at: source.Pos{Line: 1, Col: 1}, value: tree}, true
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
