package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// usesOther says before which step the agent uses a tool, or a delegate, that is
// another one in the configuration than in the recorded loop, though it is called
// and described alike.
func (p *pair) usesOther(recorded *record.Iteration) follows {
	at := 0
	for i := range recorded.Steps {
		until := min(at+recorded.Steps[i].Tools, len(recorded.ToolCalls))
		if p.player && says(recorded.ToolCalls[at:until]) {
			return follows{steps: i, why: otherUser}
		}
		for ; at < until; at++ {
			if why := p.tools.other(&recorded.ToolCalls[at]); why != "" {
				return follows{steps: i, why: why}
			}
		}
	}
	return follows{steps: len(recorded.Steps)}
}

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

// inTime reports whether both timeouts leave a call alone.
func (t *timeouts) inTime(c *record.ToolCall) bool {
	limit := min(cmp.Or(t.target, spec.DefaultToolTimeout), cmp.Or(t.recorded, spec.DefaultToolTimeout))
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
	if len(spec.Differences(c.target.User, c.recorded.User)) > 0 {
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
	for _, d := range spec.Differences(t, &recorded[i]) {
		switch {
		case d.Path == "timeout":
			o.timeouts[name] = timeouts{t.Timeout, recorded[i].Timeout}
		case d.Class == spec.ChangesPath:
			o.tools[name] = fmt.Sprintf("%s of the tool %q differs, and it is called", d.Path, name)
		}
	}
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
		for _, d := range spec.Differences(&t, &r) {
			if d.Class != spec.ChangesRequests {
				o.servers = fmt.Sprintf("%s of a server of tools differs, and it is called", d.Path)
			}
		}
	}
}

func (o *others) compareDelegate(d *spec.Delegate, recorded []spec.Delegate) {
	i := slices.IndexFunc(recorded, func(r spec.Delegate) bool { return r.Name == d.Name })
	if i < 0 {
		return
	}
	r := &recorded[i]
	for _, differs := range spec.Differences(d, r) {
		if differs.Class == spec.ChangesPath && (differs.Path != "loop" || d.Resolved == nil || r.Resolved == nil) {
			o.tools[d.Name] = fmt.Sprintf("%s of the delegate %q differs, and it is handed a task", differs.Path, d.Name)
		}
	}
	if d.Resolved != nil && r.Resolved != nil && d.Resolved.Hash() != r.Resolved.Hash() {
		o.tools[d.Name] = fmt.Sprintf("its loop of the delegate %q differs, and it is handed a task", d.Name)
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
	switch makesSteps := slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.MakesSteps(s.Agent) }); {
	case g.Stagnation != nil && g.Stagnation.Scope == spec.ScopeStep && !g.Stagnation.Window.Off && !g.Stagnation.Times.Off:
		return "guards.stagnation looks at steps"
	case slices.ContainsFunc(g.Repeated, func(r spec.NamedRepeated) bool { return r.Scope == spec.ScopeStep && !r.Times.Off }):
		return "guards.repeated looks at steps"
	case slices.ContainsFunc(g.Consecutive, func(c spec.NamedConsecutive) bool { return c.Scope == spec.ScopeStep && !c.Times.Off }):
		return "guards.consecutive looks at steps"
	case makesSteps && g.CircuitBreaker != nil && !g.CircuitBreaker.Threshold.Off:
		return "guards.circuit_breaker looks at the errors of tools"
	}
	return ""
}
