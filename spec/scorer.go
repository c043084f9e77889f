package spec

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Scorer judges a run after the loop, with the target.
type Scorer struct {
	Name    string   `yaml:"name" need:"required" minlen:"1"`
	Type    string   `yaml:"type" need:"required" enum:"exact|contains|regex|numeric|one_of|json_equal|json_schema|cel|checks|judge|tools_called|tools_not_called|tool_order|tool_args|tool_call_count|steps|no_repeated_calls"`
	Value   *Expr    `yaml:"value" doc:"CEL: what is judged (default output)."`
	Target  *Expr    `yaml:"target" doc:"CEL: what it is judged against (default target)."`
	Extract *Extract `yaml:"extract" doc:"A regular expression (its first group) applied to the value, or {expr: CEL}."`
	Not     bool     `yaml:"not" doc:"Turn a score v into 1 - v."`

	Expr       *Expr    `yaml:"expr" doc:"cel: a boolean or a number. tool_args: a boolean over call."`
	Pattern    string   `yaml:"pattern" doc:"regex: the expression (RE2)."`
	Tolerance  *float64 `yaml:"tolerance" min:"0" doc:"numeric: the largest absolute difference (default 0)."`
	Relative   *float64 `yaml:"relative" min:"0" doc:"numeric: the largest difference as a share of the target."`
	Options    []any    `yaml:"options" minlen:"1" doc:"one_of: the answers allowed (default: the target, a list)."`
	IgnoreCase bool     `yaml:"ignore_case" doc:"exact, contains, one_of, regex."`
	Trim       *bool    `yaml:"trim" doc:"exact, one_of: ignore white space at the ends (default true)."`
	Schema     JSON     `yaml:"schema" doc:"json_schema: the schema."`
	SchemaFile string   `yaml:"schema_file" doc:"json_schema: a file that holds it."`
	Check      string   `yaml:"check" doc:"checks: only this one (default: the weighted share of all)."`

	Tools     []string `yaml:"tools" minlen:"1" doc:"tools_called, tools_not_called, tool_order: which (default: the target, a list). tool_args, tool_call_count, no_repeated_calls: only calls of these (default: of all)."`
	Exactly   bool     `yaml:"exactly" doc:"tool_order: these calls and no others."`
	Every     bool     `yaml:"every" doc:"tool_args: the share of the calls for which it holds (default: whether it holds for one)."`
	Min       *int     `yaml:"min" min:"0" doc:"tool_call_count, steps."`
	Max       *int     `yaml:"max" min:"0" doc:"tool_call_count, steps."`
	Equals    *int     `yaml:"equals" min:"0" doc:"tool_call_count, steps."`
	Delegates bool     `yaml:"delegates" doc:"Scorers of tool calls and steps: those of delegates count, too."`

	Model  string `yaml:"model" doc:"judge: a name under models."`
	Rubric string `yaml:"rubric" doc:"judge."`

	Node *source.Node `yaml:",here"`
}

// Extract takes the answer out of a value. One of both is set.
type Extract struct {
	Regex string `yaml:"regex" minlen:"1"`
	Expr  *Expr  `yaml:"expr"`

	Node *source.Node `yaml:",here"`
}

// DecodeNode takes a regular expression, or one of {regex} and {expr}.
func (e *Extract) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		d.Decode(n, &e.Regex)
		e.Node = n
		return
	}
	d.Decode(n, (*extractMapping)(e))
	if (e.Regex == "") == (e.Expr == nil) && n.Len() != 1 {
		d.Fault(n, "", "want one of regex and expr")
	}
}

type extractMapping Extract

// JSONSchema describes both forms.
func (e *Extract) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, g.Struct(*e)}}
}

// Hash identifies what the scorer does, whatever the layout of its file; "" for
// one that comes from no file.
func (s *Scorer) Hash() string {
	if s.Node == nil {
		return ""
	}
	text, err := expr.AppendJSON(nil, valueOf(s.Node.Plain()))
	if err != nil {
		text = []byte(s.Name + "\n" + s.Type) // no value of a file is without JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
