package engine

import (
	"testing"

	"github.com/agentbench/agentbench/spec"
)

// In a loop each server has one name, in all stages, and no other has it.
func TestServersHaveNamesOfTheirOwn(t *testing.T) {
	m := &models{servers: map[*spec.Loop]*serverNames{}}
	one, other := &spec.Loop{}, &spec.Loop{}
	files := spec.Tool{MCP: &spec.MCP{Command: []string{"/usr/bin/npx", "files"}}}
	mail := spec.Tool{MCP: &spec.MCP{Command: []string{"npx", "mail"}}}
	remote := spec.Tool{MCP: &spec.MCP{URL: "http://localhost:8080/mcp"}}
	named := spec.Tool{Name: "npx", MCP: &spec.MCP{URL: "http://localhost:8081/mcp"}}
	for i, c := range []struct {
		loop *spec.Loop
		tool spec.Tool
		want string
	}{
		{one, files, "npx"}, {one, mail, "npx-2"}, {one, files, "npx"}, {one, remote, "localhost:8080"}, {one, named, "npx-3"},
		{one, mail, "npx-2"}, {other, mail, "npx"},
	} {
		if got := m.serverName(c.loop, &c.tool); got != c.want {
			t.Errorf("%d: got %q, want %q", i, got, c.want)
		}
	}
}
