package spec

import (
	"reflect"
	"slices"
	"strings"
)

// Class is what another value of a key changes in a run. It stands in the tag `changes` of the field and covers all that
// the key holds, unless a key in it has its own.
type Class string

// The classes.
const (
	ChangesStop   Class = "stop"   // only when a run stops, or a call: replay decides that
	ChangesScores Class = "scores" // only scores, what is kept, and how things are called
	ChangesPath   Class = "path"   // what runs see or do
	// ChangesRequests and ChangesEvaluation are path too. All that they change shows where a replay looks: in requests, which
	// it renders again and compares by their hashes, and in evaluations of recorded outputs, which it makes again.
	ChangesRequests   Class = "requests"
	ChangesEvaluation Class = "evaluation"
)

// Difference is a key in which two parts of a loop differ.
type Difference struct {
	Path  string // from the part on
	Class Class
}

// Differences are the keys in which two parts of a loop differ, such as two agents. What is off is the same as absent; the
// order of lists counts.
func Differences[T any](a, b *T) (differ []Difference) {
	x, y := valuesOf(a), valuesOf(b)
	if slices.Equal(x, y) {
		return nil
	}
	add := func(v *Value) {
		if d := (Difference{withoutNumbers(v.Path), v.Class}); !slices.Contains(differ, d) {
			differ = append(differ, d)
		}
	}
	common := func(these, others []Value) (common []Value) {
		for i := range these {
			if slices.Contains(others, these[i]) {
				common = append(common, these[i])
			} else {
				add(&these[i])
			}
		}
		return common
	}
	x, y = common(x, y), common(y, x)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			add(&x[i])
			add(&y[i])
		}
	}
	return differ
}

func valuesOf[T any](part *T) []Value {
	w := leafWalker{}
	if loop, ok := any(part).(*Loop); ok {
		w.leaves = loop.Values()
	} else if part != nil {
		w.value(reflect.ValueOf(part).Elem(), "")
	}
	return slices.DeleteFunc(w.leaves, func(v Value) bool { return v.Value == nil })
}

// withoutNumbers is a path up to the list of which it has an item without a name.
func withoutNumbers(path string) string {
	segments := strings.Split(path, ".")
	if at := slices.IndexFunc(segments, func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }); at > 0 {
		segments = segments[:at]
	}
	return strings.Join(segments, ".")
}
