package trace

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
)

// Score is the span of a score that others are asked for. The zero Score is that
// of one that nobody traces.
type Score struct {
	span    Span
	tracing *Tracing
}

// StartScore begins the span of a score of a run, before anybody is asked.
// Iteration is the one whose output is judged, 0 where there is none.
func StartScore(ctx context.Context, scorer string, run *record.Run, iteration int) (context.Context, Score) {
	t := of(ctx)
	if t == nil {
		return ctx, Score{}
	}
	var l list
	l.text("gen_ai.evaluation.name", scorer)
	l.text("agentbench.run", run.ID)
	l.text("agentbench.configuration", run.Configuration)
	l.text("agentbench.task", run.Task)
	l.set("agentbench.trial", int64(run.Trial))
	l.count("agentbench.iteration", int64(iteration))
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("evaluate", scorer), Attributes: l})
	return ctx, Score{span, t}
}

// End tells what the score is. It failed where it is unscored.
func (s Score) End(made *record.Score) {
	if s.span == nil {
		return
	}
	var l list
	var failed *Failure
	if made.Unscored != "" {
		failed = &Failure{"unscored", made.Unscored}
	} else {
		l.set("gen_ai.evaluation.score.value", made.Value)
		if s.tracing.Contents {
			l.text("gen_ai.evaluation.score.label", made.Answer)
			l.text("gen_ai.evaluation.explanation", made.Explanation)
		}
	}
	l.count("agentbench.votes", int64(len(made.Votes)))
	l.usage(&made.Usage)
	s.span.End(l, failed)
}
