package spec

import (
	"maps"
	"sync"

	"github.com/agentbench/agentbench/spec/source"
)

// Assignment is a parameter and the value that it gets, both with their places, for faults to point at.
type Assignment struct {
	Path  string
	At    source.Pos // of the path, in the file of the value
	Value *source.Node
}

// origin is what a loop was made of.
type origin struct {
	file     *loopFile
	settings []setting
	roots    roots
	loops    map[string]*loopFile
	scripts  map[string]string
	decoders *sync.Pool // of *source.Decoder, which know the types that they have met
}

// With is the loop with more parameters set, as `set` in a suite sets them: after those that are set already. It is
// nil exactly if one of the faults is no warning. Loops that differ in parameters alone share what was compiled.
func (l *Loop) With(assignments ...Assignment) (*Loop, source.Faults) {
	set := make([]setting, len(assignments))
	for i, a := range assignments {
		set[i] = setting{path: a.Path, at: a.At, value: a.Value}
	}
	return l.with(set...)
}

func (l *Loop) with(set ...setting) (*Loop, source.Faults) {
	settings := append(l.origin.settings[:len(l.origin.settings):len(l.origin.settings)], set...)
	again := &loader{doc: &Document{folder: l.origin.file.folder}, roots: l.origin.roots, scripts: maps.Clone(l.origin.scripts),
		loops: maps.Clone(l.origin.loops), seen: map[source.Fault]bool{}, broken: map[*source.File]bool{}}
	decoder := l.origin.decoders.Get().(*source.Decoder)
	defer l.origin.decoders.Put(decoder)
	again.decoder, again.decoders = *decoder, l.origin.decoders
	loop := again.instance(l.origin.file, settings)
	*decoder = again.decoder
	again.faults.Sort()
	return loop, again.faults
}

// originOf remembers what a loop is made of.
func (l *loader) originOf(file *loopFile, settings []setting) *origin {
	if l.decoders == nil {
		l.decoders = &sync.Pool{New: func() any { return &source.Decoder{} }}
	}
	return &origin{file: file, settings: settings, roots: l.roots, loops: l.loops, scripts: l.scripts, decoders: l.decoders}
}

// ParamsOf are parameters by their full paths, as a suite has those of its configurations.
func ParamsOf(assignments []Assignment) []Param {
	settings := make([]setting, len(assignments))
	for i, a := range assignments {
		settings[i] = setting{path: a.Path, at: a.At, value: a.Value}
	}
	return paramsOf(settings)
}

// Assign reads a setting of the command line, of the flag of that name: its value is YAML.
func (s Setting) Assign(flag string) (Assignment, source.Faults) {
	read, faults := s.read(flag)
	return Assignment{Path: read.path, At: read.at, Value: read.value}, faults
}

// Text is the value as it is written in the name of a configuration.
func (a Assignment) Text() string { return valueText(a.Value) }

// ShortNames are the shortest suffixes of paths that mean no other parameter of the loop, nor each other: what the
// parameters of a sweep are called in the names of its configurations.
func (l *Loop) ShortNames(paths ...string) []string {
	count := suffixes{}
	known := map[string]bool{}
	add := func(path string) {
		if !known[path] {
			known[path] = true
			count.count(path)
		}
	}
	for _, path := range paths {
		add(FullPath(path))
	}
	for _, leaf := range l.leaves() {
		if leaf.parameter {
			add(leaf.path)
		}
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = count.shortest(FullPath(path))
	}
	return names
}
