package spec

import "github.com/agentbench/agentbench/spec/source"

// Several is a list that may be written as its only item.
type Several[T any] []T

// DecodeNode takes one mapping or a list of them.
func (s *Several[T]) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.Map {
		*s = make(Several[T], 1)
		d.Decode(n, &(*s)[0])
		return
	}
	d.DecodeTagged(n, (*[]T)(s), `minlen:"1"`)
}

// JSONSchema describes both forms.
func (s *Several[T]) JSONSchema(g *source.Generator) map[string]any {
	var one T
	return map[string]any{"anyOf": []any{g.Of(&one), g.Tagged([]T(*s), `minlen:"1"`)}}
}

// DecodeNode takes a mapping, or off.
func (x *Degradation) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping Degradation
	orOff(n, d, (*mapping)(x), &x.Window)
}

// DecodeNode takes a mapping, or off.
func (x *Stagnation) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping Stagnation
	orOff(n, d, (*mapping)(x), &x.Window)
}

// DecodeNode takes a mapping, or off.
func (x *CircuitBreaker) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping CircuitBreaker
	orOff(n, d, (*mapping)(x), &x.Threshold)
}

// orOff decodes the fields of a guard; off in place of all switches off the one that it cannot do without.
func orOff(n *source.Node, d *source.Decoder, fields any, main *source.Maybe[int]) {
	if isOff(n) {
		*main = source.Maybe[int]{Set: true, Off: true}
		return
	}
	d.Decode(n, fields)
}

// JSONSchema describes both forms.
func (x *Degradation) JSONSchema(g *source.Generator) map[string]any { return structOrOff(g, *x) }

// JSONSchema describes both forms.
func (x *Stagnation) JSONSchema(g *source.Generator) map[string]any { return structOrOff(g, *x) }

// JSONSchema describes both forms.
func (x *CircuitBreaker) JSONSchema(g *source.Generator) map[string]any { return structOrOff(g, *x) }

func structOrOff(g *source.Generator, value any) map[string]any {
	return map[string]any{"anyOf": []any{g.Struct(value), map[string]any{"const": "off"}}}
}
