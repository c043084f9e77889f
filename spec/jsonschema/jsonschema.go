// Package jsonschema decides what a JSON Schema allows that people write into
// their files or servers tell of their tools: draft 2020-12 unless it names
// another, and nothing but what stands in the schema itself. What is wrong is told
// in the same order every time.
package jsonschema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/agentbench/agentbench/spec/expr"
)

// Schema is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Violation is one thing that a schema does not allow.
type Violation struct {
	Path []string // the keys and indices that lead to it
	What string
	// mistyped says that it is of another type, which alternatives (anyOf, oneOf)
	// that were not meant complain of, too.
	mistyped bool
}

// Where is the place of the violation as a JSON pointer, "" for the value itself.
func (v *Violation) Where() string {
	where := ""
	for _, key := range v.Path {
		where += "/" + key
	}
	return where
}

// Fault is why a text is no schema: what the schema of schemas does not allow in
// it, or something else.
type Fault struct {
	Violations []Violation
	What       string // where there are none
}

// Error tells the first violation, or what is wrong.
func (f *Fault) Error() string {
	if len(f.Violations) == 0 {
		return f.What
	}
	return First(f.Violations)
}

// First tells the first violation and its place.
func First(violations []Violation) string {
	first := &violations[0]
	if len(first.Path) == 0 {
		return first.What
	}
	return fmt.Sprintf("at %s: %s", first.Where(), first.What)
}

// base is what references are relative to. Nothing can be loaded from there.
const (
	base = "schema:///"
	url  = base + "schema"
)

// Compile makes a schema of its text. The error is a *Fault.
func Compile(text []byte) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, &Fault{What: "it is no JSON: " + err.Error()}
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme, so nothing is loaded
	if err := compiler.AddResource(url, document); err != nil {
		return nil, faultOf(err)
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return nil, faultOf(err)
	}
	return &Schema{compiled}, nil
}

func faultOf(err error) *Fault {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return &Fault{What: fmt.Sprintf("it refers to %s, and only what stands in the schema itself is read", strings.TrimPrefix(outside.URL, base))}
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return &Fault{Violations: violations(wrong.Err)}
	}
	return &Fault{What: strings.ReplaceAll(err.Error(), url, "")}
}

// Violations are all that is wrong with a value, as expressions see it, in the
// order of their places; nil where nothing is.
func (s *Schema) Violations(value any) []Violation {
	return violations(s.compiled.Validate(expr.Maps(value)))
}

func violations(err error) []Violation {
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Violation{{What: err.Error()}}
	}
	all := leaves(wrong, nil)
	slices.SortFunc(all, func(a, b Violation) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.What, b.What))
	})
	return slices.CompactFunc(all, func(a, b Violation) bool { return slices.Equal(a.Path, b.Path) && a.What == b.What })
}

func rank(v Violation) int {
	if v.mistyped {
		return 1
	}
	return 0
}

// leaves are the causes that have no cause themselves; validation finds them, and
// the keys in them, in any order.
func leaves(e *jsonschema.ValidationError, found []Violation) []Violation {
	for _, cause := range e.Causes {
		found = leaves(cause, found)
	}
	if len(e.Causes) > 0 {
		return found
	}
	if more, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(more.Properties)
	}
	_, mistyped := e.ErrorKind.(*kind.Type)
	return append(found, Violation{Path: e.InstanceLocation, What: e.BasicOutput().Error.String(), mistyped: mistyped})
}
