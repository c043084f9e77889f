package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// caller calls a tool in every step but the tenth.
type caller struct{ reply, last model.Reply }

func (c *caller) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	reply := c.reply
	if request.Draw.Call%10 == 9 {
		reply = c.last
	}
	return &reply, nil
}

// BenchmarkStep is what a step costs beside the model and the tool: of a
// conversation of ten steps, each of one tool call but the last.
func BenchmarkStep(b *testing.B) {
	for _, format := range []string{"native", "fenced", "xml"} {
		b.Run(format, func(b *testing.B) {
			c := benched(b, format)
			of := turn()
			b.ReportAllocs()
			for b.Loop() {
				result, err := c.Execute(context.Background(), of)
				if err != nil || len(result.Steps) != 10 || len(result.ToolCalls) != 9 || result.ToolCalls[8].Error != nil {
					b.Fatal(err, len(result.Steps), len(result.ToolCalls))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/step")
		})
	}
}

func benched(t testing.TB, format string) *agent.Conversation {
	reply := model.Reply{Text: "I look it up.", Finish: "stop"}
	b := &babbler{format: format}
	b.write(&reply, "echo", `{"text":"what is to be said again"}`, "id")
	return &agent.Conversation{
		Model: &caller{reply, model.Reply{Text: "That is it.", Finish: "stop"}}, ModelName: "m",
		Spec: &spec.Agent{ToolCalls: format}, MaxSteps: 20, Tools: toolbox(t, echo()),
	}
}

// Ten thousand tool calls leave nothing behind; that no goroutine is left the
// package's main sees to.
func TestTenThousandToolCalls(t *testing.T) {
	many := make([]string, 0, 200)
	for range 100 {
		many = append(many, "luck", `{}`)
	}
	luck := &does{tool.Definition{Name: "luck", Timeout: time.Minute}, func(context.Context, *tool.Use) (tool.Result, error) {
		return tool.Result{}, &record.Error{Class: record.Tool, Message: "none"}
	}}
	c := &agent.Conversation{Model: &caller{calls(many...), says("ok")}, ModelName: "m", Spec: &spec.Agent{}, MaxSteps: 20, Tools: toolbox(t, luck)}
	of, made := turn(), 0
	for made < 10_000 {
		result := converse(t, c, of)
		made += len(result.ToolCalls)
	}
}
