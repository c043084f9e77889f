package spec

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// instance makes a loop out of its file with parameters set; nil if something is wrong with it. What is absent is
// judged only where all that is written was understood.
func (l *loader) instance(file *loopFile, settings []setting) *Loop {
	if file.tree == nil {
		return nil
	}
	before := l.errors
	tree := l.withSettings(file.tree, settings)
	loop := &Loop{Folder: file.folder.disk, origin: l.originOf(file, settings)}
	l.add(l.decoder.Whole(tree, loop)...)
	understood := l.errors == before && !l.broken[file.tree.File]
	loop.Tree = tree
	loop.applyPresets()
	l.delegates(loop, file)
	leaves := loop.leaves()
	if understood {
		loop.Param = paramOf(leaves)
		l.checkLoop(loop)
	}
	l.checkNames(loop)
	l.compileLoop(loop)
	if l.errors > before || !understood {
		return nil
	}
	loop.hash = l.hash(loop, file, leaves)
	return loop
}

// withSettings applies the presets of the role, which paths can address, and the settings. A setting of the role
// itself comes first.
func (l *loader) withSettings(tree *source.Node, settings []setting) *source.Node {
	isRole := func(s setting) bool { return s.path == "preset" }
	for _, s := range settings {
		if isRole(s) {
			tree = withEntry(tree, "preset", s.value)
		}
	}
	tree = withRole(tree)
	tree, fault := withTotal(tree)
	l.addIf(fault)
	for _, s := range settings {
		if !isRole(s) {
			tree, fault = s.with(tree)
			l.addIf(fault)
		}
	}
	return tree
}

func (l *loader) addIf(fault *source.Fault) {
	if fault != nil {
		l.add(*fault)
	}
}

const maxDelegateDepth = 5

// delegates loads the loops that the agents of a loop may hand tasks to.
func (l *loader) delegates(loop *Loop, file *loopFile) {
	if slices.Contains(l.open, file.name) {
		return // reported where the cycle closes
	}
	l.open = append(l.open, file.name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	for _, agent := range loop.agents() {
		for i := range agent.Delegates {
			l.delegate(&agent.Delegates[i], file)
		}
	}
}

func (l *loader) delegate(d *Delegate, file *loopFile) {
	if d.Loop == "" || d.Node == nil {
		return
	}
	at := d.Node.Get("loop")
	named := l.loopFile(at, file.folder)
	switch {
	case named == nil:
	case slices.Contains(l.open, named.name):
		cycle := append(slices.Clone(l.open[slices.Index(l.open, named.name):]), named.name)
		l.fault(at, "a delegate must not lead back to the loop that it serves", "delegates form a cycle: %s", strings.Join(cycle, " -> "))
	case len(l.open) > maxDelegateDepth:
		l.fault(at, "let the loops further up hand the tasks out", "delegates are nested deeper than %d: %s", maxDelegateDepth, strings.Join(append(slices.Clone(l.open), named.name), " -> "))
	default:
		d.Resolved = l.delegated(named)
	}
}

// delegated makes the loop of a delegate once: parameters are set in the loop of the configuration only.
func (l *loader) delegated(file *loopFile) *Loop {
	if !file.made {
		file.made = true
		file.plain = l.instance(file, nil)
	}
	return file.plain
}

// agents are the agents that the loop declares: its own and the overrides of phases and strategies.
func (l *Loop) agents() []*Agent {
	agents := []*Agent{l.Agent}
	for i := range l.Phases {
		agents = append(agents, l.Phases[i].Agent)
	}
	for i := range l.Strategies {
		agents = append(agents, l.Strategies[i].Agent)
	}
	return slices.DeleteFunc(agents, func(a *Agent) bool { return a == nil })
}

// Delegated are the loops to which the loop's agents hand tasks, by their files as they are written.
func (l *Loop) Delegated() map[string]*Loop {
	served := map[string]*Loop{}
	for _, agent := range l.agents() {
		for i := range agent.Delegates {
			if d := &agent.Delegates[i]; d.Resolved != nil {
				served[d.Loop] = d.Resolved
			}
		}
	}
	return served
}

// tools are all tools that the loop declares, those of its phases included.
func (l *Loop) tools() iter.Seq[*Tool] {
	return func(yield func(*Tool) bool) {
		for _, list := range l.toolLists() {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// toolLists are the lists of tools that the loop declares.
func (l *Loop) toolLists() [][]Tool {
	var lists [][]Tool
	for _, agent := range l.agents() {
		lists = append(lists, agent.Tools)
	}
	for i := range l.Phases {
		if tools := l.Phases[i].Tools; tools != nil {
			lists = append(lists, *tools)
		}
	}
	return lists
}
