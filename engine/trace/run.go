package trace

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
)

// Run is the span of a run. The zero Run is that of one that nobody traces.
type Run struct{ span Span }

// StartRun begins the span of a run of which only the head is known yet.
func StartRun(ctx context.Context, head *record.Run) (context.Context, Run) {
	t := of(ctx)
	if t == nil {
		return ctx, Run{}
	}
	var l list
	l.set("gen_ai.operation.name", "invoke_agent")
	l.set("gen_ai.provider.name", "agentbench")
	l.text("gen_ai.agent.name", head.Configuration)
	l.text("gen_ai.conversation.id", head.ID)
	l.text("agentbench.run", head.ID)
	l.text("agentbench.configuration", head.Configuration)
	l.text("agentbench.task", head.Task)
	l.set("agentbench.trial", int64(head.Trial))
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("invoke_agent", head.Configuration), Attributes: l})
	return ctx, Run{span}
}

// named is an operation of something, which may have no name.
func named(operation, name string) string {
	if name == "" {
		return operation
	}
	return operation + " " + name
}

// End tells how the run ended. It failed where there was an error: that the agent
// did not succeed is what the run was made to find out.
func (r Run) End(done *record.Run) {
	if r.span == nil {
		return
	}
	var l list
	o := &done.Outcome
	l.text("agentbench.status", string(o.Status))
	l.text("agentbench.reason", string(o.Reason))
	l.set("agentbench.success", o.Success)
	l.set("agentbench.iterations", int64(len(done.Iterations)))
	l.set("agentbench.elapsed_s", done.Elapsed.Seconds())
	l.set("agentbench.simulated", done.Simulated)
	total := done.Total()
	l.usage(&total)
	var failed *Failure
	if o.Error != nil {
		failed = failureOf(o.Error)
	}
	r.span.End(l, failed)
}

// Iteration is the span of an iteration. The zero Iteration is that of one that
// nobody traces.
type Iteration struct{ span Span }

// StartIteration begins the span of an iteration, before anything is sent.
func StartIteration(ctx context.Context, it *record.Iteration) (context.Context, Iteration) {
	t := of(ctx)
	if t == nil {
		return ctx, Iteration{}
	}
	var l list
	l.set("agentbench.iteration", int64(it.N))
	l.text("agentbench.phase", it.Phase)
	l.text("agentbench.strategy", it.Strategy)
	name := it.Phase
	if name == "" {
		name = it.Strategy
	}
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("iteration", name), Attributes: l})
	return ctx, Iteration{span}
}

// End tells what became of the iteration.
func (i Iteration) End(it *record.Iteration) {
	if i.span == nil {
		return
	}
	var l list
	if e := it.Evaluation; e != nil {
		l.set("agentbench.confidence", e.Confidence)
		l.set("agentbench.passed", e.Passed)
	}
	l.count("agentbench.steps", int64(len(it.Steps)))
	l.count("agentbench.tool_calls", int64(len(it.ToolCalls)))
	l.text("agentbench.cut", it.Cut)
	l.set("agentbench.elapsed_s", (it.End - it.Start).Seconds())
	var failed *Failure
	if it.Error != nil {
		failed = failureOf(it.Error)
	}
	i.span.End(l, failed)
}
