package replay

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// retraced are the fields of an agent that converses which show in its requests,
// or in how many of them it makes.
var retraced = []string{"tools", "delegates", "memory", "max_steps", "tool_choice", "warn_remaining"}

// others are the tools and delegates of an agent that are other ones than in the
// recorded loop, by their names: why.
type others struct {
	tools    map[string]string
	timeouts map[string]timeouts
	servers  string // why those of servers are
}

// timeouts are those of a tool that differs in nothing else.
type timeouts struct{ target, recorded time.Duration }

// other says why a recorded call might have given something else.
func (o *others) other(c *record.ToolCall) string {
	if both, ok := o.timeouts[c.Tool]; ok && !both.inTime(c) {
		return fmt.Sprintf("the timeout of the tool %q differs, and it took this long", c.Tool)
	}
	if why := o.tools[c.Tool]; why != "" || c.Server == "" {
		return why
	}
	return o.servers
}

// defaultToolTimeout is that of a tool which declares none.
const defaultToolTimeout = time.Minute

// inTime says that both timeouts leave a call alone.
func (t *timeouts) inTime(c *record.ToolCall) bool {
	limit := defaultToolTimeout
	for _, timeout := range []time.Duration{t.target, t.recorded} {
		if timeout > 0 {
			limit = min(limit, timeout)
		}
	}
	return c.Error == nil && c.Duration < limit
}

// conversation compares what two agents that converse do with what they are
// answered.
func (c *comparison) conversation(p *pair, t, r *spec.Agent) {
	p.tools = others{tools: map[string]string{}, timeouts: map[string]timeouts{}}
	for i := range t.Tools {
		if t.Tools[i].MCP == nil {
			p.tools.compare(&t.Tools[i], r.Tools)
		}
	}
	p.tools.compareServers(serversOf(t), serversOf(r))
	for i := range t.Delegates {
		p.tools.compareDelegate(&t.Delegates[i], r.Delegates)
	}
	if !declaredAlike(reflect.ValueOf(&c.target.User).Elem(), reflect.ValueOf(&c.recorded.User).Elem()) {
		p.shown, p.user = otherUser, true
		p.player = (modelOf(c.target.User) == "") != (modelOf(c.recorded.User) == "")
	}
}

const otherUser = "the user differs"

// modelOf is the model that plays a user, "" where none does.
func modelOf(u *spec.User) string {
	if u == nil {
		return ""
	}
	return u.Model
}

// compare finds a tool among the recorded ones.
func (o *others) compare(t *spec.Tool, recorded []spec.Tool) {
	name := nameOf(t)
	i := slices.IndexFunc(recorded, func(r spec.Tool) bool { return r.MCP == nil && nameOf(&r) == name })
	if i < 0 {
		return // the recorded agent could not call it
	}
	fields := slices.DeleteFunc(differing(t, &recorded[i]), func(field string) bool {
		return slices.Contains(described, field)
	})
	switch {
	case len(fields) == 0:
	case len(fields) == 1 && fields[0] == "timeout":
		o.timeouts[name] = timeouts{t.Timeout, recorded[i].Timeout}
	default:
		o.tools[name] = fmt.Sprintf("%s of the tool %q differs, and it is called", fields[0], name)
	}
}

// described are the fields of a tool that the model is told, and success, which
// package stop goes by.
var described = []string{"name", "description", "parameters", "success"}

// differOnlyInSuccess says that two lists of tools are alike but for whether the
// loop believes in a run that one of them ends, which package stop decides.
func differOnlyInSuccess(a, b []spec.Tool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if fields := differing(&a[i], &b[i]); len(fields) > 1 || len(fields) == 1 && fields[0] != "success" {
			return false
		}
	}
	return true
}

// nameOf is what a model calls a tool by that is not of a server.
func nameOf(t *spec.Tool) string { return cmp.Or(t.Name, t.Builtin) }

func serversOf(a *spec.Agent) (servers []spec.Tool) {
	for i := range a.Tools {
		if a.Tools[i].MCP != nil {
			servers = append(servers, a.Tools[i])
		}
	}
	return servers
}

// compareServers compares servers in their order, from which they have their
// names. Which of their tools are used, the model is told.
func (o *others) compareServers(target, recorded []spec.Tool) {
	if len(target) != len(recorded) {
		o.servers = "the servers of tools differ, and one is called"
		return
	}
	for i := range target {
		t, r := target[i], recorded[i]
		if fields := slices.DeleteFunc(differing(t.MCP, r.MCP), func(field string) bool { return field == "only" || field == "shared" }); len(fields) > 0 {
			o.servers = fmt.Sprintf("mcp.%s differs, and a tool of the server is called", fields[0])
		}
		t.MCP, r.MCP = nil, nil
		if fields := differing(&t, &r); len(fields) > 0 {
			o.servers = fmt.Sprintf("%s of a server of tools differs, and it is called", fields[0])
		}
	}
}

func (o *others) compareDelegate(d *spec.Delegate, recorded []spec.Delegate) {
	i := slices.IndexFunc(recorded, func(r spec.Delegate) bool { return r.Name == d.Name })
	if i < 0 {
		return
	}
	r := &recorded[i]
	names := slices.DeleteFunc(differing(d, r), func(name string) bool { return name == "description" })
	if d.Resolved != nil && r.Resolved != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "loop" })
		if d.Resolved.Hash() != r.Resolved.Hash() {
			names = append(names, "its loop")
		}
	}
	if len(names) > 0 {
		o.tools[d.Name] = fmt.Sprintf("%s of the delegate %q differs, and it is handed a task", names[0], d.Name)
	}
}

// userReads are the variables that a user's turns depend on.
func userReads(u *spec.User) []string {
	reads := append(readsOf(u.Script), readsOf(u.Until)...)
	if u.System != nil && u.System.Template != nil {
		reads = append(reads, u.System.Reads()...)
	}
	return reads
}

// looksAtSteps says which guard decides by the steps of an iteration, and so may
// cut it; "": none.
func looksAtSteps(l *spec.Loop) string {
	g := &l.Guards
	switch converses := converses(l); {
	case g.Stagnation != nil && g.Stagnation.Scope == spec.ScopeStep && !g.Stagnation.Window.Off && !g.Stagnation.Times.Off:
		return "guards.stagnation looks at steps"
	case slices.ContainsFunc(g.Repeated, func(r spec.NamedRepeated) bool { return r.Scope == spec.ScopeStep && !r.Times.Off }):
		return "guards.repeated looks at steps"
	case slices.ContainsFunc(g.Consecutive, func(c spec.NamedConsecutive) bool { return c.Scope == spec.ScopeStep && !c.Times.Off }):
		return "guards.consecutive looks at steps"
	case converses && g.CircuitBreaker != nil && !g.CircuitBreaker.Threshold.Off:
		return "guards.circuit_breaker looks at the errors of tools"
	}
	return ""
}

// converses says that any agent of a loop does.
func converses(l *spec.Loop) bool {
	return slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.Converses(s.Agent) })
}
