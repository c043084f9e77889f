package engine

import (
	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// conversation is an agent that converses: it has tools, delegates, memory, a
// user or a warning.
func (m *models) conversation(l *spec.Loop, a *spec.Agent) (agent.Agent, error) {
	tools, err := m.toolbox(l, a)
	if err != nil {
		return nil, err
	}
	answers, err := m.named(a.Model)
	if err != nil {
		return nil, err
	}
	c := &agent.Conversation{Model: answers, ModelName: a.Model, Spec: a, MaxSteps: l.Steps(a), Tools: tools}
	c.User, err = m.user(l)
	return c, err
}

func (m *models) toolbox(l *spec.Loop, a *spec.Agent) (*agent.Toolbox, error) {
	tools, sources, err := m.tools(l, a)
	if err != nil {
		return nil, err
	}
	delegates, err := m.delegates(l, a)
	if err != nil {
		return nil, err
	}
	return agent.NewToolbox(append(tools, delegates...), sources, m.together)
}

// user is who answers the agents of a loop, nil where nobody does.
func (m *models) user(l *spec.Loop) (agent.User, error) {
	if l.User == nil {
		return nil, nil
	}
	answers := &agent.DeclaredUser{Spec: l.User}
	if l.User.Model == "" {
		return answers, nil
	}
	var err error
	answers.Model, err = m.named(l.User.Model)
	return answers, err
}

// nobody makes what is only told of.
func nobody() *models {
	return &models{options: BuildOptions{Getenv: func(string) string { return "" }}, servers: map[*spec.Loop]*serverNames{}}
}

// toldConversation is one that can only tell what it would send.
func (m *models) toldConversation(l *spec.Loop, a *spec.Agent) *agent.Conversation {
	var own []tool.Tool
	var sources []tool.Source
	for i := range a.Tools {
		declared := &a.Tools[i]
		if declared.MCP != nil {
			sources = append(sources, m.server(l, declared))
			continue
		}
		own = append(own, toldTool(declared))
	}
	c := &agent.Conversation{ModelName: a.Model, Spec: a, MaxSteps: l.Steps(a)}
	c.Tools = agent.Told(append(own, toldDelegates(a)...), sources)
	if l.User != nil {
		c.User = &agent.DeclaredUser{Spec: l.User}
	}
	return c
}

// toldTool is a tool as an agent is told of it. It must not be used.
func toldTool(declared *spec.Tool) tool.Tool {
	if known, err := tool.Builtin(declared.Builtin, declared.Description); err == nil {
		return known
	}
	return unusable{defined: defines(declared)}
}

// unusable is a tool that there is not.
type unusable struct {
	tool.Tool
	defined tool.Definition
}

// Definition is what the agent is told.
func (t unusable) Definition() tool.Definition { return t.defined }
