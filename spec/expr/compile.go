package expr

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// Want says what an expression must evaluate to.
type Want int

// WantAny takes every result; WantList takes a list, and a dynamic value that is found to be one.
const (
	WantAny Want = iota
	WantBool
	WantNumber
	WantString
	WantList
)

type programKey struct {
	src  string
	want Want
}

type compiled struct {
	program *Program
	faults  []Fault
}

// Compile checks an expression and makes it ready to run. The program is nil exactly if one of the faults is not a
// warning.
func (e *Env) Compile(src string, want Want) (*Program, []Fault) {
	key := programKey{src, want}
	if known, ok := e.programs.Load(key); ok {
		c := known.(*compiled)
		return c.program, c.faults
	}
	program, faults := e.compile(src, func(program *Program) []Fault { return mismatch(program, want) })
	e.programs.Store(key, &compiled{program, faults})
	return program, faults
}

// compile runs the checks in the order in which they make sense; accept judges the type of the result.
func (e *Env) compile(src string, accept func(*Program) []Fault) (program *Program, faults []Fault) {
	defer func() {
		if r := recover(); r != nil {
			program, faults = nil, []Fault{{What: fmt.Sprintf("the expression cannot be compiled: %v", r)}}
		}
	}()
	if !utf8.ValidString(src) {
		return nil, []Fault{{What: "the expression is not valid UTF-8"}}
	}
	checked, issues := e.cel.Compile(src)
	if issues.Err() != nil {
		return nil, e.explain(src, issues)
	}
	program = &Program{env: e, tree: checked.NativeRep()}
	faults = append(accept(program), dialectFaults(program.tree)...)
	faults = append(faults, wordFaults(program.tree, e.options.Words)...)
	faults = append(faults, program.plan(checked)...)
	faults = append(faults, arithmeticWarnings(program.tree)...)
	if anyError(faults) {
		return nil, faults
	}
	program.reads = reads(program.tree)
	return program, faults
}

// plan makes the program, which is watched where it could take long.
func (p *Program) plan(checked *cel.Ast) []Fault {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(ordered(p.tree)), cel.CustomDecoratorV2(searching)}
	bounds := boundsOf(p.tree, p.env.options)
	if p.watched = bounds != nil; p.watched {
		options = append(options, cel.InterruptCheckFrequency(1), cel.CustomDecoratorV2(watch(bounds)))
	}
	var err error
	if p.run, err = p.env.cel.Program(checked, options...); err != nil {
		return []Fault{{What: err.Error()}}
	}
	return nil
}

// wants are the results that places need: in words, by what function they are made, and of which types.
var wants = map[Want]struct {
	needs, wrap string
	kinds       []types.Kind
}{
	WantBool:   {"true or false", "bool", []types.Kind{types.BoolKind}},
	WantNumber: {"a number", "double", []types.Kind{types.DoubleKind, types.IntKind, types.UintKind}},
	WantString: {"a string", "string", []types.Kind{types.StringKind}},
	WantList:   {"a list", "", []types.Kind{types.ListKind}},
}

// mismatch refuses a result that is not what the place needs; a dynamic one has to be converted in the expression, so
// that a wrong value is an error and never quietly something else.
func mismatch(p *Program, want Want) []Fault {
	t := p.tree.GetType(p.tree.Expr().ID())
	dynamic := isDynamic(t)
	w, ok := wants[want]
	if !ok || slices.Contains(w.kinds, t.Kind()) || dynamic && want == WantList {
		return nil
	}
	f := Fault{What: fmt.Sprintf("this must be %s, but it is %s", w.needs, showType(t))}
	if dynamic {
		f.What = fmt.Sprintf("this must be %s, but its type is known only at run time", w.needs)
	}
	if dynamic || want == WantString && isScalar(t) {
		f.Hint = "wrap it: " + w.wrap + "(...)"
	} else if want == WantBool && (t.Kind() == types.IntKind || t.Kind() == types.DoubleKind) {
		f.Hint = "compare it with a number: ... > 0"
	} else if severalNumbers.MatchString("(" + t.TypeName() + ",") {
		f.Hint = nameOne
	}
	return []Fault{f}
}

func isDynamic(t *types.Type) bool {
	k := t.Kind()
	return k == types.DynKind || k == types.AnyKind || k == types.TypeParamKind
}

func isScalar(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.DurationKind, types.TimestampKind:
		return true
	}
	return false
}

// dialectFaults refuses what CEL can write and the language does not have: typed message literals, maps whose keys are
// not strings, records as JSON.
func dialectFaults(tree *ast.AST) []Fault {
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			call := e.AsCall()
			faults = append(faults, patternFaults(tree, patternOf(call))...)
			if call.FunctionName() == "json" && holdsRecords(tree.GetType(call.Args()[0].ID())) {
				faults = append(faults, faultAt(tree, call.Args()[0].ID(), "a record cannot be written as JSON", "choose its fields: {\"output\": ...}"))
			}
		case ast.StructKind:
			faults = append(faults, faultAt(tree, e.ID(), "a type name before {", `write an object as {"key": value}`))
		case ast.MapKind:
			faults = append(faults, keyFaults(tree, e.AsMap().Entries())...)
		}
	}))
	return faults
}

// patternFaults finds what is wrong with a regular expression that stands in the expression.
func patternFaults(tree *ast.AST, e ast.Expr) []Fault {
	source, ok := literalText(e)
	if !ok {
		return nil
	}
	if _, err := CompilePattern(source); err != nil {
		return []Fault{faultAt(tree, e.ID(), err.Error(), PatternHint(err))}
	}
	return nil
}

func literalText(e ast.Expr) (string, bool) {
	if e == nil || e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

func keyFaults(tree *ast.AST, entries []ast.EntryExpr) []Fault {
	var faults []Fault
	seen := map[string]bool{}
	for _, entry := range entries {
		key := entry.AsMapEntry().Key()
		if t := tree.GetType(key.ID()); t.Kind() != types.StringKind && !isDynamic(t) {
			faults = append(faults, faultAt(tree, key.ID(), "the keys of an object are strings", `write "key": value`))
		}
		name, ok := literalText(key)
		if ok && seen[name] {
			faults = append(faults, faultAt(tree, key.ID(), fmt.Sprintf("the key %q appears twice", name), ""))
		}
		seen[name] = ok
	}
	return faults
}

func faultAt(tree *ast.AST, node int64, what, hint string) Fault {
	f := Fault{What: what, Hint: hint}
	if r, ok := tree.SourceInfo().GetOffsetRange(node); ok {
		f.Offset = max(0, int(r.Start))
	}
	return f
}

const (
	maxExpression = 4096 // characters
	maxDepth      = 40   // levels of nesting, as the parser counts them
)

// Options sets the limits of an environment; the zero value has those of conditions and prompts.
type Options struct {
	// Deadline is how long one evaluation may take; 0 means 10 s. It is far beyond what so many values take: a result
	// must not depend on how busy the machine is.
	Deadline  time.Duration
	MaxSteps  int // how many elements its loops may walk over, all together; 0 means 100,000
	MaxValues int // how many values a list or a result may hold, counted through; 0 means 1,000,000
	MaxText   int // how many bytes a text on the way to it may have; 0 means 8 MiB
	// Words are the fields that hold one of a few words: comparing them with others is a fault.
	Words map[string][]string
}

func (o Options) withDefaults() Options {
	o.Deadline = cmp.Or(o.Deadline, 10*time.Second)
	o.MaxSteps = cmp.Or(o.MaxSteps, 100_000)
	o.MaxValues = cmp.Or(o.MaxValues, 1_000_000)
	o.MaxText = cmp.Or(o.MaxText, 8<<20)
	return o
}

// Env is the typed environment of one place of the language. It is safe for concurrent use and remembers what it
// compiled, because the configurations of a sweep share most of their expressions.
type Env struct {
	cel      *cel.Env
	provider *provider
	options  Options
	names    suggestions

	programs  sync.Map // of programKey to *compiled
	templates sync.Map // of string to *compiledTemplate
}

// NewEnv makes an environment of the variables. It costs about half a millisecond: make one for each place.
func NewEnv(vars []Var, options Options) (*Env, error) {
	options = options.withDefaults()
	declared := append(language(options), withStructs(vars), cel.CustomTypeAdapter(adapter{}))
	for _, v := range vars {
		declared = append(declared, cel.Variable(v.Name, v.Type.cel()))
	}
	env, err := cel.NewEnv(declared...)
	if err != nil {
		return nil, fmt.Errorf("making an expression environment: %w", err)
	}
	return &Env{cel: env, provider: env.CELTypeProvider().(*provider), options: options, names: newSuggestions(env, vars)}, nil
}

// language is what every environment knows: the dialect of CEL and its libraries.
func language(o Options) []cel.EnvOption {
	return append([]cel.EnvOption{
		cel.OptionalTypes(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserExpressionSizeLimit(maxExpression),
		ext.Strings(), ext.Math(), ext.Lists(), ext.Sets(), ext.Bindings(), ext.TwoVarComprehensions(), ext.Regex(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	}, append(ownFunctions(), growingFunctions(o.MaxText)...)...)
}

// The places of the language. Each makes its environment when it is first needed, those that see outputs one for each type
// of output: String for text replies, Any for JSON and programs.
var (
	// Loop is the environment inside the loop: when, until, of and continue_if, prompts and commands. It has no target: a loop
	// cannot be scored with the answer it was shown.
	Loop = place(Options{}, loopVars)
	// Evaluate is the environment of checks, confidence, passed and feedback: the loop's, and what a judge or a program
	// answered.
	Evaluate = place(Options{}, func(output Type) []Var { return append(loopVars(output), Var{"judge", Any}, Var{"command", Any}) })
	// Step is the environment of guards that look at single steps: the loop's, and the step after which they are asked.
	// What is of the last iteration there is of the last whole one; the step's own is still under way.
	Step = place(Options{}, func(output Type) []Var {
		return append(loopVars(output), Var{"step", Struct("step",
			Var{"number", Int}, // in its iteration, from 1
			Var{"text", String},
			Var{"calls", ListOf(toolCall())})})
	})
	// Argument is the environment of the arguments of an agent that is a program: the loop's, and the rendered prompt.
	Argument = place(Options{}, func(output Type) []Var { return append(loopVars(output), Var{"prompt", String}, Var{"trial", Int}) })
	// Scorer is the environment of cel scorers and extractions, after the loop.
	Scorer = place(Options{}, scorerVars)
	// ToolCall is the environment of what judges one tool call after the loop: the scorers', and the call.
	ToolCall = place(Options{}, func(output Type) []Var { return append(scorerVars(output), Var{"call", toolCall()}) })
	// JSONPath is the environment of json_path: the scorers', and the JSON that is judged.
	JSONPath = place(Options{}, func(output Type) []Var { return append(scorerVars(output), Var{"json", Any}) })

	// Rubric is the environment of what a judge is asked for: the task with its target. The output is shown as data, and
	// is never a part of what is asked.
	Rubric = fixed(Options{}, Var{"task", task(Var{"target", Any})}, Var{"target", Any})
	// Tool is the environment of a tool that is an expression. Call counts the run's tool calls before this one.
	Tool = fixed(Options{}, Var{"args", MapOf(Any)}, Var{"task", task()}, Var{"call", Int})
	// Seed is the environment of what a workspace begins with: the task.
	Seed = fixed(Options{}, Var{"task", task()})
	// Printed is the environment of what a program's output and usage are: what it printed, that as JSON, and the workspace.
	Printed = fixed(Options{}, Var{"task", task()}, Var{"stdout", String}, Var{"reply", Any}, Var{"workspace", workspace()})
	// UserUntil is the environment of what ends a conversation with a user: the user's turn, and its number in the
	// iteration, from 1.
	UserUntil = fixed(Options{}, Var{"message", String}, Var{"turn", Int}, Var{"task", task()})
	// Fold is the environment of `cluster`, `group_by` and `folds: {by: ...}`: the task alone.
	Fold = fixed(Options{}, Var{"task", task()})
	// Objective is the environment of tune's objective and constraints: the metrics of one configuration.
	Objective = fixed(Options{}, metrics()...)
	// Threshold is the environment of thresholds: the metrics of every configuration by its name, and what differs between
	// a configuration and the baseline.
	Threshold = fixed(Options{Words: map[string][]string{"verdict": Verdicts}},
		Var{"configurations", MapOf(Struct("metrics", append(metrics(), declaredMetrics())...))}, Var{"diff", diff()})
	// Simulated is the environment of a simulated model's reply. It is the one place inside the loop that sees the target,
	// as truth: a simulated model replaces one that knows.
	Simulated = fixed(Options{},
		Var{"quality", Double},    // 0 to 1
		Var{"confidence", Double}, // quality as the model itself would estimate it
		Var{"correct", Bool},      // true with a probability of quality
		Var{"truth", Any},         // the task's target
		Var{"answer", Any},        // truth where correct, else something near it
		Var{"draw", Int},          // 0 to 999999, for chance of the reply's own
		Var{"task", task()},
		Var{"iteration", Int}, // from 1
		Var{"prompt", String}) // the last message sent

	mappingLimits = Options{Deadline: 10 * time.Minute, MaxSteps: 1_000_000_000, MaxValues: 100_000_000, MaxText: 64 << 20}
	mappingVars   = []Var{{"doc", Any}, {"row", Any}, {"file", String}, {"line", Int}}
	// Mapping is the environment of dataset mappings, of the script model and of imports: one file at a time, of any size.
	Mapping = fixed(mappingLimits, mappingVars...)
	// MappingIteration is the environment of what an import says of an iteration: a mapping's, and the entry of the log
	// that the iteration begins with, its index from 0, and the entries after it up to the next iteration.
	MappingIteration = fixed(mappingLimits, append(mappingVars[:4:4], Var{"it", Any}, Var{"i", Int}, Var{"after", Any})...)
	// Selection is the environment of what takes or groups the tasks of a dataset: a task with its target, and the row that
	// it was made of.
	Selection = fixed(mappingLimits, append(mappingVars[1:4:4], Var{"task", task(Var{"target", Any})})...)
)

// Verdicts are what a comparison says of a difference.
var Verdicts = []string{"better", "worse", "same", "cannot_tell"}

// place gives the environments of a place by the type of the outputs that it sees.
func place(options Options, vars func(output Type) []Var) func(output Type) *Env {
	var mu sync.Mutex
	envs := map[string]*Env{}
	return func(output Type) *Env {
		mu.Lock()
		defer mu.Unlock()
		env, known := envs[output.String()]
		if !known {
			var err error
			if env, err = NewEnv(vars(output), options); err != nil {
				panic(fmt.Sprintf("expr: a place of the language does not compile: %v", err)) // the tables here are wrong
			}
			envs[output.String()] = env
		}
		return env
	}
}

// fixed is a place that knows no outputs.
func fixed(options Options, vars ...Var) func() *Env {
	of := place(options, func(Type) []Var { return vars })
	return func() *Env { return of(Any) }
}

func loopVars(output Type) []Var {
	return append([]Var{
		{"task", task()},
		{"previous", iteration(output)}, // the one before the last; null before there is one
		{"best", best(output)},          // null before there is one
		{"outputs", MapOf(output)},      // phase -> its last output
		{"history", ListOf(iteration(output))},
		{"since_improvement", Int},
		{"iteration_tool_calls", Int},
		{"usage", usage()},
		{"param", MapOf(Any)},
	}, iterationFields(output)...)
}

func scorerVars(output Type) []Var {
	return []Var{
		{"task", task(Var{"target", Any})},
		{"target", Any},
		{"output", output},
		{"best", best(output)},
		{"iterations", ListOf(iteration(output))},
		{"usage", usage()},
		{"stop", Struct("stop", Var{"reason", String}, Var{"class", String}, Var{"name", String},
			Var{"success", Bool}, Var{"status", String})},
	}
}

func task(more ...Var) Type {
	return Struct("task", append([]Var{{"id", String}, {"input", Any}, {"vars", MapOf(Any)}, {"metadata", MapOf(Any)}}, more...)...)
}

// iterationFields are the same at the top of the loop's environment, where they mean the last iteration, and in the
// elements of history, which have more.
func iterationFields(output Type) []Var {
	return []Var{
		{"iteration", Int}, // completed so far
		{"phase", String},
		{"strategy", String},
		{"output", output},
		{"confidence", Nullable(Double)}, // null where nothing was evaluated
		{"passed", Bool},
		{"feedback", String},
		{"improvements", ListOf(String)},
		{"checks", MapOf(Struct("check", Var{"passed", Bool}, Var{"feedback", String}))},
		{"failing", ListOf(Struct("failing", Var{"name", String}, Var{"feedback", String}))},
		{"error", String},
		{"elapsed", Duration},
		{"tool_calls", ListOf(toolCall())},
		{"steps", Int},             // of an agent that converses, else 0
		{"workspace", workspace()}, // as the iteration left it
	}
}

// iteration is an iteration that is over.
func iteration(output Type) Type {
	return Struct("iteration", append(iterationFields(output),
		Var{"duration", Duration},
		Var{"adaptation", String})...) // what changed for the next one, empty at the last
}

// workspace is what a run changed of the files that its workspace began with.
func workspace() Type {
	return Struct("workspace",
		Var{"changed", ListOf(String)}, // paths
		Var{"added", ListOf(String)},
		Var{"deleted", ListOf(String)},
		Var{"insertions", Int}, // lines
		Var{"deletions", Int},
		Var{"diff", String},
		Var{"truncated", Bool}) // the diff is longer than it is shown
}

func best(output Type) Type {
	return Struct("best", Var{"output", output}, Var{"confidence", Nullable(Double)}, Var{"iteration", Int})
}

func usage() Type {
	return Struct("usage", Var{"tokens", Int}, Var{"input_tokens", Int}, Var{"output_tokens", Int}, Var{"calls", Int},
		Var{"tool_calls", Int}, Var{"cost_usd", Double})
}

// metrics are what a configuration is measured by. Latency is in seconds.
func metrics() []Var {
	spread := Struct("spread", Var{"mean", Double}, Var{"sum", Double}, Var{"p50", Double}, Var{"p95", Double})
	total := Struct("total", Var{"mean", Double}, Var{"sum", Double}, Var{"total", Double}) // both words mean the same
	return []Var{
		{"n", Int}, // tasks
		{"runs", Int},
		{"coverage", Double}, // share of the runs that count
		{"success", Double},  // share of the runs that the loop believed to have succeeded
		{"scores", MapOf(Struct("score", Var{"mean", Double}, Var{"n", Int}))},
		{"iterations", spread},
		{"latency", spread},
		{"cost_usd", total},
		{"tokens", total},
		{"calls", total},
		{"tool_calls", total},
	}
}

// declaredMetrics are the metrics that the suite declares.
func declaredMetrics() Var {
	of := []Var{{"value", Double}, {"n", Int}} // tasks
	group := Struct("group", of...)
	return Var{"metrics", MapOf(Struct("metric", append(of[:2:2], Var{"groups", MapOf(group)})...))}
}

// diff is a configuration beside the baseline, quantity by quantity.
func diff() Type {
	d := Struct("difference",
		Var{"verdict", String}, // one of Verdicts
		Var{"base", Double},
		Var{"new", Double},
		Var{"change", Double}, // new - base; of amounts the ratio less 1
		Var{"low", Double},    // the ends of its 95 % interval
		Var{"high", Double},
		Var{"p", Double}, // adjusted, as the verdict is
		Var{"not_worse", Bool},
		Var{"n", Int}, // tasks
		Var{"wins", Int}, Var{"losses", Int}, Var{"ties", Int})
	return Struct("diff", Var{"configuration", String}, Var{"scores", MapOf(d)}, Var{"cost_usd", d}, Var{"tokens", d},
		Var{"latency", d}, Var{"iterations", d}, Var{"calls", d})
}

// toolCall is one use of a tool. Its result is null where there is none, its error "" where it did not fail, and its
// arguments are a text where they could not be read.
func toolCall() Type {
	return Struct("tool_call", Var{"tool", String}, Var{"arguments", Any}, Var{"result", Any}, Var{"error", String},
		Var{"iteration", Int}, Var{"step", Int}) // both from 1; a program that tells of its calls has no steps: 0
}
