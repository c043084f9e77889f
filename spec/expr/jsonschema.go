package expr

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	violation "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// JSONSchema is a compiled JSON Schema that people write into their files or servers
// tell of their tools: draft 2020-12 unless it names another, and nothing but what
// stands in the schema itself. Violations come in the same order every time. It is
// safe for concurrent use.
type JSONSchema struct {
	compiled *jsonschema.Schema
}

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

// SchemaFault is why a text is no schema: what the schema of schemas does not allow in
// it, or something else.
type SchemaFault struct {
	Violations []Violation
	What       string // where there are none
}

// Error tells the first violation, or what is wrong.
func (f *SchemaFault) Error() string {
	if len(f.Violations) == 0 {
		return f.What
	}
	return FirstViolation(f.Violations)
}

// FirstViolation tells the first violation and its place.
func FirstViolation(violations []Violation) string {
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

// CompileSchema makes a schema of its text. The error is a *Fault.
func CompileSchema(text []byte) (*JSONSchema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, &SchemaFault{What: "invalid JSON: " + err.Error()}
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme, so nothing is loaded
	compiler.UseRegexpEngine(compileSchemaPattern)
	var compiled *jsonschema.Schema
	invalid, err := refused(func() error {
		if err := compiler.AddResource(url, document); err != nil {
			return err
		}
		compiled, err = compiler.Compile(url)
		return err
	})
	if err = cmp.Or(err, invalid); err != nil {
		return nil, faultOf(err)
	}
	return &JSONSchema{compiled}, nil
}

// schemaPattern is a regular expression of a schema. The library lets no search fail, so one that is refused panics.
type schemaPattern struct{ *Pattern }

func compileSchemaPattern(source string) (jsonschema.Regexp, error) {
	p, err := CompilePattern(source)
	return schemaPattern{p}, err
}

// MatchString implements [jsonschema.Regexp].
func (p schemaPattern) MatchString(text string) bool {
	found, err := p.Match(text)
	if err != nil {
		panic(tooLong{err})
	}
	return found
}

// tooLong ends a validation.
type tooLong struct{ error }

// refused gives the error with which a search ended a validation.
func refused(validate func() error) (invalid, err error) {
	defer func() {
		r := recover()
		if search, ok := r.(tooLong); ok {
			err = search.error
		} else if r != nil {
			panic(r)
		}
	}()
	return validate(), nil
}

func faultOf(err error) *SchemaFault {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return &SchemaFault{What: fmt.Sprintf("it refers to %s, but only the schema itself is read", strings.TrimPrefix(outside.URL, base))}
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return &SchemaFault{Violations: violations(wrong.Err)}
	}
	return &SchemaFault{What: strings.ReplaceAll(err.Error(), url, "")}
}

// Violations are all that is wrong with a value, as expressions see it, in the
// order of their places; nil where nothing is. The error is that one of its regular
// expressions would search for too long.
func (s *JSONSchema) Violations(value any) (found []Violation, err error) {
	invalid, err := refused(func() error { return s.compiled.Validate(Maps(value)) })
	return violations(invalid), err
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
	if more, ok := e.ErrorKind.(*violation.AdditionalProperties); ok {
		slices.Sort(more.Properties)
	}
	_, mistyped := e.ErrorKind.(*violation.Type)
	return append(found, Violation{Path: e.InstanceLocation, What: e.BasicOutput().Error.String(), mistyped: mistyped})
}
