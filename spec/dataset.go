package spec

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks streams the tasks of the suite in the order of the plan, each time the same. An error is a source.Fault or
// source.Faults; the next tasks follow it. Ids are not compared: see CountTasks.
func (d *Document) Tasks() iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for placed, err := range d.taken() {
			if !yield(placed.task, err) {
				return
			}
		}
	}
}

// placedTask is a task with its place: the node of an inline one, else the row of a file.
type placedTask struct {
	task *Task
	node *source.Node
	row  row // of a task of a file; of an inline one only its number, from 1
}

// eligible are the tasks that where lets pass, in the order in which they are written.
func (d *Document) eligible(terse *bool) iter.Seq2[placedTask, error] {
	return func(yield func(placedTask, error) bool) {
		for placed, err := range d.written(terse) {
			passes := true
			if err == nil {
				passes, err = d.Suite.Tasks.passes(placed)
			}
			if err == nil && passes {
				err = d.Suite.cluster(placed)
			}
			if (passes || err != nil) && !yield(placed, err) {
				return
			}
		}
	}
}

// written are all tasks: the inline ones, or the rows of the files.
func (d *Document) written(terse *bool) iter.Seq2[placedTask, error] {
	return func(yield func(placedTask, error) bool) {
		if d.Suite == nil {
			return
		}
		t := &d.Suite.Tasks
		for i := range t.Inline {
			if !yield(t.inline(i), nil) {
				return
			}
		}
		for r, err := range d.rows(t.Files, t.fileNode, t.Each, terse) {
			placed := placedTask{row: r}
			if err == nil {
				placed.task, err = t.ofRow(r)
			}
			if !yield(placed, err) {
				return
			}
		}
	}
}

func (t *Tasks) inline(i int) placedTask {
	return placedTask{task: t.Inline[i].task(i), node: t.Inline[i].Node, row: row{n: i + 1}}
}

// fileNode is where the i-th file is named.
func (t *Tasks) fileNode(i int) *source.Node {
	if files := fileNodes(t.Node.Get("files")); i < len(files) {
		return files[i]
	}
	return t.Node
}

// rows streams the rows of all files that the paths and patterns name. Faults that are found while terse is true have
// no text.
func (d *Document) rows(files []string, at func(int) *source.Node, each *Expr, terse *bool) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for i, reference := range files {
			place, err := d.roots.resolve(d.folder, reference)
			var found []string
			if err == nil {
				found, err = place.folder.glob(place.path)
			}
			if err != nil && !yield(row{}, faultOf(at(i), err)) {
				return
			}
			for _, file := range found {
				data := newDataFile(place.folder, file)
				data.terse = terse
				for r, err := range data.rows(each) {
					if !yield(r, faultOf(at(i), err)) {
						return
					}
				}
			}
		}
	}
}

// faultOf places an error about a file where the file is named.
func faultOf(n *source.Node, err error) error {
	var known *fileError
	if errors.As(err, &known) {
		return n.Fault(known.hint, "%s", known.what)
	}
	return err
}

// ofRow makes a task of a row: by the mapping if there is one.
func (t *Tasks) ofRow(r row) (*Task, error) {
	if t.isMapped() {
		return t.task(r)
	}
	return plainTask(r)
}

// id is the task's own or, from 1, that of its number.
func (t *InlineTask) id(i int) string { return cmp.Or(t.ID, fmt.Sprintf("task-%d", i+1)) }

func (t *InlineTask) task(i int) *Task {
	return &Task{ID: t.id(i), Input: valueOf(t.Input), Target: valueOf(t.Target), Vars: objectOf(t.Vars), Metadata: objectOf(t.Metadata)}
}

// objectOf is nil where nothing was written.
func objectOf(named source.Named[any]) any {
	if named == nil {
		return nil
	}
	object := expr.NewObject(len(named))
	for _, pair := range named {
		object.Set(pair.Key, valueOf(pair.Value))
	}
	return object
}
