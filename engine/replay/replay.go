// Package replay tells what another configuration would have done with a
// recorded run: call New(recorded, target, options).Run. It reaches no model, no tool and no network.
//
// A run is a path: what the agent was sent, what it answered, how that was
// judged. Decisions are a pure function of that path (package stop), so a
// recorded run answers for every configuration that takes the same path and
// stops no later. A replay is a stop.Run under the rules of the other
// configuration, whose iterations are made of the record. It asks at each:
//
//   - Would it send the same? A Renderer renders the request again; its hash is
//     compared with the recorded one. Without a Renderer, texts and settings are
//     compared as they are declared, and what the prompts read is looked at: that
//     is never less careful. What no hash shows (tools, timeouts of a call, how a
//     reply is read) is compared as it is declared in both cases.
//     Of an agent that converses every request of the iteration is rendered again,
//     given what the record answers to those before it; a step at which the two
//     part leaves the steps before it known. Tools, delegates and the user are
//     compared as they are declared, where they were used.
//   - Would it judge the same? Where not, a Judge judges the recorded output
//     again, if it can do so without a call.
//   - Would it be cut inside the iteration: by a timeout that cancels, by a hard
//     budget without room for the next call? The record has the times and the
//     reservation of every call. A guard that looks at steps cuts a conversation
//     after one of them.
//   - Does it stop after the iteration? Package stop decides, as it does live.
//
// The verdict is Exact where the stop is known; Branches at an iteration where
// the configuration would send or judge something that the record does not have,
// so that new calls are needed; Censored where it wanted to continue and the record
// was cut by its own limits. An agent that ended by itself censors nothing. A run
// that ended before an iteration, because the agent had nothing more to give or a
// budget had no room, left the request of that iteration behind. A run that ended in
// a fault is exact for what stops before it, and excluded where it comes so far.
//
// A stop inside an iteration returns the one before it, and what was spent is a
// Span where a call was in flight: what a cancelled call costs is
// unknown. Everything else is a point.
//
// The label of a configuration is the worst of its runs: Counterfactual (the
// agent knew its limits, and not in a request that could be rendered again),
// else NeedsCalls, else Bounded, else PointExact. Bounded is an interval, never a
// point.
//
// The conditions of STATISTICS, where they are checked: C1, blind, by the
// requests, by what prompts read and by Options.Announced; C2, earlier, by the
// walk, which never goes past the record; C3, scored, is the caller's: the result
// names the iteration returned, whose score may be known or not; C4, isolated,
// holds for runs made here, which share nothing but the suite's budget, and a run
// that it ended is censored.
//
// Thousands of configurations that differ only in when a run stops are counted at once:
// each run is walked once without any limit (a Path), and all of their conditions and guards
// (Limits) are asked after each iteration: a Course has a mask of iterations for each. Any is
// OR, all is AND, and a run stops at the lowest bit. Stages, and timeouts that cancel, are
// part of the path: configurations that differ in them are walked for themselves. So are those whose
// prompts read what they change; a hard budget cuts the path at the first call that it refuses. A test
// holds the one to the other.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Renderer renders again what a configuration sends.
type Renderer interface {
	// Retrace tells what the step after a history would send in the next iteration
	// of a recorded run, given what its agent was answered there; ok is false where
	// its own agent does not converse. An error is that of the iteration.
	Retrace(ctx context.Context, task *spec.Task, step stop.Step, state *stop.State, run *record.Run) (trace record.Trace, ok bool, err error)
	// Request is the hash of what the step after a history would send, as records
	// have it; "" where nobody can tell. An error is that of the iteration.
	Request(ctx context.Context, task *spec.Task, trial int, step stop.Step, state *stop.State) (hash string, err error)
}

// Judge judges recorded outputs again.
type Judge interface {
	// Judge gives the evaluation of the last iteration of a history, which has
	// the recorded one, or the error that it fails with. It makes no calls: ok is
	// false where it would have to, or where the record does not tell enough.
	Judge(ctx context.Context, task *spec.Task, it *record.Iteration, state *stop.State) (v *record.Evaluation, failure *record.Error, ok bool)
}

// States judges states of workspaces.
type States interface {
	// Evaluate gives the evaluation of the last iteration of a history of the run, which was cut and
	// left its workspace in a state that was kept, or the error that it fails with, and
	// how long that took. It runs tests, but calls no model: ok is false where it would
	// have to, or where the state cannot be had.
	Evaluate(ctx context.Context, run *record.Run, task *spec.Task, it *record.Iteration, state *stop.State) (v *record.Evaluation, failure *record.Error, took time.Duration, ok bool)
}

// Options are what two loops do not say.
type Options struct {
	// Renderer renders the requests of the configuration; nil: what is sent is
	// compared as it is declared.
	Renderer Renderer
	// Left is the output that an agent's program declares of the state of its workspace in which a limit ends it, by the name of
	// the tree; nil: it is not known.
	Left func(ctx context.Context, run *record.Run, task *spec.Task, a *spec.Agent, tree string) (output json.RawMessage, err error)
	// Judge judges as the configuration does; nil: nobody judges again.
	Judge Judge
	// States judges states of workspaces that the recording has, and did not judge; nil:
	// nobody does.
	States States
	// Announced are the paths of parameters that the recorded agent was told other
	// than in its requests, for instance in an imported log; short forms will do.
	Announced []string
}

// Replay evaluates one configuration of a loop on runs that were recorded under
// another. It is read-only and serves any number of runs at once, as far as its
// Renderer and Judge do.
type Replay struct {
	recorded, target *spec.Loop
	options          Options
	rules            *stop.Rules
	differ           difference
	texts            []string
	states, rooms    sync.Pool // of walks that are over
	sent             *sync.Map // by run: of how many iterations the requests were rendered and found equal; nil: not remembered
}

// Remember serves runs that are replayed several times: requests that were rendered once are not rendered again. The runs are
// kept in memory.
func (r *Replay) Remember() *Replay {
	r.sent = &sync.Map{}
	return r
}

// New prepares a configuration for runs that were recorded under another one,
// or under the same.
func New(recorded, target *spec.Loop, o Options) *Replay {
	r := &Replay{recorded: recorded, target: target, options: o, rules: stop.Compile(target)}
	r.differ = differenceOf(recorded, target, r.rules.MinDelta() != stop.Compile(recorded).MinDelta())
	r.texts = textsOf(target)
	r.options.Announced = make([]string, len(o.Announced))
	for i, path := range o.Announced {
		r.options.Announced[i] = spec.FullPath(path)
	}
	return r
}

// Verdict says what a recorded run tells of a configuration.
type Verdict string

// The verdicts.
const (
	Exact    Verdict = "exact"    // the stop is known
	Branches Verdict = "branches" // from an iteration on new calls are needed
	Censored Verdict = "censored" // it wanted to go on where the record was cut
)

// Result is what a recorded run tells of a configuration.
type Result struct {
	Verdict Verdict
	// At is the iteration, from 1, that is not known any more: where the run
	// branches, or would have gone on. 0 where the verdict is exact.
	At int
	// Why says in words what branches or what cut the record; "" if exact.
	Why string
	// Told says that the agent was told a limit that the configuration changes, so
	// that no request shows what it would have done.
	Told bool

	// Outcome is that of the run; the zero outcome unless the verdict is exact, or the run comes as far as the fault
	// that ended the recording.
	Outcome record.Outcome
	// Iterations is the number that would have been made, one that was cut
	// included. What follows is of these: all of the run if the verdict is exact,
	// else the part of it that is known.
	Iterations int
	Usage      Span // of the agent
	Judging    Span // of the evaluations
	User       Span // of the one who answers the agent
	Elapsed    time.Duration
	// Changed is the first iteration, from 1, that is judged or cut otherwise than
	// recorded; 0: none.
	Changed int
	// UsedUp says that the agent uses up its steps in the last iteration made, whose
	// output is then not the recorded one.
	UsedUp bool
}

// Excluded reports whether a live run would end with a fault here, or the recorded one did, and so is in no
// number.
func (r *Result) Excluded() bool { return r.Outcome.Status == record.Faulted }

// Span is what was used at least and at most: they differ by the calls that were
// in flight when the run was cut, or because only the whole run tells its cost.
type Span struct{ Least, Most record.Usage }

// SpanOf is what was used at least and at most where calls of programs were cut.
func SpanOf(u record.Usage) Span { return Span{u, u.AtMost()} }

// left is what the record of a run has of a span: calls of programs that were cut at their least, others at their most.
func (s Span) left() record.Usage {
	if s.Least.Cut > 0 {
		return s.Least
	}
	return s.Most
}

// Point reports whether both ends are the same.
func (s Span) Point() bool { return s.Least == s.Most }

// Total is what the agent, the evaluations and the user used together.
func (r *Result) Total() Span {
	return Span{
		Least: r.Usage.Least.Plus(r.Judging.Least).Plus(r.User.Least),
		Most:  r.Usage.Most.Plus(r.Judging.Most).Plus(r.User.Most),
	}
}

// Run replays a recorded run. The task is that of the run.
func (r *Replay) Run(ctx context.Context, run *record.Run, task *spec.Task) Result {
	room, _ := r.rooms.Get().(*Room)
	w := r.begin(ctx, room, run, task)
	defer r.rooms.Put(w.room)
	return w.walk()
}

// AsIf replays a recorded run and gives the run as the configuration would have
// left it behind, of which calls in flight that it cancels count whole; nil
// unless the verdict is exact. It shares texts with the recorded run.
func (r *Replay) AsIf(ctx context.Context, run *record.Run, task *spec.Task) (Result, *record.Run) {
	w := r.begin(ctx, nil, run, task)
	result := w.walk()
	if result.Verdict != Exact {
		return result, nil
	}
	made := asIf(run, &result, slices.Clone(w.made.Iterations))
	made.Loop = r.target.Hash()
	if w.lump != nil && !result.Usage.Point() {
		made.Usage = w.saw.Usage.Most // what is known is no number
	}
	return result, made
}

// asIf is a recorded run of which these iterations were made.
func asIf(run *record.Run, result *Result, iterations []record.Iteration) *record.Run {
	made := *run
	made.Outcome, made.Volatile, made.Iterations = result.Outcome, record.Volatile{}, iterations
	made.Usage, made.Judging, made.User, made.Elapsed = result.Usage.left(), result.Judging.left(), result.User.left(), result.Elapsed
	if len(iterations) < len(run.Iterations) {
		made.Next = nil
	}
	return &made
}

// Tells is the path of a parameter in which the configuration differs and that
// the recorded agent was told other than in its requests; "" without one.
func (r *Replay) Tells() string { return r.differ.announced(r.options.Announced) }

// Texts are what the decisions of the configuration read that signals do not
// have, such as "output"; none: a light run serves.
func (r *Replay) Texts() []string { return r.texts }

// Label says how far what is known of a configuration can be trusted.
type Label int

// The labels, from the best to the worst.
const (
	PointExact     Label = iota // every run is exact
	Bounded                     // some were cut by the recording's own limits
	NeedsCalls                  // some branch: new calls would tell
	Counterfactual              // the agent was told its limits, and the record cannot show what it would have done
)

// String is the word for people.
func (l Label) String() string {
	switch l {
	case PointExact:
		return "exact"
	case Bounded:
		return "bounded"
	case NeedsCalls:
		return "needs calls"
	case Counterfactual:
		return "counterfactual"
	}
	return fmt.Sprintf("Label(%d)", int(l))
}

// Label is that of one run.
func (r *Result) Label() Label {
	switch {
	case r.Told:
		return Counterfactual
	case r.Verdict == Branches:
		return NeedsCalls
	case r.Verdict == Censored:
		return Bounded
	}
	return PointExact
}
