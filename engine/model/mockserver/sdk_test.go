package mockserver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/sashabaranov/go-openai"
)

// The clients are those of the vendors. What they make of the answers decides whether the
// server speaks as the vendors do.
const (
	openaiVersion    = "7.57.0"
	anthropicVersion = "1.13.0"
)

// sdkRules are replies that have all that a reply can have.
const sdkRules = `
- {match: think, thinking: Six times seven., reply: "42"}
- match: weather
  steps:
  - {thinking: Where to., reply: I look., tools: [{name: get_weather, arguments: {city: Paris}}, {name: get_weather, arguments: {city: Rome}}]}
  - It rains.
- {match: long, reply: "This reply is a good deal longer than sixteen tokens, which are about sixty-four characters, may be."}
`

// sdkFaults are one for each request of the script: statuses of whole answers, then streams that break.
const sdkFaults = "400,401,403,404,429,500,529,cut-event,cut-error"

// packageOf is the folder with a package of npm. Without node or npm the test is skipped.
func packageOf(t *testing.T, name, version, variable string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	dir := os.Getenv(variable)
	if dir == "" {
		if testing.Short() {
			t.Skipf("not in short tests: set %s to a folder with %s %s", variable, name, version)
		}
		dir = t.TempDir()
		npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--no-save", "--ignore-scripts", name+"@"+version)
		if told, err := npm.CombinedOutput(); err != nil {
			t.Skipf("npm install: %v: %.300s; or set %s to a folder with %s %s", err, told, variable, name, version)
		}
	}
	return dir
}

// asked is what the script prints of a vendor's client.
func asked(t *testing.T, vendor, folder string) map[string]any {
	t.Helper()
	rules, faults := ParseRules("r.yaml", []byte(sdkRules))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	schedule, err := ParseSchedule(sdkFaults)
	if err != nil {
		t.Fatal(err)
	}
	good := httptest.NewServer(New(Options{Rules: rules, Chunk: 7}))
	defer good.Close()
	bad := httptest.NewServer(New(Options{Rules: rules, Schedule: schedule}))
	defer bad.Close()
	node := exec.CommandContext(t.Context(), "node", "testdata/sdk.mjs", vendor, folder, good.URL, bad.URL)
	told, err := node.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(told, &all); err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	return all
}

func understood(t *testing.T, got map[string]any, want string) {
	t.Helper()
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	for name := range wanted {
		if !reflect.DeepEqual(got[name], wanted[name]) {
			has, _ := json.Marshal(got[name]) // of JSON
			t.Errorf("%s:\n%s", name, has)
		}
	}
	if len(got) != len(wanted) {
		t.Errorf("%d results, want %d", len(got), len(wanted))
	}
}

// What the script prints of calls of tools, whole and streamed.
const (
	toolsOfOpenAI = `[
		{"status": "completed", "text": "I look.", "usage": [34, 18, 3], "items": ["reasoning", "message", "function_call", "function_call"]},
		[["get_weather", "{\"city\":\"Paris\"}"], ["get_weather", "{\"city\":\"Rome\"}"]],
		{"status": "completed", "text": "It rains.", "usage": [53, 3, 0], "items": ["message"]}
	]`
	chatTools        = `[["tool_calls", "I look.", [["get_weather", "{\"city\":\"Paris\"}"], ["get_weather", "{\"city\":\"Rome\"}"]]]]`
	toolsOfAnthropic = `[
		{"stop": "tool_use", "usage": [19, 18, 0, 0], "signed": true,
			"blocks": [["thinking", "Where to."], ["text", "I look."], ["tool_use", {"city": "Paris"}], ["tool_use", {"city": "Rome"}]]},
		{"stop": "end_turn", "usage": [38, 3, 0, 0], "signed": false, "blocks": [["text", "It rains."]]}
	]`
)

// The client of OpenAI, Responses and chat completions: whole and streamed answers are the same, calls of tools go on, and
// errors have their classes.
func TestTheClientOfOpenAIUnderstands(t *testing.T) {
	understood(t, asked(t, "openai", packageOf(t, "openai", openaiVersion, "AGENTBENCH_OPENAI_SDK")), `{
		"whole": {"status": "completed", "text": "42", "usage": [2, 5, 4], "items": ["reasoning", "message"]},
		"streamed": {"status": "completed", "text": "42", "usage": [2, 5, 4], "items": ["reasoning", "message"]},
		"tools": `+toolsOfOpenAI+`, "tools streamed": `+toolsOfOpenAI+`,
		"cut": ["incomplete", 64], "models": ["mock"],
		"chat": `+chatTools+`, "chat streamed": `+chatTools+`,
		"errors": [
			["BadRequestError", 400, "invalid_request_error", "req_"], ["AuthenticationError", 401, "invalid_request_error", "invalid_api_key"],
			["PermissionDeniedError", 403, "invalid_request_error", "req_"], ["NotFoundError", 404, "invalid_request_error", "model_not_found"],
			["RateLimitError", 429, "requests", "rate_limit_exceeded"],
			["InternalServerError", 500, "server_error", "req_"], ["InternalServerError", 529, "server_error", "req_"]
		],
		"broken": [["APIError", null, "server_error", "req_"], ["no error", "failed"]]
	}`)
}

// The client of Anthropic: thoughts are signed, prompts cached, tokens counted, and errors have their classes.
func TestTheClientOfAnthropicUnderstands(t *testing.T) {
	understood(t, asked(t, "anthropic", packageOf(t, "@anthropic-ai/sdk", anthropicVersion, "AGENTBENCH_ANTHROPIC_SDK")), `{
		"whole": {"stop": "end_turn", "usage": [2, 5, 0, 0], "blocks": [["thinking", "Six times seven."], ["text", "42"]], "signed": true},
		"streamed": {"stop": "end_turn", "usage": [2, 5, 0, 0], "blocks": [["thinking", "Six times seven."], ["text", "42"]], "signed": true},
		"tools": `+toolsOfAnthropic+`, "tools streamed": `+toolsOfAnthropic+`,
		"cut": "max_tokens", "cached": [[1, 5, 6, 0], [1, 5, 0, 6]], "counted": 2, "models": [["mock", "mock"]],
		"errors": [
			["BadRequestError", 400, "invalid_request_error", "req_"], ["AuthenticationError", 401, "authentication_error", "req_"],
			["PermissionDeniedError", 403, "permission_error", "req_"], ["NotFoundError", 404, "not_found_error", "req_"],
			["RateLimitError", 429, "rate_limit_error", "req_"],
			["InternalServerError", 500, "api_error", "req_"], ["OverloadedError", 529, "overloaded_error", "req_"]
		],
		"broken": [["APIError", null, "overloaded_error", "req_"], ["AnthropicError", null, null, null]]
	}`)
}

// pair are two servers: one with the replies of the script, one that refuses all as a fault does.
func pair(t *testing.T, fault string) (good, bad string) {
	t.Helper()
	rules, faults := ParseRules("r.yaml", []byte(sdkRules))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	rated, err := ParseRated(fault)
	if err != nil {
		t.Fatal(err)
	}
	working, failing := httptest.NewServer(New(Options{Rules: rules, Chunk: 7})), httptest.NewServer(New(Options{Faults: []Rated{rated}}))
	t.Cleanup(working.Close)
	t.Cleanup(failing.Close)
	return working.URL, failing.URL
}

// The client of Anthropic for Go, which sums up streams by itself.
func TestTheClientOfAnthropicForGoUnderstands(t *testing.T) {
	good, bad := pair(t, "529")
	client := func(address string) sdk.Client {
		return sdk.NewClient(option.WithBaseURL(address), option.WithAPIKey("k"), option.WithMaxRetries(0))
	}
	ask := sdk.MessageNewParams{Model: "m", MaxTokens: 100, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("weather"))}}
	c := client(good)
	whole, err := c.Messages.New(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	streamed := sdk.Message{}
	stream := c.Messages.NewStreaming(t.Context(), ask)
	for stream.Next() {
		if err := streamed.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	for _, m := range []*sdk.Message{whole, &streamed} {
		if len(m.Content) != 4 || m.Content[0].Thinking != "Where to." || m.Content[0].Signature == "" || m.Content[1].Text != "I look." ||
			m.Content[2].Name != "get_weather" || string(m.Content[3].Input) != `{"city":"Rome"}` || m.StopReason != sdk.StopReasonToolUse ||
			m.Usage.InputTokens != 2 || m.Usage.OutputTokens != 18 || m.Usage.ServiceTier != sdk.UsageServiceTierStandard {
			t.Errorf("got %s", m.RawJSON())
		}
		again := ask
		again.Messages = append(again.Messages[:1:1], m.ToParam(), sdk.NewUserMessage(sdk.NewToolResultBlock(m.Content[2].ID, "rain", false), sdk.NewToolResultBlock(m.Content[3].ID, "sun", false)))
		if after, err := c.Messages.New(t.Context(), again); err != nil || after.Content[0].Text != "It rains." || after.StopReason != sdk.StopReasonEndTurn {
			t.Errorf("after the results: %+v, %v", after, err)
		}
	}
	c = client(bad)
	var failed *sdk.Error
	if _, err := c.Messages.New(t.Context(), ask); !errors.As(err, &failed) || failed.StatusCode != 529 || failed.Type() != "overloaded_error" || failed.RequestID == "" {
		t.Errorf("got %+v", err)
	}
}

// The client of go-openai for Responses, and what it makes of each event.
func TestTheClientOfOpenAIForGoUnderstands(t *testing.T) {
	good, bad := pair(t, "429")
	client := func(address string) *openai.Client {
		config := openai.DefaultConfig("k")
		config.BaseURL = address + "/v1"
		return openai.NewClientWithConfig(config)
	}
	ask := openai.CreateResponseRequest{Model: "m", Input: "weather"}
	whole, err := client(good).CreateResponse(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client(good).CreateResponseStream(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	arguments, streamed := "", &openai.CreateResponseResponse{}
	for n := 0; ; n++ {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if event.SequenceNumber != n {
			t.Errorf("event %d has the number %d", n, event.SequenceNumber)
		}
		if event.Type == openai.ResponseStreamEventFunctionArgumentsDelta {
			arguments += event.Delta
		}
		if event.Response != nil {
			streamed = event.Response
		}
	}
	if arguments != `{"city":"Paris"}{"city":"Rome"}` {
		t.Errorf("the arguments are %s", arguments)
	}
	for _, r := range []*openai.CreateResponseResponse{&whole, streamed} {
		var items []openai.ResponseOutputItem
		text, _ := json.Marshal(r.Output) // what was read from JSON
		if err := json.Unmarshal(text, &items); err != nil || len(items) != 4 {
			t.Fatalf("%v: %s", err, text)
		}
		if items[0].Summary[0].Text != "Where to." || items[1].Content[0].Text != "I look." || items[3].Arguments != `{"city":"Rome"}` ||
			items[3].CallID == "" || r.Status != "completed" || r.Usage == nil || r.Usage.TotalTokens != 20 {
			t.Errorf("got %s, %+v", text, r)
		}
	}
	var failed *openai.APIError
	if _, err := client(bad).CreateResponse(t.Context(), ask); !errors.As(err, &failed) || failed.HTTPStatusCode != 429 || failed.Code != "rate_limit_exceeded" {
		t.Errorf("got %+v", err)
	}
}
