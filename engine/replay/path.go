package replay

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// paramOf is what expressions see as param: nothing, rather than a nil object,
// where a loop has none.
func paramOf(l *spec.Loop) any {
	if l.Param == nil {
		return nil
	}
	return l.Param
}

// Path is a recorded run as far as it answers for the configurations that differ
// only in when they stop.
type Path struct {
	Task *spec.Task
	// Made are the iterations as these configurations make them.
	Made []*record.Iteration
	// End is what becomes of the run where none of them stops it.
	End Result

	// Reserved are the calls that a hard budget is asked for room for, in their order.
	Reserved []Reservation

	lump  *lump   // nil: the iterations tell what they used
	spent []spent // by iteration: up to its end, at most
}

// Reservation is a call that a hard budget is asked for room for.
type Reservation struct {
	After int          // so many iterations
	Need  record.Usage // what is used with it
}

// Refusal is the first call for which a hard budget has no room: its place among the reservations, the iterations before it, and
// the limit that it would exceed; "": there is none. Budgets with one refusal take one path, which is the wide one up to that call.
type Refusal struct {
	At, After int
	Limit     record.Reason
}

// Refused is what limits refuse of the reservations of a path that has room for all.
func Refused(all []Reservation, limits *stop.Limits) Refusal {
	for i := range all {
		if limit := limits.Short(all[i].Need); limit != "" {
			return Refusal{i, all[i].After, limit}
		}
	}
	return Refusal{}
}

// Endless is a loop without conditions and guards, the maximum that follows from
// its stages included: what it does is the path of all configurations that differ
// from it in nothing else. A timeout that cancels is part of the path: it decides
// what becomes of an iteration. A hard budget has room for everything.
func Endless(l *spec.Loop) *spec.Loop {
	endless := *l
	endless.Terminate, endless.Guards = spec.Tree{}, spec.Guards{}
	endless.Guards.AbsoluteMaxIterations.Off = true
	if _, derived, _ := endless.EffectiveMax(); derived {
		endless.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: math.MaxInt}}
	}
	if hard := hardLimits(l); hard != [3]bool{} {
		endless.Guards.Budget = &spec.RunBudget{Calls: most(hard[0]), Tokens: most(hard[1]), CostUSD: float64(most(hard[2])), Hard: true}
	}
	if c := cancelsOf(stop.Compile(l)); c.ok {
		after := source.Maybe[time.Duration]{Set: true, Value: c.at}
		endless.Terminate.Any = append(endless.Terminate.Any, spec.Condition{Kind: spec.KindTimeout, Timeout: spec.Timeout{After: after, Working: c.working}})
	}
	return &endless
}

// most is more than is ever used, of an amount that is limited.
func most(limited bool) int64 {
	if limited {
		return math.MaxInt64
	}
	return 0
}

// cancels is when a loop cancels an iteration in flight.
type cancels struct {
	at          time.Duration
	working, ok bool
}

func cancelsOf(rules *stop.Rules) (c cancels) {
	c.at, c.working, c.ok = rules.CancelAt()
	return c
}

// Path replays a recorded run as far as it answers for the configuration and those that stop earlier. It is
// valid until the room is used for another walk; nil: it stays.
func (r *Replay) Path(ctx context.Context, room *Room, run *record.Run, task *spec.Task) Path {
	return r.PathTo(ctx, room, run, task, Refusal{})
}

// PathTo is the Path where a hard budget refuses a call of it.
func (r *Replay) PathTo(ctx context.Context, room *Room, run *record.Run, task *spec.Task, refusal Refusal) Path {
	w := r.begin(ctx, room, run, task)
	w.sums, w.refusal = true, refusal
	end := w.walk()
	made := make([]*record.Iteration, end.Iterations)
	for i := range made {
		made[i] = &w.made.Iterations[i]
		if recorded := &run.Iterations[i]; unchanged(made[i], recorded) {
			made[i] = recorded // so that nothing is kept twice
		}
	}
	return Path{Task: task, Made: made, End: end, Reserved: w.room.reserved, lump: w.lump, spent: w.room.spent}
}

// unchanged reports whether an iteration that nothing cut is made as it was recorded, but
// for what it adapts, which replays do not read.
func unchanged(it, recorded *record.Iteration) bool {
	return it.Cut == "" && recorded.Cut == "" && it.Skipped == recorded.Skipped && it.Phase == recorded.Phase && it.Strategy == recorded.Strategy &&
		it.Evaluation == recorded.Evaluation && it.Error == recorded.Error && it.Ended == recorded.Ended &&
		it.End == recorded.End && it.Working == recorded.Working &&
		len(it.Calls) == len(recorded.Calls) && len(it.Steps) == len(recorded.Steps) && len(it.ToolCalls) == len(recorded.ToolCalls)
}

// Stops are the conditions and guards of a configuration, which are applied to
// paths, any number of them at once.
type Stops struct {
	loop   *spec.Loop
	rules  *stop.Rules
	states sync.Pool // of histories that are over
}

// NewStops are those of a configuration that decides after iterations only: one
// that Limits serve.
func NewStops(l *spec.Loop) *Stops { return &Stops{loop: l, rules: stop.Compile(l)} }

// Along is what a replay of the run would give.
func (s *Stops) Along(p *Path) Result {
	state := start(&s.states, s.rules, p.Task, s.loop)
	defer s.states.Put(state)
	for i, it := range p.Made {
		if d := state.Fold(it); p.brokenAt(i, &d) {
			return p.End
		} else if d.Stop {
			return p.upTo(i+1, d.Outcome)
		}
	}
	if p.End.Verdict != Exact {
		return p.End
	}
	return p.upTo(len(p.Made), state.StopBefore(p.End.Outcome.Reason)) // the agent has nothing more to give, or a hard budget no room
}

// start begins a history, in the memory of one that is over.
func start(states *sync.Pool, rules *stop.Rules, task *spec.Task, loop *spec.Loop) *stop.State {
	if state, ok := states.Get().(*stop.State); ok {
		state.Restart(task, paramOf(loop))
		return state
	}
	return rules.Start(task, paramOf(loop))
}

// AsIf is the run that such a result leaves behind, of the recorded one.
func (p *Path) AsIf(run *record.Run, result *Result) *record.Run {
	iterations := make([]record.Iteration, result.Iterations)
	for i := range iterations {
		iterations[i] = *p.Made[i]
	}
	made := asIf(run, result, iterations)
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
	if n > 0 {
		s := &p.spent[n-1]
		r.Usage, r.Judging, r.User, r.Elapsed = SpanOf(s[0]), SpanOf(s[1]), SpanOf(s[2]), p.Made[n-1].End
	}
	if p.lump != nil {
		r.Usage = p.lump.span(r.Usage.Most, n, false)
	}
	return r
}

// brokenAt reports whether the fault that ended the recording ends the path at an iteration.
func (p *Path) brokenAt(i int, d *stop.Decision) bool {
	return d.Stop && i+1 == len(p.Made) && p.End.Verdict == Censored && p.End.Excluded() && brokenBy(p.Made[i], &d.Outcome)
}
