// Package mcp lists and calls the tools of MCP servers: New makes a server, its
// Server asks for what there is, and Tools gives that to an agent. A server is a program
// that speaks over its standard streams, or an endpoint that speaks streamable HTTP. It
// is started when its tools are asked for, once for each run or once for all, started
// again once when it dies, and ended with the run.
//
// It is no stable API.
package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// defaultStart is how long a server may take until it has told of its tools.
const defaultStart = time.Minute

// Options are what a server is.
type Options struct {
	Name    string            // how records call it
	Program *external.Program // started, and spoken to over its standard streams; nil: URL
	URL     string
	Headers http.Header // sent to the URL with every request
	Only    []string    // the tools that are used; nil: all
	Pure    []string    // the tools of which the same arguments give the same result
	// Timeout is how long one call may take, the start of the server included, and the
	// server to start when the run begins; 0: spec.DefaultToolTimeout and defaultStart.
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
		o.Start = cmp.Or(max(0, o.Timeout), defaultStart)
	}
	if o.Timeout <= 0 {
		o.Timeout = spec.DefaultToolTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{options: o, identity: o.identity()}
}

// Name is how records call the server.
func (s *Server) Name() string { return s.options.Name }

// Server is what the server told of itself when the run, or the first of all runs, began. One that cannot be started is a fault of the
// run, of class record.Unstarted unless the key or the address is wrong, or this machine has no file left.
func (s *Server) Server(ctx context.Context) (record.ToolServer, error) {
	told := record.ToolServer{Name: s.options.Name}
	v, err := s.visit(ctx)
	if err != nil {
		return told, err
	}
	if v.tools.Load() == nil {
		if _, err := v.session(ctx); err != nil {
			return told, err
		}
	}
	told.Tools = *v.tools.Load()
	return told, nil
}

// Start starts a server that all runs use, before the first of them. One that cannot be started fails as Server says.
func (s *Server) Start(ctx context.Context) error {
	if s.options.Shared == nil {
		return record.Errorf(record.Internal, "the server %q is not that of all runs", s.options.Name)
	}
	first := &visit{process: s.process(nil)}
	_, err := first.session(ctx)
	return err
}

// Tools are those that are used of a server that told this of itself.
func (s *Server) Tools(told record.ToolServer) ([]tool.Tool, error) {
	o := &s.options
	for _, name := range slices.Concat(o.Only, o.Pure) {
		if !slices.ContainsFunc(told.Tools, func(t record.ServerTool) bool { return t.Name == name }) {
			return nil, record.Errorf(record.InvalidRequest, "the server %q has no tool %q; it has %s", o.Name, name, names(told.Tools))
		}
	}
	var used []tool.Tool
	for i := range told.Tools {
		if t := &told.Tools[i]; o.Only == nil || slices.Contains(o.Only, t.Name) {
			used = append(used, s.tool(t))
		}
	}
	return used, nil
}

// tool is one of the server's under a name that models may write. The time that it takes to
// start a dead server again is part of its use.
func (s *Server) tool(t *record.ServerTool) tool.Tool {
	defined := tool.Definition{
		Name: tool.Callable(t.Name), Description: t.Description, Parameters: t.Parameters,
		Server: s.options.Name, Identity: s.identity + " " + t.Name,
		Timeout: s.options.Timeout, Retries: s.options.Retries,
		Pure: slices.Contains(s.options.Pure, t.Name),
	}
	name := t.Name // as the server calls it
	return tool.Tool{Definition: defined, Use: func(ctx context.Context, use *tool.Use) (tool.Result, error) {
		v, err := s.visit(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		begin := s.options.Now()
		result, err := v.call(ctx, name, use.Arguments, defined.Pure)
		result.Duration = s.options.Now().Sub(begin)
		return result, err
	}}
}

// names lists tools, some of them where there are many.
func names(all []record.ServerTool) string {
	const most = 20
	list := make([]string, len(all))
	for i := range all {
		list[i] = all[i].Name
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d others", more))
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}

// identity is a hash of what the server is, and not of what is used of it; there
// may be keys among that.
func (o *Options) identity() string {
	is := fmt.Sprintf("%q %v", o.URL, o.Headers)
	if p := o.Program; p != nil {
		is = fmt.Sprintf("%q %q %q", p.Argv, p.Dir, p.Env)
	}
	return fmt.Sprintf("mcp %x", sha256.Sum256([]byte(is)))
}
