package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// resolvedSpec is a suite as it runs, as JSON: the suite as it was written, the
// loop of every configuration with its parameters set, and the loops to which
// these hand tasks.
func resolvedSpec(s *spec.Suite, configurations []spec.Resolved) (json.RawMessage, error) {
	b, err := appendKey([]byte{'{'}, "suite", s.Tree.Plain())
	if err != nil {
		return nil, err
	}
	loops, served := &source.Object{}, &delegatedLoops{}
	for i := range configurations {
		loops.Keys = append(loops.Keys, configurations[i].Name)
		loops.Values = append(loops.Values, served.plain(configurations[i].Loop))
	}
	if b, err = appendKey(append(b, ','), "configurations", loops); err != nil {
		return nil, err
	}
	if len(served.loops) > 0 {
		if b, err = appendKey(append(b, ','), "delegates", served.all()); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// delegatedLoops are those to which others hand tasks. Their files are named from
// elsewhere, so that each gets a name of its own.
type delegatedLoops struct {
	loops []*spec.Loop
	names []string
}

// plain is a loop that names its delegates by those names.
func (d *delegatedLoops) plain(l *spec.Loop) any {
	plain := l.Tree.Plain()
	served := l.Delegated()
	for _, agent := range agentsOf(plain) {
		list, _ := field(agent, "delegates").([]any)
		for _, delegate := range list {
			object, _ := delegate.(*source.Object)
			path, _ := field(object, "loop").(string)
			if loop := served[path]; loop != nil {
				object.Values[slices.Index(object.Keys, "loop")] = d.name(loop)
			}
		}
	}
	return plain
}

// name is that of a loop, which it is given when it is seen first.
func (d *delegatedLoops) name(l *spec.Loop) string {
	if i := slices.Index(d.loops, l); i >= 0 {
		return d.names[i]
	}
	base := "delegate-" + l.Name
	name := base
	for n := 2; slices.Contains(d.names, name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	d.loops, d.names = append(d.loops, l), append(d.names, name)
	return name
}

// all are the loops by their names, those to which they hand tasks themselves
// among them.
func (d *delegatedLoops) all() *source.Object {
	all := &source.Object{}
	for i := 0; i < len(d.loops); i++ { // plain finds more
		plain := d.plain(d.loops[i])
		all.Keys, all.Values = append(all.Keys, d.names[i]), append(all.Values, plain)
	}
	return all
}

// agentsOf are the agents that a loop declares.
func agentsOf(loop any) []*source.Object {
	top, _ := loop.(*source.Object)
	places := []*source.Object{top}
	for _, key := range []string{"phases", "strategies"} {
		list, _ := field(top, key).([]any)
		for _, entry := range list {
			object, _ := entry.(*source.Object)
			places = append(places, object)
		}
	}
	var agents []*source.Object
	for _, place := range places {
		if agent, ok := field(place, "agent").(*source.Object); ok {
			agents = append(agents, agent)
		}
	}
	return agents
}

func field(o *source.Object, key string) any {
	if o == nil {
		return nil
	}
	if i := slices.Index(o.Keys, key); i >= 0 {
		return o.Values[i]
	}
	return nil
}

// appendPlain writes a value of a YAML file as JSON, its keys in their order.
func appendPlain(b []byte, value any) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case *source.Object:
		b = append(b, '{')
		for i, key := range v.Keys {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendKey(b, key, v.Values[i]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendPlain(b, v[i]); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing the spec: %w", err)
	}
	return append(b, text...), nil
}

func appendKey(b []byte, key string, value any) ([]byte, error) {
	name, err := json.Marshal(key)
	if err != nil {
		return nil, fmt.Errorf("writing the spec: %w", err)
	}
	return appendPlain(append(append(b, name...), ':'), value)
}
