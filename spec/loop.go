package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Loop is a declared pattern of iterations, after presets were applied.
type Loop struct {
	Name    string  `yaml:"loop" changes:"scores" need:"required" minlen:"1" doc:"The loop's name."`
	Pattern Pattern `yaml:"pattern" changes:"stop" enum:"confidence|improvement|checklist|multi_strategy" doc:"Presets: what adapts, what ends the loop, what it returns."`
	Preset  string  `yaml:"preset" changes:"scores" enum:"base|qa_specialist|coordinator|financial_analyst|risk_analyst" doc:"Phase limits of a role: planning, execution, refinement."`
	Agent   *Agent  `yaml:"agent" changes:"path" doc:"What executes one iteration; strategies and phases may override it." also:"llm"`
	Prompt  *Prompt `yaml:"prompt" changes:"requests" doc:"What the agent is sent; {{ }} holds CEL." also:"template instructions message messages"`

	Workspace *Workspace `yaml:"workspace" changes:"path" doc:"A folder for every run, in which its programs work."`

	Phases     []Phase    `yaml:"phases" changes:"path" minlen:"1" doc:"Named stages in their order."`
	Strategies []Strategy `yaml:"strategies" changes:"path" minlen:"1" doc:"Approaches tried in their order (pattern multi_strategy)."`

	// MaxIterations is short for terminate.max_iterations, to which it was moved: see EffectiveMax.
	MaxIterations source.Maybe[int] `yaml:"max_iterations" changes:"stop" min:"1" doc:"Short for terminate.max_iterations." also:"max_turns max_rounds max_attempts"`
	User          *User             `yaml:"user" changes:"requests" doc:"Answers the agent where it calls no tool."`
	Evaluate      *Evaluate         `yaml:"evaluate" changes:"evaluation" doc:"How an iteration is judged inside the loop. It never sees the target."`
	Terminate     Tree              `yaml:"terminate" changes:"stop" doc:"Conditions that end the loop by design." also:"stop until stop_when exit conditions"`
	Guards        Guards            `yaml:"guards" changes:"stop" doc:"Limits that end the loop for safety."`
	OnError       *OnError          `yaml:"on_error" changes:"stop" doc:"What happens after a failed iteration."`

	// Tree is the text it was decoded from, with presets of its role and `set` applied.
	Tree *source.Node `yaml:",here"`
	// Folder is where the file stands on disk: programs run there. Empty for a loop that is embedded.
	Folder string `yaml:"-"`
	// Param is what expressions see as param: every scalar parameter by its full path, by every unambiguous suffix
	// of it, and nested. What is off is null.
	Param *expr.Object `yaml:"-"`

	hash     string
	contents string // identifies the contents of the files that its programs are given
	origin   *origin
}

// Pattern names a set of presets; none is the zero value.
type Pattern string

// The patterns.
const (
	PatternNone          Pattern = ""
	PatternConfidence    Pattern = "confidence"
	PatternImprovement   Pattern = "improvement"
	PatternChecklist     Pattern = "checklist"
	PatternMultiStrategy Pattern = "multi_strategy"
)

// Phase is a named stage inside a loop.
type Phase struct {
	Name          string  `yaml:"name" changes:"requests" need:"required" minlen:"1"`
	Prompt        *Prompt `yaml:"prompt" changes:"requests" doc:"Default: the loop's."`
	Agent         *Agent  `yaml:"agent" changes:"path" doc:"Overrides of the loop's agent in this phase."`
	Reply         Reply   `yaml:"reply" changes:"path" enum:"text|json"`
	Tools         *[]Tool `yaml:"tools" changes:"requests" doc:"The tools of this phase; [] means none."`
	MaxIterations int     `yaml:"max_iterations" changes:"stop" min:"1" doc:"The phase ends after so many of its iterations; absent: no limit."`
	Until         *Expr   `yaml:"until" changes:"stop" doc:"The phase also ends after an iteration at which this holds (CEL)."`

	Node *source.Node `yaml:",here"`
}

// Strategy is one approach of a multi_strategy loop.
type Strategy struct {
	Name          string  `yaml:"name" changes:"requests" need:"required" minlen:"1"`
	Prompt        *Prompt `yaml:"prompt" changes:"requests" doc:"Default: the loop's."`
	Agent         *Agent  `yaml:"agent" changes:"path" doc:"Overrides of the loop's agent for this strategy."`
	MaxIterations int     `yaml:"max_iterations" changes:"stop" min:"1" doc:"1 unless it says more."`

	Node *source.Node `yaml:",here"`
}

// OnError decides after the iterations that failed.
type OnError struct {
	ContinueIf *Expr `yaml:"continue_if" doc:"CEL; default: best != null && best.confidence > 0.5"`
}

// Reply says how a reply becomes an output.
type Reply string

// The replies: text as it is, or one JSON value.
const (
	ReplyText Reply = "text"
	ReplyJSON Reply = "json"
)

// Value is a value of a loop with its path.
type Value struct {
	Path  string
	Value any // nil: off
	// Parameter says that set and sweep could say it: it is a scalar. The others (texts, expressions, lists) only make loops
	// different.
	Parameter bool
	Class     Class
}

// Values are all values of a loop that are not zero, in the order of the language.
func (l *Loop) Values() []Value {
	w := leafWalker{leaves: make([]Value, 0, 64)}
	w.fields(reflect.ValueOf(l).Elem(), "")
	if w.class = ChangesPath; l.contents != "" {
		w.add("contents of program files", l.contents, false)
	}
	return w.leaves
}

// ValueAt is the value of a key, at its full path: a number, a bool, a text, of a duration its
// text, and of a list of texts all of them. It is nil where the key is absent, off, or holds
// keys of its own.
func (l *Loop) ValueAt(path string) (found any) {
	var items []any
	for _, v := range l.Values() {
		rest, below := strings.CutPrefix(v.Path, path+".")
		_, notItem := strconv.Atoi(rest)
		switch d, duration := v.Value.(time.Duration); {
		case below && notItem == nil:
			items = append(items, v.Value)
		case v.Path != path, !v.Parameter && strings.HasPrefix(path, "terminate."): // there it is the kind of a condition
		case duration:
			found = d.String()
		default:
			found = v.Value
		}
	}
	if found == nil && items != nil {
		return items
	}
	return found
}

// Contents identifies the contents of the files that the programs of the loop are given, "" without one.
func (l *Loop) Contents() string { return l.contents }

type leafWalker struct {
	leaves []Value
	class  Class // of the key that is walked
}

func (w *leafWalker) add(path string, value any, parameter bool) {
	w.leaves = append(w.leaves, Value{path, value, parameter, w.class})
}

// fields walks a struct by its yaml tags.
func (w *leafWalker) fields(v reflect.Value, path string) {
	outer := w.class
	for _, key := range keysOf(v.Type()) {
		field := v.Field(key.field)
		w.class = cmp.Or(key.class, outer)
		switch {
		case field.IsZero():
		case key.inline:
			w.fields(field, path)
		default:
			w.value(field, join(path, key.name))
		}
	}
	w.class = outer
}

// key is a field that has a YAML key, or whose fields have keys of the same level.
type key struct {
	field  int
	name   string
	inline bool
	class  Class // "": that of what holds it
}

// keys are those of the types met so far: sweeps walk loops by the hundred thousand.
var keys sync.Map // of []key, by reflect.Type

func keysOf(t reflect.Type) []key {
	if known, ok := keys.Load(t); ok {
		return known.([]key)
	}
	var all []key
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		inline, short := option == "inline", name == "" && t.Field(i).Tag.Get("short") != ""
		if inline || short || name != "" && name != "-" {
			all = append(all, key{i, name, inline, Class(t.Field(i).Tag.Get("changes"))})
		}
	}
	keys.Store(t, all)
	return all
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

func (w *leafWalker) value(v reflect.Value, path string) {
	switch value := v.Interface().(type) {
	case *Expr:
		w.add(path, value.Text, false)
	case *Prompt:
		w.add(path, value.Text, false)
	case Tree:
		w.conditions(value.Any, path)
	case source.Maybe[int]:
		w.add(path, unlessOff(int64(value.Value), value.Off), true)
	case source.Maybe[float64]:
		w.add(path, unlessOff(value.Value, value.Off), true)
	case source.Maybe[time.Duration]:
		w.add(path, unlessOff(value.Value, value.Off), true)
	case time.Duration:
		w.add(path, value, true)
	case JSON:
		w.add(path, string(value), false)
	case Headers:
		w.named(source.Named[Header](value), path)
	case Variables:
		w.named(source.Named[Header](value), path)
	case Served:
		for _, served := range value {
			w.add(join(path, served.Key), served.Value, false)
		}
	case *Sandbox:
		w.add(path, value.Kind, false)
		w.fields(reflect.ValueOf(&value.Container).Elem(), join(path, SandboxContainer))
	default:
		w.plain(v, path)
	}
}

func (w *leafWalker) named(headers source.Named[Header], path string) {
	for _, header := range headers {
		w.add(join(path, header.Key), header.Value, false)
	}
}

func unlessOff(value any, off bool) any {
	if off {
		return nil
	}
	return value
}

func (w *leafWalker) plain(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		before := len(w.leaves)
		if w.value(v.Elem(), path); len(w.leaves) == before {
			w.add(path, "{}", false) // a mapping without values says something, too
		}
	case reflect.Struct:
		w.fields(v, path)
	case reflect.Slice:
		w.list(v, path)
	case reflect.String:
		prose := []string{"name", "loop", "feedback", "description", "preset"}
		w.add(path, v.String(), !slices.Contains(prose, path[strings.LastIndexByte(path, '.')+1:]))
	case reflect.Bool, reflect.Float64, reflect.Int64:
		w.add(path, v.Interface(), true)
	case reflect.Int:
		w.add(path, v.Int(), true)
	}
}

// list walks items by their names, or by what they are where that is built in; the others by their number.
func (w *leafWalker) list(v reflect.Value, path string) {
	if v.Len() == 0 && !v.IsNil() {
		w.add(path, "[]", false)
	}
	for i := range v.Len() {
		item := reflect.Indirect(v.Index(i))
		at := join(path, fmt.Sprint(i))
		if item.Kind() == reflect.String {
			w.add(at, item.String(), false)
			continue
		}
		if item.Kind() == reflect.Struct {
			for _, field := range []string{"Builtin", "Name"} {
				if name := item.FieldByName(field); name.IsValid() && name.String() != "" {
					at = join(path, name.String())
				}
			}
		}
		w.value(item, at)
	}
}

// conditions walks a list of conditions by their names. Of one that is off only the field is known that is off.
func (w *leafWalker) conditions(conditions []Condition, path string) {
	for i := range conditions {
		c, row := &conditions[i], &conditionKinds[conditions[i].Kind.rank()]
		at := join(path, c.Name)
		if !c.Off {
			w.add(at, string(c.Kind), false)
		}
		switch {
		case c.Off && row.main != "":
			w.add(at+"."+row.main, nil, true)
		case c.Kind == KindMaxIterations:
			w.add(at, unlessOff(int64(c.MaxIterations), c.Off), true)
		case c.Off:
		case c.Nested != nil:
			w.conditions(c.Nested, at)
		case c.Kind == KindWhen:
			w.add(at, c.When.Text, false)
		case row.fields != nil:
			fields, _ := row.fields(c)
			w.fields(reflect.ValueOf(fields).Elem(), at)
		}
	}
}

// EffectiveMax is the most iterations that conditions allow: an explicit
// max_iterations at the top of the terminate tree, else, where phases or
// strategies have limits, the sum of those (for phases plus max(1, a tenth)).
// 0 means none. Sum is the bare sum of the limits.
func (l *Loop) EffectiveMax() (limit int, derived bool, sum int) {
	for _, s := range l.Stages() {
		sum += s.Limit
	}
	for i := range l.Terminate.Any {
		c := &l.Terminate.Any[i]
		if c.Kind == KindMaxIterations && !c.Off && (limit == 0 || c.MaxIterations < limit) {
			limit = c.MaxIterations
		}
	}
	switch {
	case limit > 0:
		return limit, false, sum
	case len(l.Strategies) > 0:
		return sum, true, sum
	case sum > 0:
		return sum + max(1, sum/10), true, sum
	}
	return 0, false, 0
}

// Expr is a CEL expression as it was written and, once loaded, compiled.
type Expr struct {
	Text string
	Node *source.Node
	*expr.Program
}

// Prompt is a text with CEL inside {{ }}, compiled at load.
type Prompt struct {
	Text string
	Node *source.Node
	*expr.Template
}

// DecodeNode takes any scalar: true and 0.5 are CEL, too.
func (e *Expr) DecodeNode(n *source.Node, d *source.Decoder) {
	switch n.Kind {
	case source.List:
		d.Fault(n, "put CEL that starts with [ in quotes", "want an expression, got a list")
	case source.Map:
		d.Fault(n, "put CEL that starts with { or holds a colon in quotes", "want an expression, got a mapping")
	default:
		e.Text, e.Node = n.Text, n
	}
}

func (e *Expr) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"string", "number", "boolean"}, "description": "A CEL expression."}
}

// DecodeNode takes text.
func (p *Prompt) DecodeNode(n *source.Node, d *source.Decoder) {
	p.Node = n
	d.Decode(n, &p.Text)
}

func (p *Prompt) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": "string", "description": "Text with CEL inside {{ }}."}
}
