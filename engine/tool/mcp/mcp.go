// Package mcp decides how the tools of an MCP server are listed and called. A server
// is a program that speaks over its standard streams, or an endpoint that speaks
// streamable HTTP. It is started when its tools are asked for, once for each run or
// once for all, started again once when it dies, and ended with the run.
//
// It is no stable API.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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

// Server is what the server told of itself when the run, or the first of all runs,
// began. One that cannot be started is a fault of the run, of class record.Unstarted
// unless the key or the address is wrong, or this machine has no file left.
func (s *Server) Server(ctx context.Context) (record.ToolServer, error) {
	told, err := s.told(ctx)
	return told, unstarted(err)
}

// Start starts a server that all runs use, before the first of them. One that cannot be
// started fails as Server says.
func (s *Server) Start(ctx context.Context) error {
	if s.options.Shared == nil {
		return record.Errorf(record.Internal, "the server %q is not that of all runs", s.options.Name)
	}
	_, err := s.link(nil).session(ctx)
	return unstarted(err)
}

// unstarted is the error of a server that cannot be started.
func unstarted(err error) error {
	if failed, ok := errors.AsType[*record.Error](err); ok {
		switch failed.Class {
		case record.Server, record.Network, record.CallTimeout, record.BadResponse, record.Incomplete, record.Program:
			return &record.Error{Class: record.Unstarted, Message: failed.Message}
		}
	}
	return err
}

func (s *Server) told(ctx context.Context) (record.ToolServer, error) {
	v, err := s.visit(ctx)
	if err != nil {
		return record.ToolServer{}, err
	}
	v.link.mu.Lock()
	tools, known := v.link.tools, v.link.begun
	v.link.mu.Unlock()
	if !known {
		begun, err := v.session(ctx)
		if err != nil {
			return record.ToolServer{}, err
		}
		tools = begun.tools
	}
	return record.ToolServer{Name: s.options.Name, Tools: tools}, nil
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
		result, err := v.call(ctx, &request{name: name, arguments: use.Arguments, pure: defined.Pure})
		result.Duration = s.options.Now().Sub(begin)
		return result, err
	}}
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

func result(answer *sdk.CallToolResult, attempts int) (tool.Result, error) {
	r := tool.Result{Attempts: attempts}
	if answer.IsError {
		return r, record.Errorf(record.Tool, "%s", fault(answer))
	}
	var err error
	if r.Content, err = content(answer); err != nil {
		return r, record.Errorf(record.Tool, "the answer cannot be read: %v", err)
	}
	return r, nil
}

func fault(answer *sdk.CallToolResult) string {
	const most = 4 << 10
	text := strings.TrimSpace(strings.Join(texts(answer.Content), "\n"))
	if text == "" {
		return "the tool failed and did not say why"
	}
	return tool.Shorten(text, most)
}

// content is an answer as JSON: its structured content, else its text, else its
// parts.
func content(answer *sdk.CallToolResult) (json.RawMessage, error) {
	said := texts(answer.Content)
	switch {
	case answer.StructuredContent != nil:
		return structured(answer.StructuredContent, said)
	case len(said) == len(answer.Content):
		return marshal(strings.Join(said, "\n"))
	}
	parts := make([]any, len(answer.Content))
	for i, c := range answer.Content {
		parts[i] = part(c)
	}
	return marshal(parts)
}

func texts(parts []sdk.Content) []string {
	var said []string
	for _, c := range parts {
		if text, ok := c.(*sdk.TextContent); ok {
			said = append(said, text.Text)
		}
	}
	return said
}

// structured is the structured content. Servers give the same as text, too, which
// is preferred: numbers that were decoded have lost digits.
func structured(value any, said []string) (json.RawMessage, error) {
	for _, text := range said {
		var same any
		if json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, value) {
			var compact bytes.Buffer
			err := json.Compact(&compact, []byte(text))
			return compact.Bytes(), err
		}
	}
	return marshal(value)
}

// part is a part as an agent can be told it: what is not text is only noted.
func part(c sdk.Content) any {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return note{Type: "image", MIME: c.MIMEType, Bytes: len(c.Data)}
	case *sdk.AudioContent:
		return note{Type: "audio", MIME: c.MIMEType, Bytes: len(c.Data)}
	case *sdk.ResourceLink:
		return note{Type: "resource_link", URI: c.URI, Name: c.Name, MIME: c.MIMEType}
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return note{Type: "resource"}
		}
		return note{Type: "resource", URI: c.Resource.URI, MIME: c.Resource.MIMEType, Text: c.Resource.Text, Bytes: len(c.Resource.Blob)}
	}
	return note{Type: fmt.Sprintf("%T", c)}
}

type note struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	URI   string `json:"uri,omitempty"`
	MIME  string `json:"mime,omitempty"`
	Text  string `json:"text,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// marshal leaves the characters of HTML as they are.
func marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

// visit is what one run has of a server. A run sees a server die once; one that
// dies again is of no more use to it.
type visit struct {
	link   *link
	name   string
	turn   *semaphore.Weighted // of 1: waiting for it ends with a context
	now    *session            // nil: none yet, or it died
	deaths int
	why    string // of the last death
}

type request struct {
	name      string
	arguments json.RawMessage
	pure      bool
}

// A run keeps these by the server's identity: stages that declare the same server share them.
type (
	visitKey string
	linkKey  string
)

func (s *Server) visit(ctx context.Context) (*visit, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return nil, record.Errorf(record.Internal, "the server %q was asked for its tools outside of a run", s.options.Name)
	}
	v, _ := run.Keep(visitKey(s.identity), func() (any, func(), error) { // it never fails
		return &visit{link: s.link(run), name: s.options.Name, turn: semaphore.NewWeighted(1)}, nil, nil
	})
	return v.(*visit), nil
}

// link is that of the run, or the one of all runs.
func (s *Server) link(run *tool.Run) *link {
	if s.options.Shared != nil {
		run = s.options.Shared
	}
	l, _ := run.Keep(linkKey(s.identity), func() (any, func(), error) {
		l := &link{options: &s.options, turn: semaphore.NewWeighted(1)}
		return l, l.close, nil
	})
	return l.(*link)
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

// session is one that lives, as far as can be told.
func (v *visit) session(ctx context.Context) (*session, error) {
	if v.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer v.turn.Release(1)
	if v.now != nil {
		why, dead := v.now.dead()
		if !dead {
			return v.now, nil
		}
		v.now, v.why, v.deaths = nil, why, v.deaths+1
	}
	if v.deaths > 1 {
		return nil, record.Errorf(record.Tool, "the server %q died again: %s", v.name, v.why)
	}
	s, err := v.link.session(ctx)
	if err != nil && ctx.Err() == nil {
		v.why, v.deaths = message(err), v.deaths+1
	}
	v.now = s
	return s, err
}

// call calls a tool, again on another session where that is safe: the server died
// before it had the request, or the tool is pure.
func (v *visit) call(ctx context.Context, r *request) (tool.Result, error) {
	for attempt := 1; ; attempt++ {
		s, err := v.session(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return tool.Result{Attempts: attempt}, context.Cause(ctx)
		case err != nil: // whatever class it has, to the agent it is an error of the tool
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "%s", message(err))
		}
		answer, sent, err := s.call(ctx, r)
		if err == nil {
			return result(answer, attempt)
		}
		why, dead := s.dead()
		switch {
		case ctx.Err() != nil:
			return tool.Result{Attempts: attempt}, context.Cause(ctx)
		case !dead:
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "%s", refusal(err))
		case sent && !r.pure:
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "the server %q died during the call: %s", v.name, why)
		}
	}
}

// refusal is the error of a call that the server survived, whose answer may be
// none.
func refusal(err error) string {
	_, sending := errors.AsType[*url.Error](err)
	switch {
	case !errors.Is(err, io.EOF):
		return message(err)
	case sending:
		return "the connection ended without an answer: EOF"
	}
	return "the answer has no result"
}
