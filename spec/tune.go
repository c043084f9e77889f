package spec

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

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
	Values []any   `short:"list" minlen:"1"`
	From   float64 `yaml:"from" need:"required"`
	To     float64 `yaml:"to" need:"required"`

	Node *source.Node `yaml:",here"`
}

// Choose is the rule by which a configuration is recommended.
type Choose struct {
	Rule    string   `yaml:"rule" need:"required" enum:"max_loss|at_least"`
	MaxLoss *float64 `yaml:"max_loss" of:"max_loss" min:"0" max:"1" doc:"Of max_loss: the most successes that may be lost, as a share of the runs (default 0.02)."`
	Share   *float64 `yaml:"share" of:"at_least" min:"0" max:"1" doc:"Of at_least: the share of the best objective that is enough."`
	Cost    *Expr    `yaml:"cost" doc:"CEL over the metrics of a configuration; minimised (default: cost_usd.mean, else tokens.mean, else iterations.mean)."`

	Node *source.Node `yaml:",here"`
}

// Folds are the parts between which choosing and reporting alternate.
type Folds struct {
	K  int   `yaml:"k" min:"2"`
	By *Expr `yaml:"by"`

	Node *source.Node `yaml:",here"`
}

// checkTune wants parameters that a loop of the suite has, and a rule that knows its number.
func (l *loader) checkTune(s *Suite, t *Tune) {
	if len(t.Parameters) == 0 && t.Parameters != nil {
		l.fault(s.Tree.Get("tune").Get("parameters"), "", "nothing to tune")
	}
	for i := range t.Parameters {
		l.checkTuned(s, &t.Parameters[i])
	}
	c := compiler{l, expr.Objective(), nil}
	c.expr(t.Objective, expr.WantNumber)
	l.checkObjective(s, t.Objective)
	for i := range t.Constraints {
		c.expr(&t.Constraints[i], expr.WantBool)
		l.checkObjective(s, &t.Constraints[i])
	}
	if t.Choose != nil {
		c.expr(t.Choose.Cost, expr.WantNumber)
		l.checkObjective(s, t.Choose.Cost)
		l.checkRule(t.Choose)
	}
	if t.Folds != nil {
		compiler{l, expr.Fold(), nil}.expr(t.Folds.By, expr.WantAny)
	}
}

// checkRule wants the number that a rule has, and no other.
func (l *loader) checkRule(c *Choose) {
	if c.Rule == "at_least" && c.Share == nil {
		l.fault(c.Node, "for example {rule: at_least, share: 0.98}", "at_least needs a share")
	}
	l.checkOwners(c.Node, *c, "the rule "+c.Rule, "rule: ", c.Rule)
}

// checkTuned sets the first value of a range in every loop: one must take it, by itself or beside those of the others.
// So it is with the numbers of the range, but in what holds for the whole loop, such as its absolute limit, too.
func (l *loader) checkTuned(s *Suite, p *source.Pair[TuneRange]) {
	if p.Node == nil || len(s.Resolved) == 0 {
		return
	}
	others := []Assignment{}
	for i := range s.Tune.Parameters {
		if other := &s.Tune.Parameters[i]; other != p && other.Node != nil {
			others = append(others, firstOfRange(other))
		}
	}
	if n, r := p.Node, &p.Value; n.Get("from") != nil && n.Get("to") != nil && r.From >= r.To {
		l.fault(n, "", "want from below to, got %v and %v", r.From, r.To)
		return
	}
	first := firstOfRange(p)
	faults := taken(s, others, first, func(l *Loop, set ...Assignment) source.Faults { return tryOn(l.Tree, set...) })
	l.add(faults...)
	if faults != nil || l.opt.Recorded != nil {
		return
	}
	whole := func(loop *Loop, set ...Assignment) source.Faults {
		l.effort.values += sizeOf(loop.Tree)
		_, faults := loop.With(set...)
		return faults
	}
	told := map[string]bool{}
	for _, value := range numbersOf(p) {
		if l.effort.values >= maxValues {
			return // the others are told when they are tried
		}
		for _, fault := range taken(s, others, Assignment{Path: p.Key, At: p.KeyPos, Value: value}, whole) {
			if !told[fault.What] {
				told[fault.What] = true
				l.add(fault)
			}
		}
	}
}

// taken says why no loop of the suite takes a setting, by itself or beside others that it may need; nil where one does.
func taken(s *Suite, others []Assignment, set Assignment, try func(*Loop, ...Assignment) source.Faults) (faults source.Faults) {
	for i := range s.Resolved {
		loop := s.Resolved[i].Loop
		found := try(loop, set)
		if found.Err() == nil || len(others) > 0 && try(loop, append(others, set)...).Err() == nil {
			return nil
		}
		faults = slices.DeleteFunc(found, func(f source.Fault) bool { return f.Warning })
	}
	return faults
}

// numbersOf are the values of a range, or its ends, that are numbers: what takes neither a file nor an expression.
func numbersOf(p *source.Pair[TuneRange]) (numbers []*source.Node) {
	values := p.Node.Items
	if p.Value.From < p.Value.To {
		values = []*source.Node{p.Node.Get("from"), p.Node.Get("to")}
	}
	for _, v := range values {
		if v != nil && (v.Kind == source.Int || v.Kind == source.Float) {
			numbers = append(numbers, v)
		}
	}
	return numbers
}

func firstOfRange(p *source.Pair[TuneRange]) Assignment {
	return Assignment{Path: p.Key, At: p.KeyPos, Value: firstValue(p.Node)}
}

// tryOn sets values in a loop that is whole, to see what comes of it.
func tryOn(tree *source.Node, set ...Assignment) source.Faults {
	for _, s := range set {
		changed, fault := s.with(tree)
		if fault != nil {
			return source.Faults{*fault}
		}
		tree = changed
	}
	return source.Decode(tree, &Loop{})
}

func firstValue(n *source.Node) *source.Node {
	if n.Kind == source.List && len(n.Items) > 0 {
		return n.Items[0]
	}
	if from := n.Get("from"); from != nil {
		return from
	}
	return n
}

// checkObjective finds the scores that an objective or constraint names.
func (l *loader) checkObjective(s *Suite, e *Expr) {
	if e == nil || e.Program == nil {
		return
	}
	for _, read := range e.Program.Reads() {
		if score, ok := strings.CutPrefix(read, "scores."); ok {
			l.checkScoreName(s, e, score)
		}
	}
}

// FitsInto reports whether a loop has a place for the parameter of that path: its first value can be set there.
func (t *TuneRange) FitsInto(l *Loop, path string) bool {
	return t.Node != nil && tryOn(l.Tree, Assignment{Path: path, At: t.Node.Pos, Value: firstValue(t.Node)}).Err() == nil
}
