package expr

import (
	"fmt"
	"sync"
	"time"
)

// Loop is the environment inside the loop: when, until, of and continue_if, prompts and commands. The output type is
// String for text replies and Any for JSON and programs. There is no target here: a loop cannot be scored with the
// answer it was shown.
func Loop(output Type) *Env { return loopPlaces.get(output, loopVars, Options{}) }

// Evaluate is the environment of checks, confidence, passed and feedback: the loop's, and what a judge or a program
// answered.
func Evaluate(output Type) *Env { return evaluatePlaces.get(output, evaluateVars, Options{}) }

// Scorer is the environment of cel scorers and extractions, after the loop.
func Scorer(output Type) *Env { return scorerPlaces.get(output, scorerVars, Options{}) }

// JSONPath is the environment of json_path: the scorers', and the JSON that is judged.
func JSONPath(output Type) *Env {
	return jsonPathPlaces.get(output, func(output Type) []Var { return append(scorerVars(output), Var{"json", Any}) }, Options{})
}

// Rubric is the environment of what a judge is asked for: the task with its target. The output is shown as data, and
// is never a part of what is asked.
func Rubric() *Env {
	return rubricPlace.get(Any, func(Type) []Var { return []Var{{"task", task(Var{"target", Any})}, {"target", Any}} }, Options{})
}

// Mapping is the environment of dataset mappings, of the script model and of imports: one file at a time, of any size.
func Mapping() *Env {
	return mappingPlaces.get(Any, mappingVars, mappingLimits)
}

// MappingIteration is the environment of what an import says of an iteration: a mapping's, and the entry of the log
// that the iteration begins with, its index from 0, and the entries after it up to the next iteration.
func MappingIteration() *Env {
	return mappingIterationPlaces.get(Any, func(t Type) []Var {
		return append(mappingVars(t), Var{"it", Any}, Var{"i", Int}, Var{"after", Any})
	}, mappingLimits)
}

func mappingVars(Type) []Var {
	return []Var{{"doc", Any}, {"row", Any}, {"file", String}, {"line", Int}}
}

// Selection is the environment of what takes or groups the tasks of a dataset: a task with its target, and the row that
// it was made of.
func Selection() *Env {
	return selectionPlaces.get(Any, func(Type) []Var {
		return []Var{{"task", task(Var{"target", Any})}, {"row", Any}, {"file", String}, {"line", Int}}
	}, mappingLimits)
}

var mappingLimits = Options{NoEstimate: true, CostLimit: 1_000_000_000, Deadline: 10 * time.Minute, MaxValues: 100_000_000}

// Threshold is the environment of thresholds: the metrics of every configuration by its name, and what differs between
// a configuration and the baseline.
func Threshold() *Env {
	return thresholdPlaces.get(Any, func(Type) []Var {
		return []Var{{"configurations", MapOf(Struct("metrics", append(metrics(), declaredMetrics())...))}, {"diff", diff()}}
	}, Options{Words: map[string][]string{"verdict": Verdicts}})
}

// Verdicts are what a comparison says of a difference.
var Verdicts = []string{"better", "worse", "same", "cannot_tell"}

// Objective is the environment of tune's objective and constraints: the metrics of one configuration.
func Objective() *Env {
	return objectivePlaces.get(Any, func(Type) []Var { return metrics() }, Options{})
}

// Fold is the environment of `cluster`, `group_by` and `folds: {by: ...}`: the task alone.
func Fold() *Env {
	return foldPlaces.get(Any, func(Type) []Var { return []Var{{"task", task()}} }, Options{})
}

// Each place makes its environment when it is first needed, one for each output type.
var loopPlaces, evaluatePlaces, scorerPlaces, mappingPlaces, mappingIterationPlaces place
var selectionPlaces, thresholdPlaces, objectivePlaces, foldPlaces, jsonPathPlaces, rubricPlace place

type place struct {
	mu   sync.Mutex
	envs map[string]*Env
}

func (p *place) get(output Type, vars func(Type) []Var, options Options) *Env {
	p.mu.Lock()
	defer p.mu.Unlock()
	if env, ok := p.envs[output.String()]; ok {
		return env
	}
	env, err := NewEnv(vars(output), options)
	if err != nil {
		panic(fmt.Sprintf("expr: a place of the language does not compile: %v", err)) // the tables below are wrong
	}
	if p.envs == nil {
		p.envs = map[string]*Env{}
	}
	p.envs[output.String()] = env
	return env
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

func evaluateVars(output Type) []Var {
	return append(loopVars(output), Var{"judge", Any}, Var{"command", Any})
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
		{"steps", Int}, // of an agent that converses, else 0
	}
}

// iteration is an iteration that is over.
func iteration(output Type) Type {
	return Struct("iteration", append(iterationFields(output),
		Var{"duration", Duration},
		Var{"adaptation", String})...) // what changed for the next one, empty at the last
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
