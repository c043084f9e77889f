package spec

import (
	"path"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// taskFormats are what task files may be.
var taskFormats = []string{".jsonl", ".json", ".yaml", ".yml", ".csv"}

// checkTasks looks for the files of the tasks and for ids that stand twice in the suite itself.
func (l *loader) checkTasks(s *Suite) {
	t := &s.Tasks
	if t.Node == nil {
		return
	}
	switch {
	case t.Node.Kind == source.List:
		l.checkInline(t.Inline)
	case t.Node.Kind == source.Map:
		for _, n := range fileNodes(t.Node.Get("files")) {
			l.checkGlob(n)
		}
	default:
		l.checkGlob(t.Node)
	}
}

// checkGlob wants files of a known format behind a path.
func (l *loader) checkGlob(n *source.Node) {
	at, err := l.roots.resolve(l.doc.folder, n.Text)
	if err != nil {
		l.fileFault(n, err)
		return
	}
	files, err := at.folder.glob(at.path)
	if err != nil {
		l.fileFault(n, err)
		return
	}
	for _, file := range files {
		if err := readable(at.folder, file); err != nil {
			l.fileFault(n, err)
			return
		}
	}
}

func readable(f folder, file string) error {
	if !hasFormat(file) {
		return &fileError{f.name(file) + " is in no known format", "data files end in " + strings.Join(taskFormats, ", ")}
	}
	opened, err := f.open(file, 0)
	if err != nil {
		return err
	}
	return opened.Close()
}

func hasFormat(file string) bool {
	for _, format := range taskFormats {
		if strings.EqualFold(path.Ext(file), format) {
			return true
		}
	}
	return false
}

// checkInline refuses ids that stand twice, and tasks that say nothing.
func (l *loader) checkInline(tasks []InlineTask) {
	first := make(map[string]*source.Node, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		id, at := t.id(i), t.Node
		if t.Node == nil {
			continue
		}
		if written := t.Node.Get("id"); written != nil {
			at = written
		}
		if other, taken := first[id]; taken {
			l.fault(at, "give one of them another id", "the task %q stands twice; first at line %d", shorten(id), other.Pos.Line)
		} else {
			first[id] = at
		}
		if t.Input == nil && t.Vars == nil {
			l.fault(t.Node, "write input: or vars:", "this task has no input")
		}
	}
}

// compileTasks compiles the mapping.
func (l *loader) compileTasks(t *Tasks) {
	c := compiler{l, expr.Mapping(), nil}
	c.expr(t.Each, expr.WantList)
	c.expr(t.ID, expr.WantString)
	c.expr(t.Input, expr.WantAny)
	c.expr(t.Target, expr.WantAny)
	for i := range t.Vars {
		c.expr(&t.Vars[i].Value, expr.WantAny)
	}
	for i := range t.Metadata {
		c.expr(&t.Metadata[i].Value, expr.WantAny)
	}
}
