package stop

import (
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Run is a run in progress: its iterations and its virtual clock. A loop makes the iterations with
// its agents, a replay with what a record has of them: whatever follows from them is decided here. It is not safe for concurrent use.
type Run struct {
	State   *State
	Record  *record.Run   // whose iterations are made
	Elapsed time.Duration // virtual time since the start of the run
	Waited  time.Duration // part of it: for rate limits and the like

	step    Step
	earlier time.Duration // what was waited before the iteration in flight
	guards  *StepGuards   // of the iteration in flight; nil: none looks at steps
}

// Maker makes the iterations of a run.
type Maker interface {
	// Make executes an iteration, of which the place and the start are known, moves the clock, and calls Executed. Where that
	// reports true it evaluates the iteration. Before is the reason for which the run ends before the
	// iteration, which then leaves nothing behind.
	Make(it *record.Iteration, step Step) (before record.Reason)
	// Decided is told of every iteration when it is complete.
	Decided(it *record.Iteration)
}

// Iterate makes iterations until the run stops.
func (r *Run) Iterate(m Maker) record.Outcome {
	for {
		earlier := r.Record.Iterations
		r.step, r.earlier, r.guards = r.State.Next(), r.Waited, r.State.StepGuards()
		evaluates := r.State.rules.evaluate != nil
		r.Record.Iterations = append(earlier, record.Iteration{
			N: r.step.Iteration, Phase: r.step.Phase, Strategy: r.step.Strategy, Start: r.Elapsed, Skipped: evaluates && !r.step.Evaluate,
		})
		it := &r.Record.Iterations[len(earlier)]
		if before := m.Make(it, r.step); before != "" {
			r.Record.Iterations = earlier
			return r.State.StopBefore(before)
		}
		it.End = r.Elapsed
		d := r.State.Decide()
		it.Adaptation = d.Adaptation
		m.Decided(it)
		if d.Stop {
			return d.Outcome
		}
	}
}

// Executed takes an iteration into the history that its agent has made, or that something cut, and reports whether it is to be
// evaluated: one that was cut is where it left a workspace. Output is the parsed output; nil: it is parsed when somebody asks.
func (r *Run) Executed(it *record.Iteration, output any) (evaluate bool) {
	if it.Cut != "" {
		it.Ended = nil // its end came too late
		if len(it.Steps) > 0 && !it.OfProgram() {
			it.Output, it.NotUTF8, it.OutputB64, output = nil, false, nil, nil // what was said last is not what was to be said
		}
	}
	it.End = r.Elapsed // so far: what the evaluation sees
	r.State.Append(it, output)
	return r.step.Evaluate && it.Error == nil && (it.Cut == "" || it.Workspace != nil)
}

// AfterStep is told of the iteration in flight after each of its whole steps, and gives the reason for which no further step is made; "": one may be.
func (r *Run) AfterStep(it *record.Iteration) record.Reason {
	if r.guards == nil {
		return ""
	}
	return r.guards.Step(it)
}

// LooksAtSteps reports whether a guard looks at the steps of iterations.
func (r *Run) LooksAtSteps() bool { return r.guards != nil }

// CancelAt is the virtual time at which a timeout cancels the iteration in flight, of which so much was waited that the clock does not have yet;
// ok is false where none does. Where only working time counts, all that was waited comes on top.
func (r *Run) CancelAt(waited time.Duration) (at time.Duration, ok bool) {
	at, working, ok := r.State.rules.CancelAt()
	if working {
		at += r.Waited + waited
	}
	return at, ok
}

// Late reports whether a timeout cancels the iteration in flight where something more begins in it: it took so long, of which so much was waited, and the
// clock has neither yet.
func (r *Run) Late(took, waited time.Duration) bool {
	at, ok := r.CancelAt(waited)
	return ok && r.Elapsed+took >= at
}

// Overdue reports whether a timeout has passed within the iteration in flight.
func (r *Run) Overdue() bool {
	at, ok := r.CancelAt(0)
	return ok && r.Elapsed > at
}

// Take moves the clock by what the agent of the iteration in flight took, of which so much was waited.
func (r *Run) Take(it *record.Iteration, took, waited time.Duration) {
	r.Elapsed += took
	r.Waited += waited
	it.Working += took - waited
}

// Add appends calls to the iteration in flight that follow one another, and moves the clock.
func (r *Run) Add(it *record.Iteration, calls []record.Call) {
	for i := range calls {
		calls[i].Start = r.Elapsed
		r.Take(it, calls[i].Duration+calls[i].Waited, calls[i].Waited)
	}
	if it.Calls == nil {
		it.Calls = calls
		return
	}
	it.Calls = append(it.Calls, calls...)
}

// Cut ends the iteration in flight. What had not begun when a timeout passed is no part of it.
func (r *Run) Cut(it *record.Iteration, reason record.Reason) {
	it.Cut = string(reason)
	if reason != record.ReasonTimeout {
		return
	}
	made := Clip(r.State.rules, it, r.earlier)
	r.Elapsed, r.Waited, it.Working = made.End, r.earlier+made.Waited, made.Working
}
