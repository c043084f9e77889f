package replay

import (
	"reflect"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

// differing names the YAML keys in which two concepts of the language differ.
func differing[T any](a, b *T) []string {
	var names []string
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if key := keyOf(x.Type().Field(i)); key != "" && !declaredAlike(x.Field(i), y.Field(i)) {
			names = append(names, key)
		}
	}
	return names
}

// keyOf is the YAML key of a field, "" for one that is not declared, such as a
// place in the file.
func keyOf(f reflect.StructField) string {
	key, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if key == "-" {
		return ""
	}
	if option == "inline" {
		return f.Name
	}
	return key
}

// declaredAlike says whether two values were declared alike. Expressions and
// prompts are their texts.
func declaredAlike(a, b reflect.Value) bool {
	switch x := a.Interface().(type) {
	case *spec.Expr:
		y := b.Interface().(*spec.Expr)
		return (x == nil) == (y == nil) && (x == nil || x.Text == y.Text)
	case spec.Headers:
		return reflect.DeepEqual(x, b.Interface())
	case *spec.Prompt:
		y := b.Interface().(*spec.Prompt)
		return (x == nil) == (y == nil) && (x == nil || x.Text == y.Text)
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return declaredAlike(a.Elem(), b.Elem())
	case reflect.Slice:
		return listsAlike(a, b)
	case reflect.Struct:
		return structsAlike(a, b)
	}
	return a.Equal(b)
}

func listsAlike(a, b reflect.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !declaredAlike(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func structsAlike(a, b reflect.Value) bool {
	for i := range a.NumField() {
		if keyOf(a.Type().Field(i)) != "" && !declaredAlike(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}
