package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/anthropic"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/model/openai"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/model/proxy"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/engine/tool/mcp"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// confinementVariable set to off leaves programs out of PID namespaces.
const confinementVariable = "AGENTBENCH_PIDNS"

// Parts are what a suite is run with, each made when something asks for it. Its loops and
// those that score them ask the same models, behind one gate and one cache.
type Parts struct {
	doc     *spec.Document
	options BuildOptions
	offline bool // nothing is made that could be called: agents only tell what they would send
	made    map[string]model.Model
	nested  map[*spec.Loop]*loop.Loop // those that serve others
	// confinement holds the programs of all loops.
	confinement *external.Confinement
	// client is that of all endpoints that are no model's.
	client      *http.Client
	servers     map[*spec.Loop]*serverNames
	shared      []*mcp.Server // those that all runs use
	unreachable atomic.Pointer[Unreachable]
	// together is what the tools of all loops share.
	together tool.Options
}

// NewParts makes no model before something asks for it.
func NewParts(doc *spec.Document, o BuildOptions) (*Parts, error) {
	if doc.Suite == nil {
		return nil, fmt.Errorf("a loop alone has no models: it runs in a suite")
	}
	return &Parts{
		doc: doc, options: o, made: map[string]model.Model{}, nested: map[*spec.Loop]*loop.Loop{}, servers: map[*spec.Loop]*serverNames{},
		confinement: confinement(o.Getenv),
		client:      external.NewClient(),
		together:    tool.Options{Memory: o.memory(), Schemas: &tool.Schemas{}},
	}, nil
}

// memory has what pure tools answered, in earlier sessions too where there is a
// cache.
func (o *BuildOptions) memory() *tool.Memory {
	if o.Cache == nil {
		return &tool.Memory{}
	}
	return &tool.Memory{Store: cache.Tools{Store: o.Cache, Mode: o.CacheMode}}
}

// Model is the model of that name. It is not safe for concurrent use; the model is.
// Around what the provider gives stand, from the outside: the run's budget of as-if usage, the cache, and around each
// attempt what patient gives it.
func (m *Parts) Model(name string) (model.Model, error) {
	if m.offline {
		return nil, nil
	}
	if made, ok := m.made[name]; ok {
		return made, nil
	}
	declared, ok := m.doc.Suite.Models.Get(name)
	if !ok {
		return nil, fmt.Errorf("unknown model %q", name)
	}
	pricing := pace.OptionsOf(&declared)
	answers, err := m.cached(name, &declared, pricing)
	if err != nil {
		return nil, err
	}
	made := pace.LimitRun(answers, pricing)
	m.made[name] = made
	return made, nil
}

// cached is a model behind the cache, where there is one and calls are paid
// for. One that may only be asked of the cache is never made: it needs no key.
func (m *Parts) cached(name string, declared *spec.Model, pricing pace.LimitOptions) (model.Model, error) {
	store := m.options.Cache
	if free(declared.Provider) || store == nil {
		return m.limited(name, declared, pricing)
	}
	server, _ := declared.Server()
	identity := cache.Identity{
		Provider: protocolNames[server.Protocol], BaseURL: server.BaseURL, Model: cmp.Or(declared.Name, name), Headers: declared.Headers,
		Settings: settings(declared),
	}
	if m.options.CacheMode == cache.Only {
		return cache.Wrap(nil, store, identity, cache.Only), nil
	}
	answers, err := m.limited(name, declared, pricing)
	if err != nil {
		return nil, err
	}
	return cache.Wrap(answers, store, identity, m.options.CacheMode), nil
}

// protocolNames are what the cache calls the protocols.
var protocolNames = map[spec.Protocol]string{
	spec.ChatProtocol: "openai", spec.ResponsesProtocol: "openai_responses", spec.MessagesProtocol: "anthropic",
}

// settings are what the declaration of a model changes of its answers, and of their cost and time.
func settings(m *spec.Model) (text string) {
	if m.Effort != "" {
		text = "effort " + m.Effort
	}
	if t := m.Thinking; t != nil {
		text += fmt.Sprintf("thinking %d %v", t.BudgetTokens, t.Adaptive)
		if t.Display != "" {
			text += " " + t.Display
		}
	}
	if m.ServiceTier != "" {
		text += "tier " + m.ServiceTier
	}
	if len(m.Cache) > 0 {
		marks := slices.Sorted(slices.Values(m.Cache))
		text += fmt.Sprintf("cache %s %s", slices.Compact(marks), m.CacheTTL)
	}
	return text
}

// free says whether a provider's answers cost nothing and are always the same.
func free(provider string) bool { return provider == "script" || provider == "simulate" }

// limited is a model whose calls are reserved in the suite's budget, and paced
// and tried again where they go over a network.
func (m *Parts) limited(name string, declared *spec.Model, pricing pace.LimitOptions) (model.Model, error) {
	provided, err := m.provide(name, declared)
	if err != nil {
		return nil, err
	}
	if free(declared.Provider) {
		pricing.Simulated = true
		return pace.Limit(provided, m.options.Budget, pricing), nil
	}
	return m.patient(name, provided, declared, pricing), nil
}

// patient tries calls again. Every attempt is reserved in the suite's budget and
// passes the gate, so retries stand around both.
func (m *Parts) patient(name string, provided model.Model, declared *spec.Model, pricing pace.LimitOptions) model.Model {
	g := pace.NewGate(pace.GateOptions{Requests: declared.RPM, Tokens: declared.TPM, Parallel: declared.MaxParallel})
	if m.options.Gate != nil {
		m.options.Gate(name, g)
	}
	paced := g.Wrap(provided)
	o := pace.RetryOptions{Unreachable: func(address string) { m.unreachable.CompareAndSwap(nil, &Unreachable{name, address}) }}
	if declared.Retries != nil {
		o.Retries = *declared.Retries
		if o.Retries == 0 {
			o.Retries = -1
		}
	}
	return pace.Retry(pace.Limit(paced, m.options.Budget, pricing), o)
}

func (m *Parts) provide(name string, declared *spec.Model) (model.Model, error) {
	switch made, err := offline.Of(m.doc, name, declared); {
	case err != nil:
		return nil, err
	case made != nil:
		return mockserver.Speaking(made, time.Now), nil
	}
	options, err := wire.FromSpec(name, declared, m.options.Getenv)
	if err != nil {
		return nil, err
	}
	options.Transport = m.connections(name)
	switch server, _ := declared.Server(); server.Protocol {
	case spec.ResponsesProtocol:
		return openai.NewResponses(options)
	case spec.MessagesProtocol:
		return anthropic.New(options)
	default:
		return openai.New(options)
	}
}

// behindProxy are the models that a program may call, by the names that it asks for: patterns, and the names of the suite.
func (m *Parts) behindProxy(asked source.Named[string]) (all []proxy.Name, err error) {
	for _, a := range asked {
		answers, err := m.Model(a.Value)
		if err != nil {
			return nil, err
		}
		declared, _ := m.doc.Suite.Models.Get(a.Value)
		server, _ := declared.Server()
		pricing := pace.OptionsOf(&declared)
		all = append(all, proxy.Name{Asked: a.Key, Model: &proxy.Model{
			Name: a.Value, Model: answers, Speaks: model.Protocol(server.Protocol), Pricing: pricing, Reserve: pricing.MaxOutput,
		}})
	}
	return all, nil
}

// connections are those to the server of a model, which are closed after the last run.
func (m *Parts) connections(name string) http.RoundTripper {
	kept, _ := m.options.Shared.Keep("connections of "+name, func() (any, func(), error) {
		transport := wire.NewTransport()
		return transport, transport.CloseIdleConnections, nil
	})
	return kept.(http.RoundTripper)
}

// simulated says whether a simulated model has a part in the loop.
func (m *Parts) simulated(l *spec.Loop) bool {
	for _, name := range Used(l) {
		if declared, _ := m.doc.Suite.Models.Get(name); declared.Provider == "simulate" {
			return true
		}
	}
	return false
}

// tools are those of an agent in the order declared, and the servers that have
// more. Delegates are not among them.
func (m *Parts) tools(l *spec.Loop, a *spec.Agent) ([]tool.Tool, []tool.Source, error) {
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
func (m *Parts) tool(l *spec.Loop, declared *spec.Tool) (tool.Tool, error) {
	defined := defines(declared)
	switch {
	case declared.Builtin != "":
		return tool.Builtin(declared.Builtin, declared.Description)
	case m.offline:
		return tool.Tool{Definition: defined}, nil
	case declared.CEL != nil:
		defined.Pure, defined.Timeout = false, 0 // to evaluate it anew costs nothing
		return tool.Computed(defined, declared.CEL), nil
	case declared.HTTP != "":
		defined.Identity = "http " + declared.HTTP + m.sent(declared.Headers)
		return tool.Endpoint(defined, m.endpoint(declared.HTTP, declared.Headers)), nil
	case len(declared.Command) > 0:
		p := m.program(l.Folder, declared.Command, 0)
		p.Env = append(p.Env, m.environment(declared.Env)...)
		defined.Identity = "program " + identity(tool.Located(l.Folder, declared.Command)) + m.handed(declared.Env)
		return tool.Program(defined, p, l.Folder), nil
	}
	return tool.Tool{}, fmt.Errorf("the tool %q does nothing", declared.Name)
}

// defines is what the declaration says, whatever kind of tool it is.
func defines(declared *spec.Tool) tool.Definition {
	defined := tool.Definition{
		Name: declared.Name, Description: declared.Description, Parameters: json.RawMessage(declared.Parameters),
		Pure: declared.Pure, Retries: declared.Retries, Timeout: cmp.Or(declared.Timeout, spec.DefaultToolTimeout),
	}
	if declared.BreaksLoop {
		defined.Breaks = record.ReasonToolEnded
	}
	return defined
}

func (m *Parts) endpoint(url string, headers spec.Headers) external.Endpoint {
	return external.Endpoint{URL: url, Headers: headers.Values(m.options.Getenv), Client: m.client}
}

// environment has the variables that are set of those named.
func (m *Parts) environment(names []string) []string {
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
func (m *Parts) sent(headers spec.Headers) (said string) {
	for _, h := range headers {
		said += fmt.Sprintf("\x00%q %q", h.Key, h.Value.Text) + m.handed([]string{h.Value.Env})
	}
	return said
}

func (m *Parts) handed(names []string) (said string) {
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

// server is an MCP server as it is declared.
func (m *Parts) server(l *spec.Loop, declared *spec.Tool) *mcp.Server {
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
	server := mcp.New(o)
	if d.Shared && !m.offline {
		m.shared = append(m.shared, server)
	}
	return server
}

// StartShared starts the servers of tools that all runs use, so that no run waits for
// them. The first that does not start is why the plan is given up before any run; nil:
// all did, or the context ended.
func (m *Parts) StartShared(ctx context.Context) *Aborted {
	for _, server := range m.shared {
		err := server.Start(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			continue
		}
		fault, ok := errors.AsType[*record.Error](err)
		if !ok {
			fault = &record.Error{Class: record.Unstarted, Message: err.Error()}
		}
		return &Aborted{Fault: fault, Early: true}
	}
	return nil
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
func (m *Parts) serverName(l *spec.Loop, declared *spec.Tool) string {
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
