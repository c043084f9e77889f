package imports

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// row is what a mapping makes a run of.
type row struct {
	doc   any // what of its document was read before it
	value any
	file  string
	line  int // at which it begins, or at which its document does
	n     int // which row of its document it is, from 1; 0: the line tells
}

// place is what a task is called that has no id.
func (r *row) place() string {
	if r.n == 0 {
		return fmt.Sprintf("%s:%d", r.file, r.line)
	}
	return fmt.Sprintf("%s:%d#%d", r.file, r.line, r.n)
}

// shape is where the rows of a document are.
type shape struct {
	each   *spec.Expr // evaluated on the whole document; nil: the others tell
	path   []string   // keys that lead to the list of rows
	values bool       // the rows are the values of the document, an object
}

// shapeOf recognizes what can be read row by row.
func shapeOf(each *spec.Expr) shape {
	if each == nil {
		return shape{}
	}
	text := strings.Join(strings.Fields(each.Text), "")
	if text == "doc" {
		return shape{}
	}
	if key, ok := strings.CutPrefix(text, "doc.map("); ok {
		name, _, _ := strings.Cut(key, ",")
		if text == "doc.map("+name+",doc["+name+"])" {
			return shape{values: true}
		}
	}
	if path, ok := strings.CutPrefix(text, "doc."); ok && isPath(path) {
		return shape{path: strings.Split(path, ".")}
	}
	return shape{each: each}
}

// isPath says that there are only names with dots between them.
func isPath(text string) bool {
	for _, name := range strings.Split(text, ".") {
		for i, c := range name {
			letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			if !letter && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
		if name == "" {
			return false
		}
	}
	return true
}

// document reads the rows of the next document of a stream.
func (f *file) document(s *stream) bool {
	first, err := s.peek()
	switch {
	case err != nil:
		return f.fail(s.line, err)
	case f.shape.each != nil:
		return f.evaluated(s)
	case f.shape.values:
		return f.valuesOf(s)
	case f.shape.path != nil:
		doc := expr.NewObject(4)
		return f.below(s, doc, doc, f.shape.path)
	case first == '[':
		return f.list(s, nil)
	}
	value, line, err := s.value()
	return f.yield(row{doc: value, value: value, line: line}, err)
}

// evaluated evaluates each on the whole document.
func (f *file) evaluated(s *stream) bool {
	doc, line, err := s.value()
	if err != nil {
		return f.fail(line, err)
	}
	return f.inMemory(doc, line)
}

// inMemory gives the rows of a document that is there as a whole; all of them
// stand at its line.
func (f *file) inMemory(doc any, line int) bool {
	rows, err := f.rowsOf(doc, line)
	if err != nil {
		return f.fail(line, err)
	}
	for i, value := range rows {
		r := row{doc: doc, value: value, line: line}
		if len(rows) > 1 {
			r.n = i + 1
		}
		if !f.yield(r, nil) {
			return false
		}
	}
	return true
}

func (f *file) rowsOf(doc any, line int) ([]any, error) {
	if f.shape.each != nil {
		return list(f.shape.each, &scope{row: row{doc: doc, file: f.name, line: line}})
	}
	object, isObject := doc.(*expr.Object)
	if f.shape.values {
		if !isObject {
			return nil, &broken{line, "want an object whose values are the rows"}
		}
		var rows []any
		for i := range object.Len() {
			_, value := object.At(i)
			rows = append(rows, value)
		}
		return rows, nil
	}
	value := doc
	for _, key := range f.shape.path {
		object, _ := value.(*expr.Object)
		found, ok := object.Get(key)
		if !ok {
			return nil, &broken{line, f.missing()}
		}
		value = found
	}
	rows, isList := value.([]any)
	switch {
	case isList:
		return rows, nil
	case f.shape.path != nil:
		return nil, &broken{line, "doc." + strings.Join(f.shape.path, ".") + " is no list"}
	}
	return []any{doc}, nil
}

func (f *file) missing() string { return "there is no doc." + strings.Join(f.shape.path, ".") }

// list yields the items of a list. An item that is no JSON inside is told, and
// the next follow.
func (f *file) list(s *stream, doc any) bool {
	if ok, err := s.accept('['); err != nil || !ok {
		return f.fail(s.line, orBroken(s, err, "no list of rows where one should stand"))
	}
	for first := true; ; first = false {
		done, err := s.next(first, ']')
		if err != nil {
			return f.fail(s.line, err)
		}
		if done {
			return true
		}
		if !f.item(s, doc) {
			return false
		}
	}
}

// item yields a row where it stands in a stream.
func (f *file) item(s *stream, doc any) bool {
	text, line, err := s.raw()
	if err != nil {
		return f.fail(line, err)
	}
	value, err := expr.ParseJSON(text)
	if err != nil {
		f.fail(line, notJSON(text, line, err))
		return !f.ended
	}
	return f.yield(row{doc: doc, value: value, line: line}, nil)
}

// valuesOf yields the values of an object.
func (f *file) valuesOf(s *stream) bool {
	if ok, err := s.accept('{'); err != nil || !ok {
		return f.fail(s.line, orBroken(s, err, "want an object whose values are the rows"))
	}
	for first := true; ; first = false {
		done, err := s.next(first, '}')
		if err == nil && !done {
			_, err = s.key()
		}
		switch {
		case err != nil:
			return f.fail(s.line, err)
		case done:
			return true
		case !f.item(s, expr.NewObject(0)):
			return false
		}
	}
}

// below looks for the list of rows behind a path. The rows see what stands before
// them as doc; what stands after them is not read.
func (f *file) below(s *stream, doc, here *expr.Object, path []string) bool {
	if ok, err := s.accept('{'); err != nil || !ok {
		return f.fail(s.line, orBroken(s, err, f.missing()))
	}
	found := false
	for first := true; ; first = false {
		done, err := s.next(first, '}')
		if err != nil {
			return f.fail(s.line, err)
		}
		if done {
			return found || f.fail(s.line, s.broken("%s", f.missing()))
		}
		key, err := s.key()
		if err != nil {
			return f.fail(s.line, err)
		}
		if key == path[0] && !found {
			found = true
			if !f.into(s, doc, here, path) {
				return false
			}
			continue
		}
		if err := s.keep(here, key, !found); err != nil {
			return f.fail(s.line, err)
		}
	}
}

// into goes a step down the path, or reads the rows at its end.
func (f *file) into(s *stream, doc, here *expr.Object, path []string) bool {
	if len(path) == 1 {
		return f.list(s, doc)
	}
	inner := expr.NewObject(4)
	here.Set(path[0], inner)
	return f.below(s, doc, inner, path[1:])
}

// keep reads a value, and sets it where it is wanted.
func (s *stream) keep(into *expr.Object, key string, wanted bool) error {
	if !wanted {
		_, _, err := s.raw()
		return err
	}
	value, _, err := s.value()
	if err == nil {
		into.Set(key, value)
	}
	return err
}

func orBroken(s *stream, err error, what string) error {
	if err != nil {
		return err
	}
	return s.broken("%s", what)
}
