package spec

import (
	"math"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// plainTask makes a task of a row that has the keys of a task. A file of text is the input of
// the task that its name names. In a .csv file vars.NAME and metadata.NAME are columns.
func plainTask(r row) (*Task, error) {
	object, ok := r.value.(*expr.Object)
	if !ok {
		return nil, r.fault(r.n, `write {"id": ..., "input": ..., "target": ...}`, "want a task, an object")
	}
	if !r.format.rows() {
		name, _ := object.Get("stem")
		text, _ := object.Get("text")
		return &Task{ID: name.(string), Input: text}, nil
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
	case (key == "id" || key == "target") && value == "" && r.isCSV():
		// an empty cell: the row has none
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
