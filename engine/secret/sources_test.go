package secret

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec"
)

const reaching = `loop: l
agent:
  model: m
  tools:
  - {name: a, http: "http://user:in-address@localhost/", headers: {X-Team: {env: TEAM}, Authorization: {env: TOKEN, prefix: "Bearer "}}}
  - {mcp: {url: "http://localhost/", headers: {X-Api-Key: {env: SERVER_KEY}}}}
  - {name: b, command: [cat], env: [TOOL_SECRET, LANG]}
  - {mcp: {command: [cat], env: [MCP_TOKEN, HOME]}}
  delegates:
  - {name: d, a2a: "http://localhost/", headers: {Authorization: {env: REMOTE}, X-Plain: shown}}
prompt: p
phases:
- {name: one, tools: [{name: c, command: [cat], env: [PHASE_KEY]}]}
- {name: two, agent: {http: "http://localhost/?token=in-query", headers: {Cookie: {env: BISCUIT}}}}
`

// What tools, servers and delegates are called with is secret: every value that headers take from the environment, and
// what programs are given under a telling name.
func TestSecretsOfLoops(t *testing.T) {
	doc, faults := spec.LoadFS(fstest.MapFS{"l.yaml": {Data: []byte(reaching)}}, "l.yaml", spec.Options{})
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	got := OfLoops(doc.Loops(), func(name string) string { return "the " + name })
	slices.Sort(got)
	want := []string{"in-address", "in-query", "the BISCUIT", "the MCP_TOKEN", "the PHASE_KEY", "the REMOTE", "the SERVER_KEY",
		"the TEAM", "the TOKEN", "the TOOL_SECRET"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
