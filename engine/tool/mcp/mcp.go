// Package mcp decides how the tools of an MCP server are had. A server is a
// program that is spoken to over its standard streams, or an endpoint that speaks
// streamable HTTP. It is started when its tools are asked for, once for each run or
// once for all, started again once when it dies, and ended with the run.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// DefaultStart is how long a server may take until it has told of its tools.
const DefaultStart = time.Minute

// Options are what a server is.
type Options struct {
	Name    string            // how records call it
	Program *external.Program // started, and spoken to over its standard streams; nil: URL
	URL     string
	Headers http.Header // sent to the URL with every request
	Only    []string    // the tools that are used; nil: all
	Pure    []string    // the tools of which the same arguments give the same result
	// Timeout is how long one call may take, the start of the server included, and the
	// server to start when the run begins; 0: tool.DefaultTimeout and DefaultStart.
	Timeout time.Duration
	Retries int // how often a call that failed is made again
	// Shared is what lasts as long as all runs, which use one server then; nil: each
	// run has its own.
	Shared *tool.Run
	Start  time.Duration    // 0: Timeout
	Now    func() time.Time // nil: time.Now
}

// Server is a server of tools: a tool.Source.
type Server struct {
	options  Options
	identity string
}

// New makes a server, which is not started before its tools are asked for.
func New(o Options) *Server {
	if o.Start <= 0 {
		o.Start = cmp.Or(max(0, o.Timeout), DefaultStart)
	}
	if o.Timeout <= 0 {
		o.Timeout = tool.DefaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{options: o, identity: o.identity()}
}

// Name is how records call the server.
func (s *Server) Name() string { return s.options.Name }

// Server is what the server told of itself when the run, or the first of all runs,
// began. One that cannot be started is a fault of the run.
func (s *Server) Server(ctx context.Context) (record.ToolServer, error) {
	v, err := s.visit(ctx)
	if err != nil {
		return record.ToolServer{}, err
	}
	tools, err := v.tools(ctx)
	return record.ToolServer{Name: s.options.Name, Tools: tools}, err
}

// Tools are those that are used of a server that told this of itself.
func (s *Server) Tools(told record.ToolServer) ([]tool.Tool, error) {
	if err := s.known(told.Tools); err != nil {
		return nil, err
	}
	var used []tool.Tool
	for i := range told.Tools {
		if t := &told.Tools[i]; s.options.Only == nil || slices.Contains(s.options.Only, t.Name) {
			used = append(used, &remote{server: s, name: t.Name, definition: s.definition(t)})
		}
	}
	return used, nil
}

// definition tells of a tool under a name that models may write.
func (s *Server) definition(t *record.ServerTool) tool.Definition {
	return tool.Definition{
		Name: writable(t.Name), Description: t.Description, Parameters: t.Parameters,
		Server: s.options.Name, Identity: s.identity + " " + t.Name,
		Timeout: s.options.Timeout, Retries: s.options.Retries,
		Pure: slices.Contains(s.options.Pure, t.Name),
	}
}

// writable is a name in the letters that APIs allow in the names of functions.
func writable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// known holds what is asked for against what there is.
func (s *Server) known(all []record.ServerTool) error {
	for _, name := range slices.Concat(s.options.Only, s.options.Pure) {
		if !slices.ContainsFunc(all, func(t record.ServerTool) bool { return t.Name == name }) {
			return failure(record.InvalidRequest, "the server %q has no tool %q; it has %s", s.options.Name, name, names(all))
		}
	}
	return nil
}

// names lists tools, some of them where there are many.
func names(all []record.ServerTool) string {
	const most = 20
	var list []string
	for i := range all[:min(len(all), most)] {
		list = append(list, all[i].Name)
	}
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > most:
		list = append(list, fmt.Sprintf("and %d others", len(all)-most))
	}
	return strings.Join(list, ", ")
}

// remote is one tool of a server.
type remote struct {
	server     *Server
	name       string // as the server calls it
	definition tool.Definition
}

func (r *remote) Definition() tool.Definition { return r.definition }

// Use calls the tool. The time that it takes to start a dead server again is part
// of the use.
func (r *remote) Use(ctx context.Context, use *tool.Use) (tool.Result, error) {
	v, err := r.server.visit(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	begin := r.server.options.Now()
	result, err := v.call(ctx, &request{name: r.name, arguments: use.Arguments, pure: r.definition.Pure})
	result.Duration = r.server.options.Now().Sub(begin)
	return result, err
}

func failure(class record.ErrorClass, format string, args ...any) *record.Error {
	return &record.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}
