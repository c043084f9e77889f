package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// conditionKinds are the kinds in the order in which the conditions of a map give the reason. Those that have fields say
// where these are, whether the main one is off, how it is called, how a bare value would be written, and which is usual.
var conditionKinds = []struct {
	kind        Kind
	fields      func(*Condition) (fields any, off *bool)
	main, short string
	usual       string // value, for who wrote none
}{
	{KindConfidence, func(c *Condition) (any, *bool) { return &c.Confidence, &c.Confidence.Threshold.Off }, "threshold", "{threshold: %s}", "0.9"},
	{kind: KindWhen},
	{KindRepeated, func(c *Condition) (any, *bool) { return &c.Repeated, &c.Repeated.Times.Off }, "times", "", ""},
	{KindConsecutive, func(c *Condition) (any, *bool) { return &c.Consecutive, &c.Consecutive.Times.Off }, "times", "", ""},
	{KindNoImprovement, func(c *Condition) (any, *bool) { return &c.NoImprovement, &c.NoImprovement.Patience.Off }, "patience", "{patience: %s}", "2"},
	{KindTimeout, func(c *Condition) (any, *bool) { return &c.Timeout, &c.Timeout.After.Off }, "after", "", ""},
	{kind: KindAny},
	{kind: KindAll},
	{kind: KindMaxIterations},
}

func isKind(key string) bool { return Kind(key).rank() >= 0 }

func (k Kind) rank() int {
	for i := range conditionKinds {
		if conditionKinds[i].kind == k {
			return i
		}
	}
	return -1
}

// conditionKeys are what a map of conditions may hold.
type conditionKeys struct {
	Confidence    Confidence         `yaml:"confidence" doc:"The confidence reaches a threshold."`
	When          *Expr              `yaml:"when" doc:"A CEL boolean holds." also:"until stop if cel expr condition"`
	Repeated      Repeated           `yaml:"repeated" doc:"The last values of an expression are equal."`
	Consecutive   Consecutive        `yaml:"consecutive" doc:"An expression was true so many times in a row."`
	NoImprovement NoImprovement      `yaml:"no_improvement" doc:"So many iterations in a row did not improve." also:"patience no_progress plateau early_stopping"`
	Timeout       Timeout            `yaml:"timeout" doc:"So much time has passed: 60s, or {after, cancel, working}." also:"max_time duration deadline"`
	MaxIterations source.Maybe[int]  `yaml:"max_iterations" min:"1" doc:"So many iterations were made." also:"max_turns max_steps max_rounds max_attempts limit"`
	Any           []conditionInAList `yaml:"any" minlen:"1" doc:"One of them holds."`
	All           []conditionInAList `yaml:"all" minlen:"1" doc:"All of them hold after the same iteration."`
}

// conditionInAList is an item of any and all: one condition with an optional name.
type conditionInAList struct {
	Name          string `yaml:"name" minlen:"1" doc:"What reports call it; default: its kind."`
	conditionKeys `yaml:",inline"`
}

// DecodeNode takes a map of conditions.
func (t *Tree) DecodeNode(n *source.Node, d *source.Decoder) {
	t.written = n
	if n.Kind != source.Map {
		d.Fault(n, "write confidence: {threshold: 0.9}, or any: or all: before the list", "want a mapping of conditions")
		return
	}
	for _, entry := range n.Entries {
		switch kind := Kind(entry.Key); {
		case !isKind(entry.Key):
			d.Add(n.KeyFault(entry.Key, nearKind(entry.Key), "unknown condition %q", entry.Key))
		case kind == KindAny && entry.Value.Kind == source.List:
			t.Any = append(t.Any, conditionsOf(entry.Value, d, false)...)
		default:
			t.Any = append(t.Any, conditionOf(kind, entry.Value, d, false))
		}
	}
	if n.Get("any") == nil {
		slices.SortStableFunc(t.Any, func(a, b Condition) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	}
	nameConditions(t.Any, d)
}

func nearKind(word string) string {
	words := make([]string, len(conditionKinds))
	for i := range conditionKinds {
		words[i] = string(conditionKinds[i].kind)
	}
	if meant := source.Meant[conditionKeys](word); meant != "" {
		return "write " + meant
	}
	return didYouMean(word, words)
}

// conditionsOf decodes the list of an any or all.
func conditionsOf(n *source.Node, d *source.Decoder, underAll bool) []Condition {
	if n.Kind != source.List || len(n.Items) == 0 {
		d.Fault(n, `start each condition with "- "`, "want a list of conditions")
		return nil
	}
	var conditions []Condition
	for _, item := range n.Items {
		if c, ok := itemOf(item, d, underAll); ok {
			conditions = append(conditions, c)
		}
	}
	nameConditions(conditions, d)
	return conditions
}

// itemOf decodes one item of such a list: one condition and perhaps its name.
func itemOf(n *source.Node, d *source.Decoder, underAll bool) (c Condition, ok bool) {
	if n.Kind != source.Map {
		d.Fault(n, "write - max_iterations: 3", "want a condition")
		return c, false
	}
	for _, entry := range n.Entries {
		switch {
		case entry.Key == "name":
			d.DecodeTagged(entry.Value, &c.Name, `minlen:"1"`)
		case !isKind(entry.Key):
			d.Add(n.KeyFault(entry.Key, nearKind(entry.Key), "unknown condition %q", entry.Key))
			ok = true
		case c.Kind != "":
			d.Add(n.KeyFault(entry.Key, `start each condition with "- "`, "a second condition in one item"))
		default:
			name := c.Name
			c = conditionOf(Kind(entry.Key), entry.Value, d, underAll)
			c.Name = cmp.Or(c.Name, name)
		}
	}
	if c.Kind == "" && !ok {
		d.Fault(n, "write - max_iterations: 3", "this item holds no condition")
	}
	return c, c.Kind != ""
}

// conditionOf decodes the value of a condition.
func conditionOf(kind Kind, n *source.Node, d *source.Decoder, underAll bool) Condition {
	c := Condition{Kind: kind, Node: n}
	if isOff(n) {
		c.Off = true
		return c
	}
	switch kind {
	case KindAny, KindAll:
		c.Nested = conditionsOf(n, d, underAll || kind == KindAll)
	case KindWhen:
		c.When = &Expr{}
		c.When.DecodeNode(n, d)
	case KindMaxIterations:
		var limit source.Maybe[int]
		d.DecodeTagged(n, &limit, `min:"1"`)
		c.MaxIterations, c.Off = limit.Value, limit.Off
	default:
		row := &conditionKinds[kind.rank()]
		fields, off := row.fields(&c)
		switch bare := n.Kind != source.Map && n.Kind != source.List && n.Kind != source.Null; {
		case bare && row.short != "":
			value := n.Text
			if n.Kind != source.Int && n.Kind != source.Float {
				value = row.usual
			}
			d.Fault(n, "write "+fmt.Sprintf(row.short, value), "want a mapping, got %s", n.Text)
		default:
			d.Decode(n, fields)
		}
		if c.Off = *off; kind == KindTimeout {
			c.Timeout.presetCancel(n, d, underAll)
		}
	}
	return c
}

func (t *Timeout) presetCancel(n *source.Node, d *source.Decoder, underAll bool) {
	if cancel := n.Get("cancel"); cancel != nil && underAll && t.Cancel != nil && *t.Cancel {
		d.Fault(cancel, "write cancel: false, or move the timeout out of all", "a timeout under all cannot cancel the iteration in flight")
	}
	t.Cancel = cmp.Or(t.Cancel, new(!underAll))
}

func isOff(n *source.Node) bool { return n != nil && n.Kind == source.String && n.Text == "off" }

// nameConditions gives the names of one list, and refuses those that stand twice.
func nameConditions(conditions []Condition, d *source.Decoder) {
	kinds, given := make([]string, len(conditions)), make([]string, len(conditions))
	for i := range conditions {
		kinds[i], given[i] = string(conditions[i].Kind), conditions[i].Name
	}
	seen := map[string]bool{}
	for i, name := range fullNames(kinds, given) {
		if conditions[i].Name = name; seen[name] {
			d.Fault(conditions[i].Node, "give one of them another name", "two conditions of one list are named %q", name)
		}
		seen[name] = true
	}
}

// fullNames are the names of a list of conditions. One without is called by its
// kind, then kind-2 and so on: by the first of these that no other has.
func fullNames(kinds, given []string) []string {
	names, taken := slices.Clone(given), map[string]bool{}
	for _, name := range given {
		taken[name] = true
	}
	for i, kind := range kinds {
		for n := 1; names[i] == ""; n++ {
			if name := numbered(kind, n); !taken[name] {
				names[i], taken[name] = name, true
			}
		}
	}
	return names
}

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}

func (t *Tree) JSONSchema(g *source.Generator) map[string]any {
	return conditionSchema(g.Struct(conditionKeys{}))
}

// conditionSchema allows off for every condition.
func conditionSchema(schema map[string]any) map[string]any {
	properties := schema["properties"].(map[string]any)
	for _, row := range conditionKinds {
		properties[string(row.kind)] = map[string]any{"anyOf": []any{properties[string(row.kind)], map[string]any{"const": "off"}}}
	}
	return schema
}

func (c *conditionInAList) JSONSchema(g *source.Generator) map[string]any {
	return conditionSchema(g.Struct(*c))
}

// Tree is the terminate tree of a loop together with the presets of its
// pattern: an `any` whose entries are in the order in which they give the reason.
type Tree struct {
	Any []Condition

	written *source.Node // nil where only presets stand
}

// Kind is the kind of a condition, and the reason it gives.
type Kind string

// The kinds; a map of conditions gives the reason in this order.
const (
	KindConfidence    Kind = "confidence"
	KindWhen          Kind = "when"
	KindRepeated      Kind = "repeated"
	KindConsecutive   Kind = "consecutive"
	KindNoImprovement Kind = "no_improvement"
	KindTimeout       Kind = "timeout"
	KindMaxIterations Kind = "max_iterations"
	KindAny           Kind = "any"
	KindAll           Kind = "all"
)

// Condition is one condition, or a nested any or all of them. Of the fields
// after Off, the one named by Kind is set. A condition that is Off never holds;
// one with a required field `off` is Off.
type Condition struct {
	Kind Kind
	Name string // default: the kind, then kind-2 ...
	Off  bool

	Confidence    Confidence
	When          *Expr
	Repeated      Repeated
	Consecutive   Consecutive
	NoImprovement NoImprovement
	Timeout       Timeout
	MaxIterations int
	Nested        []Condition // of any, all

	Node *source.Node // nil for a preset of the pattern
}

// Confidence holds from min_iterations on when the confidence reaches the threshold.
type Confidence struct {
	Threshold     source.Maybe[float64] `yaml:"threshold" need:"required"`
	MinIterations int                   `yaml:"min_iterations" min:"0"`
}

// NoImprovement holds when patience iterations in a row did not improve.
type NoImprovement struct {
	Patience source.Maybe[int] `yaml:"patience" need:"required" min:"1"`
	MinDelta float64           `yaml:"min_delta" min:"0"`
}

// Repeated holds when the last values of an expression are equal.
type Repeated struct {
	Of    *Expr             `yaml:"of" need:"required"`
	Times source.Maybe[int] `yaml:"times" need:"required" min:"2"`
}

// Consecutive holds when an expression was true so many times in a row.
type Consecutive struct {
	When  *Expr             `yaml:"when" need:"required"`
	Times source.Maybe[int] `yaml:"times" need:"required" min:"1"`
}

// Timeout holds when so much as-if time has passed. `timeout: 60s` is short for
// {after: 60s}.
type Timeout struct {
	After   source.Maybe[time.Duration] `yaml:"after" short:"text" need:"required" above:"0"`
	Cancel  *bool                       `yaml:"cancel" doc:"Also cancel the iteration in flight (default true at the top and under any, false under all)."`
	Working bool                        `yaml:"working" doc:"Count working time only, not what was waited for rate limits."`
}

// Guards end the loop for safety. Absent ones are off, but for the absolute
// limit, which is 10.
type Guards struct {
	AbsoluteMaxIterations source.Maybe[int]  `yaml:"absolute_max_iterations" min:"1" doc:"Default 10."`
	Budget                *RunBudget         `yaml:"budget" also:"max_cost cost_usd max_tokens tokens"`
	RepeatedOutput        bool               `yaml:"repeated_output" doc:"The output equals any earlier one of the run, within the strategy."`
	Degradation           *Degradation       `yaml:"degradation"`
	Stagnation            *Stagnation        `yaml:"stagnation"`
	CircuitBreaker        *CircuitBreaker    `yaml:"circuit_breaker"`
	Repeated              []NamedRepeated    `yaml:"repeated" single:"allowed" doc:"One {of, times} or a list of named ones."`
	Consecutive           []NamedConsecutive `yaml:"consecutive" single:"allowed" doc:"One {when, times} or a list of named ones."`
}

// ScopeStep is the scope of guards that are asked after every step of a
// conversing agent; the others are asked after every iteration.
const ScopeStep = "step"

// NamedRepeated is a repeated condition used as a guard.
type NamedRepeated struct {
	Name     string `yaml:"name"`
	Repeated `yaml:",inline"`

	Scope  string `yaml:"scope" enum:"iteration|step" doc:"After what it is asked (default iteration)."`
	Window int    `yaml:"window" min:"2" doc:"Look for the equal values among so many (default: as many as times, so that they follow one another)."`

	Node *source.Node `yaml:",here"`
}

// NamedConsecutive is a consecutive condition used as a guard.
type NamedConsecutive struct {
	Name        string `yaml:"name"`
	Consecutive `yaml:",inline"`
	Scope       string `yaml:"scope" enum:"iteration|step" doc:"After what it is asked (default iteration)."`

	Node *source.Node `yaml:",here"`
}

// RunBudget is what one run may spend. Zero means no limit.
type RunBudget struct {
	Tokens  int64   `yaml:"tokens" min:"1"`
	Calls   int64   `yaml:"calls" min:"1" also:"requests max_calls"`
	CostUSD float64 `yaml:"cost_usd" above:"0" max:"1000000" also:"cost usd dollars max_cost money"`
	Steps   int64   `yaml:"steps" min:"1" doc:"Steps of a program that calls models: its calls, without titles, summaries and retries."`
	Hard    bool    `yaml:"hard" doc:"Reserve every call first, so that it is never exceeded."`
}

// Degradation is so many evaluated iterations, each worse than the one before.
type Degradation struct {
	Window source.Maybe[int] `yaml:"window" short:"off" min:"2" doc:"Default 3."`
}

// Stagnation is the same set of tool calls so many times in a row.
type Stagnation struct {
	Window    source.Maybe[int] `yaml:"window" short:"off" min:"2" doc:"Default 3."`
	Times     source.Maybe[int] `yaml:"times" min:"2" doc:"How often among the window (default: all of it)."`
	Signature string            `yaml:"signature" enum:"calls|normalized|observations" doc:"What is compared (default calls)."`
	Scope     string            `yaml:"scope" enum:"iteration|step" doc:"Of what the calls are a set (default iteration)."`
}

// CircuitBreaker is the same error so many times in a row: of iterations, and of
// steps whose every call failed.
type CircuitBreaker struct {
	Threshold source.Maybe[int] `yaml:"threshold" short:"off" min:"1" doc:"Default 3."`
}

// Evaluate is how an iteration is judged inside the loop: checks, and CEL over
// the output and over what a judge or a program answered.
type Evaluate struct {
	Checks     []Check  `yaml:"checks" minlen:"1" doc:"Requirements; confidence is their weighted share unless declared."`
	Confidence *Expr    `yaml:"confidence" doc:"CEL number."`
	Passed     *Expr    `yaml:"passed" doc:"CEL boolean; ends the run successfully."`
	Feedback   *Expr    `yaml:"feedback" doc:"CEL string: what the next prompt may say."`
	Judge      *Judge   `yaml:"judge" doc:"A model that gives confidence and feedback."`
	Command    *Command `yaml:"command" doc:"A program that gives confidence, passed and feedback, for instance a test run."`
	Test       *Command `yaml:"test" doc:"A test run in the workspace: exit code 0 is passed, else the end of what it prints is the feedback. Of JUnit XML, go test -json and TAP the share of tests that pass is the confidence."`
	In         string   `yaml:"in" enum:"copy|workspace" doc:"command, test: where they run: in a copy of the workspace that is thrown away (copy, default), or in the workspace itself."`
	FromPhase  string   `yaml:"from_phase" doc:"Evaluate only from this phase on."`
	Fix        string   `yaml:"fix" enum:"all|one" doc:"Tell every failing check at once (all, the default) or only the first (one)."`

	Node *source.Node `yaml:",here" some:"checks confidence passed judge command test"`
}

// Elsewhere says what an evaluation takes besides the files that a program left; "" where these are enough.
func (e *Evaluate) Elsewhere() string {
	switch {
	case e == nil:
		return ""
	case e.Judge != nil:
		return "evaluate asks a judge"
	case e.In == "workspace":
		return "evaluate runs in the workspace itself"
	}
	return ""
}

// Check is one requirement on the output.
type Check struct {
	Name     string   `yaml:"name" need:"required" minlen:"1"`
	Expr     *Expr    `yaml:"expr" need:"required" doc:"CEL boolean; an error in it fails the check." also:"expression cel assert test if when condition"`
	Feedback string   `yaml:"feedback" doc:"The feedback when it fails." also:"message hint"`
	Weight   *float64 `yaml:"weight" above:"0" doc:"Default 1."`

	Node *source.Node `yaml:",here"`
}

// Judge is a model that judges by a rubric.
type Judge struct {
	Model           string   `yaml:"model" need:"required" minlen:"1"`
	Rubric          *Prompt  `yaml:"rubric" need:"required" doc:"{{ }} holds CEL; the task's input and the output are always shown."`
	Temperature     *float64 `yaml:"temperature" min:"0" max:"2"`
	MaxOutputTokens int      `yaml:"max_output_tokens" min:"1" max:"10000000"`

	Node *source.Node `yaml:",here"`
}

// Command is a program that judges. In YAML: a list, or {command, timeout}.
type Command struct {
	Argv    []string      `yaml:"command" short:"list" need:"required" minlen:"1"`
	Timeout time.Duration `yaml:"timeout" above:"0"`

	Node *source.Node `yaml:",here"`
}
