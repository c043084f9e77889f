package spec

import (
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// Margins are the smallest changes that matter, by what they are of: "scores" and "amounts", the name of a scorer, or one
// of Amounts. Those of amounts are shares: 0.1 is 10 %. In YAML `margin: 0.03` is short for {scores: 0.03}.
type Margins struct {
	Of source.Named[float64]

	Node *source.Node
}

// The entries of Margins that stand for many.
const (
	AllScores  = "scores"
	AllAmounts = "amounts"
)

// Amounts are what comparisons compare beside scores; of all of them less is better.
var Amounts = []string{"cost_usd", "tokens", "latency_s", "iterations", "calls"}

// marginBounds say what a margin may be.
const marginBounds = `above:"0" max:"1000000"`

// DecodeNode takes a number or a mapping.
func (m *Margins) DecodeNode(n *source.Node, d *source.Decoder) {
	m.Node = n
	if n.Kind == source.Map {
		for _, entry := range n.Entries {
			named := source.Pair[float64]{Key: entry.Key, Node: entry.Value}
			d.DecodeTagged(entry.Value, &named.Value, marginBounds)
			m.Of = append(m.Of, named)
		}
		return
	}
	all := source.Pair[float64]{Key: AllScores, Node: n}
	d.DecodeTagged(n, &all.Value, marginBounds)
	m.Of = append(m.Of, all)
}

// JSONSchema describes both forms.
func (m *Margins) JSONSchema(g *source.Generator) map[string]any {
	number := g.Tagged(float64(0), marginBounds)
	return map[string]any{"anyOf": []any{number, map[string]any{"type": "object", "additionalProperties": number}}}
}

// checkMargins finds margins of what no comparison compares.
func (l *loader) checkMargins(s *Suite) {
	if s.Margin == nil {
		return
	}
	names := append([]string{AllScores, AllAmounts}, Amounts...)
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
	}
	for _, m := range s.Margin.Of {
		if !slices.Contains(names, m.Key) {
			l.fault(m.Node, didYouMean(m.Key, names), "nothing that is compared is called %q", m.Key)
		}
	}
}
