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
	"expr": "cel json_path tool_args", "pattern": "regex", "tolerance": "numeric math", "relative": "numeric",
	"options":     "one_of contains_all contains_any starts_with finish_reason",
	"ignore_case": "exact contains contains_all contains_any starts_with one_of regex similarity", "trim": "exact one_of",
	"normalize": "exact", "method": "similarity", "variant": "rouge", "measure": "f1 rouge", "dialect": "is_sql",
	"schema": "json_schema", "schema_file": "json_schema", "check": "checks",
	"value":   answerScorers + " " + targetScorers + " command http judge pairwise",
	"extract": answerScorers + " " + targetScorers + " command http judge pairwise",
	"target":  targetScorers + " json_path command http judge pairwise tools_called tools_not_called tool_order",
	"range":   "cel latency cost tokens iterations calls command http judge",
	"at_most": "latency cost tokens iterations calls",
	"tools":   "tools_called tools_not_called tool_order tool_args tool_call_count no_repeated_calls",
	"exactly": "tool_order", "every": "tool_args",
	"min": "tool_call_count steps word_count", "max": "tool_call_count steps word_count", "equals": "tool_call_count steps word_count",
	"delegates": "tools_called tools_not_called tool_order tool_args tool_call_count steps no_repeated_calls",
	"scorers":   "all_of any_of", "threshold": "all_of any_of",
	"command": "command", "url": "http", "headers": "http", "timeout": "command http judge pairwise",
	"model": "judge pairwise", "models": "judge pairwise", "votes": "judge pairwise", "reduce": "judge pairwise", "rubric": "judge pairwise",
	"reference": "judge pairwise", "temperature": "judge pairwise", "max_output_tokens": "judge pairwise",
	"criteria": "judge", "choices": "judge", "against": "pairwise",
}

const (
	// targetScorers compare an answer with the target.
	targetScorers = "exact contains contains_all contains_any starts_with numeric math one_of similarity f1 rouge bleu json_equal"
	// answerScorers judge an answer for itself.
	answerScorers = "regex word_count json_schema json_path is_json is_xml is_html is_sql refusal"
)

// scorerNeeds are the keys that a type cannot do without.
var scorerNeeds = map[string][]string{
	"cel": {"expr"}, "json_path": {"expr"}, "tool_args": {"expr"}, "regex": {"pattern"}, "command": {"command"}, "http": {"url"},
	"all_of": {"scorers"}, "any_of": {"scorers"},
}

func (l *loader) checkScorers(s *Suite) {
	l.unique("scorer", len(s.Scorers), func(i int) (string, *source.Node) { return s.Scorers[i].Name, s.Scorers[i].Node })
	for scorer := range s.AllScorers() {
		if scorer.Node != nil && scorer.Type != "" {
			l.checkScorer(scorer)
		}
	}
}

// checkScorerReferences finds models, checks and scorers that the suite does not have.
func (l *loader) checkScorerReferences(s *Suite, scorer *Scorer) {
	for part := range scorer.all() {
		for _, n := range part.modelNodes() {
			l.checkModel(s, n, s.Budget.CostUSD > 0)
		}
		l.checkScorerCheck(s, part)
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
	case "judge", "pairwise":
		l.checkJudge(scorer)
	case "json_schema":
		l.checkSchema(scorer)
	case "tool_call_count", "steps", "word_count":
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

// checkJudge wants somebody who judges, and what by.
func (l *loader) checkJudge(scorer *Scorer) {
	if scorer.Model == "" && scorer.Models == nil {
		l.fault(scorer.Node, "", "a scorer of type %s needs model or models", scorer.Type)
	}
	if scorer.Rubric == nil && scorer.Criteria == nil {
		l.fault(scorer.Node, "", "a scorer of type %s needs rubric", scorer.Type)
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
	for scorer := range s.AllScorers() {
		c.expr(scorer.Value, expr.WantAny)
		c.expr(scorer.Target, expr.WantAny)
		if scorer.Type == "tool_args" {
			compiler{l, expr.ToolCall(output), nil}.expr(scorer.Expr, expr.WantBool)
		} else {
			c.judgement(scorer.Expr)
		}
		c.prompt(scorer.Rubric)
		for k := range scorer.Criteria {
			c.prompt(scorer.Criteria[k].Rubric)
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
