package agent_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offered are the names of the tools that the last request offers.
func (a *actor) offered() (names []string) {
	for _, t := range a.sent[len(a.sent)-1].Tools {
		names = append(names, t.Name)
	}
	return names
}

// The tools of a server stand beside those of the suite, under names of their
// own; the record says what the server told, once.
func TestToolsOfServers(t *testing.T) {
	box, err := agent.NewToolbox([]tool.Tool{echo()}, []tool.Source{remote{}}, tool.Options{})
	must(t, err)
	m := &actor{replies: slices.Repeat([]model.Reply{calls("s__echo", `{}`), says("ok")}, 2)}
	c := &agent.Conversation{Model: m, ModelName: "m", Spec: &spec.Agent{}, Tools: box}
	ctx, run := tool.WithRun(t.Context())
	defer run.Close()
	first, err := c.Execute(ctx, turn())
	must(t, err)
	if want := []string{"echo", "far", "s__echo"}; !slices.Equal(m.offered(), want) {
		t.Errorf("offered %q, want %q", m.offered(), want)
	}
	if call := first.ToolCalls[0]; call.Server != "s" || call.Tool != "s__echo" || string(call.Result) != `"far"` {
		t.Errorf("called %+v", call)
	}
	told, _ := remote{}.Server(ctx)
	if !reflect.DeepEqual(first.Servers, []record.ToolServer{told}) {
		t.Errorf("servers %+v", first.Servers)
	}
	of := turn()
	of.Servers = first.Servers
	second, err := c.Execute(ctx, of)
	if err != nil || second.Servers != nil || len(m.offered()) != 3 {
		t.Errorf("the second time: servers %+v, offered %q, %v", second.Servers, m.offered(), err)
	}
}

// many is a server that has tools of these names.
type many []string

func (many) Name() string { return "a server" }

func (many) Server(context.Context) (record.ToolServer, error) {
	return record.ToolServer{Name: "a server"}, nil
}

func (m many) Tools(record.ToolServer) (all []tool.Tool, err error) {
	for _, name := range m {
		all = append(all, tool.Tool{Definition: tool.Definition{Name: name, Server: "a server"}, Use: nil})
	}
	return all, nil
}

// F36: whatever names the tools of a server have, each is offered under one of its
// own that APIs take.
func TestF36_NamesOfToolsOfServers(t *testing.T) {
	long := strings.Repeat("x", 100)
	box, err := agent.NewToolbox([]tool.Tool{echo()}, []tool.Source{
		many{"echo", "a_b", "a_b", "a_b", "a_server__a_b_2", "", "", long, long, long},
	}, tool.Options{})
	must(t, err)
	m := &actor{replies: []model.Reply{says("ok")}}
	converse(t, &agent.Conversation{Model: m, ModelName: "m", Spec: &spec.Agent{}, Tools: box}, turn())
	want := []string{
		"echo", "a_server__echo", "a_b", "a_server__a_b", "a_server__a_b_2", "a_server__a_server__a_b_2", "a_server__", "a_server___2",
		long[:64], "a_server__" + long[:54], "a_server__" + long[:52] + "_2",
	}
	if got := m.offered(); !slices.Equal(got, want) {
		t.Errorf("offered %q\nwant    %q", got, want)
	}
}

// absent is a server that does not start, or has not got what is asked for.
type absent struct {
	remote
	starts bool
}

var errAbsent = &record.Error{Class: record.Network, Message: "not there"}

func (a absent) Server(ctx context.Context) (record.ToolServer, error) {
	if a.starts {
		return a.remote.Server(ctx)
	}
	return record.ToolServer{}, errAbsent
}

func (absent) Tools(record.ToolServer) ([]tool.Tool, error) { return nil, errAbsent }

func TestAServerThatIsNotThereFailsTheIteration(t *testing.T) {
	for _, starts := range []bool{false, true} {
		box, err := agent.NewToolbox(nil, []tool.Source{absent{starts: starts}}, tool.Options{})
		must(t, err)
		m := &actor{replies: []model.Reply{says("never")}}
		c := &agent.Conversation{Model: m, ModelName: "m", Spec: &spec.Agent{}, Tools: box}
		if _, err := c.Execute(t.Context(), turn()); !errors.Is(err, errAbsent) || len(m.sent) > 0 {
			t.Errorf("starts %v: %v after %d calls", starts, err, len(m.sent))
		}
		if _, err := c.Retrace(t.Context(), turn(), &record.Iteration{}); err == nil {
			t.Errorf("starts %v: it tells what it would send", starts)
		}
	}
}

// Two tools of the suite's own cannot have one name.
func TestToolsOfOneName(t *testing.T) {
	if _, err := agent.NewToolbox([]tool.Tool{echo(), echo()}, nil, tool.Options{}); err == nil {
		t.Error("both are taken")
	}
}

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
