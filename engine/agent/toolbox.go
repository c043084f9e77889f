package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// Toolbox has the tools of an agent: its own, delegates among them, and those of
// servers, which are known once a run has begun. The nil Toolbox is empty.
type Toolbox struct {
	own     []tool.Tool
	sources []tool.Source
	options tool.Options
	set     *tool.Set // of its own; nil: nothing can be used
}

// Told has tools of which an agent can be told, and that nobody may use.
func Told(own []tool.Tool, sources []tool.Source) *Toolbox {
	return &Toolbox{own: own, sources: sources}
}

// NewToolbox fails where the agent's own tools cannot stand beside each other.
func NewToolbox(own []tool.Tool, sources []tool.Source, o tool.Options) (*Toolbox, error) {
	set, err := tool.NewSet(own, o)
	if err != nil {
		return nil, err
	}
	return &Toolbox{own: own, sources: sources, options: o, set: set}, nil
}

// open gives the tools that the run in the context can use. Servers of which it
// knows nothing yet are asked; they are given as well.
func (b *Toolbox) open(ctx context.Context, known []record.ToolServer) (set *tool.Set, asked []record.ToolServer, err error) {
	if b == nil {
		set, err = tool.NewSet(nil, tool.Options{})
		return set, nil, err
	}
	if len(b.sources) == 0 {
		return b.set, nil, nil
	}
	for _, source := range b.sources {
		if _, told := tells(known, source.Name()); told {
			continue
		}
		server, err := source.Server(ctx)
		if err != nil {
			return nil, asked, err
		}
		asked = append(asked, server)
	}
	set, err = b.kept(ctx, slices.Concat(known, asked))
	return set, asked, err
}

// kept is the set of all tools, made once for a run.
func (b *Toolbox) kept(ctx context.Context, servers []record.ToolServer) (*tool.Set, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return b.together(servers)
	}
	set, err := run.Keep(b, func() (any, func(), error) {
		set, err := b.together(servers)
		return set, nil, err
	})
	if err != nil {
		return nil, err
	}
	return set.(*tool.Set), nil
}

// together has the tools of its own and those of servers that told this of
// themselves.
func (b *Toolbox) together(servers []record.ToolServer) (*tool.Set, error) {
	all, err := b.tools(servers)
	if err != nil {
		return nil, err
	}
	set, err := tool.NewSet(all, b.options)
	if err != nil {
		return nil, &record.Error{Class: record.InvalidRequest, Message: err.Error()}
	}
	return set, nil
}

// defined is what open's set would tell of its tools, of which nothing is asked.
// It fails where a server is not known.
func (b *Toolbox) defined(servers []record.ToolServer) ([]tool.Definition, error) {
	if b == nil {
		return nil, nil
	}
	all, err := b.tools(servers)
	definitions := make([]tool.Definition, len(all))
	for i := range all {
		definitions[i] = all[i].Definition()
	}
	return definitions, err
}

func (b *Toolbox) tools(servers []record.ToolServer) ([]tool.Tool, error) {
	all := slices.Clone(b.own)
	taken := names{}
	for _, own := range b.own {
		taken[own.Definition().Name] = 1
	}
	for _, source := range b.sources {
		told, known := tells(servers, source.Name())
		if !known {
			return nil, &record.Error{Class: record.Internal, Message: "nothing is known of the server " + source.Name()}
		}
		used, err := source.Tools(told)
		if err != nil {
			return nil, err
		}
		for _, t := range used {
			all = append(all, taken.apart(t))
		}
	}
	return all, nil
}

func tells(servers []record.ToolServer, name string) (told record.ToolServer, known bool) {
	i := slices.IndexFunc(servers, func(s record.ToolServer) bool { return s.Name == name })
	if i < 0 {
		return told, false
	}
	return servers[i], true
}

// names are those that are taken, and how often each was asked for.
type names map[string]int

// apart is the tool under a name that every API takes and no other tool has: its
// server's stands before it where it is taken, and a number behind that where that
// is taken as well.
func (n names) apart(t tool.Tool) tool.Tool {
	defined := t.Definition()
	name := n.free(defined.Name, strings.Map(callable, defined.Server)+"__"+defined.Name)
	if name == defined.Name {
		return t
	}
	defined.Name = name
	return renamed{t, defined}
}

func (n names) free(name, longer string) string {
	name, longer = short(name, ""), short(longer, "")
	if name == "" || n[name] > 0 {
		name = longer
	}
	for n[name] > 0 {
		n[longer]++
		name = short(longer, fmt.Sprintf("_%d", n[longer]))
	}
	n[name]++
	return name
}

// short keeps a name and what follows it to the length that APIs allow.
func short(name, end string) string {
	const most = 64
	return name[:min(len(name), most-len(end))] + end
}

// renamed is a tool under another name.
type renamed struct {
	tool.Tool
	defined tool.Definition
}

// Definition has the name.
func (r renamed) Definition() tool.Definition { return r.defined }

// callable keeps what the names of functions may have.
func callable(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
