package trace

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// StartSuite begins the span of a suite whose runs other processes make. Call end with the error of the suite.
func StartSuite(ctx context.Context, name string) (_ context.Context, end func(error)) {
	t := of(ctx)
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, s := t.start(ctx, trace.SpanKindInternal, "suite", name, list{attribute.String("agentbench.suite", name)})
	return ctx, func(err error) { s.end(nil, failureOf(err)) }
}

// runKey holds the id of the run in which a call is made.
type runKey struct{}

// StartRun begins the span of a run, of which only the head is known yet. Call end when the record is complete.
// A run failed where it has an error, not where the agent did not succeed.
func StartRun(ctx context.Context, run *record.Run) (_ context.Context, end func()) {
	t := of(ctx)
	if t == nil {
		return ctx, func() {}
	}
	l := list{attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.provider.name", "agentbench")}
	l.text("gen_ai.agent.name", run.Configuration)
	l.text("gen_ai.conversation.id", run.ID)
	l.run(run)
	ctx, s := t.start(ctx, trace.SpanKindInternal, "invoke_agent", run.Configuration, l)
	if run.ID != "" {
		ctx = context.WithValue(ctx, runKey{}, run.ID)
		t.runs.Store(run.ID, s.SpanContext())
	}
	return ctx, func() { s.endRun(run) }
}

// run adds which run it is.
func (l *list) run(run *record.Run) {
	l.text("agentbench.run", run.ID)
	l.text("agentbench.configuration", run.Configuration)
	l.text("agentbench.task", run.Task)
	l.add(attribute.Int("agentbench.trial", run.Trial))
}

func (s span) endRun(run *record.Run) {
	var l list
	o := &run.Outcome
	l.text("agentbench.status", string(o.Status))
	l.text("agentbench.reason", string(o.Reason))
	l.add(
		attribute.Bool("agentbench.success", o.Success),
		attribute.Int("agentbench.iterations", len(run.Iterations)),
		attribute.Float64("agentbench.elapsed_s", run.Elapsed.Seconds()),
		attribute.Bool("agentbench.simulated", run.Simulated),
	)
	total := run.Total()
	l.usage(&total)
	s.end(l, o.Error)
}

// StartIteration begins the span of an iteration, before anything is sent. Call end when the record is complete.
func StartIteration(ctx context.Context, it *record.Iteration) (_ context.Context, end func()) {
	t := of(ctx)
	if t == nil {
		return ctx, func() {}
	}
	l := list{attribute.Int("agentbench.iteration", it.N)}
	l.text("agentbench.phase", it.Phase)
	l.text("agentbench.strategy", it.Strategy)
	ctx, s := t.start(ctx, trace.SpanKindInternal, "iteration", cmp.Or(it.Phase, it.Strategy), l)
	return ctx, func() { s.endIteration(it) }
}

func (s span) endIteration(it *record.Iteration) {
	var l list
	if e := it.Evaluation; e != nil {
		l.add(attribute.Float64("agentbench.confidence", e.Confidence), attribute.Bool("agentbench.passed", e.Passed))
	}
	l.count("agentbench.steps", int64(it.StepCount()))
	l.count("agentbench.tool_calls", int64(len(it.ToolCalls)))
	l.text("agentbench.cut", it.Cut)
	l.add(attribute.Float64("agentbench.elapsed_s", (it.End - it.Start).Seconds()))
	s.end(l, it.Error)
}

// Ask makes a call of a model in a span of its own, retries and waiting included. The record is nil where no call was made.
func Ask(ctx context.Context, a model.Asked) (*model.Reply, *record.Call, error) {
	return AskStep(ctx, &a, &record.Call{})
}

// AskStep is Ask for a call that a program makes: the record given says which conversation, kind and step it is.
func AskStep(ctx context.Context, a *model.Asked, place *record.Call) (*model.Reply, *record.Call, error) {
	ctx, end := startChat(ctx, a, place)
	reply, call, err := a.Ask(ctx)
	end(reply, call, err)
	return reply, call, err
}

func startChat(ctx context.Context, a *model.Asked, place *record.Call) (_ context.Context, end func(*model.Reply, *record.Call, error)) {
	t := of(ctx)
	if t == nil {
		return ctx, func(*model.Reply, *record.Call, error) {}
	}
	m, known := t.Models[a.Name]
	if !known {
		m = Model{Name: a.Name, Provider: "_OTHER"}
	}
	l := list{attribute.String("gen_ai.operation.name", "chat")}
	l.text("gen_ai.provider.name", m.Provider)
	l.text("gen_ai.request.model", m.Name)
	if m.Address != "" {
		l.add(attribute.String("server.address", m.Address), attribute.Int("server.port", m.Port))
	}
	if m.Stream {
		l.add(attribute.Bool("gen_ai.request.stream", true))
	}
	run, _ := ctx.Value(runKey{}).(string)
	l.text("gen_ai.conversation.id", run)
	l.text("agentbench.model", a.Name)
	l.text("agentbench.role", string(a.Role))
	l.text("agentbench.conversation", place.Conversation)
	l.text("agentbench.kind", string(place.Kind))
	l.count("agentbench.step", int64(place.Step))
	l.settings(a.Request)
	if t.Contents {
		l.sent(a.Request)
	}
	ctx, s := t.start(ctx, trace.SpanKindClient, "chat", m.Name, l)
	return ctx, func(reply *model.Reply, call *record.Call, err error) { s.endChat(m.Name, reply, call, err) }
}

// settings adds the parameters of a request that are set.
func (l *list) settings(request *model.Request) {
	if request.Temperature != nil {
		l.add(attribute.Float64("gen_ai.request.temperature", *request.Temperature))
	}
	if request.TopP != nil {
		l.add(attribute.Float64("gen_ai.request.top_p", *request.TopP))
	}
	if request.Seed != nil {
		l.add(attribute.Int64("gen_ai.request.seed", *request.Seed))
	}
	l.count("gen_ai.request.max_tokens", int64(request.MaxOutputTokens))
	if request.JSON {
		l.add(attribute.String("gen_ai.output.type", "json"))
	}
}

func (s span) endChat(requested string, reply *model.Reply, call *record.Call, err error) {
	var l list
	if call != nil {
		if call.Error == nil {
			l.text("gen_ai.response.model", cmp.Or(call.Answered, requested))
			l.add(attribute.StringSlice("gen_ai.response.finish_reasons", []string{call.Finish}))
		}
		l.usage(&call.Usage)
		l.effort(call.Duration, call.Cached, call.Attempts)
		if call.Waited > 0 {
			l.add(attribute.Float64("agentbench.waited_s", call.Waited.Seconds()))
		}
	}
	if reply != nil && s.tracing.Contents {
		l.answered(reply)
	}
	s.end(l, failureOf(err))
}

// effort adds what a call of a model or a tool took, in virtual time.
func (l *list) effort(took time.Duration, cached bool, attempts int) {
	l.add(attribute.Float64("agentbench.elapsed_s", took.Seconds()), attribute.Bool("agentbench.cached", cached))
	l.count("agentbench.attempts", int64(attempts))
}

// Used is what a use of a tool gave.
type Used struct {
	Duration time.Duration // virtual
	Cached   bool
	Attempts int
	Content  json.RawMessage
}

// StartTool begins the span of one use of a tool, attempts included. Call end with what the tool gave.
func StartTool(ctx context.Context, call *record.ToolCall, description string) (_ context.Context, end func(Used, error)) {
	t := of(ctx)
	if t == nil {
		return ctx, func(Used, error) {}
	}
	kind := "function"
	if call.Server != "" || call.Delegate != "" {
		kind = "extension" // the conventions' word for what another service does
	}
	l := list{
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", call.Tool),
		attribute.String("gen_ai.tool.type", kind),
	}
	l.text("gen_ai.tool.call.id", call.ID)
	l.text("gen_ai.tool.description", description)
	l.text("agentbench.server", call.Server)
	l.text("agentbench.delegate", call.Delegate)
	if t.Contents {
		l.text("gen_ai.tool.call.arguments", string(call.Arguments))
	}
	ctx, s := t.start(ctx, trace.SpanKindInternal, "execute_tool", call.Tool, l)
	return ctx, func(used Used, err error) {
		var l list
		l.effort(used.Duration, used.Cached, used.Attempts)
		if t.Contents {
			l.text("gen_ai.tool.call.result", string(used.Content))
		}
		s.end(l, failureOf(err))
	}
}

// StartScore begins the span of a score for which a model, program or endpoint is asked. Iteration is the one whose output is
// judged, 0 where there is none. Call end with the score; it failed where it is unscored.
func StartScore(ctx context.Context, scorer string, run *record.Run, iteration int) (_ context.Context, end func(*record.Score)) {
	t := of(ctx)
	if t == nil {
		return ctx, func(*record.Score) {}
	}
	var l list
	l.text("gen_ai.evaluation.name", scorer)
	l.run(run)
	l.count("agentbench.iteration", int64(iteration))
	ctx, s := t.start(ctx, trace.SpanKindInternal, "evaluate", scorer, l)
	return ctx, func(score *record.Score) {
		var l list
		failed := l.score(score, t.Contents)
		l.count("agentbench.votes", int64(len(score.Votes)))
		l.usage(&score.Usage)
		s.end(l, failed)
	}
}

// Scored sends the scores of a run, each as an event of a span below that of the run, if the run was made in this session.
func Scored(ctx context.Context, run *record.Run, scores []record.Score) {
	t := of(ctx)
	if t == nil || len(scores) == 0 {
		return
	}
	var l list
	l.text("gen_ai.conversation.id", run.ID)
	l.run(run)
	_, s := t.start(within(ctx, t, run.ID), trace.SpanKindInternal, "scores", "", l)
	for i := range scores {
		var l list
		l.text("gen_ai.evaluation.name", scores[i].Name)
		l.count("agentbench.iteration", int64(scores[i].Iteration))
		if failed := l.score(&scores[i], t.Contents); failed != nil {
			l.text("error.type", string(failed.Class))
		}
		s.AddEvent("gen_ai.evaluation.result", trace.WithAttributes(t.cleaned(l)...))
	}
	s.end(nil, nil)
}

// score adds the value, or gives the reason why the score has none.
func (l *list) score(score *record.Score, contents bool) *record.Error {
	if score.Unscored != "" {
		return &record.Error{Class: "unscored", Message: score.Unscored}
	}
	l.add(attribute.Float64("gen_ai.evaluation.score.value", score.Value))
	if contents {
		l.text("gen_ai.evaluation.score.label", score.Answer)
		l.text("gen_ai.evaluation.explanation", score.Explanation)
	}
	return nil
}
