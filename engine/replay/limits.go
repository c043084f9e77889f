package replay

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Limits are the conditions and guards of many configurations of one loop, which take one path and differ in nothing else:
// each is asked once after every recorded iteration.
type Limits struct {
	loop    *spec.Loop
	cancels cancels
	reads   []string // what decides on what is sent and how it is judged reads
	leaves  stop.Leaves
}

// NewLimits begins with a loop, whose own conditions and guards do not matter.
func NewLimits(l *spec.Loop) *Limits {
	return &Limits{loop: l, cancels: cancelsOf(stop.Compile(l)), reads: pathReads(l)}
}

// GeneralError is the reason why a configuration has to be replayed by itself.
type GeneralError struct{ Why string }

// Error is the reason in words.
func (e *GeneralError) Error() string { return "replayed by itself: " + e.Why }

// Configuration adds a loop that differs from that of the limits in them alone. The error is a *GeneralError: it differs in
// more, or limits decide at other moments than after an iteration and, of a hard budget, before a call. Several may ask at a time.
func (l *Limits) Configuration(of *spec.Loop) (c stop.Configuration, err error) {
	rules := stop.Compile(of)
	if why := l.serves(of, rules); why != "" {
		return c, &GeneralError{why}
	}
	return l.leaves.Add(rules), nil
}

// Serves is the reason why a configuration differs in more than the limits; "": it does not.
func (l *Limits) Serves(of *spec.Loop) string { return l.serves(of, stop.Compile(of)) }

func (l *Limits) serves(of *spec.Loop, rules *stop.Rules) string {
	if why := general(of); why != "" {
		return why
	}
	switch {
	case l.cancels != cancelsOf(rules):
		return "timeouts cancel at different times"
	case hardLimits(l.loop) != hardLimits(of):
		return "hard budgets limit different amounts"
	}
	for _, d := range spec.Differences(l.loop, of) {
		if section, _, _ := strings.Cut(d.Path, "."); d.Class != spec.ChangesScores && !slices.Contains(conditions, section) {
			return d.Path + " differs"
		}
	}
	return l.tells(of)
}

// conditions are the keys of a loop that limits evaluate.
var conditions = []string{"max_iterations", "terminate", "guards"}

// tells says what of the path depends on when a run may stop.
func (l *Limits) tells(of *spec.Loop) string {
	for _, s := range of.Stages() {
		if toldIterations(of, s.Agent) {
			return toldRemaining
		}
	}
	for _, read := range l.reads {
		variable, rest, _ := strings.Cut(read, ".")
		switch {
		case variable == "since_improvement":
			return "what is sent or judged reads since_improvement"
		case variable == "param" && !reflect.DeepEqual(paramAt(l.loop, rest), paramAt(of, rest)):
			return "what is sent or judged reads " + read
		}
	}
	return ""
}

// hardLimits are the amounts that a hard budget of a loop limits: calls, tokens and cost.
func hardLimits(l *spec.Loop) (hard [3]bool) {
	if b := l.Guards.Budget; b != nil && b.Hard {
		hard = [3]bool{b.Calls > 0, b.Tokens > 0, b.CostUSD > 0}
	}
	return hard
}

// general says which limit of a loop decides elsewhere than after an iteration or before a call, or by what the configuration decides.
func general(l *spec.Loop) string {
	callsModels := func(s spec.Stage) bool { return len(s.Agent.Models) > 0 }
	switch b := l.Guards.Budget; {
	case b != nil && b.Steps > 0:
		return "its budget limits steps"
	case b != nil && b.Hard && slices.ContainsFunc(l.Stages(), callsModels):
		return "its hard budget decides about the calls of a program"
	}
	if why := looksAtSteps(l); why != "" {
		return why
	}
	for _, e := range decisions(l) {
		for _, path := range readsOf(e) {
			if variable, _, _ := strings.Cut(path, "."); variable == "param" || variable == "since_improvement" {
				return fmt.Sprintf("a condition reads %s, which the configuration decides", variable)
			}
		}
	}
	return ""
}

// pathReads are the variables that decide on what is sent and how it is judged.
func pathReads(l *spec.Loop) (reads []string) {
	for _, stage := range l.Stages() {
		reads = append(append(reads, sentReads(&stage)...), readsOf(stage.Agent.FinalResponse)...)
	}
	if l.Evaluate != nil {
		reads = append(reads, evaluationReads(l.Evaluate)...)
	}
	return reads
}

// Watcher looks at all limits on paths. It serves any number of them at once. Configurations that are added later are
// not in it.
type Watcher struct {
	rules  *stop.Watcher
	param  any
	states sync.Pool // of histories that are over
}

// Watcher is that of the configurations so far.
func (l *Limits) Watcher() *Watcher {
	return &Watcher{rules: stop.Compile(Endless(l.loop)).Watch(&l.leaves), param: paramOf(l.loop)}
}

// Chains are those of configurations: see [stop.Watcher.Chains].
func (w *Watcher) Chains(all []stop.Configuration, members []int) ([]stop.Chain, []int) {
	return w.rules.Chains(all, members)
}

// Course is a path under all configurations: the masks say after how many iterations each of them stops the run.
type Course struct {
	*stop.Masks
	// Believed is, by iterations made, the highest threshold at which the loop believes in a run that stops there; NaN: at none.
	// The first is that of a run that comes to its own end.
	Believed []float64

	path     *Path
	returned []int          // by iterations made
	own      Result         // of a run that no configuration stops
	last     record.Outcome // of one that ends by itself, at its last iteration
}

// Course follows a path. It is valid as long as the path.
func (w *Watcher) Course(p *Path) Course {
	c := Course{Masks: w.rules.Masks(len(p.Made)), path: p, Believed: []float64{math.NaN()}, returned: []int{0}, own: p.End}
	state, ok := w.states.Get().(*stop.State)
	if ok {
		state.Restart(p.Task, w.param)
	} else {
		state = w.rules.Start(p.Task, w.param)
	}
	defer w.states.Put(state)
	for i, it := range p.Made {
		d := state.Fold(it)
		if p.brokenAt(i, &d) {
			return c
		}
		w.rules.Note(state, c.Masks)
		c.Believed, c.returned = append(c.Believed, state.Believed()), append(c.returned, state.Returned())
		if d.Stop {
			c.end(it, d.Outcome)
			return c
		}
	}
	if p.End.Verdict == Exact { // the agent has nothing more to give
		c.own = p.upTo(len(p.Made), state.StopBefore(p.End.Outcome.Reason))
		c.Believed[0] = state.Believed()
	}
	return c
}

// end notes how the run ends by itself after an iteration.
func (c *Course) end(it *record.Iteration, o record.Outcome) {
	n := c.Iterations()
	c.own = c.path.upTo(n, o)
	if o.Status == record.Faulted && it.Error == nil { // the end of a phase could not be evaluated
		c.End(n, false, true)
		return
	}
	stages := o.Reason == record.ReasonPhasesComplete || o.Reason == record.ReasonStrategiesExhausted
	c.End(n, !stages, false) // that all stages are over comes after the conditions in the order of decision
	c.last = o
	if o.Status != record.Completed {
		c.Believed[n] = math.NaN()
	}
	c.Believed[0] = c.Believed[n]
}

// Result is what becomes of a run that makes so many iterations; 0: that comes to its own end. Failed: because an expression could not
// be evaluated. Why it stops is left out: that is for the configuration to say.
func (c *Course) Result(iterations int, failed bool) Result {
	switch {
	case iterations == 0:
		return c.own
	case failed:
		return c.path.upTo(iterations, record.Outcome{Status: record.Faulted, Reason: record.ReasonError})
	case c.last.Status != "" && iterations == c.Iterations():
		return c.path.upTo(iterations, c.last)
	}
	return c.path.upTo(iterations, record.Outcome{Status: record.Completed, Returned: c.returned[iterations]})
}

// AsIf is the run that a result leaves behind, of the recorded one.
func (c *Course) AsIf(run *record.Run, result *Result) *record.Run { return c.path.AsIf(run, result) }

// Iterations are how many a configuration may stop the run after.
func (c *Course) Iterations() int { return len(c.Believed) - 1 }
