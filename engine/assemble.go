package engine

import (
	"context"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/agent/a2a"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// Options are what the spec does not say.
type BuildOptions struct {
	Getenv func(string) string
	// Budget is the suite's; every call is reserved in it.
	Budget *pace.Budget
	// Cache keeps the answers of models that are paid for; nil: none does. The
	// zero CacheMode is cache.On.
	Cache     *cache.Store
	CacheMode cache.Mode
	// Gate is told of the gate of every model that is called over a network; nil:
	// nobody wants to know.
	Gate func(*pace.Gate)
	// Shared keeps the servers of tools that all runs use together. Whoever gives it
	// closes it after the last run; nil: there are none, each run has its own.
	Shared *tool.Run
}

// Loops makes the loops of a suite of which nothing else is needed.
func Loops(doc *spec.Document, configurations []spec.Resolved, o BuildOptions) ([]*loop.Loop, error) {
	parts, err := NewParts(doc, o)
	if err != nil {
		return nil, err
	}
	return parts.Loops(configurations)
}

// loop puts one configuration together.
func (m *models) loop(c *spec.Resolved) (*loop.Loop, error) {
	built := &loop.Loop{
		Rules: stop.Compile(c.Loop),
		Param: c.Loop.Param,
		Head:  record.Run{Configuration: c.Name, Loop: c.Hash, Simulated: m.simulated(c.Loop)},
		Begin: m.begin(c.Loop.Guards.Budget),
	}
	for _, s := range c.Loop.Stages() {
		executes, err := m.agent(c.Loop, s.Agent)
		if err != nil {
			return nil, err
		}
		built.Stages = append(built.Stages, loop.Stage{Agent: executes, System: s.Agent.System, Prompt: s.Prompt})
	}
	if c.Loop.Evaluate != nil {
		evaluator, err := m.evaluator(c.Loop)
		if err != nil {
			return nil, err
		}
		built.Evaluator = evaluator
	}
	return built, nil
}

func (m *models) agent(l *spec.Loop, a *spec.Agent) (agent.Agent, error) {
	if a.A2A != "" {
		client, err := m.remote(a.A2A, a.Headers, a.Timeout)
		return &a2a.Agent{Client: client, Spec: a}, err
	}
	if a.HTTP != "" {
		return &agent.Endpoint{Endpoint: m.endpoint(a.HTTP, a.Headers), Spec: a}, nil
	}
	if a.Model == "" {
		return &agent.Program{Program: m.program(l.Folder, a.Command, a.Timeout), Spec: a}, nil
	}
	if l.Converses(a) {
		return m.conversation(l, a)
	}
	answers, err := m.named(a.Model)
	return &agent.Chat{Model: answers, ModelName: a.Model, Spec: a}, err
}

func (m *models) program(folder string, argv []string, timeout time.Duration) external.Program {
	return external.Program{
		Argv: argv, Dir: folder, Env: external.Environment(m.options.Getenv), Timeout: timeout, Confinement: m.confinement,
	}
}

func (m *models) evaluator(l *spec.Loop) (*loop.DeclaredEvaluator, error) {
	e := &loop.DeclaredEvaluator{Spec: l.Evaluate, Pattern: l.Pattern}
	if judge := l.Evaluate.Judge; judge != nil {
		answers, err := m.named(judge.Model)
		if err != nil {
			return nil, err
		}
		e.Judge = answers
	}
	if declared := l.Evaluate.Command; declared != nil {
		program := m.program(l.Folder, declared.Argv, declared.Timeout)
		e.Program = &program
	}
	return e, nil
}

// begin prepares the context of a run: its own budget, where calls are to be
// reserved in one, the numbers of its equal requests, and what its tools keep.
func (m *models) begin(b *spec.RunBudget) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		if m.options.Cache != nil {
			ctx = cache.WithRun(ctx)
		}
		if b != nil && b.Hard {
			ctx = pace.WithRun(ctx, pace.OfRun(b))
		}
		ctx, run := tool.WithRun(ctx)
		return ctx, run.Close
	}
}

// Used are the names of the models that a loop calls, and the loops to which it
// hands tasks.
func Used(l *spec.Loop) []string {
	var names []string
	for _, s := range l.Stages() {
		if s.Agent.Model != "" {
			names = append(names, s.Agent.Model)
		}
		for i := range s.Agent.Delegates {
			if served := s.Agent.Delegates[i].Resolved; served != nil {
				names = append(names, Used(served)...)
			}
		}
	}
	if l.User != nil && l.User.Model != "" {
		names = append(names, l.User.Model)
	}
	if l.Evaluate != nil && l.Evaluate.Judge != nil {
		names = append(names, l.Evaluate.Judge.Model)
	}
	return names
}
