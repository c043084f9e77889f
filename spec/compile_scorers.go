package spec

import (
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// compileScorers compiles what scorers see: outputs of any of the loops.
func (l *loader) compileScorers(s *Suite) {
	output := expr.String
	for i := range s.Resolved {
		if s.Resolved[i].Loop.outputType().String() != output.String() {
			output = expr.Any
		}
	}
	for scorer := range s.AllScorers() {
		l.compileScorer(scorer, output)
	}
}

func (l *loader) compileScorer(scorer *Scorer, output expr.Type) {
	c := compiler{l, expr.Scorer(output), nil}
	c.expr(scorer.Value, expr.WantAny)
	c.expr(scorer.Target, expr.WantAny)
	if scorer.Extract != nil {
		c.expr(scorer.Extract.Expr, expr.WantAny)
	}
	switch scorer.Type {
	case "tool_args":
		compiler{l, expr.ToolCall(output), nil}.expr(scorer.Expr, expr.WantBool)
	case "json_path":
		compiler{l, expr.JSONPath(output), nil}.expr(scorer.Expr, expr.WantAny)
	case "cel":
		c.judgement(scorer.Expr)
	}
	c.rubric(scorer.Rubric)
	for i := range scorer.Criteria {
		c.rubric(scorer.Criteria[i].Rubric)
	}
	c.compared(scorer)
}

// compared refuses what only the type of an expression tells: that it is not held against anything.
func (c compiler) compared(scorer *Scorer) {
	verdict := scorer.Expr != nil && scorer.Expr.Program != nil && scorer.Expr.Program.IsBool()
	switch {
	case verdict && scorer.Type == "json_path" && scorer.Target != nil:
		c.add(scorer.Node.KeyFault("target", "expr says true or false itself", "nothing is compared with this target"))
	case verdict && scorer.Type == "cel" && scorer.Range != nil:
		c.add(scorer.Node.KeyFault("range", "true is worth 1, false 0", "expr gives no number that a range could be of"))
	case scorer.Score != "" && scorer.Score != ScoreReturned && scorer.readsStop():
		c.add(scorer.Node.KeyFault("score", "delete it", "this scorer reads stop, which is known of whole runs only"))
	}
}

// rubric compiles what a judge is asked for.
func (c compiler) rubric(p *Prompt) {
	compiler{c.loader, expr.Rubric(), nil}.prompt(p)
}

// judgement compiles the expression of a cel scorer: a boolean or a number.
func (c compiler) judgement(e *Expr) {
	if e == nil || e.Node == nil {
		return
	}
	if program, _ := c.env.Compile(e.Text, expr.WantBool); program != nil {
		c.expr(e, expr.WantBool)
		return
	}
	if program, _ := c.env.Compile(e.Text, expr.WantAny); program == nil {
		c.expr(e, expr.WantAny) // what is wrong is not its type
		return
	}
	if program, faults := c.env.Compile(e.Text, expr.WantNumber); program == nil {
		c.fault(e.Node, faults[0].Hint, "%s", strings.Replace(faults[0].What, "must be a number", "must be true, false or a number", 1))
		return
	}
	c.expr(e, expr.WantNumber)
}
