// Package trace decides what a collector of OpenTelemetry learns of runs in progress:
// a span for each run, iteration, model call and use of a tool, and for each score
// that asks a model or a program, with the names and attributes of the semantic
// conventions for generative AI, and with agentbench's own where these have none.
//
// The Tracing is in the context. Without one, nothing is made and nothing allocated.
//
// It is no stable API.
package trace

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Tracing is where spans go, and what they may say.
type Tracing struct {
	Tracer Tracer
	// Models are those of the suite, by their names in it.
	Models map[string]Model
	// Contents says that what was sent and answered may be told.
	Contents bool
	// runs are the places of the runs of this session, by id: events of their scores are theirs.
	runs sync.Map
}

// Tracer starts spans. Implementations are safe for concurrent use.
type Tracer interface {
	// Start begins a span within that of the context, and gives the context of
	// what happens in it.
	Start(ctx context.Context, began *Began) (context.Context, Span)
	// Event tells of something that has no duration, about the span at a place; the zero Place is unknown.
	Event(name string, at Place, attributes []Attribute, failed *Failure)
}

// Place is the identity of a span.
type Place struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
}

// Began is what is known of a span from the start.
type Began struct {
	Name       string
	Client     bool // it waits for a server's answer
	Attributes []Attribute
}

// Span is what happens in the meantime.
type Span interface {
	// End ends it. It failed where there is a failure.
	End(attributes []Attribute, failed *Failure)
	Place() Place
}

// Attribute is a string, an int64, a float64, a bool or a []string, by its name.
type Attribute struct {
	Key   string
	Value any
}

// Failure is why something failed: a class that many failures share, and a
// sentence.
type Failure struct{ Class, Message string }

// Model is what is known of a model of the suite.
type Model struct {
	Provider string // as the conventions name it: openai, anthropic, script, simulate
	Stream   bool   // its answers come in pieces
	Name     string // the provider's
	Address  string // of its server; "": it has none
	Port     int
}

type tracingKey struct{}

// With gives a context in which is traced what happens.
func With(ctx context.Context, t *Tracing) context.Context {
	return context.WithValue(ctx, tracingKey{}, t)
}

// of is who traces, nil where nobody does.
func of(ctx context.Context) *Tracing {
	t, _ := ctx.Value(tracingKey{}).(*Tracing)
	return t
}

// failureOf is nil for no error.
func failureOf(err error) *Failure {
	var failed *record.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &Failure{string(failed.Class), failed.Message}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Failure{"cancelled", err.Error()}
	}
	return &Failure{"_OTHER", err.Error()}
}

// list gathers attributes, of which it leaves out those that say nothing.
type list []Attribute

func (l *list) text(key, value string) {
	if value != "" {
		*l = append(*l, Attribute{key, value})
	}
}

func (l *list) count(key string, value int64) {
	if value != 0 {
		*l = append(*l, Attribute{key, value})
	}
}

func (l *list) set(key string, value any) { *l = append(*l, Attribute{key, value}) }

// usage tells tokens and cost, which is no cost where a price is unknown.
func (l *list) usage(u *record.Usage) {
	l.set("gen_ai.usage.input_tokens", u.InputTokens)
	l.set("gen_ai.usage.output_tokens", u.OutputTokens)
	l.count("gen_ai.usage.cache_read.input_tokens", u.CachedTokens)
	l.count("gen_ai.usage.cache_creation.input_tokens", u.CacheWriteTokens+u.CacheWrite1hTokens)
	l.count("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens)
	if u.Unpriced == 0 {
		l.set("agentbench.cost_usd", u.Cost.Dollars())
	}
}

// Chat is the span of a model call, attempts and waiting included. The zero Chat
// is that of one that nobody traces.
type Chat struct {
	span    Span
	tracing *Tracing
	asked   string // the provider's name of the model
}

// Ask makes a call of a model, in a span of its own, and its record, which is nil where no call was made.
func Ask(ctx context.Context, a model.Asked) (*model.Reply, *record.Call, error) {
	ctx, span := StartChat(ctx, a.Name, a.Role, a.Request)
	reply, call, err := a.Ask(ctx)
	span.End(reply, call, err)
	return reply, call, err
}

// AskStep is Ask of a call that a program makes, which has a place among the steps of its run.
func AskStep(ctx context.Context, a *model.Asked, place *record.Call) (*model.Reply, *record.Call, error) {
	var l list
	l.text("agentbench.conversation", place.Conversation)
	l.text("agentbench.kind", string(place.Kind))
	l.count("agentbench.step", int64(place.Step))
	ctx, span := startChat(ctx, a.Name, a.Role, a.Request, l)
	reply, call, err := a.Ask(ctx)
	span.End(reply, call, err)
	return reply, call, err
}

// StartChat begins the span of a call of a model, by its name in the suite.
func StartChat(ctx context.Context, name string, role record.Role, request *model.Request) (context.Context, Chat) {
	return startChat(ctx, name, role, request, nil)
}

func startChat(ctx context.Context, name string, role record.Role, request *model.Request, place list) (context.Context, Chat) {
	t := of(ctx)
	if t == nil {
		return ctx, Chat{}
	}
	m, known := t.Models[name]
	if !known {
		m = Model{Name: name, Provider: "_OTHER"}
	}
	var l list
	l.set("gen_ai.operation.name", "chat")
	l.text("gen_ai.provider.name", m.Provider)
	l.text("gen_ai.request.model", m.Name)
	if m.Address != "" {
		l.set("server.address", m.Address)
		l.set("server.port", int64(m.Port))
	}
	if m.Stream {
		l.set("gen_ai.request.stream", true)
	}
	run, _ := ctx.Value(runKey{}).(string)
	l.text("gen_ai.conversation.id", run)
	l.text("agentbench.model", name)
	l.text("agentbench.role", string(role))
	l = append(l, place...)
	l.settings(request)
	if t.Contents {
		l.sent(request)
	}
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("chat", m.Name), Client: true, Attributes: l})
	return ctx, Chat{span, t, m.Name}
}

func (l *list) settings(request *model.Request) {
	if request.Temperature != nil {
		l.set("gen_ai.request.temperature", *request.Temperature)
	}
	if request.TopP != nil {
		l.set("gen_ai.request.top_p", *request.TopP)
	}
	if request.Seed != nil {
		l.set("gen_ai.request.seed", *request.Seed)
	}
	l.count("gen_ai.request.max_tokens", int64(request.MaxOutputTokens))
	if request.JSON {
		l.set("gen_ai.output.type", "json")
	}
}

// End tells what came of the call; the record of it is nil where it was not made.
func (c Chat) End(reply *model.Reply, call *record.Call, err error) {
	if c.span == nil {
		return
	}
	var l list
	if call != nil {
		l.called(call, c.asked)
	}
	if reply != nil && c.tracing.Contents {
		l.set("gen_ai.output.messages", jsonOf([]message{{Role: "assistant", Parts: parts(reply.Thinking, reply.Text, reply.ToolCalls), Finish: reply.Finish}}))
	}
	c.span.End(l, notMade(err))
}

// notMade is the failure of a call, for which the words of a model that ends the
// run, or of a budget that has no room, are none of an error's class.
func notMade(err error) *Failure {
	switch {
	case errors.Is(err, model.ErrEnded):
		return nil
	case errors.Is(err, model.ErrRefused):
		return &Failure{"refused", err.Error()}
	}
	return failureOf(err)
}

func (l *list) called(call *record.Call, asked string) {
	if call.Error == nil {
		if call.Answered != "" {
			asked = call.Answered
		}
		l.text("gen_ai.response.model", asked)
		l.set("gen_ai.response.finish_reasons", []string{call.Finish})
	}
	l.usage(&call.Usage)
	l.set("agentbench.elapsed_s", call.Duration.Seconds())
	l.set("agentbench.cached", call.Cached)
	l.count("agentbench.attempts", int64(call.Attempts))
	if call.Waited > 0 {
		l.set("agentbench.waited_s", call.Waited.Seconds())
	}
}

// The shapes of messages are those of the conventions' JSON schemas.

type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  *string         `json:"response,omitempty"`
}

type definition struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// sent tells the instructions apart from the conversation.
func (l *list) sent(request *model.Request) {
	var instructions []part
	var conversation []message
	for i := range request.Messages {
		m := &request.Messages[i]
		if m.Role == "system" {
			instructions = append(instructions, part{Type: "text", Content: m.Text})
			continue
		}
		conversation = append(conversation, messageOf(m))
	}
	if instructions != nil {
		l.set("gen_ai.system_instructions", jsonOf(instructions))
	}
	l.set("gen_ai.input.messages", jsonOf(conversation))
	if len(request.Tools) > 0 {
		l.set("gen_ai.tool.definitions", jsonOf(definitions(request.Tools)))
	}
}

func messageOf(m *model.Message) message {
	if m.ToolCallID != "" {
		return message{Role: m.Role, Parts: []part{{Type: "tool_call_response", ID: m.ToolCallID, Response: &m.Text}}}
	}
	return message{Role: m.Role, Parts: parts("", m.Text, m.ToolCalls)}
}

func parts(thinking, text string, calls []model.ToolCall) []part {
	all := []part{}
	if thinking != "" {
		all = append(all, part{Type: "reasoning", Content: thinking})
	}
	if text != "" {
		all = append(all, part{Type: "text", Content: text})
	}
	for _, call := range calls {
		all = append(all, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: written(call.Arguments)})
	}
	return all
}

// written are arguments as JSON, or as the text that they are instead.
func written(arguments string) json.RawMessage {
	if json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments)
	}
	return json.RawMessage(jsonOf(arguments))
}

func definitions(tools []model.Tool) []definition {
	all := make([]definition, len(tools))
	for i, t := range tools {
		all[i] = definition{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return all
}

// jsonOf is "" for what is no JSON: parameters that a server made up.
func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

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
	if head.ID != "" {
		ctx = context.WithValue(ctx, runKey{}, head.ID)
		t.runs.Store(head.ID, span.Place())
	}
	return ctx, Run{span}
}

// runKey holds the id of the run that a call is made in.
type runKey struct{}

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
	l.count("agentbench.steps", int64(it.StepCount()))
	l.count("agentbench.tool_calls", int64(len(it.ToolCalls)))
	l.text("agentbench.cut", it.Cut)
	l.set("agentbench.elapsed_s", (it.End - it.Start).Seconds())
	var failed *Failure
	if it.Error != nil {
		failed = failureOf(it.Error)
	}
	i.span.End(l, failed)
}

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
	failed := l.score(made, s.tracing.Contents)
	l.count("agentbench.votes", int64(len(made.Votes)))
	l.usage(&made.Usage)
	s.span.End(l, failed)
}

// Evaluated tells of the scores of a run, each as an event about the run's span, if the run was made in this session.
func Evaluated(ctx context.Context, run *record.Run, scores []record.Score) {
	t := of(ctx)
	if t == nil {
		return
	}
	known, _ := t.runs.Load(run.ID)
	at, _ := known.(Place)
	for i := range scores {
		made := &scores[i]
		var l list
		l.text("gen_ai.evaluation.name", made.Name)
		l.text("gen_ai.conversation.id", run.ID)
		l.text("agentbench.run", run.ID)
		l.text("agentbench.configuration", run.Configuration)
		l.text("agentbench.task", run.Task)
		l.set("agentbench.trial", int64(run.Trial))
		l.count("agentbench.iteration", int64(made.Iteration))
		failed := l.score(made, t.Contents)
		t.Tracer.Event("gen_ai.evaluation.result", at, l, failed)
	}
}

// score adds the value, or gives the reason why the score has no value.
func (l *list) score(made *record.Score, contents bool) *Failure {
	if made.Unscored != "" {
		return &Failure{"unscored", made.Unscored}
	}
	l.set("gen_ai.evaluation.score.value", made.Value)
	if contents {
		l.text("gen_ai.evaluation.score.label", made.Answer)
		l.text("gen_ai.evaluation.explanation", made.Explanation)
	}
	return nil
}

// Tool is the span of one use of a tool, attempts included. The zero Tool is that
// of one that nobody traces.
type Tool struct {
	span    Span
	tracing *Tracing
}

// StartTool begins the span of a call that can be made.
func StartTool(ctx context.Context, call *record.ToolCall, description string) (context.Context, Tool) {
	t := of(ctx)
	if t == nil {
		return ctx, Tool{}
	}
	var l list
	l.set("gen_ai.operation.name", "execute_tool")
	l.set("gen_ai.tool.name", call.Tool)
	l.set("gen_ai.tool.type", kindOf(call))
	l.text("gen_ai.tool.call.id", call.ID)
	l.text("gen_ai.tool.description", description)
	l.text("agentbench.server", call.Server)
	l.text("agentbench.delegate", call.Delegate)
	if t.Contents {
		l.text("gen_ai.tool.call.arguments", string(call.Arguments))
	}
	ctx, span := t.Tracer.Start(ctx, &Began{Name: named("execute_tool", call.Tool), Attributes: l})
	return ctx, Tool{span, t}
}

// kindOf is the conventions' word: an extension is another service, to which the
// agent's own side turns.
func kindOf(call *record.ToolCall) string {
	if call.Server != "" || call.Delegate != "" {
		return "extension"
	}
	return "function"
}

// Used is what a use of a tool gave.
type Used struct {
	Duration time.Duration
	Cached   bool
	Attempts int
	Content  json.RawMessage
}

// End tells what the tool gave.
func (t Tool) End(result Used, err error) {
	if t.span == nil {
		return
	}
	var l list
	l.set("agentbench.elapsed_s", result.Duration.Seconds())
	l.set("agentbench.cached", result.Cached)
	l.count("agentbench.attempts", int64(result.Attempts))
	if t.tracing.Contents {
		l.text("gen_ai.tool.call.result", string(result.Content))
	}
	t.span.End(l, failureOf(err))
}
