package openai

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// The peer is an independent server of all three protocols.
const (
	peerPackage = "@copilotkit/aimock"
	peerVersion = "1.43.0"
)

// peerFixtures are the peer's replies.
const peerFixtures = `{"fixtures": [
	{"match": {"userMessage": "hello"}, "response": {"content": "Hi there, this is a reply that takes several chunks."}},
	{"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "Six times seven."}},
	{"match": {"userMessage": "weather"}, "response": {"toolCalls": [{"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}]}},
	{"match": {"userMessage": "too fast"}, "response": {"error": {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}, "status": 429}},
	{"match": {"userMessage": "who"}, "response": {"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}, "status": 401}},
	{"match": {"userMessage": "broken"}, "response": {"error": {"message": "boom", "type": "server_error"}, "status": 500}}
]}`

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startPeer gives the address of a peer that runs until the test ends.
func startPeer(t *testing.T) string {
	t.Helper()
	peerOf := wiretest.Package{Name: peerPackage, Version: peerVersion, Variable: "AGENTBENCH_AIMOCK"}
	program := filepath.Join(peerOf.Folder(t), "node_modules", peerPackage, "dist", "cli.js")
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	must(t, os.WriteFile(fixtures, []byte(peerFixtures), 0o600))
	peer := exec.CommandContext(t.Context(), "node", program, "--port", "0", "--fixtures", fixtures, "--strict")
	told, err := peer.StdoutPipe()
	must(t, err)
	peer.Stderr = peer.Stdout
	must(t, peer.Start())
	t.Cleanup(func() {
		_ = peer.Process.Kill()
		_ = peer.Wait()
	})
	lines := bufio.NewReader(told)
	for {
		line, err := lines.ReadString('\n')
		if found := listening.FindStringSubmatch(line); found != nil {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the peer
			return found[1] + "/v1"
		}
		if err != nil {
			t.Fatalf("the peer does not listen: %s %v", line, err)
		}
	}
}

func says(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: "system", Text: "be kind"}, {Role: "user", Text: text}}}
}

func TestPeer(t *testing.T) {
	peer := startPeer(t)
	t.Run("the client understands it", func(t *testing.T) {
		understands(t, false, "", func(stream bool) model.Model {
			return connect(t, wire.Options{BaseURL: peer, Name: "gpt-4o", Stream: stream})
		})
	})
	t.Run("the client of Responses understands it", func(t *testing.T) {
		understands(t, true, "encrypted_content", func(stream bool) model.Model {
			return connectResponses(t, wire.Options{BaseURL: peer, Name: "gpt-5", Stream: stream, Effort: "low"})
		})
	})
	t.Run("the client of Messages understands it", func(t *testing.T) {
		understands(t, true, "", func(stream bool) model.Model {
			o := wire.Options{BaseURL: peer, Name: "claude-sonnet-4-5", Stream: stream, Thinking: &spec.Thinking{BudgetTokens: 1024}, Cache: []string{"auto"}}
			return wiretest.Connect(t, o, anthropic.New)
		})
	})
}

// understands lets a client and the peer understand each other, streamed and whole. Where the protocol has reasoning, some of it is in every
// reply.
func understands(t *testing.T, reasons bool, within string, connect func(stream bool) model.Model) {
	for _, stream := range []bool{false, true} {
		m := connect(stream)
		reply, err := m.Call(t.Context(), says("hello"))
		must(t, err)
		if reply.Text != "Hi there, this is a reply that takes several chunks." || reply.Finish != "stop" || !strings.Contains(string(reply.Blocks), within) {
			t.Errorf("got %+v", reply)
		}
		if reasons {
			thinks(t, m)
		} else if !stream && (reply.Usage.Estimated != 0 || reply.Usage.OutputTokens == 0) {
			t.Errorf("used %+v", reply.Usage)
		}
		callsTools(t, m)
		for asked, class := range map[string]record.ErrorClass{"too fast": record.RateLimit, "who": record.Auth, "broken": record.Server} {
			_, err := m.Call(t.Context(), says(asked))
			var failed *model.CallError
			if !errors.As(err, &failed) || failed.Cause.Class != class || asked == "too fast" && failed.RetryAfter <= 0 {
				t.Errorf("%s: %+v", asked, failed)
			}
		}
	}
}

// thinks lets a model reason, and sends its reasoning back.
func thinks(t *testing.T, m model.Model) {
	t.Helper()
	request := says("think")
	reply, err := m.Call(t.Context(), request)
	if err != nil || reply.Text != "42" || reply.Thinking != "Six times seven." || reply.Blocks == nil {
		t.Fatalf("reasoning: %+v, %v", reply, err)
	}
	request.Messages = append(request.Messages, model.Message{Role: "assistant", Text: reply.Text, Blocks: reply.Blocks}, model.Message{Role: "user", Text: "hello"})
	if reply, err := m.Call(t.Context(), request); err != nil || reply.Finish != "stop" {
		t.Errorf("after its reasoning: %+v, %v", reply, err)
	}
}

// callsTools lets a model call a tool, and tells it the result.
func callsTools(t *testing.T, m model.Model) {
	t.Helper()
	request := says("weather")
	request.Tools = []model.Tool{{Name: "get_weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}}
	request.ToolChoice = "auto"
	reply, err := m.Call(t.Context(), request)
	if err != nil || reply.Finish != "tool_calls" || reply.Text != "" || len(reply.ToolCalls) != 1 {
		t.Fatalf("a call of a tool: %+v, %v", reply, err)
	}
	if call := reply.ToolCalls[0]; call.Name != "get_weather" || call.Arguments != `{"city":"Paris"}` || call.ID == "" {
		t.Errorf("the call is %+v", call)
	}
	request.Messages = append(request.Messages,
		model.Message{Role: "assistant", ToolCalls: reply.ToolCalls}, model.Message{Role: "tool", ToolCallID: reply.ToolCalls[0].ID, Text: "rain"},
		model.Message{Role: "user", Text: "hello"})
	if reply, err := m.Call(t.Context(), request); err != nil || reply.Finish != "stop" || reply.Text == "" {
		t.Errorf("after the tool's result: %+v, %v", reply, err)
	}
}
