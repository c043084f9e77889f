package spec

import (
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Expr is a CEL expression as it was written and, once loaded, compiled.
type Expr struct {
	Text string
	Node *source.Node
	*expr.Program
}

// Prompt is a text with CEL inside {{ }}, compiled at load.
type Prompt struct {
	Text string
	Node *source.Node
	*expr.Template
}

// DecodeNode takes any scalar: true and 0.5 are CEL, too.
func (e *Expr) DecodeNode(n *source.Node, d *source.Decoder) {
	switch n.Kind {
	case source.List:
		d.Fault(n, "put CEL that starts with [ in quotes", "want an expression, got a list")
	case source.Map:
		d.Fault(n, "put CEL that starts with { or holds a colon in quotes", "want an expression, got a mapping")
	default:
		e.Text, e.Node = n.Text, n
	}
}

// JSONSchema describes an expression.
func (e *Expr) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"string", "number", "boolean"}, "description": "A CEL expression."}
}

// DecodeNode takes text.
func (p *Prompt) DecodeNode(n *source.Node, d *source.Decoder) {
	p.Node = n
	d.Decode(n, &p.Text)
}

// JSONSchema describes a prompt.
func (p *Prompt) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": "string", "description": "Text with CEL inside {{ }}."}
}
