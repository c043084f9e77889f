package engine

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/agentbench/agentbench/engine/tool/mcp"
	"github.com/agentbench/agentbench/spec"
)

// server is an MCP server as it is declared.
func (m *models) server(l *spec.Loop, declared *spec.Tool) *mcp.Server {
	d := declared.MCP
	o := mcp.Options{
		Name: m.serverName(l, declared), Only: d.Only, Pure: d.Pure,
		URL: d.URL, Headers: http.Header{}, Timeout: declared.Timeout, Retries: declared.Retries,
	}
	for name, value := range d.Headers.Values(m.options.Getenv) {
		o.Headers.Set(name, value)
	}
	if len(d.Command) > 0 {
		p := m.program(l.Folder, d.Command, 0)
		p.Env = append(p.Env, m.environment(d.Env)...)
		o.Program = &p
	}
	if d.Shared {
		o.Shared = m.options.Shared
	}
	return mcp.New(o)
}

// serverNames are what the servers of a loop are called.
type serverNames struct {
	given map[string]string // by what the server is
	taken map[string]bool
}

// serverName is what the server is called, else the base name of its program or
// its host. In a loop
// each server has a name of its own: the second of a name ends in -2. They are
// given in the order declared, so that replay finds them again.
func (m *models) serverName(l *spec.Loop, declared *spec.Tool) string {
	names := m.servers[l]
	if names == nil {
		names = &serverNames{given: map[string]string{}, taken: map[string]bool{}}
		m.servers[l] = names
	}
	base := cmp.Or(declared.Name, baseName(declared.MCP))
	is := fmt.Sprintf("%q %q %q", base, declared.MCP.Command, declared.MCP.URL)
	if name, ok := names.given[is]; ok {
		return name
	}
	name := base
	for n := 2; names.taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	names.given[is], names.taken[name] = name, true
	return name
}

func baseName(d *spec.MCP) string {
	if len(d.Command) > 0 {
		return filepath.Base(d.Command[0])
	}
	if address, err := url.Parse(d.URL); err == nil && address.Host != "" {
		return address.Host
	}
	return d.URL
}
