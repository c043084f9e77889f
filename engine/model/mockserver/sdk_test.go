package mockserver

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// The clients are those of the vendors. What they make of the answers decides whether the
// server speaks as the vendors do.
const (
	openaiVersion    = "7.57.0"
	anthropicVersion = "1.13.0"
)

// sdkRules are replies that have all that a reply can have.
const sdkRules = `
- {match: think, replies: [{thinking: Six times seven., text: "42"}]}
- match: weather
  steps:
  - {thinking: Where to., text: I look., tool_calls: [{name: get_weather, arguments: {city: Paris}}, {name: get_weather, arguments: {city: Rome}}]}
  - It rains.
- {match: long, replies: ["This reply is a good deal longer than sixteen tokens, which are about sixty-four characters, may be."]}
`

// sdkFaults are one for each request of the script: statuses of whole answers, then streams that break.
var sdkFaults = []string{"at=1:400", "at=2:401", "at=3:403", "at=4:404", "at=5:429", "at=6:500", "at=7:529", "at=8:cut", "at=9:half-json"}

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
	good := httptest.NewServer(New(Options{Rules: rules, Chunk: 7}))
	defer good.Close()
	bad := httptest.NewServer(New(Options{Rules: rules, Faults: parse(t, sdkFaults...)}))
	defer bad.Close()
	node := exec.CommandContext(t.Context(), "node", "testdata/sdk.mjs", vendor, folder, good.URL, bad.URL)
	var wrong strings.Builder
	node.Stderr = &wrong
	told, err := node.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, wrong.String())
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
	must(t, json.Unmarshal([]byte(want), &wanted))
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
		{"status": "completed", "text": "It rains.", "usage": [51, 3, 0], "items": ["message"]}
	]`
	chatTools        = `[["tool_calls", "I look.", [["get_weather", "{\"city\":\"Paris\"}"], ["get_weather", "{\"city\":\"Rome\"}"]]]]`
	toolsOfAnthropic = `[
		{"stop": "tool_use", "usage": [26, 18], "signed": true,
			"blocks": [["thinking", "Where to."], ["text", "I look."], ["tool_use", {"city": "Paris"}], ["tool_use", {"city": "Rome"}]]},
		{"stop": "end_turn", "usage": [43, 3], "signed": false, "blocks": [["text", "It rains."]]}
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
		"broken": [["no error", "in_progress"], ["OpenAIError", null, null, null]]
	}`)
}

// The client of Anthropic: thoughts are signed, tokens are counted, and errors have their classes.
func TestTheClientOfAnthropicUnderstands(t *testing.T) {
	understood(t, asked(t, "anthropic", packageOf(t, "@anthropic-ai/sdk", anthropicVersion, "AGENTBENCH_ANTHROPIC_SDK")), `{
		"whole": {"stop": "end_turn", "usage": [2, 5], "blocks": [["thinking", "Six times seven."], ["text", "42"]], "signed": true},
		"streamed": {"stop": "end_turn", "usage": [2, 5], "blocks": [["thinking", "Six times seven."], ["text", "42"]], "signed": true},
		"tools": `+toolsOfAnthropic+`, "tools streamed": `+toolsOfAnthropic+`,
		"cut": "max_tokens", "counted": 2, "models": [["mock", "mock"]],
		"errors": [
			["BadRequestError", 400, "invalid_request_error", "req_"], ["AuthenticationError", 401, "authentication_error", "req_"],
			["PermissionDeniedError", 403, "permission_error", "req_"], ["NotFoundError", 404, "not_found_error", "req_"],
			["RateLimitError", 429, "rate_limit_error", "req_"],
			["InternalServerError", 500, "api_error", "req_"], ["OverloadedError", 529, "overloaded_error", "req_"]
		],
		"broken": [["AnthropicError", null, null, null], ["AnthropicError", null, null, null]]
	}`)
}
