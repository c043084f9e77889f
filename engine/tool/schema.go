package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/spec/expr"
)

// Schemas are compiled once, however many sets their tools are in. The zero
// value is ready, and safe for concurrent use.
type Schemas struct {
	mu   sync.Mutex
	made map[string]*expr.JSONSchema
}

// compile also takes nil, which is any object. The schema that it gives beside
// an error is that as well.
func (s *Schemas) compile(text json.RawMessage) (*expr.JSONSchema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if s == nil {
		return compile(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, known := s.made[string(text)]; known {
		return made, nil
	}
	made, err := compile(text)
	if err != nil {
		return nil, err
	}
	if s.made == nil {
		s.made = map[string]*expr.JSONSchema{}
	}
	s.made[string(text)] = made
	return made, nil
}

// compile tells all that is wrong with a schema.
func compile(text json.RawMessage) (*expr.JSONSchema, error) {
	made, err := expr.CompileSchema(text)
	if fault, ok := errors.AsType[*expr.SchemaFault](err); ok && len(fault.Violations) > 0 {
		return nil, errors.New(told(fault.Violations))
	}
	return made, err
}

// violations tells what is wrong with arguments, "" where nothing is. No
// arguments are an empty object; without a schema any object will do.
func violations(s *expr.JSONSchema, arguments json.RawMessage) string {
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
	wrong, err := s.Violations(value)
	if err != nil {
		return "they cannot be checked: " + err.Error()
	}
	return told(wrong)
}

// mostViolations is how many are told of one call.
const mostViolations = 10

// told are violations and their places, in the order of both.
func told(all []expr.Violation) string {
	slices.SortFunc(all, func(a, b expr.Violation) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What))
	})
	more := ""
	if len(all) > mostViolations {
		more = fmt.Sprintf("; and %d more", len(all)-mostViolations)
		all = all[:mostViolations]
	}
	lines := make([]string, len(all))
	for i := range all {
		v := &all[i]
		for _, key := range v.Path {
			lines[i] += "/" + short(key)
		}
		if lines[i] != "" {
			lines[i] += ": "
		}
		lines[i] += v.What
	}
	return strings.Join(lines, "; ") + more
}
