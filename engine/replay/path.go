package replay

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Path is a recorded run as far as it answers for the configurations that differ
// only in when they stop.
type Path struct {
	Task *spec.Task
	// Made are the iterations as these configurations make them.
	Made []*record.Iteration
	// End is what becomes of the run where none of them stops it.
	End Result

	lump *lump // nil: the iterations tell what they used
}

// Endless is a loop without conditions and guards, the maximum that follows from
// its stages included: what it does is the path of all configurations that differ
// from it in nothing else. A timeout that cancels is part of the path: it decides
// what becomes of an iteration.
func Endless(l *spec.Loop) *spec.Loop {
	endless := *l
	endless.Terminate, endless.Guards = spec.Tree{}, spec.Guards{}
	endless.Guards.AbsoluteMaxIterations.Off = true
	if _, derived, _ := endless.EffectiveMax(); derived {
		endless.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: math.MaxInt}}
	}
	if c := cancelsOf(l); c.ok {
		after := source.Maybe[time.Duration]{Set: true, Value: c.at}
		endless.Terminate.Any = append(endless.Terminate.Any, spec.Condition{Kind: spec.KindTimeout, Timeout: spec.Timeout{After: after, Working: c.working}})
	}
	return &endless
}

// cancels is when a loop cancels an iteration in flight.
type cancels struct {
	at          time.Duration
	working, ok bool
}

func cancelsOf(l *spec.Loop) (c cancels) {
	c.at, c.working, c.ok = stop.Compile(l).CancelAt()
	return c
}

// Path walks a recorded run. The configuration of the replay is endless.
func (r *Replay) Path(ctx context.Context, run *record.Run, task *spec.Task) Path {
	w := &walk{Replay: r, Options: r.options, ctx: ctx, run: run, task: task}
	end := w.walk()
	for i, it := range w.made {
		if recorded := &run.Iterations[i]; unchanged(it, recorded) {
			w.made[i] = recorded // so that nothing is kept twice
		}
	}
	return Path{Task: task, Made: slices.Clip(w.made), End: end, lump: w.lump}
}

// unchanged says that an iteration that nothing cut is made as it was recorded, but
// for what it adapts, which replays do not read.
func unchanged(it, recorded *record.Iteration) bool {
	return it.Cut == "" && recorded.Cut == "" && it.Skipped == recorded.Skipped && it.Phase == recorded.Phase && it.Strategy == recorded.Strategy &&
		it.Evaluation == recorded.Evaluation && it.Error == recorded.Error && it.Ended == recorded.Ended &&
		it.End == recorded.End && it.Working == recorded.Working &&
		len(it.Calls) == len(recorded.Calls) && len(it.Steps) == len(recorded.Steps) && len(it.ToolCalls) == len(recorded.ToolCalls)
}

// dry says that the agent ends the run after the last iteration made, or before
// the first.
func (p *Path) dry() bool {
	if p.End.Verdict != Exact || p.End.Outcome.Reason != record.ReasonAgentEnded {
		return false
	}
	n := len(p.Made)
	return n == 0 || p.Made[n-1].Ended == nil
}

// Faults says that the run ends with a fault after the last iteration made,
// whatever its conditions.
func (p *Path) Faults() bool {
	return p.End.Verdict == Exact && !p.End.Outcome.Counts() && !p.untilFails()
}

// untilFails says that the last iteration made ends the run because the end of a
// phase could not be evaluated: unless a condition holds, which comes before.
func (p *Path) untilFails() bool {
	n := len(p.Made)
	return n > 0 && p.End.Verdict == Exact && p.End.Outcome.Status == record.Faulted && p.Made[n-1].Error == nil
}

// Stops are the conditions and guards of a configuration, to be held against
// paths. They serve any number of them at once.
type Stops struct {
	loop   *spec.Loop
	rules  *stop.Rules
	states sync.Pool // of histories that are over
}

// NewStops are those of a configuration that decides after iterations only: one
// that Points serve.
func NewStops(l *spec.Loop) *Stops { return &Stops{loop: l, rules: stop.Compile(l)} }

// Along is what a replay of the run would give.
func (s *Stops) Along(p *Path) Result {
	state := s.start(p.Task)
	defer s.states.Put(state)
	for i, it := range p.Made {
		if d := state.Fold(it); d.Stop {
			return p.upTo(i+1, d.Outcome)
		}
	}
	if p.End.Verdict != Exact {
		return p.End
	}
	return p.upTo(len(p.Made), state.StopBefore(record.ReasonAgentEnded))
}

// start begins a history.
func (s *Stops) start(task *spec.Task) *stop.State {
	if state, ok := s.states.Get().(*stop.State); ok {
		state.Restart(task, paramOf(s.loop))
		return state
	}
	return s.rules.Start(task, paramOf(s.loop))
}

// AsIf is the run that such a result leaves behind, of the recorded one.
func (p *Path) AsIf(run *record.Run, result *Result) *record.Run {
	made := asIf(run, result, p.Made[:result.Iterations])
	if p.lump != nil && !result.Usage.Point() {
		made.Usage = record.Usage{} // what iterations tell is no number
		for _, it := range p.Made[:result.Iterations] {
			agent, _ := it.Spent()
			made.Usage = made.Usage.Plus(agent)
		}
	}
	return made
}

// upTo is an exact result of so many iterations.
func (p *Path) upTo(n int, o record.Outcome) Result {
	r := Result{Verdict: Exact, Outcome: o, Iterations: n}
	if p.End.Changed <= n {
		r.Changed = p.End.Changed
	}
	if n == len(p.Made) {
		r.UsedUp = p.End.UsedUp
		r.Usage, r.Judging, r.User, r.Elapsed = p.End.Usage, p.End.Judging, p.End.User, p.End.Elapsed
		return r
	}
	for _, it := range p.Made[:n] {
		r.most(it)
		r.Elapsed = it.End
	}
	r.Usage.Least, r.Judging.Least, r.User.Least = r.Usage.Most, r.Judging.Most, r.User.Most
	if p.lump != nil {
		r.Usage = p.lump.span(r.Usage.Most, n, false)
	}
	return r
}

// Serves says why the points do not serve a configuration: it differs from their
// loop beyond conditions and guards, or these decide at other moments than after
// an iteration. "" where they do.
func (p *Points) Serves(l *spec.Loop) string {
	if why := general(l); why != "" {
		return why
	}
	if cancelsOf(p.loop) != cancelsOf(l) {
		return "timeouts cancel at different times"
	}
	for _, key := range differing(p.loop, l) {
		if !slices.Contains(stopping, key) {
			return key + " differs"
		}
	}
	return p.tells(l)
}

// tells says what of the path depends on when a run may stop.
func (p *Points) tells(l *spec.Loop) string {
	for _, s := range l.Stages() {
		if toldIterations(l, s.Agent) {
			return toldRemaining
		}
	}
	for _, read := range p.reads() {
		variable, rest, _ := strings.Cut(read, ".")
		switch {
		case variable == "since_improvement":
			return "what is sent or judged reads since_improvement"
		case variable == "param" && !reflect.DeepEqual(paramAt(p.loop, rest), paramAt(l, rest)):
			return "what is sent or judged reads " + read
		}
	}
	return ""
}

// stopping are the keys of a loop that only say when a run stops.
var stopping = []string{"loop", "preset", "max_iterations", "terminate", "guards"}

// reads are the variables that decide on what is sent and how it is judged.
func (p *Points) reads() []string {
	if p.path != nil {
		return p.path
	}
	p.path = []string{}
	for _, stage := range p.loop.Stages() {
		p.path = append(append(p.path, sentReads(&stage)...), readsOf(stage.Agent.FinalResponse)...)
	}
	if p.loop.Evaluate != nil {
		p.path = append(p.path, evaluationReads(p.loop.Evaluate)...)
	}
	return p.path
}
