package spec

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks streams the tasks of the suite in the order of the plan: the inline ones, or the rows of the files. An error
// is a source.Fault or source.Faults; the next tasks follow it. Ids are not compared: see CountTasks.
func (d *Document) Tasks() iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for placed, err := range d.placedTasks() {
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
	file *dataFile
	n    int
}

func (d *Document) placedTasks() iter.Seq2[placedTask, error] {
	return func(yield func(placedTask, error) bool) {
		if d.Suite == nil {
			return
		}
		t := &d.Suite.Tasks
		for i := range t.Inline {
			inline := &t.Inline[i]
			if !yield(placedTask{task: inline.task(i), node: inline.Node}, nil) {
				return
			}
		}
		for r, err := range d.rows(t.Files, t.fileNode, t.Each) {
			placed := placedTask{file: r.dataFile, n: r.n}
			if err == nil {
				placed.task, err = t.ofRow(r)
			}
			if !yield(placed, err) {
				return
			}
		}
	}
}

// fileNode is where the i-th file is named.
func (t *Tasks) fileNode(i int) *source.Node {
	if files := fileNodes(t.Node.Get("files")); i < len(files) {
		return files[i]
	}
	return t.Node
}

// rows streams the rows of all files that the paths and patterns name.
func (d *Document) rows(files []string, at func(int) *source.Node, each *Expr) iter.Seq2[row, error] {
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
				for r, err := range newDataFile(place.folder, file).rows(each) {
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
	if t.Node.Kind == source.Map {
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

// plainTask makes a task of a row that has the keys of a task. In a .csv file vars.NAME and metadata.NAME are columns.
func plainTask(r row) (*Task, error) {
	object, ok := r.value.(*expr.Object)
	if !ok {
		return nil, r.fault(r.n, `write {"id": ..., "input": ..., "target": ...}`, "want a task, an object")
	}
	task := &Task{ID: r.place(r.n)}
	for i := range object.Len() {
		key, value := object.At(i)
		if err := task.set(key, value, r); err != nil {
			return nil, err
		}
	}
	if task.Input == nil && task.Vars == nil {
		return nil, r.fault(r.n, "a task has input or vars", "this task has no input")
	}
	return task, nil
}

func (t *Task) set(key string, value any, r row) (err error) {
	section, name, dotted := strings.Cut(key, ".")
	switch {
	case key == "id" && value == "" && r.isCSV():
		// an empty cell: the row has no id
	case key == "id":
		t.ID, err = idOf(value, r)
	case key == "input":
		t.Input = value
	case key == "target":
		t.Target = value
	case dotted && section == "vars":
		t.Vars = withKey(t.Vars, name, value)
	case dotted && section == "metadata":
		t.Metadata = withKey(t.Metadata, name, value)
	case key == "vars":
		t.Vars, err = wantObject(key, value, r)
	case key == "metadata":
		t.Metadata, err = wantObject(key, value, r)
	default:
		return r.fault(r.n, "rows of another form need a mapping: tasks: {files: [...], input: row."+key+"}",
			"unknown key %q: a task has id, input, target, vars and metadata", shorten(key))
	}
	return err
}

func withKey(object any, key string, value any) any {
	o, ok := object.(*expr.Object)
	if !ok {
		o = expr.NewObject(4)
	}
	o.Set(key, value)
	return o
}

func wantObject(key string, value any, r row) (any, error) {
	if _, ok := value.(*expr.Object); !ok && value != nil {
		return nil, r.fault(r.n, "", "%s must be an object", key)
	}
	return value, nil
}

// idOf takes text and, because many files have them, whole numbers.
func idOf(value any, r row) (string, error) {
	switch id := value.(type) {
	case string:
		if id != "" {
			return id, nil
		}
	case float64:
		if id == math.Trunc(id) && math.Abs(id) < 1<<53 {
			return strconv.FormatInt(int64(id), 10), nil
		}
	}
	return "", r.fault(r.n, "", "an id is text that is not empty, or a whole number")
}

// maxTaskFaults are reported; who has made one mistake in 10,000 rows wants to read it once.
const maxTaskFaults = 20

// CountTasks reads all tasks and finds what is wrong with them: rows that cannot be read, ids that stand twice, no
// tasks at all. It keeps 16 bytes and a place of each.
func (d *Document) CountTasks() (int, source.Faults) {
	n, faults := 0, source.Faults(nil)
	first := map[[16]byte]placedTask{}
	for placed, err := range d.placedTasks() {
		if err == nil {
			n++
			err = duplicate(first, placed)
		}
		if err != nil {
			faults = append(faults, faultsIn(err)...)
		}
		if len(faults) >= maxTaskFaults {
			break
		}
	}
	if n == 0 && len(faults) == 0 && d.Suite != nil {
		faults = append(faults, d.Suite.Tasks.Node.Fault("", "there are no tasks"))
	}
	return n, faults
}

// duplicate remembers a task's id, or says where it stood before.
func duplicate(first map[[16]byte]placedTask, placed placedTask) error {
	sum := sha256.Sum256([]byte(placed.task.ID))
	key := [16]byte(sum[:16])
	id := placed.task.ID
	placed.task = nil
	other, taken := first[key]
	if !taken {
		first[key] = placed
		return nil
	}
	return placed.fault("give one of them another id", "the task %q stands twice; first at %s", shorten(id), other.where())
}

func (p placedTask) where() string {
	if p.node != nil {
		return fmt.Sprintf("%s:%d", p.node.File.Name, p.node.Pos.Line)
	}
	return p.file.place(p.n)
}

func (p placedTask) fault(hint, format string, args ...any) error {
	if p.node != nil {
		return p.node.Fault(hint, format, args...)
	}
	return p.file.fault(p.n, hint, format, args...)
}

// faultsIn are the faults that an error of a row is.
func faultsIn(err error) source.Faults {
	var one source.Fault
	var several source.Faults
	switch {
	case errors.As(err, &one):
		return source.Faults{one}
	case errors.As(err, &several):
		return several
	}
	return source.Faults{{What: err.Error()}}
}
