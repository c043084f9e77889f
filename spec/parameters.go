package spec

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

const parametersHint = "write {type: object, required: [name], properties: {name: {type: string}}}"

// checkParameters wants a JSON Schema of an object, whose required properties are declared.
func (l *loader) checkParameters(t *Tool) {
	n := t.Node.Get("parameters")
	if n == nil || n.Kind != source.Map || t.Parameters == nil {
		return
	}
	if kind := n.Get("type"); kind == nil || kind.Text != "object" {
		at := n
		if kind != nil {
			at = kind
		}
		l.fault(at, parametersHint, "arguments are an object, so parameters need type: object")
		return
	}
	if at, what := wrongSchema(t.Parameters, n); what != "" {
		l.fault(at, "", "this is no JSON Schema: %s", what)
		return
	}
	l.checkRequired(n)
}

// checkRequired warns of required properties that no model can know of.
func (l *loader) checkRequired(n *source.Node) {
	properties, required := n.Get("properties"), n.Get("required")
	if properties == nil || required == nil || properties.Kind != source.Map {
		return
	}
	var names []string
	for _, entry := range properties.Entries {
		names = append(names, entry.Key)
	}
	for _, item := range required.Items {
		if properties.Get(item.Text) == nil {
			l.warn(item, didYouMean(item.Text, names), "the property %q is required, but not described", shorten(item.Text))
		}
	}
}

// knownSchemas are those that were looked at, which configurations share: their texts, and what is wrong with them.
var knownSchemas sync.Map // of string to mistake

// mistake is what is wrong with a schema, and the keys and indices that lead there; "" where nothing is wrong.
type mistake struct {
	path []string
	what string
}

// wrongSchema says what is wrong with a schema, and where; "" where nothing is.
func wrongSchema(text JSON, n *source.Node) (at *source.Node, what string) {
	known, ok := knownSchemas.Load(string(text))
	if !ok {
		known, _ = knownSchemas.LoadOrStore(string(text), mistakeIn(text))
	}
	m := known.(mistake)
	return lookup(n, m.path), m.what
}

func mistakeIn(text JSON) mistake {
	_, err := expr.CompileSchema(text)
	fault, ok := errors.AsType[*expr.SchemaFault](err)
	switch {
	case err == nil:
		return mistake{}
	case !ok || len(fault.Violations) == 0:
		return mistake{what: err.Error()}
	}
	return deepest(fault.Violations)
}

// deepest is the place of the violations that lie the deepest, and what they say.
func deepest(violations []expr.Violation) (m mistake) {
	var all []string
	for _, v := range violations {
		if c := compareLocations(v.Path, m.path); c < 0 || len(all) == 0 {
			m.path, all = v.Path, []string{v.What}
		} else if c == 0 && !slices.Contains(all, v.What) {
			all = append(all, v.What)
		}
	}
	slices.Sort(all)
	m.what = strings.Join(all, "; ")
	return m
}

func compareLocations(a, b []string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b))
}

// lookup is the node that keys and indices lead to, as far as there is one.
func lookup(n *source.Node, path []string) *source.Node {
	for _, step := range path {
		next := n.Get(step)
		if i, err := strconv.Atoi(step); err == nil && n.Kind == source.List && i < len(n.Items) {
			next = n.Items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
