package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// disorderly are servers that do not do as they should.
var disorderly = map[string]func(){
	"ends": func() {
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(4)
	},
	"slow":          func() { time.Sleep(time.Hour) },
	"does not read": func() { plays(func(string, json.RawMessage) { time.Sleep(time.Hour) }) },
	"prints": func() {
		plays(func(string, json.RawMessage) { fmt.Println("Now I am going to do it!") })
	},
	"garbage":     func() { plays(func(string, json.RawMessage) { fmt.Println(`{"jsonrpc":"2.0","id":{}}`) }) },
	"no result":   func() { plays(func(_ string, id json.RawMessage) { replies(id, `"what?"`) }) },
	"other parts": func() { plays(func(_ string, id json.RawMessage) { replies(id, `{"content":[{"type":"smell"}]}`) }) },
	"no answer":   func() { plays(func(_ string, id json.RawMessage) { fmt.Printf(`{"jsonrpc":"2.0","id":%s}`+"\n", id) }) },
	"wrong id":    func() { plays(func(string, json.RawMessage) { replies(json.RawMessage("4711"), `{"content":[]}`) }) },
	"huge": func() {
		plays(func(string, json.RawMessage) {
			fmt.Println(`{"jsonrpc":"2.0","x":"` + strings.Repeat("x", 17<<20) + `"}`)
		})
	},
	"deep": func() {
		plays(func(_ string, id json.RawMessage) {
			replies(id, `{"content":[],"structuredContent":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"}")
		})
	},
	"ends at what it does not know": func() {
		plays(func(_ string, id json.RawMessage) { replies(id, `{"content":[{"type":"text","text":"done"}]}`) }, "server/discover")
	},
	"tells twice": func() {
		tools = `{"name":"act"},{"name":"act"},{"name":"act"},{"name":"a b"},{"name":"a_b"},{"name":"a/b"}`
		plays(func(_ string, id json.RawMessage) { replies(id, `{"content":[{"type":"text","text":"done"}]}`) })
	},
	"dies once": func() { plays(diesOnce) },
}

// tools are those that a disorderly server tells of.
var tools = `{"name":"act"}`

// replies writes an answer.
func replies(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

// plays is a server with one tool, `act`, at which it acts. It ends at the methods
// that it dreads.
func plays(act func(name string, id json.RawMessage), dreads ...string) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal([]byte(line), &asked)
		for _, method := range dreads {
			if asked.Method == method {
				os.Exit(1)
			}
		}
		switch asked.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n", asked.ID)
		case "initialize":
			replies(asked.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`)
		case "tools/list":
			replies(asked.ID, `{"tools":[`+strings.ReplaceAll(tools, `"}`, `","inputSchema":{"type":"object"}}`)+`]}`)
		case "tools/call":
			act(asked.Method, asked.ID)
		}
	}
}

// diesOnce dies where the file that its argument names is missing, and makes it.
func diesOnce(_ string, id json.RawMessage) {
	if _, err := os.Stat(os.Args[1]); err != nil {
		_ = os.WriteFile(os.Args[1], nil, 0o600)
		fmt.Fprintln(os.Stderr, "segmentation fault, or so")
		os.Exit(139)
	}
	replies(id, `{"content":[{"type":"text","text":"done"}]}`)
}

// F36: whatever a server does at a call, the agent is told.
func TestF36_DisorderlyServers(t *testing.T) {
	for mode, want := range map[string]string{
		"prints":      `the server "orderly" died during the call: its output is not the protocol, in which its logs have no place: invalid character 'N'`,
		"garbage":     `the server "orderly" died during the call: `,
		"huge":        `the server "orderly" died during the call: its output is not the protocol, in which its logs have no place: inbound JSON-RPC frame exceeded the configured maximum line length`,
		"no result":   "cannot unmarshal",
		"other parts": "smell",
		"deep":        "depth",
		"wrong id":    "timed out after 1s",
		"no answer":   "it ended without an answer",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			o := child(mode)
			if mode == "wrong id" {
				o.Timeout, o.Start = time.Second, time.Minute
			}
			ctx := begun(t)
			set := toolsOf(t, ctx, New(o))
			for range 2 {
				_, err := use(ctx, set, "act", `{}`)
				fails(t, err, record.Tool, want)
			}
		})
	}
}

// F36: a server that tells of a tool more than once has it once.
func TestF36_AServerThatTellsTwice(t *testing.T) {
	told, err := New(child("tells twice")).Server(begun(t))
	if err != nil || len(told.Tools) != 4 || told.Tools[0].Name != "act" || told.Tools[1].Name != "a b" {
		t.Errorf("told %+v, %v", told, err)
	}
}

// F36: a server that died is started again once. A call that it may have had is
// only made again where that does no harm.
func TestF36_AServerThatDiesIsStartedAgainOnce(t *testing.T) {
	for _, pure := range []bool{false, true} {
		o := child("dies once", t.TempDir()+"/died")
		if pure {
			o.Pure = []string{"act"}
		}
		ctx := begun(t)
		set := toolsOf(t, ctx, New(o))
		got, err := use(ctx, set, "act", `{}`)
		if pure {
			if err != nil || got != `"done"` {
				t.Errorf("a pure tool: %s, %v", got, err)
			}
			continue
		}
		fails(t, err, record.Tool, "died during the call: ")
		fails(t, err, record.Tool, "exit status 139: segmentation fault, or so")
		if got, err := use(ctx, set, "act", `{}`); err != nil || got != `"done"` {
			t.Errorf("afterwards: %s, %v", got, err)
		}
	}
}

// F36: a server that dies again is not started a third time in the run; the next
// run is given another one.
func TestF36_AServerThatDiesAgainIsLeftAlone(t *testing.T) {
	_, all := tool.WithRun(t.Context())
	defer all.Close()
	o := child("orderly")
	o.Shared = all
	s := New(o)
	for range 2 {
		ctx := begun(t)
		set := toolsOf(t, ctx, s)
		for _, want := range []string{"died during the call", "died during the call", "died again", "died again"} {
			_, err := use(ctx, set, "die", `{}`)
			fails(t, err, record.Tool, want)
			fails(t, err, record.Tool, "exit status 3: out of luck")
		}
		_, err := use(ctx, set, "double", `{"n":1}`)
		fails(t, err, record.Tool, "died again")
		if _, err := s.Server(ctx); err != nil {
			t.Errorf("the tools are known, and yet %v", err)
		}
	}
}

// F36: a server that does not read holds nobody up.
func TestF36_AServerThatDoesNotRead(t *testing.T) {
	o := child("does not read")
	o.Timeout, o.Start = 200*time.Millisecond, time.Minute
	o.Program.Farewell = 100 * time.Millisecond
	ctx := begun(t)
	set := toolsOf(t, ctx, New(o))
	big := `{"x":"` + strings.Repeat("x", 500_000) + `"}`
	for range 3 {
		begin := time.Now()
		_, err := use(ctx, set, "act", big)
		fails(t, err, record.Tool, "")
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	}
}

// F36: so many tools are listed, and no more.
func TestF36_AServerOfTenThousandTools(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	ctx := begun(t)
	o := child("with 9993 more")
	o.Only = []string{"double", "more-9992"}
	if got := toolsOf(t, ctx, New(o)).Definitions(); len(got) != 2 {
		t.Errorf("%d tools", len(got))
	}
	_, err := New(child("with 9994 more")).Server(ctx)
	fails(t, err, record.Unstarted, "it has more than 10000 tools")
}

// Servers that end where they are asked for a version that they do not know are
// asked for another.
func TestAServerThatEndsAtNewerVersions(t *testing.T) {
	ctx := begun(t)
	set := toolsOf(t, ctx, New(child("ends at what it does not know")))
	if got, err := use(ctx, set, "act", `{}`); err != nil || got != `"done"` {
		t.Errorf("got %s, %v", got, err)
	}
}
