package main

import (
	"encoding/json"
	"fmt"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// resolvedSpec is a suite as it runs, as JSON: the suite as it was written, and
// the loop of every configuration with its parameters set.
func resolvedSpec(s *spec.Suite, configurations []spec.Resolved) (json.RawMessage, error) {
	b, err := appendKey([]byte{'{'}, "suite", s.Tree.Plain())
	if err != nil {
		return nil, err
	}
	b = append(b, `,"configurations":{`...)
	for i := range configurations {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendKey(b, configurations[i].Name, configurations[i].Loop.Tree.Plain()); err != nil {
			return nil, err
		}
	}
	return append(b, "}}"...), nil
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
