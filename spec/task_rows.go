package spec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// row is what a task is made of: a task in the suite, a line or an entry of a file, or a folder.
type row struct {
	*dataFile              // nil: the task is written in the suite
	node      *source.Node // of a task in the suite
	value     any
	doc       any    // the whole file, where its rows are entries of a list
	n         int    // the line of the file, else the number of the row; from 1
	line      []byte // the text of a line; nil where the row is none
}

// place is where the row is: FILE:LINE, or FILE:NUMBER for the entries of a list; a folder is its own place.
func (r row) place() string {
	switch {
	case r.node != nil:
		return fmt.Sprintf("%s:%d", r.node.File.Name, r.node.Pos.Line)
	case r.taskFolder != "":
		return r.name
	}
	return fmt.Sprintf("%s:%d", r.name, r.n)
}

func (r row) fault(hint, format string, args ...any) source.Fault {
	what := fmt.Sprintf(format, args...)
	switch {
	case r.node != nil:
		return r.node.Fault(hint, "%s", what)
	case r.line != nil:
		return lineFault(r.name, r.line, r.n, 1, hint, "%s", what)
	case r.taskFolder == "":
		what = fmt.Sprintf("row %d: %s", r.n, what)
	}
	return source.Fault{File: source.NewFile(r.name, nil), Hint: hint, What: what}
}

// Lookup implements expr.Scope: what mappings see. A task in the suite serves as its own row.
func (r row) Lookup(name string) (any, bool) {
	inline := r.node != nil
	switch name {
	case "doc":
		return r.doc, !inline
	case "row":
		if inline {
			return valueOf(r.node.Plain()), true
		}
		return r.value, true
	case "file":
		if inline {
			return r.node.File.Name, true
		}
		return r.name, true
	case "line":
		if inline {
			return int64(r.node.Pos.Line), true
		}
		return int64(r.n), true
	}
	return nil, false
}

// selectionScope is what where and by see: the row, and the task that was made of it.
type selectionScope struct {
	row
	task *Task
}

// Lookup implements expr.Scope.
func (s selectionScope) Lookup(name string) (any, bool) {
	if name == "task" {
		return JudgedTask{s.task}, true
	}
	return s.row.Lookup(name)
}

// background has no deadline: expressions have one of their own.
var background = context.Background()

// mappingFault says which expression failed, and on what.
func mappingFault(e *Expr, err error, on string) error {
	offset := 0
	if failed, ok := errors.AsType[*expr.Error](err); ok {
		offset = failed.Offset
	}
	return e.Node.FaultAt(offset, 1, "", "%v (in %s)", err, on)
}

// mapping evaluates expressions on a row. The first fault sticks; values after it are nil.
type mapping struct {
	row
	err error
}

// value is that of an expression; nil gives nil.
func (m *mapping) value(e *Expr) any {
	if e == nil || m.err != nil {
		return nil
	}
	value, err := e.Value(background, m.row)
	if err != nil {
		m.err = mappingFault(e, err, m.place())
	}
	return value
}

// object has the values of named expressions; none give nil.
func (m *mapping) object(named source.Named[Expr]) any {
	if len(named) == 0 {
		return nil
	}
	object := expr.NewObject(len(named))
	for i := range named {
		object.Set(named[i].Key, m.value(&named[i].Value))
	}
	return object
}

// task makes a task of a row: by the mapping if there is one.
func (t *Tasks) task(r row) (*Task, error) {
	switch {
	case r.node != nil:
		return t.Inline[r.n-1].task(r.n - 1), nil
	case r.taskFolder != "":
		return t.ofFolder(r)
	case t.ID == nil && t.Input == nil && t.Target == nil && t.Vars == nil && t.Metadata == nil && t.Images == nil:
		return plainTask(r)
	}
	return t.mappedTask(r)
}

// mappedTask is what the mapping says of a row. The place of a row is its default id.
func (t *Tasks) mappedTask(r row) (task *Task, err error) {
	task = &Task{ID: r.place()}
	if t.ID != nil {
		if task.ID, err = t.ID.String(background, r); err != nil {
			return nil, mappingFault(t.ID, err, r.place())
		}
	}
	m := mapping{row: r}
	task.Input, task.Target, task.Vars, task.Metadata = m.value(t.Input), m.value(t.Target), m.object(t.Vars), m.object(t.Metadata)
	if images := m.value(t.Images); m.err == nil {
		task.Images, m.err = imagesOf(images, r)
	}
	return task, m.err
}

// plainTask makes a task of a row that has the keys of a task. A file of text is the input of
// the task that its name names. In a .csv file vars.NAME and metadata.NAME are columns.
func plainTask(r row) (*Task, error) {
	object, ok := r.value.(*expr.Object)
	if !ok {
		hint := `write {"id": ..., "input": ..., "target": ...}`
		if _, isList := r.value.([]any); isList && r.line != nil {
			hint = "a .jsonl file has one object a line; a file that is one list is named .json"
		}
		return nil, r.fault(hint, "want a task, an object")
	}
	if !r.hasRows() {
		name, _ := object.Get("stem")
		text, _ := object.Get("text")
		return &Task{ID: name.(string), Input: text}, nil
	}
	task := &Task{}
	for i := range object.Len() {
		key, value := object.At(i)
		if err := task.set(key, value, r); err != nil {
			return nil, err
		}
	}
	if task.ID == "" {
		task.ID = r.place()
	}
	if task.Input == nil && task.Vars == nil {
		return nil, r.fault("a task has input or vars", "this task has no input")
	}
	return task, nil
}

// mappingHint says what to do about a key that tasks do not have: how to call it in a row that is a task else, or the
// mapping that makes tasks of rows of another form, as far as their names tell.
func mappingHint(key string, r row) string {
	object := r.value.(*expr.Object)
	if near := source.Closest(key, mappingKeys[1:]); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if _, isTask := object.Get("input"); isTask {
		meant := source.Meant[InlineTask](key)
		if _, taken := object.Get(meant); meant != "" && !taken {
			return "name it " + meant
		}
		if r.isCSV() {
			return fmt.Sprintf("name the column vars.%s or metadata.%s", key, key)
		}
		return fmt.Sprintf(`write it as {"vars": {%q: ...}} or {"metadata": {%q: ...}}`, key, key)
	}
	if first, _ := object.At(0); r.isCSV() && object.Len() == 1 && strings.ContainsAny(first, ";\t|") {
		return "separate the columns with commas"
	}
	parts := map[string]string{}
	var vars []string
	for i := range object.Len() {
		key, _ := object.At(i)
		name := strings.ToLower(strings.TrimSpace(key))
		if !slices.Contains(mappingKeys, name) {
			name = source.Meant[InlineTask](name)
		}
		value := "row." + key
		if !isWord(key) {
			value = fmt.Sprintf(`'row["%s"]'`, key)
		}
		if name == "" || parts[name] != "" {
			vars = append(vars, inFlow(key)+": "+value)
		} else {
			parts[name] = value
		}
	}
	if len(vars) > 0 && len(vars) <= fewNames && parts["vars"] == "" {
		parts["vars"] = "{" + strings.Join(vars, ", ") + "}"
	}
	if parts["input"] == "" && parts["vars"] == "" {
		parts["input"] = "row.…"
	}
	text := "write tasks: {files: [" + r.name + "]"
	for _, key := range mappingKeys {
		if parts[key] != "" {
			text += ", " + key + ": " + parts[key]
		}
	}
	return text + "}"
}

func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !('0' <= r && r <= '9')
	}) < 0
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
	case key == "images":
		t.Images, err = imagesOf(value, r)
	default:
		at := r
		if r.isCSV() {
			at.n, at.line = 1, r.header
		}
		return at.fault(mappingHint(key, r), "unknown key %q: a task has id, input, target, vars, metadata and images", shorten(key))
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
		return nil, r.fault("", "%s must be an object", key)
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
	return "", r.fault("", "an id is text that is not empty, or a whole number")
}

// inFlow is a text as it stands between braces.
func inFlow(text string) string {
	if strings.ContainsAny(text, ",:[]{}#\"'") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
