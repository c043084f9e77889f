package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

// Class says how far a recorded run answers for another value of a parameter.
type Class string

// The classes, from the best to the worst.
const (
	Replayed    Class = "replayed"     // always, as long as the run went on long enough
	JudgedAgain Class = "judged again" // recorded outputs are judged again, without calls
	Partly      Class = "partly"       // for some runs; the others need calls from a point on
	Calls       Class = "needs calls"  // for none: the value is part of the path
)

// Parameter is what can be said of a parameter before anything runs. It may be
// more cautious than a replay turns out to be, never less.
type Parameter struct {
	Path  string
	Class Class
	Why   string // a sentence
}

// Analyse says of every parameter of a loop, in the order of the language, how
// far it can be replayed.
func Analyse(l *spec.Loop) []Parameter {
	a := newAnalysis(l)
	var all []Parameter
	for _, v := range l.Values() {
		if v.Parameter {
			all = append(all, a.parameter(v.Path))
		}
	}
	return all
}

// AnalysePath says it of a path, which may be one that the loop leaves out, or a
// short form.
func AnalysePath(l *spec.Loop, path string) Parameter {
	return newAnalysis(l).parameter(spec.FullPath(path))
}

// analysis is what the sentences follow from.
type analysis struct {
	loop   *spec.Loop
	stages []spec.Stage
	// told are the stages, by index, whose prompts or programs depend on
	// evaluations.
	told []bool
}

func newAnalysis(l *spec.Loop) *analysis {
	a := &analysis{loop: l, stages: l.Stages()}
	for i := range a.stages {
		a.told = append(a.told, readsAny(sentReads(&a.stages[i]), ofJudging))
	}
	return a
}

func (a *analysis) parameter(path string) Parameter {
	p := a.byPlace(path)
	p.Path = path
	if why := a.read(path); why != "" && p.Class != Calls {
		p.Class, p.Why = Calls, why
	} else if p.Class == Replayed && a.judgingReads(path) {
		p = a.judging()
		p.Path, p.Why = path, "the evaluation reads it; "+p.Why
	}
	return p
}

// byPlace goes by where the parameter stands.
func (a *analysis) byPlace(path string) Parameter {
	section, rest, _ := strings.Cut(path, ".")
	switch section {
	case "terminate", "max_iterations":
		return a.condition(path)
	case "guards":
		return a.guard(rest)
	case "on_error":
		return Parameter{Class: Replayed, Why: "it decides only whether a run continues after an error"}
	case "phases", "strategies":
		return a.stage(section, rest)
	case "evaluate":
		return a.evaluated(rest)
	case "agent":
		return a.agent(rest)
	case "pattern", "preset":
		return Parameter{Class: Calls, Why: "it presets several things at once; set them by their own paths"}
	}
	return Parameter{Class: Calls, Why: "it is part of what the agent is sent"}
}

func (a *analysis) condition(path string) Parameter {
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case strings.HasPrefix(last, "max_iterations") || isLimit(a.loop.Terminate.Any, last):
		return a.limit("it decides only when a run stops")
	case last == "min_delta" || last == "patience" || strings.Contains(path, "no_improvement"):
		if where := a.reads("since_improvement"); where != "" {
			return Parameter{Class: Calls, Why: where + " reads since_improvement, which counts by min_delta"}
		}
	case (last == "cancel" || strings.Contains(path, "timeout")) && a.programs():
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; where it falls into a program, the score has bounds unless the state of the workspace is known"}
	case last == "cancel" || strings.Contains(path, "timeout"):
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; what a cancelled iteration cost is an interval"}
	}
	return Parameter{Class: Replayed, Why: "it decides only when a run stops"}
}

// programs reports whether a program executes iterations.
func (a *analysis) programs() bool {
	return slices.ContainsFunc(a.stages, func(s spec.Stage) bool { return s.Agent.Command != nil })
}

// isLimit reports whether a condition of that name is a max_iterations.
func isLimit(conditions []spec.Condition, name string) bool {
	return slices.ContainsFunc(conditions, func(c spec.Condition) bool {
		return c.Kind == spec.KindMaxIterations && c.Name == name || isLimit(c.Nested, name)
	})
}

// limit is a limit of iterations, which an agent may be warned of.
func (a *analysis) limit(why string) Parameter {
	for i := range a.stages {
		if toldIterations(a.loop, a.stages[i].Agent) {
			return Parameter{Class: Calls, Why: toldRemaining}
		}
	}
	return Parameter{Class: Replayed, Why: why}
}

func (a *analysis) guard(rest string) Parameter {
	hard := a.loop.Guards.Budget != nil && a.loop.Guards.Budget.Hard || rest == "budget.hard"
	switch {
	case strings.HasPrefix(rest, "absolute_max_iterations"):
		return a.limit("it decides only when a run stops")
	case rest == "budget.steps":
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; what a smaller limit leaves is known of workspaces with snapshot: step"}
	case strings.HasPrefix(rest, "budget") && hard:
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; the recording has to be made under a hard budget too, so that it has the reservations"}
	case a.steps(rest):
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; steps are read from the whole records"}
	case rest == "stagnation.signature":
		return Parameter{Class: Replayed, Why: "it decides only when a run stops; other signatures than calls are read from the whole records"}
	}
	return Parameter{Class: Replayed, Why: "it decides only when a run stops"}
}

// steps reports whether a guard looks at steps.
func (a *analysis) steps(rest string) bool {
	kind, _, _ := strings.Cut(rest, ".")
	only := spec.Loop{Agent: a.loop.Agent, Phases: a.loop.Phases, Strategies: a.loop.Strategies, User: a.loop.User}
	switch g := &a.loop.Guards; kind {
	case "stagnation":
		only.Guards.Stagnation = g.Stagnation
	case "repeated":
		only.Guards.Repeated = g.Repeated
	case "consecutive":
		only.Guards.Consecutive = g.Consecutive
	case "circuit_breaker":
		only.Guards.CircuitBreaker = g.CircuitBreaker
	}
	return looksAtSteps(&only) != ""
}

// stage is a parameter of a phase or a strategy: a limit, or what is sent.
func (a *analysis) stage(section, rest string) Parameter {
	index, key := a.stageOf(rest)
	if index < 0 || key != "max_iterations" && key != "until" {
		if agent, ok := strings.CutPrefix(key, "agent."); ok && index >= 0 {
			return a.agent(agent)
		}
		return Parameter{Class: Calls, Why: "it is part of what the agent is sent"}
	}
	one := strings.TrimSuffix(section, "s")
	if section == "strategies" {
		one = "strategy"
	}
	if index == len(a.stages)-1 {
		return a.limit(fmt.Sprintf("the last %s: it decides only when a run stops", one))
	}
	p := a.limit(fmt.Sprintf("another %s follows: runs that left %q before the limit are exact, the others need calls from there", one, a.stages[index].Name))
	if p.Class == Replayed {
		p.Class = Partly
	}
	return p
}

// stageOf finds the stage that a path names, whose name may hold dots, and the
// rest of the path.
func (a *analysis) stageOf(rest string) (index int, key string) {
	for i := range a.stages {
		if key, ok := strings.CutPrefix(rest, a.stages[i].Name+"."); ok && a.stages[i].Name != "" {
			return i, key
		}
	}
	return -1, rest
}

func (a *analysis) agent(rest string) Parameter {
	switch key, _, _ := strings.Cut(rest, "."); key {
	case "timeout":
		if a.programs() {
			return Parameter{Class: Partly, Why: "runs that end where it kills the program are exact, as are those whose programs took less; the others need calls from the next iteration"}
		}
		return Parameter{Class: Partly, Why: "runs whose calls took less than both limits are exact, the others need calls"}
	case "warn_remaining":
		return Parameter{Class: Calls, Why: "it tells the agent how many steps remain"}
	case "max_steps", "steps_of":
		if slices.ContainsFunc(a.stages, func(s spec.Stage) bool { return len(s.Agent.Models) > 0 }) {
			return Parameter{Class: Partly, Why: "runs whose programs make no more steps than both limits are exact, and those that end with the iteration that the lower one ends; the others need calls from the next iteration"}
		}
		if slices.ContainsFunc(a.stages, func(s spec.Stage) bool { return s.Agent.WarnRemaining > 0 }) {
			return Parameter{Class: Partly, Why: "runs whose conversations end before warn_remaining announces either limit are exact, the others need calls"}
		}
		return Parameter{Class: Partly, Why: "runs whose conversations end before both limits are exact, and those that end where the agent reaches the lower one; the others need calls"}
	case "memory":
		return Parameter{Class: Partly, Why: "runs of which both memories leave out the same are exact, the others need calls"}
	case "tools":
		if strings.HasSuffix(rest, ".success") {
			return Parameter{Class: Replayed, Why: "it decides only whether a run that the tool ends is a success"}
		}
		if strings.HasSuffix(rest, ".timeout") {
			return Parameter{Class: Partly, Why: "runs whose uses of the tool took less than both limits are exact, the others need calls"}
		}
	}
	return Parameter{Class: Calls, Why: "it is part of what the agent is sent, or of how it is answered"}
}

func (a *analysis) evaluated(rest string) Parameter {
	switch key, _, _ := strings.Cut(rest, "."); key {
	case "judge", "command", "test", "in":
		return Parameter{Class: Calls, Why: "it is part of what the judge or the program is asked"}
	case "from_phase":
		if p := a.judging(); p.Class == Calls {
			return p
		}
		return Parameter{Class: Partly, Why: "evaluations can be left out, but none can be had of iterations that the recording did not evaluate"}
	}
	return a.judging()
}

// judging is the class of what changes evaluations.
func (a *analysis) judging() Parameter {
	if e := a.loop.Evaluate; e == nil || e.Judge != nil || e.Command != nil || e.Test != nil {
		return Parameter{Class: Calls, Why: "the evaluation asks a judge or a program"}
	}
	for i, told := range a.told {
		if told {
			return Parameter{Class: Partly, Why: fmt.Sprintf("recorded outputs are judged again, without calls; %s reads what the evaluation says, so runs need calls from where that differs", a.called(i))}
		}
	}
	return Parameter{Class: JudgedAgain, Why: "recorded outputs are judged again, without calls"}
}

// read says what of the path reads the parameter.
func (a *analysis) read(path string) string {
	for i := range a.stages {
		if slices.ContainsFunc(sentReads(&a.stages[i]), func(read string) bool { return readsParam(read, path) }) {
			return fmt.Sprintf("%s reads it, so the agent knows it", a.called(i))
		}
		if slices.ContainsFunc(readsOf(a.stages[i].Agent.FinalResponse), func(read string) bool { return readsParam(read, path) }) {
			return "final_response reads it"
		}
	}
	return ""
}

func (a *analysis) judgingReads(path string) bool {
	return a.loop.Evaluate != nil && slices.ContainsFunc(evaluationReads(a.loop.Evaluate), func(read string) bool { return readsParam(read, path) })
}

// reads names what of the path reads a variable.
func (a *analysis) reads(variable string) string {
	for i := range a.stages {
		if readsAny(sentReads(&a.stages[i]), []string{variable}) || readsAny(readsOf(a.stages[i].Agent.FinalResponse), []string{variable}) {
			return a.called(i)
		}
	}
	if a.loop.Evaluate != nil && readsAny(evaluationReads(a.loop.Evaluate), []string{variable}) {
		return "the evaluation"
	}
	return ""
}

// called is what a stage is called in a sentence.
func (a *analysis) called(i int) string {
	if a.stages[i].Agent.Model == "" {
		return "the program"
	}
	if name := a.stages[i].Name; name != "" {
		return fmt.Sprintf("the prompt of %q", name)
	}
	return "the prompt"
}

// readsParam reports whether a path that is read may be a parameter: by its full
// path, by the end of it, or within an object that holds it.
func readsParam(read, path string) bool {
	rest, ok := strings.CutPrefix(read, "param")
	switch {
	case !ok || rest != "" && rest[0] != '.':
		return false
	case rest == "":
		return true
	}
	rest = rest[1:]
	return rest == path || strings.HasSuffix(path, "."+rest) || strings.HasPrefix(path, rest+".") || strings.Contains(path, "."+rest+".")
}
