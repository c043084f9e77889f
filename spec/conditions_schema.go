package spec

import "github.com/agentbench/agentbench/spec/source"

// JSONSchema describes a map of conditions.
func (t *Tree) JSONSchema(g *source.Generator) map[string]any {
	return conditionSchema(g.Struct(conditionKeys{}))
}

// conditionSchema allows off for every condition, and the short form of a timeout.
func conditionSchema(schema map[string]any) map[string]any {
	properties := schema["properties"].(map[string]any)
	for _, kind := range kindOrder {
		property := properties[string(kind)].(map[string]any)
		forms := []any{property, map[string]any{"const": "off"}}
		if kind == KindTimeout {
			forms = append(forms, map[string]any{"type": "string", "description": "A duration."})
		}
		properties[string(kind)] = map[string]any{"anyOf": forms}
	}
	return schema
}

// JSONSchema describes one condition.
func (c *conditionInAList) JSONSchema(g *source.Generator) map[string]any {
	return conditionSchema(g.Struct(*c))
}
