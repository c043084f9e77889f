package trace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

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
