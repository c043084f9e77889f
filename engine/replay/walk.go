package replay

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// walk is a recorded run under the rules of the configuration.
type walk struct {
	*Replay
	Options
	ctx   context.Context
	run   *record.Run
	task  *spec.Task
	state *stop.State
	made  []*record.Iteration
	lump  *lump // nil: the iterations tell what they used
	// signals says that the run has hashes for texts.
	signals bool

	converses bool    // the agent of this iteration does
	follows   follows // and goes along so far

	// usedUp says that the agent uses up its steps in this iteration earlier than the
	// recorded one; shortened that it did so in one before.
	usedUp, shortened bool

	waited   time.Duration // before this iteration
	charged  record.Usage  // in the hard budget of the configuration
	restaged bool          // an iteration stood in another phase or strategy than recorded
	rejudged bool          // an iteration was judged otherwise than recorded
	saw      Result        // usage, of the iterations made
}

func (w *walk) walk() Result {
	w.state, w.lump = w.rules.Start(w.task, paramOf(w.target)), lumpOf(w.run)
	if path := w.Tells(); path != "" {
		result := w.branches(1, fmt.Sprintf("the agent was told %s", path))
		result.Told = true
		return result
	}
	if checklist := spec.PatternChecklist; (w.target.Pattern == checklist) != (w.recorded.Pattern == checklist) {
		w.saw.Changed = 1 // another iteration may be the best one
	}
	for {
		if result, done := w.step(); done {
			return result
		}
	}
}

// step takes the next iteration from the record.
func (w *walk) step() (result Result, done bool) {
	step := w.state.Next()
	if len(w.made) == len(w.run.Iterations) {
		return w.end(step), true
	}
	recorded := &w.run.Iterations[len(w.made)]
	if why := w.sendsOther(step, recorded); why != "" {
		return w.branches(step.Iteration, why), true
	}
	w.usedUp = w.converses && w.follows.usedUp != nil
	if w.usedUp {
		recorded = upToItsSteps(recorded, &w.follows)
	}
	it := w.inside(step, recorded)
	switch {
	case it.unknown != "":
		return w.branches(step.Iteration, it.unknown), true
	case it.censored != "":
		return w.censored(step.Iteration, it.censored), true
	case it.before != "":
		return w.exact(w.state.StopBefore(it.before)), true
	}
	return w.decide(step, recorded, it)
}

// decide judges the iteration where that is due and asks the rules.
func (w *walk) decide(step stop.Step, recorded *record.Iteration, p *pass) (result Result, done bool) {
	w.state.Append(&p.Iteration, nil)
	if p.evaluate {
		if why := w.evaluate(step, recorded, &p.Iteration); why != "" {
			return w.branches(step.Iteration, why), true
		}
	}
	w.rejudged = w.rejudged || p.Skipped != recorded.Skipped || !alike(p.Evaluation, recorded.Evaluation) || !alike(p.Error, recorded.Error)
	w.shortened, w.saw.UsedUp = w.shortened || w.usedUp, w.usedUp
	w.restaged = w.restaged || step.Phase != recorded.Phase || step.Strategy != recorded.Strategy
	d := w.state.Decide()
	p.Adaptation = d.Adaptation
	if w.saw.Changed == 0 && wentOtherwise(&p.Iteration, recorded) {
		w.saw.Changed = step.Iteration
	}
	w.keep(p)
	if d.Stop {
		return w.exact(d.Outcome), true
	}
	return Result{}, false
}

// wentOtherwise reports whether a score that goes by what was done in an iteration
// might differ.
func wentOtherwise(it, recorded *record.Iteration) bool {
	return it.Cut != recorded.Cut || it.End != recorded.End || it.Phase != recorded.Phase || it.Strategy != recorded.Strategy ||
		len(it.Calls) != len(recorded.Calls) || len(it.ToolCalls) != len(recorded.ToolCalls) ||
		it.Skipped != recorded.Skipped || !alike(it.Evaluation, recorded.Evaluation) || !alike(it.Error, recorded.Error)
}

func alike[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// keep adds up what an iteration used.
func (w *walk) keep(p *pass) {
	w.made = append(w.made, &p.Iteration)
	w.waited += waitedIn(&p.Iteration)
	w.saw.most(&p.Iteration)
	landed := p.Iteration
	if p.late {
		landed.Calls = slices.DeleteFunc(slices.Clone(p.Calls), func(c record.Call) bool { return p.flying(&c) })
		if p.someTools {
			landed.ToolCalls = nil
		}
	}
	w.saw.least(&landed)
}

// most and least add an iteration to the ends of the spans.
func (r *Result) most(it *record.Iteration) {
	agent, judging := it.Spent()
	r.Usage.Most, r.Judging.Most = r.Usage.Most.Plus(agent), r.Judging.Most.Plus(judging)
	r.User.Most = r.User.Most.Plus(it.SpentByUser())
}

func (r *Result) least(it *record.Iteration) {
	agent, judging := it.Spent()
	r.Usage.Least, r.Judging.Least = r.Usage.Least.Plus(agent), r.Judging.Least.Plus(judging)
	r.User.Least = r.User.Least.Plus(it.SpentByUser())
}

// known is the part of the run that was walked.
func (w *walk) known() Result {
	r := w.saw
	r.Iterations = len(w.made)
	if n := len(w.made); n > 0 {
		r.Elapsed = w.made[n-1].End
		if w.lump != nil {
			r.Usage = w.lump.span(r.Usage.Most, n, w.made[n-1].Cut != w.run.Iterations[n-1].Cut)
		}
	}
	return r
}

func (w *walk) exact(o record.Outcome) Result {
	r := w.known()
	r.Verdict, r.Outcome = Exact, o
	if r.Changed > r.Iterations {
		r.Changed = 0 // no iteration is made that could differ
	}
	return r
}

func (w *walk) branches(at int, why string) Result {
	r := w.known()
	r.Verdict, r.At, r.Why = Branches, at, why
	return r
}

func (w *walk) censored(at int, why string) Result {
	r := w.known()
	r.Verdict, r.At, r.Why = Censored, at, why
	return r
}

// paramOf is what expressions see as param: nothing, rather than a nil object,
// where a loop has none.
func paramOf(l *spec.Loop) any {
	if l.Param == nil {
		return nil
	}
	return l.Param
}
