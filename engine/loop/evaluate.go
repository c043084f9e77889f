// Package evaluate decides what an iteration is worth inside the loop: its
// checks, its confidence, whether it passed, and what the next iteration is
// told. It never sees the target.
//
// The stages, in order: a judge (judge.go) or a program (program.go) answers,
// the checks are held against the output (checks.go), then confidence, passed,
// feedback and improvements follow, each from what came before it.

package loop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// confident is the confidence at which a multi_strategy loop without checks
// takes an output as passed.
const confident = 0.8

// Evaluator judges iterations by what a loop declares. It is safe for
// concurrent use.
type DeclaredEvaluator struct {
	Spec    *spec.Evaluate
	Pattern spec.Pattern
	Judge   model.Model       // of Spec.Judge
	Program *external.Program // of Spec.Command
}

// Evaluate judges the last iteration of the trial's scope. The errors are those
// that fail an iteration: *record.Error, a refused call, the context's cause.
// Calls that were made before are given as well.
func (e *DeclaredEvaluator) Evaluate(ctx context.Context, trial *Trial) (*record.Evaluation, []record.Call, error) {
	if trial.Fault != "" {
		return e.unreadable(trial.Fault), nil, nil
	}
	v := &view{Scope: trial.Scope, output: trial.Output, own: trial.Confidence, one: e.Spec.Fix == "one"}
	calls, err := e.ask(ctx, trial, v)
	if err != nil {
		return nil, calls, err
	}
	if v.checks, err = e.check(ctx, v); err != nil {
		return nil, calls, err
	}
	evaluation, err := e.conclude(ctx, v)
	return evaluation, calls, err
}

// unreadable is the evaluation of a reply that was to be JSON and is not.
func (e *DeclaredEvaluator) unreadable(fault string) *record.Evaluation {
	v := &record.Evaluation{Feedback: fault, Fault: fault, Improvements: []string{fault}}
	for i := range e.Spec.Checks {
		check := outcome(&e.Spec.Checks[i], false)
		check.Error = fault
		v.Checks = append(v.Checks, check)
	}
	return v
}

// ask gets the answers of the judge and the program.
func (e *DeclaredEvaluator) ask(ctx context.Context, trial *Trial, v *view) (calls []record.Call, err error) {
	if e.Spec.Judge != nil {
		var call *record.Call
		v.judge, call, err = e.askJudge(ctx, trial, v)
		if call != nil {
			calls = append(calls, *call)
		}
		if err != nil {
			return calls, err
		}
	}
	if e.Spec.Command != nil {
		var call record.Call
		v.command, call, err = e.askProgram(ctx, trial)
		calls = append(calls, call)
	}
	return calls, err
}

// conclude puts the parts together: each expression sees what is known so far.
func (e *DeclaredEvaluator) conclude(ctx context.Context, v *view) (*record.Evaluation, error) {
	steps := []func(context.Context, *view) error{e.confidence, e.passed, e.feedback}
	for _, step := range steps {
		if err := step(ctx, v); err != nil {
			return nil, err
		}
	}
	return &record.Evaluation{
		Confidence:   v.confidence,
		Passed:       v.passed,
		Feedback:     v.feedback,
		Improvements: v.improvements(),
		Checks:       v.checks,
	}, nil
}

// confidence is what is declared; else what the program or the judge says; else
// the weighted share of the checks; else what the agent's program said of its
// own output. Where there is nothing of that it follows from passed: 1 or 0.
func (e *DeclaredEvaluator) confidence(ctx context.Context, v *view) error {
	said := firstOf(v.command.confidence, v.judge.confidence)
	switch {
	case e.Spec.Confidence != nil:
		number, err := e.Spec.Confidence.Number(ctx, v)
		if err == nil && (math.IsNaN(number) || math.IsInf(number, 0)) {
			err = errors.New("the result is not a finite number")
		}
		if err != nil {
			return unjudged(ctx, "confidence", err)
		}
		v.setConfidence(number)
	case said != nil:
		v.setConfidence(*said)
	case len(v.checks) > 0:
		v.setConfidence(record.Share(v.checks))
	case v.own != nil:
		v.setConfidence(*v.own)
	}
	return nil
}

// passed is what is declared; else what the program or the judge says; else it
// depends on the pattern.
func (e *DeclaredEvaluator) passed(ctx context.Context, v *view) (err error) {
	said := firstOf(v.command.passed, v.judge.passed)
	switch {
	case e.Spec.Passed != nil:
		if v.passed, err = e.Spec.Passed.Bool(ctx, v); err != nil {
			return unjudged(ctx, "passed", err)
		}
	case said != nil:
		v.passed = *said
	case e.Pattern == spec.PatternChecklist, e.Pattern == spec.PatternMultiStrategy && len(v.checks) > 0:
		v.passed = allPassed(v.checks)
	case e.Pattern == spec.PatternMultiStrategy:
		v.passed = v.confidence >= confident
	}
	v.passedKnown = true
	if !v.confidenceKnown && v.passed {
		v.confidence = 1
	}
	v.confidenceKnown = true
	return nil
}

// feedback is what is declared; else that of the failing checks, the program
// and the judge.
func (e *DeclaredEvaluator) feedback(ctx context.Context, v *view) (err error) {
	if e.Spec.Feedback != nil {
		if v.feedback, err = e.Spec.Feedback.String(ctx, v); err != nil {
			return unjudged(ctx, "feedback", err)
		}
		return nil
	}
	parts := v.advice()
	for _, said := range []string{v.command.feedback, v.judge.feedback} {
		if said != "" {
			parts = append(parts, said)
		}
	}
	v.feedback = strings.Join(parts, "; ")
	return nil
}

// unjudged is the error of an expression on the output, which is the agent's: a
// run whose outputs cannot be judged counts, as one whose replies are not JSON.
func unjudged(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &record.Error{Class: record.Unjudged, Message: fmt.Sprintf("%s: %s", what, err)}
}

// failed is the error of what a judge or a program is to be shown.
func failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &record.Error{Class: record.Expression, Message: fmt.Sprintf("%s: %s", what, err)}
}

func firstOf[T any](values ...*T) *T {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}
