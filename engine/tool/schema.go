package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	violated "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/agentbench/agentbench/spec/expr"
)

// Schemas are compiled once, however many sets their tools are in. The zero
// value is ready, and safe for concurrent use.
type Schemas struct {
	mu   sync.Mutex
	made map[string]*schema
}

// compile also takes nil, which is any object. The schema that it gives beside
// an error is that as well.
func (s *Schemas) compile(text json.RawMessage) (*schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if s == nil {
		return compileSchema(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, known := s.made[string(text)]; known {
		return made, nil
	}
	made, err := compileSchema(text)
	if err != nil {
		return nil, err
	}
	if s.made == nil {
		s.made = map[string]*schema{}
	}
	s.made[string(text)] = made
	return made, nil
}

// schema is what arguments have to be like; nil: any object.
type schema struct{ compiled *jsonschema.Schema }

// The place that references of a schema are relative to. Nothing can be loaded
// from there.
const (
	schemaBase = "tool:///"
	schemaURL  = schemaBase + "parameters"
)

func compileSchema(text json.RawMessage) (*schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme, so nothing is loaded
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, whatIsWrong(err)
	}
	return &schema{compiled}, nil
}

func whatIsWrong(err error) error {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Errorf("it refers to %s, and only what stands in the schema itself is read", strings.TrimPrefix(outside.URL, schemaBase))
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		return errors.New(told(wrong.Err))
	}
	return errors.New(strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// violations tells what is wrong with arguments, "" where nothing is. No
// arguments are an empty object.
func (s *schema) violations(arguments json.RawMessage) string {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	value, err := expr.ParseJSON(arguments)
	if err != nil {
		return "they are not JSON: " + err.Error()
	}
	if _, object := value.(*expr.Object); !object {
		return "they are no object"
	}
	if s == nil {
		return ""
	}
	if err := s.compiled.Validate(expr.Maps(value)); err != nil {
		return told(err)
	}
	return ""
}

// mostViolations is how many are told of one call.
const mostViolations = 10

// told are all violations by their places, which validation finds in any order.
func told(err error) string {
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return short(err.Error())
	}
	all := slices.Compact(slices.SortedFunc(slices.Values(leaves(wrong, nil)), compareViolations))
	more := ""
	if len(all) > mostViolations {
		more = fmt.Sprintf("; and %d more", len(all)-mostViolations)
		all = all[:mostViolations]
	}
	lines := make([]string, len(all))
	for i, v := range all {
		lines[i] = v.what
		if v.where != "" {
			lines[i] = v.where + ": " + v.what
		}
	}
	return strings.Join(lines, "; ") + more
}

// violation is one thing that a schema does not allow, and the keys and indices
// that lead to it.
type violation struct{ where, what string }

func compareViolations(a, b violation) int {
	return cmp.Or(cmp.Compare(a.where, b.where), cmp.Compare(a.what, b.what))
}

// leaves are the causes that have no cause themselves.
func leaves(e *jsonschema.ValidationError, found []violation) []violation {
	if len(e.Causes) == 0 {
		where := ""
		for _, key := range e.InstanceLocation {
			where += "/" + short(key)
		}
		if more, ok := e.ErrorKind.(*violated.AdditionalProperties); ok {
			slices.Sort(more.Properties)
		}
		return append(found, violation{where, e.BasicOutput().Error.String()})
	}
	for _, cause := range e.Causes {
		found = leaves(cause, found)
	}
	return found
}
