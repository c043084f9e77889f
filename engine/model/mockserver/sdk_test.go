package mockserver

import (
	"net/http/httptest"
	"testing"

	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
)

// The clients are those of the vendors. What they make of the answers decides whether the
// server speaks as the vendors do.
const (
	openaiVersion    = "7.57.0"
	anthropicVersion = "1.13.0"
)

// understands asks the server with the client of a vendor.
func understands(t *testing.T, vendor string, client wiretest.Package, models string) {
	folder := client.Folder(t)
	rules := rulesOf(t, string(wiretest.VendorRules(t)))
	good := httptest.NewServer(New(Options{Rules: rules, Chunk: 7}))
	defer good.Close()
	bad := httptest.NewServer(New(Options{Rules: rules, Faults: parse(t, wiretest.VendorFaults...)}))
	defer bad.Close()
	wiretest.Equal(t, wiretest.Understood(t, vendor, folder, good.URL, bad.URL), models)
}

// The client of OpenAI, Responses and chat completions: whole and streamed answers are the same, calls of tools go on, and
// errors have their classes.
func TestTheClientOfOpenAIUnderstands(t *testing.T) {
	understands(t, "openai", wiretest.Package{Name: "openai", Version: openaiVersion, Variable: "AGENTBENCH_OPENAI_SDK"}, `["mock"]`)
}

// The client of Anthropic: thoughts are signed, tokens are counted, and errors have their classes.
func TestTheClientOfAnthropicUnderstands(t *testing.T) {
	understands(t, "anthropic", wiretest.Package{Name: "@anthropic-ai/sdk", Version: anthropicVersion, Variable: "AGENTBENCH_ANTHROPIC_SDK"}, `[["mock", "mock"]]`)
}
