package spec

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// leaf is a value of a loop with its path. Parameters are the scalars that a set or sweep could say; the others (texts,
// expressions, lists) only tell loops apart.
type leaf struct {
	path      string
	value     any
	parameter bool
}

// Value is a value of a loop with its path.
type Value struct {
	Path  string
	Value any // nil: off
	// Parameter says that set and sweep could say it.
	Parameter bool
}

// Values are all values of a loop that are not zero, in the order of the language.
func (l *Loop) Values() []Value {
	leaves := l.leaves()
	values := make([]Value, len(leaves))
	for i, leaf := range leaves {
		values[i] = Value{leaf.path, leaf.value, leaf.parameter}
	}
	return values
}

// leaves are all values of a loop that are not zero, in the order of the language.
func (l *Loop) leaves() []leaf {
	w := leafWalker{leaves: make([]leaf, 0, 64)}
	w.fields(reflect.ValueOf(l).Elem(), "")
	return w.leaves
}

type leafWalker struct{ leaves []leaf }

func (w *leafWalker) add(path string, value any, parameter bool) {
	w.leaves = append(w.leaves, leaf{path, value, parameter})
}

// fields walks a struct by its yaml tags.
func (w *leafWalker) fields(v reflect.Value, path string) {
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			w.fields(v.Field(i), path)
		case name != "" && name != "-" && !v.Field(i).IsZero():
			w.value(v.Field(i), join(path, name))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (w *leafWalker) value(v reflect.Value, path string) {
	switch value := v.Interface().(type) {
	case *Expr:
		w.add(path, value.Text, false)
	case *Prompt:
		w.add(path, value.Text, false)
	case Tree:
		w.conditions(value.Any, path)
	case source.Maybe[int]:
		w.maybe(int64(value.Value), value.Off, path)
	case source.Maybe[float64]:
		w.maybe(value.Value, value.Off, path)
	case source.Maybe[time.Duration]:
		w.maybe(value.Value, value.Off, path)
	case JSON:
		w.add(path, string(value), false)
	case Headers:
		for _, header := range value {
			w.add(join(path, header.Key), header.Value, false)
		}
	default:
		w.plain(v, path)
	}
}

func (w *leafWalker) maybe(value any, off bool, path string) {
	if off {
		value = nil
	}
	w.add(path, value, true)
}

func (w *leafWalker) plain(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		w.value(v.Elem(), path)
	case reflect.Struct:
		w.fields(v, path)
	case reflect.Slice:
		w.list(v, path)
	case reflect.String:
		w.add(path, v.String(), !isName(path))
	case reflect.Bool:
		w.add(path, v.Bool(), true)
	case reflect.Float64:
		w.add(path, v.Float(), true)
	case reflect.Int, reflect.Int64:
		if d, ok := v.Interface().(time.Duration); ok {
			w.add(path, d, true)
			return
		}
		w.add(path, v.Int(), true)
	}
}

// isName tells names and prose from parameters.
func isName(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "name", "loop", "feedback", "description", "preset":
		return true
	}
	return false
}

// list walks items by their names; items without one by their number.
func (w *leafWalker) list(v reflect.Value, path string) {
	for i := range v.Len() {
		item := reflect.Indirect(v.Index(i))
		name := fmt.Sprint(i)
		if given := nameOf(item); given != "" {
			name = given
		}
		if item.Kind() == reflect.String {
			w.add(join(path, name), item.String(), false)
			continue
		}
		w.value(item, join(path, name))
	}
}

// nameOf is the name of an item, or what it is where that is built in.
func nameOf(item reflect.Value) string {
	if item.Kind() != reflect.Struct {
		return ""
	}
	for _, field := range []string{"Name", "Builtin"} {
		if name := item.FieldByName(field); name.IsValid() && name.String() != "" {
			return name.String()
		}
	}
	return ""
}

// conditions walks a list of conditions by their names. A condition that is off is nothing.
func (w *leafWalker) conditions(conditions []Condition, path string) {
	for i := range conditions {
		c := &conditions[i]
		at := join(path, c.Name)
		if c.Off {
			w.off(c, at)
			continue
		}
		w.add(at, string(c.Kind), false)
		switch {
		case c.Nested != nil:
			w.conditions(c.Nested, at)
		case c.Kind == KindMaxIterations:
			w.add(at, int64(c.MaxIterations), true)
		case c.Kind == KindWhen:
			w.add(at, c.When.Text, false)
		default:
			w.fields(reflect.ValueOf(c.fields()), at)
		}
	}
}

// off is what is known of a condition that never holds: the field that is off, or nothing at all.
func (w *leafWalker) off(c *Condition, path string) {
	switch c.Kind {
	case KindConfidence:
		w.add(path+".threshold", nil, true)
	case KindRepeated, KindConsecutive:
		w.add(path+".times", nil, true)
	case KindNoImprovement:
		w.add(path+".patience", nil, true)
	case KindTimeout:
		w.add(path+".after", nil, true)
	case KindMaxIterations:
		w.add(path, nil, true)
	}
}

// fields are the fields of the condition's kind.
func (c *Condition) fields() any {
	switch c.Kind {
	case KindConfidence:
		return c.Confidence
	case KindRepeated:
		return c.Repeated
	case KindConsecutive:
		return c.Consecutive
	case KindNoImprovement:
		return c.NoImprovement
	default:
		return c.Timeout
	}
}
