package spec

import (
	"iter"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Scorer judges a run after the loop, with the target.
type Scorer struct {
	Name    string    `yaml:"name" need:"required" minlen:"1"`
	Type    string    `yaml:"type" need:"required" enum:"exact|contains|contains_all|contains_any|starts_with|regex|numeric|math|one_of|word_count|similarity|f1|rouge|bleu|json_equal|json_schema|json_path|is_json|is_xml|is_html|is_sql|cel|checks|refusal|finish_reason|latency|cost|tokens|iterations|calls|command|http|judge|pairwise|all_of|any_of|tools_called|tools_not_called|tool_order|tool_args|tool_call_count|steps|no_repeated_calls"`
	Value   *Expr     `yaml:"value" doc:"CEL: what is judged (default output)."`
	Target  *Expr     `yaml:"target" doc:"CEL: what it is judged against (default target)."`
	Extract *Extract  `yaml:"extract" doc:"A regular expression (its first group) applied to the value, or {expr: CEL}."`
	Not     bool      `yaml:"not" doc:"Turn a score v into 1 - v."`
	Weight  *float64  `yaml:"weight" above:"0" max:"1000000" doc:"What it counts among the parts of an all_of (default 1)."`
	Range   []float64 `yaml:"range" minlen:"2" doc:"[a, b]: a number of a is worth 0 and one of b 1, what lies between them in proportion. a may be the larger one."`
	Score   string    `yaml:"score" enum:"returned|every_iteration|when_asked" doc:"What is judged: the output that a run returns, every iteration's, or, besides the one that is returned, those that a replay asks for. Default: every_iteration; of scorers that ask others (command, http, judge) returned."`

	Expr       *Expr    `yaml:"expr" doc:"cel: a boolean or a number. json_path: what stands in json, or a boolean. tool_args: a boolean over call."`
	Pattern    string   `yaml:"pattern" doc:"regex: the expression (RE2)."`
	Tolerance  *float64 `yaml:"tolerance" min:"0" doc:"numeric, math: the largest absolute difference (default 0)."`
	Relative   *float64 `yaml:"relative" min:"0" doc:"numeric: the largest difference as a share of the target."`
	Options    []any    `yaml:"options" minlen:"1" doc:"one_of: the answers allowed. contains_all, contains_any, starts_with, finish_reason: the texts looked for. Default: the target, a list."`
	IgnoreCase bool     `yaml:"ignore_case" doc:"exact, contains, contains_all, contains_any, starts_with, one_of, regex, similarity."`
	Trim       *bool    `yaml:"trim" doc:"exact, one_of: ignore white space at the ends (default true)."`
	Normalize  string   `yaml:"normalize" enum:"squad" doc:"exact: compare without letter case, punctuation and articles, as SQuAD does."`
	Method     string   `yaml:"method" enum:"levenshtein|jaro_winkler" doc:"similarity (default levenshtein)."`
	Dialect    string   `yaml:"dialect" enum:"sqlite" hint:"is_sql reads SQLite's grammar; ask another server by its own client (type: command): see docs/program-scorers.md" doc:"is_sql: whose grammar it is (default sqlite)."`
	Variant    string   `yaml:"variant" enum:"rouge_1|rouge_2|rouge_l" doc:"rouge (default rouge_l)."`
	Measure    string   `yaml:"measure" enum:"f1|precision|recall" doc:"f1, rouge (default f1)."`
	Schema     JSON     `yaml:"schema" doc:"json_schema: the schema."`
	SchemaFile string   `yaml:"schema_file" doc:"json_schema: a file that holds it."`
	Check      string   `yaml:"check" doc:"checks: only this one (default: the weighted share of all)."`

	Tools     []string `yaml:"tools" minlen:"1" doc:"tools_called, tools_not_called, tool_order: which (default: the target, a list). tool_args, tool_call_count, no_repeated_calls: only calls of these (default: of all)."`
	Exactly   bool     `yaml:"exactly" doc:"tool_order: these calls and no others."`
	Every     bool     `yaml:"every" doc:"tool_args: the share of the calls for which it holds (default: whether it holds for one)."`
	Min       *int     `yaml:"min" min:"0" doc:"tool_call_count, steps, word_count."`
	Max       *int     `yaml:"max" min:"0" doc:"tool_call_count, steps, word_count."`
	Equals    *int     `yaml:"equals" min:"0" doc:"tool_call_count, steps, word_count."`
	AtMost    *float64 `yaml:"at_most" min:"0" doc:"latency (s), cost (USD), tokens, iterations, calls: up to this the score is 1, beyond it 0."`
	Delegates bool     `yaml:"delegates" doc:"Scorers of tool calls and steps: those of delegates count, too."`

	Parts     []ScorerPart `yaml:"scorers" minlen:"1" doc:"all_of, any_of: names of scorers of the suite, or scorers."`
	Threshold *float64     `yaml:"threshold" above:"0" max:"1" doc:"all_of, any_of: at or above this the score is 1, below 0 (default: the score of all_of is the weighted mean of its parts, that of any_of the highest)."`

	Command []string      `yaml:"command" minlen:"1" doc:"command: a program that reads the run as JSON and writes its score as JSON."`
	URL     string        `yaml:"url" minlen:"1" doc:"http: an endpoint that is sent the run as JSON and answers with its score as JSON."`
	Headers Headers       `yaml:"headers" doc:"http."`
	Timeout time.Duration `yaml:"timeout" above:"0" doc:"command, http, judge, pairwise: of one call (default 60s)."`

	Model           string                `yaml:"model" doc:"judge, pairwise: a name under models."`
	Models          []string              `yaml:"models" minlen:"1" doc:"judge, pairwise: a panel, names under models."`
	Votes           int                   `yaml:"votes" min:"1" max:"1000" doc:"judge, pairwise: how often each model is asked (default 1)."`
	Reduce          string                `yaml:"reduce" enum:"mean|median|majority" doc:"judge, pairwise: what the votes make together (default mean)."`
	Rubric          *Prompt               `yaml:"rubric" doc:"judge, pairwise: {{ }} holds CEL over task and target. The task's input and the output are always shown."`
	Criteria        []Criterion           `yaml:"criteria" minlen:"1" doc:"judge: what is asked one by one, each in a call of its own; the score is their weighted mean."`
	Choices         source.Named[float64] `yaml:"choices" minlen:"2" doc:"judge: the words that it answers with, and what each is worth (default: a number of the range)."`
	Reference       bool                  `yaml:"reference" doc:"judge, pairwise: the judge is shown the target."`
	Against         string                `yaml:"against" minlen:"1" doc:"pairwise: the configuration whose output stands beside it (default: the baseline)."`
	Temperature     *float64              `yaml:"temperature" min:"0" max:"2" doc:"judge, pairwise."`
	MaxOutputTokens int                   `yaml:"max_output_tokens" min:"1" max:"10000000" doc:"judge, pairwise."`

	Node *source.Node `yaml:",here"`
	hash string       // once the suite is loaded
}

// Which outputs a scorer judges.
const (
	ScoreReturned       = "returned"
	ScoreEveryIteration = "every_iteration"
	ScoreWhenAsked      = "when_asked"
)

// Criterion is one of the things that a judge is asked for.
type Criterion struct {
	Name   string   `yaml:"name" need:"required" minlen:"1"`
	Rubric *Prompt  `yaml:"rubric" need:"required" doc:"{{ }} holds CEL over task and target."`
	Weight *float64 `yaml:"weight" above:"0" max:"1000000" doc:"What it counts (default 1)."`

	Node *source.Node `yaml:",here"`
}

// ScorerPart is a part of all_of or any_of: a scorer of the suite by its name, or one of its own.
type ScorerPart struct {
	Named  string
	Scorer *Scorer

	Node *source.Node
}

// DecodeNode takes a name or a scorer.
func (p *ScorerPart) DecodeNode(n *source.Node, d *source.Decoder) {
	p.Node = n
	if n.Kind != source.Map {
		d.DecodeTagged(n, &p.Named, `minlen:"1"`)
		return
	}
	p.Scorer = &Scorer{}
	d.Decode(n, p.Scorer)
}

// JSONSchema describes both forms.
func (p *ScorerPart) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "minLength": 1}, g.Struct(Scorer{})}}
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

// AllScorers are the scorers of the suite, and those that only stand within others.
func (s *Suite) AllScorers() iter.Seq[*Scorer] {
	return func(yield func(*Scorer) bool) {
		for i := range s.Scorers {
			if !s.Scorers[i].each(yield) {
				return
			}
		}
	}
}

// each yields the scorer and those that stand within it.
func (s *Scorer) each(yield func(*Scorer) bool) bool {
	if !yield(s) {
		return false
	}
	for i := range s.Parts {
		if part := s.Parts[i].Scorer; part != nil && !part.each(yield) {
			return false
		}
	}
	return true
}

// modelNodes are where the scorer names models.
func (s *Scorer) modelNodes() []*source.Node {
	var nodes []*source.Node
	if n := s.Node.Get("model"); n != nil {
		nodes = append(nodes, n)
	}
	if n := s.Node.Get("models"); n != nil && n.Kind == source.List {
		nodes = append(nodes, n.Items...)
	}
	return nodes
}
