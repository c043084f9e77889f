package spec

import (
	"errors"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// checkTasks looks for the files of the tasks and for ids that stand twice in the suite itself.
func (l *loader) checkTasks(s *Suite) {
	t := &s.Tasks
	if t.Node == nil {
		return
	}
	l.checkInline(t.Inline)
	switch t.Node.Kind {
	case source.List:
	case source.Map:
		l.checkMapping(t)
	default:
		l.checkGlob(t.Node, true)
	}
}

// mappingKeys mean something only where rows become tasks.
var mappingKeys = []string{"each", "id", "input", "target", "vars", "metadata"}

func (l *loader) checkMapping(t *Tasks) {
	list, files := t.Node.Get("list"), t.Node.Get("files")
	if (list == nil) == (files == nil) {
		l.fault(t.Node, "files: [tasks.jsonl], or list: [{input: ...}]", "tasks need one of files and list")
	}
	for _, n := range fileNodes(files) {
		l.checkGlob(n, true)
	}
	for _, key := range mappingKeys {
		if list != nil && t.Node.Get(key) != nil {
			l.add(t.Node.KeyFault(key, "write it in the tasks themselves", "%q says what rows of files mean; these tasks are written in the suite", key))
		}
	}
	if s := t.Sample; s != nil && s.Node != nil && !s.saysHowMany() {
		l.fault(s.Node, "n: 20 is so many, share: 0.1 a tenth", "a sample needs one of n and share")
	}
}

// saysHowMany in one way. A number that could not be read has a fault of its own.
func (s *Sample) saysHowMany() bool {
	neither := s.Node.Get("n") == nil && s.Node.Get("share") == nil
	return !neither && (s.N == 0 || s.Share == 0)
}

// checkGlob wants files of a known format behind a path. Text is one, too, where each file may be a row: in a folder
// whatever is not rows, elsewhere what is named as text.
func (l *loader) checkGlob(n *source.Node, text bool) {
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
		if err := readable(at.folder, file, text, strings.HasSuffix(at.path, "/")); err != nil {
			l.fileFault(n, err)
			return
		}
	}
}

func readable(f folder, file string, text, any bool) error {
	opened, err := f.open(file, 0)
	if err != nil {
		return err
	}
	formats := taskFormats
	if text {
		formats = slices.Concat(taskFormats, textFormats)
	}
	if !(text && any) && !slices.Contains(formats, formatOf(file).ext) {
		err = &fileError{f.name(file) + " is in no known format", "data files end in " + strings.Join(formats, ", ") + ", or in .gz behind one of these"}
	}
	return errors.Join(err, opened.Close())
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
	selection := compiler{l, expr.Selection(), nil}
	selection.expr(t.Where, expr.WantBool)
	if t.Sample != nil {
		selection.expr(t.Sample.By, expr.WantAny)
	}
}
