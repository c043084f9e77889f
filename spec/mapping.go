package spec

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// background bounds nothing: mappings have a deadline of their own.
var background = context.Background()

// rowScope is what mappings see.
type rowScope struct{ row row }

// Lookup implements expr.Scope.
func (s rowScope) Lookup(name string) (any, bool) {
	switch name {
	case "doc":
		return s.row.doc, true
	case "row":
		return s.row.value, true
	case "file":
		return s.row.name, true
	case "line":
		return int64(s.row.n), true
	}
	return nil, false
}

// mappingFault says which expression failed, and on what.
func mappingFault(e *Expr, err error, on string) error {
	offset := 0
	var failed *expr.Error
	if errors.As(err, &failed) {
		offset = failed.Offset
	}
	return e.Node.FaultAt(offset, 1, "", "%v (in %s)", err, on)
}

// mapped evaluates an expression on a row; nil gives nil.
func mapped(e *Expr, r row) (any, error) {
	if e == nil {
		return nil, nil
	}
	value, err := e.Value(background, rowScope{r})
	if err != nil {
		return nil, mappingFault(e, err, r.place(r.n))
	}
	return value, nil
}

// mappedObject evaluates named expressions on a row; none give nil.
func mappedObject(named source.Named[Expr], r row) (any, error) {
	if len(named) == 0 {
		return nil, nil
	}
	object := expr.NewObject(len(named))
	for i := range named {
		value, err := mapped(&named[i].Value, r)
		if err != nil {
			return nil, err
		}
		object.Set(named[i].Key, value)
	}
	return object, nil
}

// task makes a task of a row by the mapping. A row without an id is called by its place.
func (t *Tasks) task(r row) (*Task, error) {
	task := &Task{ID: r.place(r.n)}
	var err error
	if t.ID != nil {
		if task.ID, err = t.ID.String(background, rowScope{r}); err != nil {
			return nil, mappingFault(t.ID, err, r.place(r.n))
		}
	}
	if task.Input, err = mapped(t.Input, r); err != nil {
		return nil, err
	}
	if task.Target, err = mapped(t.Target, r); err != nil {
		return nil, err
	}
	if task.Vars, err = mappedObject(t.Vars, r); err != nil {
		return nil, err
	}
	task.Metadata, err = mappedObject(t.Metadata, r)
	return task, err
}
