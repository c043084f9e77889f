package spec

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Scorer judges a run after the loop, with the target.
type Scorer struct {
	Name    string     `yaml:"name" need:"required" minlen:"1"`
	Type    ScorerType `yaml:"type" need:"required" also:"kind metric scorer"`
	Value   *Expr      `yaml:"value" doc:"CEL: what is judged (default output)."`
	Target  *Expr      `yaml:"target" without:"tools options" doc:"CEL: what it is judged against (default target)." also:"expected answer"`
	Extract *Extract   `yaml:"extract" doc:"A regular expression (its first group) applied to the value, or {expr: CEL}."`
	Not     bool       `yaml:"not" doc:"Turn a score v into 1 - v."`
	Weight  *float64   `yaml:"weight" above:"0" max:"1000000" doc:"What it counts among the parts of an all_of (default 1)."`
	Range   []float64  `yaml:"range" minlen:"2" without:"choices at_most" doc:"[a, b]: a number of a is worth 0 and one of b 1, what lies between them in proportion. a may be the larger one."`
	Score   string     `yaml:"score" enum:"returned|every_iteration|when_asked" doc:"What is judged: the output that a run returns, every iteration's, or, besides the one that is returned, those that a replay asks for. Default: every_iteration; of scorers that ask others (command, http, judge) returned."`
	At      string     `yaml:"at" enum:"step" doc:"step: run also scores what a workspace holds whenever a model call of its program arrives (workspace: {snapshot: step}), as agentbench score --at step does."`

	Expr       *Expr    `yaml:"expr" doc:"cel: a boolean or a number. json_path: a value of json, or a boolean. tool_args: a boolean over call."`
	Pattern    string   `yaml:"pattern" doc:"regex: the expression (RE2)."`
	Tolerance  *float64 `yaml:"tolerance" min:"0" doc:"numeric, math: the largest absolute difference (default 0)."`
	Relative   *float64 `yaml:"relative" min:"0" doc:"numeric: the largest difference as a share of the target."`
	Options    []any    `yaml:"options" minlen:"1" doc:"one_of: the answers allowed. contains_all, contains_any, starts_with, finish_reason: the texts looked for. Default: the target, a list."`
	IgnoreCase bool     `yaml:"ignore_case" without:"normalize" doc:"exact, contains, contains_all, contains_any, starts_with, one_of, regex, similarity." also:"case_sensitive"`
	Trim       *bool    `yaml:"trim" without:"normalize" doc:"exact, one_of: ignore white space at the ends (default true)."`
	Normalize  string   `yaml:"normalize" enum:"squad" doc:"exact: compare without letter case, punctuation and articles, as SQuAD does."`
	Method     string   `yaml:"method" enum:"levenshtein|jaro_winkler" doc:"similarity (default levenshtein)."`
	Dialect    string   `yaml:"dialect" enum:"sqlite" hint:"is_sql reads SQLite's grammar; ask another server by its own client (type: command): see docs/scorers.md" doc:"is_sql: whose grammar it is (default sqlite)."`
	Variant    string   `yaml:"variant" enum:"rouge_1|rouge_2|rouge_l" doc:"rouge (default rouge_l)."`
	Measure    string   `yaml:"measure" enum:"f1|precision|recall" doc:"f1, rouge (default f1)."`
	Schema     JSON     `yaml:"schema" doc:"json_schema: the schema."`
	SchemaFile string   `yaml:"schema_file" without:"schema" doc:"json_schema: a file that holds it."`
	Check      string   `yaml:"check" doc:"checks: only this one (default: the weighted share of all)."`

	Tools     []string `yaml:"tools" minlen:"1" doc:"tools_called, tools_not_called, tool_order: which (default: the target, a list). tool_args, tool_call_count, no_repeated_calls: only calls of these (default: of all)."`
	Exactly   bool     `yaml:"exactly" doc:"tool_order: these calls and no others."`
	Every     bool     `yaml:"every" doc:"tool_args: the share of the calls for which it holds (default: whether it holds for one)."`
	Min       *int     `yaml:"min" min:"0" doc:"tool_call_count, steps, word_count."`
	Max       *int     `yaml:"max" min:"0" doc:"tool_call_count, steps, word_count."`
	Equals    *int     `yaml:"equals" min:"0" without:"min max" doc:"tool_call_count, steps, word_count."`
	AtMost    *float64 `yaml:"at_most" min:"0" doc:"latency (s), cost (USD), tokens, iterations, calls: up to this the score is 1, beyond it 0."`
	Delegates bool     `yaml:"delegates" doc:"Scorers of tool calls and steps: those of delegates count, too."`

	Parts     []ScorerPart `yaml:"scorers" minlen:"1" doc:"all_of, any_of: names of scorers of the suite, or scorers."`
	Threshold *float64     `yaml:"threshold" above:"0" max:"1" doc:"all_of, any_of: at or above this the score is 1, below 0 (default: the score of all_of is the weighted mean of its parts, that of any_of the highest)."`

	Command []string      `yaml:"command" minlen:"1" doc:"command: a program that reads the run as JSON and writes its score as JSON. test: what runs the tests; exit code 0 is passed."`
	Overlay *Expr         `yaml:"overlay" doc:"command, test: CEL, a map of paths to contents that are laid over the copy of the workspace, such as hidden tests."`
	Share   bool          `yaml:"share" doc:"test: the score is the share of the tests that pass (default: 1 where all pass, else 0)."`
	URL     string        `yaml:"url" minlen:"1" doc:"http: an endpoint that is sent the run as JSON and answers with its score as JSON."`
	Headers Headers       `yaml:"headers" doc:"http."`
	Timeout time.Duration `yaml:"timeout" above:"0" doc:"command, http, judge, pairwise: of one call (default 60s). test: default 10m."`

	Model           string                `yaml:"model" doc:"judge, pairwise: a name under models."`
	Models          []string              `yaml:"models" minlen:"1" without:"model" doc:"judge, pairwise: a panel, names under models."`
	Votes           int                   `yaml:"votes" min:"1" max:"1000" doc:"judge, pairwise: how often each model is asked (default 1)."`
	Reduce          string                `yaml:"reduce" enum:"mean|median|majority" doc:"judge, pairwise: what the votes make together (default mean)."`
	Rubric          *Prompt               `yaml:"rubric" doc:"judge, pairwise: {{ }} holds CEL over task and target. The task's input and the output are always shown." also:"prompt criteria_prompt"`
	Criteria        []Criterion           `yaml:"criteria" minlen:"1" without:"rubric" doc:"judge: what is asked one by one, each in a call of its own; the score is their weighted mean."`
	Choices         source.Named[float64] `yaml:"choices" minlen:"2" doc:"judge: the words that it answers with, and what each is worth (default: a number of the range)."`
	Reference       bool                  `yaml:"reference" doc:"judge, pairwise: the judge is shown the target."`
	Against         string                `yaml:"against" minlen:"1" doc:"pairwise: the configuration whose output it is compared with (default: the baseline)."`
	Temperature     *float64              `yaml:"temperature" min:"0" max:"2" doc:"judge, pairwise."`
	MaxOutputTokens int                   `yaml:"max_output_tokens" min:"1" max:"10000000" doc:"judge, pairwise."`

	Node *source.Node `yaml:",here"`
	hash string       // once the suite is loaded
}

// ScorerType is the type of a scorer: that of a row of the table of kinds.
type ScorerType string

// Words are the types, for the decoder and the schema.
func (ScorerType) Words() (words []string) {
	for _, kind := range scorerKinds {
		words = append(words, string(kind.Type))
	}
	return words
}

// Instead says which type other tools call by a word; "": none.
func (ScorerType) Instead(word string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	for _, kind := range scorerKinds {
		if slices.Contains(strings.Fields(kind.also), word) {
			return "write type: " + string(kind.Type)
		}
	}
	return ""
}

// ScorerKind is what is known of all scorers of a type.
type ScorerKind struct {
	Type ScorerType
	// Target: it compares with a target, and cannot judge without one.
	Target bool
	// Answer: it judges the answer. What is false here looks for itself.
	Answer bool
	// Course: it judges what was done up to an iteration, and not its output.
	Course bool
	// Asks: it asks others: models, programs, endpoints.
	Asks bool
	// Pairs: it judges a run beside another one, for which both have to be there.
	Pairs bool

	also  string                 // what other tools call it
	keys  string                 // those that not every type has
	needs string                 // the key that it cannot do without; "": none, or check knows
	check func(*loader, *Scorer) // what else has to be right
}

// Kind is the row of the scorer's type; it is zero where there is no such type.
func (s *Scorer) Kind() ScorerKind {
	for _, kind := range scorerKinds {
		if kind.Type == s.Type {
			return kind
		}
	}
	return ScorerKind{}
}

// scorerKinds has a row for each type of scorer; package scorers has how they judge.
var scorerKinds = []ScorerKind{
	{Type: "exact", also: "equals equal match exact_match accuracy", Target: true, Answer: true, keys: "value extract target ignore_case trim normalize"},
	{Type: "contains", also: "icontains includes", Target: true, Answer: true, keys: "value extract target ignore_case"},
	{Type: "contains_all", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "contains_any", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "starts_with", Target: true, Answer: true, keys: "value extract target options ignore_case"},
	{Type: "regex", Answer: true, keys: "value extract pattern ignore_case", needs: "pattern"},
	{Type: "numeric", Target: true, Answer: true, keys: "value extract target tolerance relative"},
	{Type: "math", Target: true, Answer: true, keys: "value extract target tolerance"},
	{Type: "one_of", Target: true, Answer: true, keys: "value extract target options ignore_case trim"},
	{Type: "word_count", Answer: true, keys: "value extract min max equals", check: (*loader).checkBounds},
	{Type: "similarity", also: "levenshtein cosine similar fuzzy", Target: true, Answer: true, keys: "value extract target ignore_case method"},
	{Type: "f1", Target: true, Answer: true, keys: "value extract target measure"},
	{Type: "rouge", Target: true, Answer: true, keys: "value extract target variant measure"},
	{Type: "bleu", Target: true, Answer: true, keys: "value extract target"},
	{Type: "json_equal", Target: true, Answer: true, keys: "value extract target"},
	{Type: "json_schema", Answer: true, keys: "value extract schema schema_file", check: (*loader).checkSchema},
	{Type: "json_path", Answer: true, keys: "value extract target expr", needs: "expr"},
	{Type: "is_json", Answer: true, keys: "value extract"},
	{Type: "is_xml", Answer: true, keys: "value extract"},
	{Type: "is_html", Answer: true, keys: "value extract"},
	{Type: "is_sql", Answer: true, keys: "value extract dialect"},
	{Type: "cel", keys: "expr range", needs: "expr"},
	{Type: "checks", Answer: true, keys: "check"},
	{Type: "refusal", Answer: true, keys: "value extract"},
	{Type: "finish_reason", keys: "options"},
	{Type: "latency", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "cost", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "tokens", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "iterations", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "calls", Course: true, keys: "at_most range", check: (*loader).checkAmount},
	{Type: "command", also: "python javascript script program", Answer: true, Asks: true, keys: "value extract target timeout range command overlay", needs: "command"},
	{Type: "test", Asks: true, keys: "timeout command overlay share", needs: "command"},
	{Type: "http", Answer: true, Asks: true, keys: "value extract target timeout range url headers", needs: "url"},
	{Type: "judge", also: "llm_rubric llm_judge llm model_graded_qa model_graded_fact g_eval factuality rubric", Answer: true, Asks: true, keys: "value extract target timeout model models votes reduce rubric reference temperature max_output_tokens range criteria choices", check: (*loader).checkJudge},
	{Type: "pairwise", Answer: true, Asks: true, Pairs: true, keys: "value extract target timeout model models votes reduce rubric reference temperature max_output_tokens against", check: (*loader).checkJudge},
	{Type: "all_of", keys: "scorers threshold", needs: "scorers"},
	{Type: "any_of", keys: "scorers threshold", needs: "scorers"},
	{Type: "tools_called", Target: true, Course: true, keys: "target tools delegates"},
	{Type: "tools_not_called", Target: true, Course: true, keys: "target tools delegates"},
	{Type: "tool_order", Target: true, Course: true, keys: "target tools exactly delegates"},
	{Type: "tool_args", Course: true, keys: "expr tools every delegates", needs: "expr"},
	{Type: "tool_call_count", Course: true, keys: "tools min max equals delegates", check: (*loader).checkBounds},
	{Type: "steps", Course: true, keys: "min max equals delegates", check: (*loader).checkBounds},
	{Type: "no_repeated_calls", Course: true, keys: "tools delegates"},
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

func (p *ScorerPart) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "minLength": 1}, g.Struct(Scorer{})}}
}

// Extract takes the answer out of a value. One of both is set.
type Extract struct {
	Regex string `yaml:"regex" short:"text" minlen:"1"`
	Expr  *Expr  `yaml:"expr"`

	Node *source.Node `yaml:",here" one:"regex expr" hint:"regex is a regular expression, expr is CEL"`
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

// needsTarget names a scorer that cannot do without a target of each task, and one to which it must be a number; ""
// where there is none, or where tasks may be without one.
func (s *Suite) needsTarget() (any, number string) {
	if s.Tasks.Targets == TargetsOptional {
		return "", ""
	}
	for scorer := range s.AllScorers() {
		if scorer.NeedsTarget() {
			any = cmp.Or(any, scorer.Name)
			if scorer.Type == "numeric" {
				number = cmp.Or(number, scorer.Name)
			}
		}
	}
	return any, number
}

// NeedsTarget reports whether the scorer compares with the target of the task, and nothing else takes its place.
func (s *Scorer) NeedsTarget() bool {
	switch s.Type {
	case "judge", "pairwise":
		asks := func(rubric *Prompt) bool { return rubric.reads("target", "task.target") }
		return s.Target == nil && (s.Reference || slices.ContainsFunc(s.rubrics(), asks))
	case "json_path":
		return s.Target == nil && s.Expr != nil && s.Expr.Program != nil && !s.Expr.Program.IsBool()
	case "tools_called", "tools_not_called", "tool_order":
		return s.Tools == nil && s.Target == nil
	}
	return s.Kind().Target && s.Options == nil && s.Target == nil
}

// rubrics are what a judge is asked for.
func (s *Scorer) rubrics() (rubrics []*Prompt) {
	if s.Rubric != nil {
		rubrics = append(rubrics, s.Rubric)
	}
	for i := range s.Criteria {
		if rubric := s.Criteria[i].Rubric; rubric != nil {
			rubrics = append(rubrics, rubric)
		}
	}
	return rubrics
}

// Asks reports whether the scorer, or something that its score is made of, asks others. All are the scorers of the suite.
func (s *Scorer) Asks(all []Scorer) bool {
	for part := range s.MadeOf(all) {
		if part.Kind().Asks {
			return true
		}
	}
	return false
}

// AsksModels reports whether the scorer, or a part of it, calls a model or an endpoint.
func (s *Scorer) AsksModels(all []Scorer) bool {
	for part := range s.MadeOf(all) {
		if slices.Contains([]ScorerType{"judge", "pairwise", "http"}, part.Type) {
			return true
		}
	}
	return false
}

// outputs are the words for which outputs a scorer judges, from the fewest on.
var outputs = []string{ScoreReturned, ScoreWhenAsked, ScoreEveryIteration}

// Judges is which outputs the scorer judges, as it declares, or by default: those of every iteration; where it asks
// others, or reads how the run stopped, the one that is returned; a set those that all of its parts judge.
func (s *Scorer) Judges(all []Scorer) string {
	fewest := cmp.Or(s.Score, ScoreEveryIteration)
	if s.Score == "" {
		for part := range s.MadeOf(all) {
			fewest = fewerOutputs(fewest, part.judgesItself())
		}
	}
	return fewest
}

func (s *Scorer) judgesItself() string {
	switch {
	case s.readsStop():
		return ScoreReturned
	case s.Score != "":
		return s.Score
	case s.Kind().Asks:
		return ScoreReturned
	}
	return ScoreEveryIteration
}

func fewerOutputs(a, b string) string {
	return outputs[max(0, min(slices.Index(outputs, a), slices.Index(outputs, b)))]
}

// readsStop reports whether the scorer reads how the run stopped, which iterations do not know.
func (s *Scorer) readsStop() bool {
	reads := s.Value.reads("stop") || s.Target.reads("stop") || s.Expr.reads("stop")
	return reads || s.Extract != nil && s.Extract.Expr.reads("stop")
}

// MadeOf are the scorer, its parts and theirs, each once. What is named and not there is left out.
func (s *Scorer) MadeOf(all []Scorer) iter.Seq[*Scorer] {
	return func(yield func(*Scorer) bool) {
		found := []*Scorer{s}
		for i := 0; i < len(found); i++ {
			if !yield(found[i]) {
				return
			}
			for j := range found[i].Parts {
				if part := found[i].Parts[j].of(all); part != nil && !slices.Contains(found, part) {
					found = append(found, part)
				}
			}
		}
	}
}

// of is the scorer that the part is; nil: there is none of that name.
func (p *ScorerPart) of(all []Scorer) *Scorer {
	if p.Scorer != nil {
		return p.Scorer
	}
	for i := range all {
		if all[i].Name == p.Named {
			return &all[i]
		}
	}
	return nil
}
