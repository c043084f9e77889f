package spec

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// scorerKeys are the keys that belong to some types of scorers; the others belong to all.
var scorerKeys = map[string]string{
	"expr": "cel tool_args", "pattern": "regex", "tolerance": "numeric", "relative": "numeric", "options": "one_of",
	"ignore_case": "exact contains one_of regex", "trim": "exact one_of", "schema": "json_schema",
	"schema_file": "json_schema", "check": "checks", "model": "judge", "rubric": "judge",
	"value":   "exact contains regex numeric one_of json_equal json_schema judge",
	"extract": "exact contains regex numeric one_of json_equal json_schema judge",
	"target":  "exact contains numeric one_of json_equal judge tools_called tools_not_called tool_order",
	"tools":   "tools_called tools_not_called tool_order tool_args tool_call_count no_repeated_calls",
	"exactly": "tool_order", "every": "tool_args",
	"min": "tool_call_count steps", "max": "tool_call_count steps", "equals": "tool_call_count steps",
	"delegates": "tools_called tools_not_called tool_order tool_args tool_call_count steps no_repeated_calls",
}

// scorerNeeds are the keys that a type cannot do without.
var scorerNeeds = map[string][]string{"cel": {"expr"}, "tool_args": {"expr"}, "regex": {"pattern"}, "judge": {"model", "rubric"}}

func (l *loader) checkScorers(s *Suite) {
	l.unique("scorer", len(s.Scorers), func(i int) (string, *source.Node) { return s.Scorers[i].Name, s.Scorers[i].Node })
	for i := range s.Scorers {
		if scorer := &s.Scorers[i]; scorer.Node != nil && scorer.Type != "" {
			l.checkScorer(scorer)
		}
	}
}

func (l *loader) checkScorer(scorer *Scorer) {
	for _, entry := range scorer.Node.Entries {
		if owners := strings.Fields(scorerKeys[entry.Key]); len(owners) > 0 && !slices.Contains(owners, scorer.Type) {
			l.add(scorer.Node.KeyFault(entry.Key, "it belongs to type: "+strings.Join(owners, ", "),
				"%q means nothing for a scorer of type %s", entry.Key, scorer.Type))
		}
	}
	for _, key := range scorerNeeds[scorer.Type] {
		if scorer.Node.Get(key) == nil {
			l.fault(scorer.Node, "", "a scorer of type %s needs %s", scorer.Type, key)
		}
	}
	switch scorer.Type {
	case "json_schema":
		l.checkSchema(scorer)
	case "tool_call_count", "steps":
		l.checkBounds(scorer)
	}
	if scorer.Tools != nil && scorer.Target != nil {
		l.add(scorer.Node.KeyFault("target", "tools are for all tasks, target tells them of each", "want one of tools and target"))
	}
	l.checkRegexp(scorer.Node.Get("pattern"), scorer.Pattern)
	if scorer.Extract != nil {
		l.checkRegexp(scorer.Extract.Node, scorer.Extract.Regex)
	}
}

// checkBounds wants some that can be kept.
func (l *loader) checkBounds(scorer *Scorer) {
	switch {
	case scorer.Min == nil && scorer.Max == nil && scorer.Equals == nil:
		l.fault(scorer.Node, "", "a scorer of type %s needs min, max or equals", scorer.Type)
	case scorer.Equals != nil && (scorer.Min != nil || scorer.Max != nil):
		l.add(scorer.Node.KeyFault("equals", "", "equals stands alone, without min and max"))
	case scorer.Min != nil && scorer.Max != nil && *scorer.Min > *scorer.Max:
		l.add(scorer.Node.KeyFault("min", "", "min %d is above max %d", *scorer.Min, *scorer.Max))
	}
}

// checkSchema reads the schema from its file.
func (l *loader) checkSchema(scorer *Scorer) {
	at := scorer.Node.Get("schema_file")
	switch {
	case (scorer.Schema != nil) == (at != nil):
		l.fault(scorer.Node, "", "a scorer of type json_schema needs one of schema and schema_file")
	case at != nil:
		value, err := l.readValue(at.Text)
		if err != nil {
			l.fileFault(at, err)
			return
		}
		if _, ok := value.(*expr.Object); !ok {
			l.fault(at, "", "%s holds no JSON Schema: want an object", at.Text)
			return
		}
		scorer.Schema = JSON(replyText(value))
	}
}

func (l *loader) checkRegexp(n *source.Node, pattern string) {
	if n == nil || pattern == "" {
		return
	}
	if _, err := regexp.Compile(pattern); err != nil {
		what, _ := strings.CutPrefix(err.Error(), "error parsing regexp: ")
		l.fault(n, "regular expressions are those of RE2: no look-around, no back references", "no regular expression: %s", what)
	}
}

// compileScorers compiles what scorers see: outputs of any of the loops.
func (l *loader) compileScorers(s *Suite) {
	output := expr.String
	for i := range s.Resolved {
		if s.Resolved[i].Loop.outputType().String() != output.String() {
			output = expr.Any
		}
	}
	c := compiler{l, expr.Scorer(output), nil}
	for i := range s.Scorers {
		scorer := &s.Scorers[i]
		c.expr(scorer.Value, expr.WantAny)
		c.expr(scorer.Target, expr.WantAny)
		if scorer.Type == "tool_args" {
			compiler{l, expr.ToolCall(output), nil}.expr(scorer.Expr, expr.WantBool)
		} else {
			c.judgement(scorer.Expr)
		}
		if scorer.Extract != nil {
			c.expr(scorer.Extract.Expr, expr.WantAny)
		}
	}
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
