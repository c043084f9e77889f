package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// DefaultTimeout is that of one try of a program, an endpoint or a server's tool
// which declares none.
const DefaultTimeout = 60 * time.Second

// Options are what the tools of several sets share. The zero Options share nothing.
type Options struct {
	Memory  *Memory  // of pure tools; nil: all are asked
	Schemas *Schemas // compiled before; nil: all are compiled
}

// Set are the tools that an agent may use, by their names.
type Set struct {
	members []member
	at      map[string]int
	memory  *Memory
}

// member is a tool with what is known of it.
type member struct {
	tool    Tool
	defined Definition
	schema  *expr.JSONSchema
}

// NewSet fails where two tools have one name, and where the parameters of a tool
// of the suite's own are no JSON Schema. Those of a server's tool are then not
// checked: what is wrong with them is not the suite's to put right.
func NewSet(tools []Tool, o Options) (*Set, error) {
	s := &Set{at: make(map[string]int, len(tools)), memory: o.Memory}
	for _, t := range tools {
		m := member{tool: t, defined: t.Definition()}
		if _, taken := s.at[m.defined.Name]; taken {
			return nil, fmt.Errorf("two tools are called %q", m.defined.Name)
		}
		var err error
		if m.schema, err = o.Schemas.compile(m.defined.Parameters); err != nil && m.defined.Server == "" {
			return nil, fmt.Errorf("the parameters of the tool %q are no JSON Schema: %w", m.defined.Name, err)
		}
		s.at[m.defined.Name] = len(s.members)
		s.members = append(s.members, m)
	}
	return s, nil
}

// Definitions are those of the tools, in their order.
func (s *Set) Definitions() []Definition {
	all := make([]Definition, len(s.members))
	for i := range s.members {
		all[i] = s.members[i].defined
	}
	return all
}

// Definition is that of the tool of that name.
func (s *Set) Definition(name string) (Definition, bool) {
	m := s.find(name)
	if m == nil {
		return Definition{}, false
	}
	return m.defined, true
}

func (s *Set) find(name string) *member {
	i, known := s.at[name]
	if !known {
		return nil
	}
	return &s.members[i]
}

// MaxArguments is how many bytes the arguments of one call may have.
const MaxArguments = 1 << 20

// Check says what is wrong with a call, all of it, so that whoever made it can
// put it right at once; nil: it can be made. Its class is always BadCall.
func (s *Set) Check(name string, arguments json.RawMessage) *record.Error {
	m := s.find(name)
	switch {
	case m == nil:
		return badCall("%s", s.unknown(name))
	case len(arguments) > MaxArguments:
		return badCall("the arguments of %s are %d bytes long; %d are allowed", name, len(arguments), MaxArguments)
	}
	if wrong := violations(m.schema, arguments); wrong != "" {
		return badCall("the arguments of %s are wrong: %s", name, wrong)
	}
	return nil
}

// mostNames is how many tools are named where one is not there.
const mostNames = 30

func (s *Set) unknown(name string) string {
	names := make([]string, len(s.members))
	for i := range s.members {
		names[i] = s.members[i].defined.Name
	}
	said := fmt.Sprintf("there is no tool %q", short(name))
	if near := source.Closest(name, names); near != "" {
		said += fmt.Sprintf("; did you mean %q?", near)
	}
	more := ""
	if len(names) > mostNames {
		more = fmt.Sprintf(" and %d more", len(names)-mostNames)
		names = names[:mostNames]
	}
	if len(names) == 0 {
		return said + "; there are none"
	}
	return said + "; the tools are " + strings.Join(names, ", ") + more
}

func badCall(format string, args ...any) *record.Error {
	return &record.Error{Class: record.BadCall, Message: fmt.Sprintf(format, args...)}
}

// short keeps what a model made up from filling the message.
func short(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
