package spec

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
	"github.com/santhosh-tekuri/jsonschema/v6"
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

// schemaBase is what references of a schema are relative to. Nothing can be loaded from there.
const schemaBase = "tool:///"

// wrongSchema says what is wrong with a schema, and where; "" where nothing is.
func wrongSchema(text JSON, n *source.Node) (at *source.Node, what string) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return n, err.Error()
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme, so nothing is loaded
	if err := compiler.AddResource(schemaBase, document); err != nil {
		return n, err.Error()
	}
	_, err = compiler.Compile(schemaBase)
	if err == nil {
		return nil, ""
	}
	var outside *jsonschema.LoadURLError
	var wrong *jsonschema.ValidationError
	switch {
	case errors.As(err, &outside):
		return n, "it refers to " + strings.TrimPrefix(outside.URL, schemaBase) + ", and only what stands in the schema itself is read"
	case errors.As(err, &wrong):
		wrong = deepest(wrong)
		return lookup(n, wrong.InstanceLocation), wrong.BasicOutput().Error.String()
	}
	return n, strings.ReplaceAll(err.Error(), schemaBase, "")
}

// deepest is a cause that has no cause itself: the one whose place is the deepest, and of these the first.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	var found *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if d := deepest(cause); found == nil || compareLocations(d.InstanceLocation, found.InstanceLocation) < 0 {
			found = d
		}
	}
	if found == nil {
		return e
	}
	return found
}

func compareLocations(a, b []string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(strings.Join(a, "/"), strings.Join(b, "/"))
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
