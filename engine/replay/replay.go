package replay

import (
	"context"
	"fmt"
	"strings"
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

// Options are what two loops do not say.
type Options struct {
	// Renderer renders the requests of the configuration; nil: what is sent is
	// compared as it is declared.
	Renderer Renderer
	// Judge judges as the configuration does; nil: nobody judges again.
	Judge Judge
	// Announced are the paths of parameters that the recorded agent was told other
	// than in its requests, for instance in an imported log; short forms will do.
	Announced []string
}

// Replay is one configuration of a loop, to be held against runs recorded under
// another. It is read-only and serves any number of runs at once, as far as its
// Renderer and Judge do.
type Replay struct {
	recorded, target *spec.Loop
	options          Options
	rules            *stop.Rules
	differ           difference
	texts            []string
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

	// Outcome is that of the run; the zero outcome unless the verdict is exact.
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

// Excluded reports whether a live run would end with a fault here, and so be in no
// number.
func (r *Result) Excluded() bool { return r.Verdict == Exact && r.Outcome.Status == record.Faulted }

// Span is what was used at least and at most: they differ by the calls that were
// in flight when the run was cut, or because only the whole run tells its cost.
type Span struct{ Least, Most record.Usage }

// Point says that both ends are the same.
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
	w := &walk{Replay: r, Options: r.options, ctx: ctx, run: run, task: task}
	return w.walk()
}

// AsIf replays a recorded run and gives the run as the configuration would have
// left it behind, of which calls in flight that it cancels count whole; nil
// unless the verdict is exact. It shares texts with the recorded run.
func (r *Replay) AsIf(ctx context.Context, run *record.Run, task *spec.Task) (Result, *record.Run) {
	w := &walk{Replay: r, Options: r.options, ctx: ctx, run: run, task: task}
	result := w.walk()
	if result.Verdict != Exact {
		return result, nil
	}
	made := asIf(run, &result, w.made)
	made.Loop = r.target.Hash()
	if w.lump != nil && !result.Usage.Point() {
		made.Usage = w.saw.Usage.Most // what is known is no number
	}
	return result, made
}

// asIf is a recorded run of which these iterations were made.
func asIf(run *record.Run, result *Result, iterations []*record.Iteration) *record.Run {
	made := *run
	made.Outcome, made.Volatile = result.Outcome, record.Volatile{}
	made.Usage, made.Judging, made.User, made.Elapsed = result.Usage.Most, result.Judging.Most, result.User.Most, result.Elapsed
	made.Iterations = make([]record.Iteration, len(iterations))
	for i, it := range iterations {
		made.Iterations[i] = *it
	}
	if len(iterations) < len(run.Iterations) {
		made.Next = nil
	}
	return &made
}

// TextsError says that a configuration reads texts, which signals do not have.
type TextsError struct{ Reads []string }

// Error names what is read.
func (e *TextsError) Error() string {
	return fmt.Sprintf("the configuration reads %s, which signals do not have: replay needs the records", strings.Join(e.Reads, ", "))
}

// Signals replays a run of which only signals are known. Requests are compared
// as they are declared, and nothing is judged again. The error is a *TextsError:
// conditions and guards that read texts need the whole record.
func (r *Replay) Signals(ctx context.Context, s *record.Signals, task *spec.Task) (Result, error) {
	if len(r.texts) > 0 {
		return Result{}, &TextsError{r.texts}
	}
	w := &walk{Replay: r, Options: Options{Announced: r.options.Announced}, ctx: ctx, run: WithoutTexts(s), task: task, signals: true}
	return w.walk(), nil
}

// Tells is the path of a parameter in which the configuration differs and that
// the recorded agent was told other than in its requests; "" without one.
func (r *Replay) Tells() string { return r.differ.announced(r.options.Announced) }

// Texts are what the decisions of the configuration read that signals do not
// have, such as "output"; none: Signals serves.
func (r *Replay) Texts() []string { return r.texts }
