package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// tools are those of an agent in the order declared, and the servers that have
// more. Delegates are not among them.
func (m *models) tools(l *spec.Loop, a *spec.Agent) ([]tool.Tool, []tool.Source, error) {
	var tools []tool.Tool
	var sources []tool.Source
	for i := range a.Tools {
		if a.Tools[i].MCP != nil {
			sources = append(sources, m.server(l, &a.Tools[i]))
			continue
		}
		made, err := m.tool(l, &a.Tools[i])
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, made)
	}
	return tools, sources, nil
}

// tool is one that is declared.
func (m *models) tool(l *spec.Loop, declared *spec.Tool) (tool.Tool, error) {
	defined := defines(declared)
	switch {
	case declared.Builtin != "":
		return tool.Builtin(declared.Builtin, declared.Description)
	case declared.CEL != nil:
		defined.Pure, defined.Timeout = false, 0 // to evaluate it anew costs nothing
		return &tool.Computed{Defined: defined, Expression: declared.CEL}, nil
	case declared.HTTP != "":
		defined.Identity = "http " + declared.HTTP + m.sent(declared.Headers)
		return &tool.Endpoint{Defined: defined, Endpoint: m.endpoint(declared.HTTP, declared.Headers)}, nil
	case len(declared.Command) > 0:
		p := m.program(l.Folder, declared.Command, 0)
		p.Env = append(p.Env, m.environment(declared.Env)...)
		defined.Identity = "program " + identity(tool.Located(l.Folder, declared.Command)) + m.handed(declared.Env)
		return &tool.Program{Defined: defined, Program: p, Folder: l.Folder}, nil
	}
	return nil, fmt.Errorf("the tool %q does nothing", declared.Name)
}

// defines is what the declaration says, whatever kind of tool it is.
func defines(declared *spec.Tool) tool.Definition {
	defined := tool.Definition{
		Name: declared.Name, Description: declared.Description, Parameters: json.RawMessage(declared.Parameters),
		Pure: declared.Pure, Retries: declared.Retries, Timeout: cmp.Or(declared.Timeout, tool.DefaultTimeout),
	}
	if declared.BreaksLoop {
		defined.Breaks = record.ReasonToolEnded
	}
	return defined
}

func (m *models) endpoint(url string, headers spec.Headers) external.Endpoint {
	return external.Endpoint{URL: url, Headers: headers.Values(m.options.Getenv), Client: m.client}
}

// environment has the variables that are set of those named.
func (m *models) environment(names []string) []string {
	var set []string
	for _, name := range names {
		if value := m.options.Getenv(name); value != "" {
			set = append(set, name+"="+value)
		}
	}
	return set
}

// sent and handed tell headers and variables from others in the identity of what
// is asked. Of those that hold a secret only the name does: a new key asks for the
// same answers.
func (m *models) sent(headers spec.Headers) (said string) {
	for _, h := range headers {
		said += fmt.Sprintf("\x00%q %q", h.Key, h.Value.Text) + m.handed([]string{h.Value.Env})
	}
	return said
}

func (m *models) handed(names []string) (said string) {
	for _, name := range names {
		said += "\x00" + name
		if name != "" && !secret.Telling(name) {
			said += fmt.Sprintf("=%q", m.options.Getenv(name))
		}
	}
	return said
}

// identity is another one where what the program is, or a file that it is given,
// is another one.
func identity(argv []string) string {
	said := strings.Join(argv, "\x00")
	for _, name := range argv {
		if !filepath.IsAbs(name) {
			continue
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > 64<<20 {
			continue
		}
		if content, err := os.ReadFile(name); err == nil {
			sum := sha256.Sum256(content)
			said += "\x00" + hex.EncodeToString(sum[:])
		}
	}
	return said
}
