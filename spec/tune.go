package spec

import "github.com/agentbench/agentbench/spec/source"

// Tune says what to tune and how to choose.
type Tune struct {
	Parameters  source.Named[TuneRange] `yaml:"parameters" need:"required" minlen:"1"`
	Objective   *Expr                   `yaml:"objective" doc:"CEL over the metrics of a configuration; maximised."`
	Minimize    bool                    `yaml:"minimize"`
	Constraints []Expr                  `yaml:"constraints"`
	Choose      *Choose                 `yaml:"choose"`
	Folds       *Folds                  `yaml:"folds"`
}

// TuneRange is a list of values, or {from, to} whose breakpoints are observed.
type TuneRange struct {
	Values   []any
	From, To float64

	Node *source.Node
}

// DecodeNode takes a list of values, or {from, to}.
func (t *TuneRange) DecodeNode(n *source.Node, d *source.Decoder) {
	t.Node = n
	if n.Kind == source.List {
		d.DecodeTagged(n, &t.Values, `minlen:"1"`)
		return
	}
	var bounds tuneBounds
	d.Decode(n, &bounds)
	t.From, t.To = bounds.From, bounds.To
	if n.Get("from") != nil && n.Get("to") != nil && bounds.From >= bounds.To {
		d.Fault(n, "", "want from below to, got %v and %v", bounds.From, bounds.To)
	}
}

type tuneBounds struct {
	From float64 `yaml:"from" need:"required"`
	To   float64 `yaml:"to" need:"required"`
}

// JSONSchema describes both forms.
func (t *TuneRange) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{g.Tagged(t.Values, `minlen:"1"`), g.Struct(tuneBounds{})}}
}

// Choose is the rule by which a configuration is recommended.
type Choose struct {
	Rule    string   `yaml:"rule" need:"required" enum:"max_loss|indistinguishable|within_one_se|at_least"`
	MaxLoss *float64 `yaml:"max_loss" min:"0" max:"1" doc:"Of max_loss: the most successes that may be lost, as a share of the runs (default 0.02)."`
	Share   *float64 `yaml:"share" min:"0" max:"1" doc:"Of at_least: the share of the best objective that is enough."`
	Cost    *Expr    `yaml:"cost" doc:"CEL over the metrics of a configuration; minimised (default: cost_usd.mean, else tokens.mean, else iterations.mean)."`

	Node *source.Node `yaml:",here"`
}

// Folds are the parts between which choosing and reporting alternate, or the one
// part that is held out of the choice.
type Folds struct {
	K       int      `yaml:"k" min:"2"`
	HoldOut *float64 `yaml:"hold_out" above:"0" max:"1" doc:"Instead of k: the share of the tasks that one choice is not made on, below 1."`
	By      *Expr    `yaml:"by"`

	Node *source.Node `yaml:",here"`
}
