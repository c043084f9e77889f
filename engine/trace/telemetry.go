// Package telemetry decides what those are told who trace runs while they go on:
// a span for each run, iteration, model call and use of a tool, and for each score
// that others are asked for, with the names
// and attributes that the semantic conventions of OpenTelemetry have for
// generative AI, and with those of agentbench for what these do not know.
//
// Who traces is in the context, as a Tracing; the package knows no library of
// tracing. Where nobody does, nothing is made and nothing allocated.
package trace

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/record"
)

// Tracing is where spans go, and what they may say.
type Tracing struct {
	Tracer Tracer
	// Models are those of the suite, by their names in it.
	Models map[string]Model
	// Contents says that what was sent and answered may be told.
	Contents bool
}

// Tracer starts spans. Implementations are safe for concurrent use.
type Tracer interface {
	// Start begins a span within that of the context, and gives the context of
	// what happens in it.
	Start(ctx context.Context, began *Began) (context.Context, Span)
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
	Provider string // openai, script, simulate
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
	l.count("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens)
	if u.Unpriced == 0 {
		l.set("agentbench.cost_usd", u.Cost.Dollars())
	}
}
