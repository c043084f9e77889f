package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/agentbench/agentbench/engine/workspace"
	"github.com/agentbench/agentbench/spec"
)

// BuildOptions are what the spec does not say.
type BuildOptions struct {
	Getenv func(string) string
	// Budget is the suite's; every call is reserved in it.
	Budget *pace.Budget
	// Cache keeps the answers of models that are paid for; nil: none does. The
	// zero CacheMode is cache.On.
	Cache     *cache.Store
	CacheMode cache.Mode
	// Gate is told of the gate of every model that is called over a network, and of the
	// model's name; nil: nobody wants to know.
	Gate func(model string, gate *pace.Gate)
	// Workspaces is the folder of the runs' workspaces and their states.
	Workspaces string
	// Recorded says that the document is known from its results alone. Beside is the document whose files its
	// programs name; nil: they are not at hand.
	Recorded bool
	Beside   *spec.Document
	// Shared keeps what all runs use together: servers of tools, and connections to those of
	// models. The caller closes it after the last run; nil: each run has servers of its own.
	Shared *Shared
}

// Shared is what the tools and models of all runs keep together.
type Shared = tool.Run

// Loops makes the loops of a suite of which nothing else is needed.
func Loops(doc *spec.Document, configurations []spec.Resolved, o BuildOptions) ([]*loop.Loop, error) {
	parts, err := NewParts(doc, o)
	if err != nil {
		return nil, err
	}
	return parts.Loops(configurations)
}

// loop puts one configuration together.
func (m *Parts) loop(c *spec.Resolved) (*loop.Loop, error) {
	built := &loop.Loop{
		Rules: stop.Compile(c.Loop),
		Param: c.Loop.Param,
		Head:  record.Run{Configuration: c.Name, Loop: c.Hash, Simulated: m.simulated(c.Loop)},
		Begin: m.begin(c.Loop.Guards.Budget), Reported: m.options.Budget.Reported,
	}
	var err error
	if built.Stages, err = m.stages(c.Loop); err != nil {
		return nil, err
	}
	if c.Loop.Evaluate != nil {
		evaluator, err := m.evaluator(c.Loop)
		if err != nil {
			return nil, err
		}
		built.Evaluator = evaluator
	}
	built.Workspaces, err = m.Workspaces(c.Loop)
	return built, err
}

// stages are the agents of a loop. Offline they tell what they would send as live ones
// do, and nothing can fail.
func (m *Parts) stages(l *spec.Loop) ([]loop.Stage, error) {
	var stages []loop.Stage
	for _, s := range l.Stages() {
		executes, err := m.agent(l, s.Agent)
		if err != nil {
			return nil, err
		}
		stages = append(stages, loop.Stage{Agent: executes, System: s.Agent.System, Prompt: s.Prompt})
	}
	return stages, nil
}

func (m *Parts) agent(l *spec.Loop, a *spec.Agent) (agent.Agent, error) {
	if a.A2A != "" {
		client, err := m.remote(a.A2A, a.Headers, a.Timeout)
		return &a2a.Agent{Client: client, Spec: a}, err
	}
	if a.HTTP != "" {
		return &agent.Endpoint{Endpoint: m.endpoint(a.HTTP, a.Headers), Spec: a}, nil
	}
	if a.Model == "" {
		program := m.programBeside(l, a.Command, a.Timeout)
		set, err := m.variables(a.Env)
		program.Env = append(program.Env, set...)
		if err != nil {
			return nil, err
		}
		served, err := m.served(l, a)
		return &agent.Program{Program: program, Spec: a, Served: served}, err
	}
	if l.Converses(a) {
		return m.conversation(l, a)
	}
	answers, err := m.Model(a.Model)
	return &agent.Chat{Model: answers, ModelName: a.Model, Spec: a}, err
}

// Workspaces makes the folders of a loop's runs; nil: they have none.
func (m *Parts) Workspaces(l *spec.Loop) (*agent.Workspaces, error) {
	if l.Workspace == nil {
		return nil, nil
	}
	kept, err := m.options.Shared.Keep("workspaces", func() (any, func(), error) {
		store, err := workspace.Open(filepath.Join(m.options.Workspaces, "store"))
		return store, func() { store.Close() }, err
	})
	if err != nil {
		return nil, err
	}
	box := sandboxOf(l.Workspace, m.options.Getenv)
	if !m.options.Recorded {
		_, _ = m.options.Shared.Keep("containers of "+string(box.Kind), func() (any, func(), error) {
			_ = box.RemoveAbandoned(context.Background()) // what cannot be had is an error of CheckSandboxes
			return nil, func() {}, nil
		})
	}
	return &agent.Workspaces{
		Spec: l.Workspace, Store: kept.(*workspace.Store), Dir: m.options.Workspaces, Find: m.doc.Find,
		Sandbox: box, Getenv: m.options.Getenv, Alone: m.options.Recorded && m.options.Beside == nil,
		Program: func(argv []string, timeout time.Duration) external.Program { return m.programBeside(l, argv, timeout) },
	}, nil
}

// States is the store that all loops have for the states of workspaces; nil: none has one.
func (m *Parts) States() (*workspace.Store, error) {
	for _, l := range m.doc.Loops() {
		if w, err := m.Workspaces(l); err != nil {
			return nil, err
		} else if w != nil {
			return w.Store, nil
		}
	}
	return nil, nil
}

// StateKey is under what scores of a state of a loop's workspaces are kept.
func (m *Parts) StateKey(l *spec.Loop, tree string) (string, error) {
	workspaces, err := m.Workspaces(l)
	if err != nil {
		return "", err
	}
	return workspaces.ScoreKey(tree)
}

// CheckSandboxes fails where programs of a document cannot be run in the sandbox that their
// loop declares, and says what to install.
func CheckSandboxes(ctx context.Context, doc *spec.Document, getenv func(string) string) error {
	checked := map[string]bool{}
	for _, l := range doc.Loops() {
		if l.Workspace.Sandboxed() == spec.SandboxNone {
			continue
		}
		box := sandboxOf(l.Workspace, getenv)
		if key := string(box.Kind) + box.Image; !checked[key] {
			checked[key] = true
			err := box.Check(ctx)
			if why, ok := errors.AsType[*record.Error](err); ok {
				err = errors.New(why.Message)
			}
			if err != nil {
				return fmt.Errorf("loop %q: %w", l.Name, err)
			}
		}
	}
	return nil
}

// Unboxed reports whether programs in workspaces of a document can read what is not theirs.
func Unboxed(doc *spec.Document) bool {
	return slices.ContainsFunc(doc.Loops(), func(l *spec.Loop) bool {
		box := sandboxOf(l.Workspace, nil)
		return l.Workspace != nil && box.Readable() != ""
	})
}

// sandboxOf holds the programs of a loop.
func sandboxOf(w *spec.Workspace, getenv func(string) string) external.Sandbox {
	box := external.Sandbox{Kind: external.Kind(w.Sandboxed()), Getenv: getenv}
	if w != nil && w.Sandbox != nil {
		c := w.Sandbox.Container
		box.Image, box.CPUs, box.Memory, box.Network = c.Image, c.CPUs, int64(c.Memory), c.Network
	}
	return box
}

// programBeside is a program of a loop. Where it works in a workspace, words of its command
// that name files beside the loop mean these.
func (m *Parts) programBeside(l *spec.Loop, argv []string, timeout time.Duration) external.Program {
	folder := l.Folder
	if beside := m.options.Beside; beside != nil {
		for _, now := range beside.Loops() {
			if now.Name == l.Name {
				folder = now.Folder
			}
		}
	}
	if l.Workspace != nil {
		argv = external.Beside(folder, argv)
	}
	return m.program(folder, argv, timeout)
}

func (m *Parts) program(folder string, argv []string, timeout time.Duration) external.Program {
	return external.Program{
		Argv: argv, Dir: folder, Env: external.Environment(m.options.Getenv), Timeout: cmp.Or(timeout, spec.DefaultProgramTimeout), Confinement: m.confinement,
	}
}

func (m *Parts) evaluator(l *spec.Loop) (*loop.DeclaredEvaluator, error) {
	e := &loop.DeclaredEvaluator{Spec: l.Evaluate, Pattern: l.Pattern}
	if judge := l.Evaluate.Judge; judge != nil {
		answers, err := m.Model(judge.Model)
		if err != nil {
			return nil, err
		}
		e.Judge = answers
	}
	if declared := l.Evaluate.Command; declared != nil {
		program := m.programBeside(l, declared.Argv, declared.Timeout)
		program.Called = fmt.Sprintf("the evaluation's program %q", strings.Join(declared.Argv, " "))
		e.Program = &program
	}
	if declared := l.Evaluate.Test; declared != nil {
		program := m.programBeside(l, declared.Argv, declared.Timeout)
		program.Called = fmt.Sprintf("the test %q", strings.Join(declared.Argv, " "))
		e.Test = &program
	}
	return e, nil
}

// begin prepares the context of a run: its own budget, where calls are to be
// reserved in one, the numbers of its equal requests, and what its tools keep.
func (m *Parts) begin(b *spec.RunBudget) func(context.Context) (context.Context, func()) {
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
		for _, served := range s.Agent.Models {
			names = append(names, served.Value)
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

// Loops makes a loop of every configuration, in their order. It fails where a
// model cannot be made: a missing key, unreadable recordings.
func (p *Parts) Loops(configurations []spec.Resolved) ([]*loop.Loop, error) {
	var loops []*loop.Loop
	for i := range configurations {
		built, err := p.loop(&configurations[i])
		if err != nil {
			return nil, fmt.Errorf("configuration %q: %w", configurations[i].Name, err)
		}
		loops = append(loops, built)
	}
	return loops, nil
}

// Unreachable is the first model at whose server nothing has listened since the first
// call; nil: there is none.
func (p *Parts) Unreachable() *Unreachable { return p.unreachable.Load() }

// Program is one that starts in the suite's folder.
func (p *Parts) Program(argv []string, timeout time.Duration) external.Program {
	return p.program(cmp.Or(p.options.Beside, p.doc).Dir(), argv, timeout)
}

// Endpoint fails where the variable of a header is not set.
func (p *Parts) Endpoint(url string, headers spec.Headers) (external.Endpoint, error) {
	_, err := p.headers(headers)
	return p.endpoint(url, headers), err
}

// Unconfined is why the programs of a document, or those of a loop's, can read keys in the environment of what
// started this process, and may leave processes behind; "" where they cannot, or there are none.
func Unconfined(doc *spec.Document, getenv func(string) string) string {
	if !doc.StartsPrograms() {
		return ""
	}
	return confinement(getenv).Missing()
}

// confinement is what holds programs, unless the user switched it off.
func confinement(getenv func(string) string) *external.Confinement {
	return &external.Confinement{Off: getenv(confinementVariable) == "off"}
}

// conversation is an agent that converses: it has tools, delegates, memory, a
// user or a warning.
func (m *Parts) conversation(l *spec.Loop, a *spec.Agent) (agent.Agent, error) {
	tools, err := m.toolbox(l, a)
	if err != nil {
		return nil, err
	}
	answers, err := m.Model(a.Model)
	if err != nil {
		return nil, err
	}
	c := &agent.Conversation{Model: answers, ModelName: a.Model, Spec: a, MaxSteps: l.Steps(a), Tools: tools}
	c.User, err = m.user(l)
	return c, err
}

func (m *Parts) toolbox(l *spec.Loop, a *spec.Agent) (*agent.Toolbox, error) {
	tools, sources, err := m.tools(l, a)
	if err != nil {
		return nil, err
	}
	delegates, err := m.delegates(l, a)
	if err != nil {
		return nil, err
	}
	if tools = append(tools, delegates...); m.offline {
		return agent.OfflineToolbox(tools, sources), nil
	}
	return agent.NewToolbox(tools, sources, m.together)
}

// user is who answers the agents of a loop, nil where nobody does.
func (m *Parts) user(l *spec.Loop) (*agent.User, error) {
	if l.User == nil {
		return nil, nil
	}
	answers := &agent.User{Spec: l.User}
	if l.User.Model == "" {
		return answers, nil
	}
	var err error
	answers.Model, err = m.Model(l.User.Model)
	return answers, err
}
