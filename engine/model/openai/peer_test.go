package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// The peer is an OpenAI-compatible server that nobody here wrote. Where it and
// the mock server differ, the mock server is wrong.
const (
	peerPackage = "@copilotkit/aimock"
	peerVersion = "1.43.0"
	// peerFolder names the environment variable of a folder in which the peer
	// was installed; without it the tests install one for themselves.
	peerFolder = "AGENTBENCH_AIMOCK"
)

// peerFixtures are the peer's replies; peerRules are the same for the mock server.
const peerFixtures = `{"fixtures": [
	{"match": {"userMessage": "hello"}, "response": {"content": "Hi there, this is a reply that takes several chunks."}},
	{"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "Six times seven."}},
	{"match": {"userMessage": "weather"}, "response": {"toolCalls": [{"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}]}},
	{"match": {"userMessage": "too fast"}, "response": {"error": {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}, "status": 429}},
	{"match": {"userMessage": "who"}, "response": {"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}, "status": 401}},
	{"match": {"userMessage": "broken"}, "response": {"error": {"message": "boom", "type": "server_error"}, "status": 500}}
]}`

const peerRules = `
- {match: hello, replies: ["Hi there, this is a reply that takes several chunks."]}
- {match: think, replies: [{text: "42", thinking: Six times seven.}]}
- {match: weather, replies: [{tool_calls: [{name: get_weather, arguments: {city: Paris}}]}]}
`

// The protocols that the peer and the mock server speak.
const (
	chatPath      = "/chat/completions"
	responsesPath = "/responses"
	messagesPath  = "/messages"
)

// peerProgram is the peer's program. The test is skipped where there is none.
func peerProgram(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(peerFolder)
	if dir == "" {
		if testing.Short() {
			t.Skipf("no peer in short tests: set %s to a folder with %s %s", peerFolder, peerPackage, peerVersion)
		}
		dir = t.TempDir()
		npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", peerPackage+"@"+peerVersion)
		if told, err := npm.CombinedOutput(); err != nil {
			t.Skipf("no peer: npm install: %v: %.300s; or set %s to a folder with %s %s", err, told, peerFolder, peerPackage, peerVersion)
		}
	}
	return filepath.Join(dir, "node_modules", peerPackage, "dist", "cli.js")
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startPeer gives the address of a peer that runs until the test ends.
func startPeer(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no peer: node is not installed")
	}
	program := peerProgram(t)
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(fixtures, []byte(peerFixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	peer := exec.CommandContext(t.Context(), "node", program, "--port", "0", "--fixtures", fixtures, "--strict")
	told, err := peer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	peer.Stderr = peer.Stdout
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
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

// mockOfPeer is the mock server with the peer's replies.
func mockOfPeer(t *testing.T, o mockserver.Options) string {
	t.Helper()
	rules, faults := mockserver.ParseRules("rules.yaml", []byte(peerRules))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	o.Rules = rules
	return serve(t, mockserver.New(o)) + "/v1"
}

func says(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: "system", Text: "be kind"}, {Role: "user", Text: text}}}
}

func TestPeer(t *testing.T) {
	peer := startPeer(t)
	t.Run("the client understands it", func(t *testing.T) { understands(t, peer) })
	t.Run("the client of Responses understands it", func(t *testing.T) {
		understandsReasoning(t, "encrypted_content", func(stream bool) model.Model {
			return connectResponses(t, wire.Options{BaseURL: peer, Name: "gpt-5", Stream: stream, Effort: "low"})
		})
	})
	t.Run("the client of Messages understands it", func(t *testing.T) {
		understandsReasoning(t, "", func(stream bool) model.Model {
			m, err := anthropic.New(wire.Options{BaseURL: peer, Name: "claude-sonnet-4-5", Key: canary, Stream: stream, Thinking: &spec.Thinking{BudgetTokens: 1024}, Cache: []string{"auto"}})
			if err != nil {
				t.Fatal(err)
			}
			return m
		})
	})
	t.Run("mock answers like it", func(t *testing.T) { answersLike(t, peer) })
	t.Run("mock speaks the other protocols like it", func(t *testing.T) { speaksLike(t, peer) })
	t.Run("mock refuses like it", func(t *testing.T) { refusesLike(t, peer) })
	t.Run("mock tells its limits like it", func(t *testing.T) { limitsLike(t, peer) })
}

// The client and the peer understand each other.
func understands(t *testing.T, peer string) {
	m := connect(t, wire.Options{BaseURL: peer, Name: "gpt-4o"})
	reply, err := m.Call(t.Context(), says("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "Hi there, this is a reply that takes several chunks." || reply.Finish != "stop" || reply.Usage.Estimated != 0 || reply.Usage.OutputTokens == 0 {
		t.Errorf("got %+v", reply)
	}
	for _, stream := range []bool{false, true} {
		callsTools(t, connect(t, wire.Options{BaseURL: peer, Name: "gpt-4o", Stream: stream}))
	}
	for asked, class := range map[string]record.ErrorClass{
		"too fast": record.RateLimit, "who": record.Auth, "broken": record.Server,
	} {
		_, err := m.Call(t.Context(), says(asked))
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Cause.Class != class {
			t.Errorf("%s: %v", asked, err)
		}
		if asked == "too fast" && failed.RetryAfter <= 0 {
			t.Errorf("%s: the peer's Retry-After is lost: %+v", asked, failed)
		}
	}
}

// The client of a protocol with reasoning and the peer understand each other, streamed and whole. Some of it is in every reply.
func understandsReasoning(t *testing.T, within string, connect func(stream bool) model.Model) {
	for _, stream := range []bool{false, true} {
		m := connect(stream)
		reply, err := m.Call(t.Context(), says("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Text != "Hi there, this is a reply that takes several chunks." || reply.Finish != "stop" || !strings.Contains(string(reply.Blocks), within) {
			t.Errorf("got %+v", reply)
		}
		thinks(t, m)
		callsTools(t, m)
		for asked, class := range map[string]record.ErrorClass{
			"too fast": record.RateLimit, "who": record.Auth, "broken": record.Server,
		} {
			_, err := m.Call(t.Context(), says(asked))
			var failed *model.CallError
			if !errors.As(err, &failed) || failed.Cause.Class != class {
				t.Errorf("%s: %v", asked, err)
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

// answered is what a server answers to a body, without go-openai.
type answered struct {
	status      int
	contentType string
	header      http.Header
	shape       any // of JSON, or of the frames of a stream in turn
}

func send(t *testing.T, address, path, body string) answered {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+canary)
	request.Header.Set("Anthropic-Version", "2023-06-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answered{status: response.StatusCode, header: response.Header}
	got.contentType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")
	if got.contentType == "text/event-stream" {
		got.shape = frames(t, text)
	} else {
		got.shape = shapeOf(t, text)
	}
	return got
}

// frames are the shapes of a stream's frames; equal ones in a row count once,
// because how a reply is parted is a server's own business.
func frames(t *testing.T, text []byte) []any {
	t.Helper()
	var all []any
	for frame := range bytes.SplitSeq(bytes.TrimSpace(text), []byte("\n\n")) {
		name, data, ok := bytes.Cut(append([]byte("\n"), frame...), []byte("\ndata: "))
		var shape any = string(data)
		if !ok {
			t.Errorf("the frame %q", frame)
		} else if string(data) != "[DONE]" {
			shape = shapeOf(t, data)
		}
		if event, named := bytes.CutPrefix(name, []byte("\nevent: ")); named {
			shape = []any{string(event), shape}
		}
		if len(all) == 0 || !reflect.DeepEqual(all[len(all)-1], shape) {
			all = append(all, shape)
		}
	}
	return all
}

func shapeOf(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	return shape(value, "")
}

// exact are the fields whose values matter, not only their types.
var exact = []string{"object", "role", "content", "finish_reason", "type", "name", "arguments", "model", "index", "status", "stop_reason"}

// shape is a value with texts and numbers replaced by what they are.
func shape(value any, field string) any {
	switch v := value.(type) {
	case map[string]any:
		shapes := map[string]any{}
		for name, inner := range v {
			shapes[name] = shape(inner, name)
		}
		return shapes
	case []any:
		var shapes []any
		for _, inner := range v {
			shapes = append(shapes, shape(inner, field))
		}
		return shapes
	case nil:
		return nil
	}
	if slices.Contains(exact, field) && value != "" {
		return value
	}
	return fmt.Sprintf("%T", value)
}

const (
	weatherTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	withUsage    = `"stream":true,"stream_options":{"include_usage":true}`
)

// What the peer answers to good requests, the mock server answers too: fields,
// their types, the values that a client goes by, the order of a stream.
func answersLike(t *testing.T, peer string) {
	mock := mockOfPeer(t, mockserver.Options{})
	for name, body := range map[string]string{
		"chat":                 `{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`,
		"settings":             `{"model":"gpt-4o","temperature":0,"top_p":0,"seed":1,"max_tokens":100,"messages":[{"role":"system","content":"x"},{"role":"user","content":"hello"}]}`,
		"parts":                `{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`,
		"stream":               `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hello"}]}`,
		"stream with usage":    `{"model":"gpt-4o",` + withUsage + `,"messages":[{"role":"user","content":"hello"}]}`,
		"tools":                `{"model":"gpt-4o",` + weatherTools + `,"messages":[{"role":"user","content":"weather"}]}`,
		"tools in a stream":    `{"model":"gpt-4o",` + withUsage + `,` + weatherTools + `,"messages":[{"role":"user","content":"weather"}]}`,
		"after a tool's reply": `{"model":"gpt-4o","messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":""}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			want, got := send(t, peer, chatPath, body), send(t, mock, chatPath, body)
			if got.status != want.status || got.contentType != want.contentType {
				t.Errorf("got %d %s, the peer gives %d %s", got.status, got.contentType, want.status, want.contentType)
			}
			if !reflect.DeepEqual(got.shape, want.shape) {
				t.Errorf("got\n%s\nthe peer gives\n%s", indent(got.shape), indent(want.shape))
			}
		})
	}
}

// In the other protocols the peer leaves out much of what the vendors send. What it sends the mock server sends too, in the
// same order, and the pings of Anthropic besides.
func speaksLike(t *testing.T, peer string) {
	mock := mockOfPeer(t, mockserver.Options{})
	for _, stream := range []string{"", `,"stream":true`} {
		for _, asked := range []string{"hello", "think", "weather"} {
			for path, body := range map[string]string{
				responsesPath: `{"model":"gpt-5","input":"` + asked + `"` + stream + `}`,
				messagesPath:  `{"model":"claude-opus-4-5","max_tokens":100,"messages":[{"role":"user","content":"` + asked + `"}]` + stream + `}`,
			} {
				t.Run(path+" "+asked+stream, func(t *testing.T) {
					want, got := send(t, peer, path, body), send(t, mock, path, body)
					if got.status != want.status || got.contentType != want.contentType {
						t.Errorf("got %d %s, the peer gives %d %s", got.status, got.contentType, want.status, want.contentType)
					}
					if !holds(withoutPings(got.shape), want.shape) {
						t.Errorf("got\n%s\nthe peer gives\n%s", indent(got.shape), indent(want.shape))
					}
				})
			}
		}
	}
}

// holds reports whether a shape has all that another one has.
func holds(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name, inner := range want {
			if has, ok := fields[name]; !ok || !holds(has, inner) {
				return false
			}
		}
		return true
	case []any:
		list, _ := got.([]any)
		for i := range want {
			if i >= len(list) || !holds(list[i], want[i]) {
				return false
			}
		}
		return len(list) == len(want)
	}
	return reflect.DeepEqual(got, want)
}

func withoutPings(shape any) any {
	frames, ok := shape.([]any)
	if !ok {
		return shape
	}
	return slices.DeleteFunc(slices.Clone(frames), func(frame any) bool {
		event, _ := frame.([]any)
		return len(event) > 0 && event[0] == "ping"
	})
}

func indent(value any) string {
	text, _ := json.MarshalIndent(value, "", "  ") // of maps, lists and texts
	return string(text)
}

// Errors have the same status and fields; param and code may be null.
func refusesLike(t *testing.T, peer string) {
	chat := func(asked string) string {
		return `{"model":"gpt-4o","messages":[{"role":"user","content":"` + asked + `"}]}`
	}
	responses := func(asked string) string { return `{"model":"gpt-4o","input":"` + asked + `"}` }
	messages := func(asked string) string { return `{"max_tokens":9,` + chat(asked)[1:] }
	for name, c := range map[string]struct{ path, body, fault string }{
		"rate limit":            {chatPath, chat("too fast"), "429"},
		"key":                   {chatPath, chat("who"), "401"},
		"server":                {chatPath, chat("broken"), "500"},
		"in a stream":           {chatPath, `{"stream":true,` + chat("broken")[1:], "500"},
		"no JSON":               {chatPath, `{"model":"gpt-4o"`, ""},
		"no messages":           {chatPath, `{"model":"gpt-4o"}`, ""},
		"responses: rate limit": {responsesPath, responses("too fast"), "429"},
		"responses: key":        {responsesPath, responses("who"), "401"},
		"responses: server":     {responsesPath, responses("broken"), "500"},
		"messages: rate limit":  {messagesPath, messages("too fast"), "429"},
		"messages: key":         {messagesPath, messages("who"), "401"},
		"messages: server":      {messagesPath, messages("broken"), "500"},
		"messages: no JSON":     {messagesPath, `{"model":"gpt-4o"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var o mockserver.Options
			if c.fault != "" {
				var err error
				if o.Faults, err = mockserver.ParseFaults(c.fault); err != nil {
					t.Fatal(err)
				}
			}
			want, got := send(t, peer, c.path, c.body), send(t, mockOfPeer(t, o), c.path, c.body)
			if got.status != want.status || got.contentType != want.contentType {
				t.Errorf("got %d %s, the peer gives %d %s", got.status, got.contentType, want.status, want.contentType)
			}
			if got, want := errorFields(got), errorFields(want); !slices.Equal(got, want) {
				t.Errorf("got %v, the peer gives %v", got, want)
			}
		})
	}
}

func errorFields(a answered) []string {
	top, _ := a.shape.(map[string]any)
	fields, _ := top["error"].(map[string]any)
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A refusal for too many requests tells its limits in the same headers.
func limitsLike(t *testing.T, peer string) {
	mock := mockOfPeer(t, mockserver.Options{Limit: mockserver.Limit{Requests: 1}})
	body := `{"model":"gpt-4o","messages":[{"role":"user","content":"too fast"}]}`
	send(t, mock, chatPath, body)
	want, got := limitHeaders(send(t, peer, chatPath, body)), limitHeaders(send(t, mock, chatPath, body))
	want = slices.DeleteFunc(want, func(name string) bool { return strings.HasSuffix(name, "-Tokens") }) // the mock server has one limit
	if !slices.Equal(got, want) || len(want) < 4 {
		t.Errorf("got %v, the peer gives %v", got, want)
	}
}

func limitHeaders(a answered) []string {
	var names []string
	for name := range a.header {
		if name == "Retry-After" || strings.HasPrefix(name, "X-Ratelimit-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
