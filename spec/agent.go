package spec

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Agent is what executes one iteration: one of model, command, http, a2a.
type Agent struct {
	Model   string   `yaml:"model" changes:"requests" doc:"A name under models: in the suite."`
	Command []string `yaml:"command" changes:"requests" minlen:"1" doc:"A program and its arguments: JSON on stdin, JSON or text on stdout."`
	HTTP    string   `yaml:"http" changes:"path" doc:"The address of an endpoint that takes what a program takes."`
	A2A     string   `yaml:"a2a" changes:"path" doc:"The address of a remote agent."`
	Headers Headers  `yaml:"headers" changes:"path" doc:"http, a2a: sent with every request; {env: NAME} takes a value from the environment." of:"http a2a"`

	System          *Prompt       `yaml:"system" changes:"requests" doc:"The system prompt; {{ }} holds CEL." also:"system_prompt instructions" of:"model"`
	Reply           Reply         `yaml:"reply" changes:"path" enum:"text|json" doc:"text (default) or json: output is then an object in expressions."`
	Temperature     *float64      `yaml:"temperature" changes:"requests" min:"0" max:"2" of:"model"`
	TopP            *float64      `yaml:"top_p" changes:"requests" min:"0" max:"1" of:"model"`
	MaxOutputTokens int           `yaml:"max_output_tokens" changes:"requests" min:"1" max:"10000000" also:"max_tokens max_completion_tokens" of:"model"`
	Seed            *int64        `yaml:"seed" changes:"requests" of:"model"`
	Timeout         time.Duration `yaml:"timeout" changes:"stop" above:"0" doc:"Of one call or one program."`

	MaxSteps   int        `yaml:"max_steps" changes:"stop" min:"1" doc:"Steps inside one iteration: of a model (default 5), or of a program with models (default: no limit)." also:"max_turns max_tool_calls" of:"model command"`
	StepsOf    string     `yaml:"steps_of" changes:"stop" enum:"all|main" doc:"models: the steps that max_steps counts: those of all conversations of the program (all, default), or of the main one alone (main)." of:"command"`
	ToolCalls  string     `yaml:"tool_calls" changes:"path" enum:"native|fenced|xml" doc:"How tool calls are written: native (the server's own, default), fenced or xml blocks in the text." of:"model"`
	ToolChoice string     `yaml:"tool_choice" changes:"requests" minlen:"1" doc:"native calls: auto, none, required, or the name of a tool." of:"model"`
	Tools      []Tool     `yaml:"tools" changes:"requests" doc:"What the agent may use; [] means nothing." of:"model"`
	Delegates  []Delegate `yaml:"delegates" changes:"requests" doc:"Other agents that this one may hand tasks to." of:"model"`
	Memory     *Memory    `yaml:"memory" changes:"requests" doc:"One conversation over all iterations." of:"model"`
	// FinalResponse sees the output of the iteration.
	FinalResponse *Expr `yaml:"final_response" changes:"path" doc:"CEL boolean over output: when it holds the reply is the structured final response, which ends the loop at once and is returned whole."`
	WarnRemaining int   `yaml:"warn_remaining" changes:"requests" min:"1" doc:"Tell the agent when so many steps remain: in the iteration, or in the run where each iteration is one step." of:"model"`

	Env     Variables `yaml:"env" changes:"path" doc:"command: environment variables of the program; {env: NAME} takes a value from our own." of:"command"`
	Recipe  string    `yaml:"recipe" changes:"path" enum:"aider|claude|codex|mini-swe-agent|opencode|qwen" doc:"command: the flags, variables and files that this coding agent needs here." of:"command"`
	Models  Served    `yaml:"models" changes:"path" minlen:"1" doc:"command: the models that the program may call, by the names that it asks for, which may hold *; default stands for all others." of:"command"`
	OnLimit string    `yaml:"on_limit" changes:"path" enum:"kill|refuse" doc:"models: what becomes of a call beyond a limit: the program is ended (kill, default), or the call is refused." of:"command"`
	Usage   *Reported `yaml:"usage" changes:"path" doc:"command: what the program reports of its usage, in CEL over reply, the JSON that it prints." of:"command"`
	Output  *Expr     `yaml:"output" changes:"path" doc:"command: CEL that gives the output, over stdout, reply and workspace (default: what the program prints)." of:"command"`

	// Arguments are the words of the command that hold CEL in {{ }}, at their places; nil: the program reads JSON.
	Arguments []*Prompt `yaml:"-"`

	Node *source.Node `yaml:",here"`
}

// Tool is something an agent may use: a program, an MCP server, a built-in.
type Tool struct {
	MCP         *MCP          `yaml:"mcp" changes:"path"`
	Builtin     string        `yaml:"builtin" changes:"path" enum:"task_completion|ask_question|converse"`
	Name        string        `yaml:"name" changes:"requests" minlen:"1" with:"mcp command http cel" doc:"What the model calls it by; of an MCP server, what records call the server."`
	Description string        `yaml:"description" changes:"requests" with:"builtin command http cel"`
	Parameters  JSON          `yaml:"parameters" changes:"requests" with:"command http cel" doc:"JSON Schema of the arguments."`
	Command     []string      `yaml:"command" changes:"path" minlen:"1" with:"name" doc:"A program: the arguments as JSON on stdin, the result on stdout."`
	HTTP        string        `yaml:"http" changes:"path" with:"name" doc:"An endpoint: the arguments are posted as JSON."`
	Headers     Headers       `yaml:"headers" changes:"path" with:"http" doc:"http: sent with every request; {env: NAME} takes a value from the environment."`
	CEL         *Expr         `yaml:"cel" changes:"path" with:"name" doc:"An expression over args, task and call, the number of tool calls before it in the run."`
	Env         []string      `yaml:"env" changes:"path" with:"command" doc:"Names of environment variables that the program may see beside the usual ones."`
	Retries     int           `yaml:"retries" changes:"path" min:"0" max:"10" with:"mcp command http" doc:"How often it is tried again when it fails (default 0)."`
	Pure        bool          `yaml:"pure" changes:"path" with:"command http" doc:"Same arguments, same result: may be answered from the cache. Of the tools of a server: mcp: {pure: [NAME]}."`
	BreaksLoop  bool          `yaml:"breaks_loop" changes:"path" with:"command http cel" doc:"Its result ends the run, and is returned."`
	Success     *bool         `yaml:"success" changes:"stop" with:"builtin command http cel" doc:"task_completion, breaks_loop: whether a run that it ends is a success of the loop (default: of task_completion it is, of others not)."`
	Timeout     time.Duration `yaml:"timeout" changes:"stop" above:"0" with:"mcp command http" doc:"Of one use (default 60s)."`

	Node *source.Node `yaml:",here" one:"mcp builtin command http cel" hint:"each tool is one thing; several tools are several items"`
}

// MCP is a server of tools.
type MCP struct {
	Command []string `yaml:"command" changes:"path" minlen:"1"`
	URL     string   `yaml:"url" changes:"path" doc:"Of a server that speaks streamable HTTP."`
	Headers Headers  `yaml:"headers" changes:"path" with:"url" doc:"url: sent with every request; {env: NAME} takes a value from the environment."`
	Env     []string `yaml:"env" changes:"path" with:"command" doc:"Names of environment variables that the server may see beside the usual ones."`
	Shared  bool     `yaml:"shared" changes:"path" doc:"One server for all runs (default: one for each)."`
	Only    []string `yaml:"only" changes:"requests" doc:"The tools that are used; default: all that it has."`
	Pure    []string `yaml:"pure" changes:"path" doc:"The tools of which the same arguments give the same result."`

	Node *source.Node `yaml:",here" one:"command url" hint:"command starts a server, url reaches one"`
}

// Delegate is another agent that this one may hand a task to.
type Delegate struct {
	Name        string        `yaml:"name" changes:"requests" need:"required" minlen:"1"`
	Description string        `yaml:"description" changes:"requests" doc:"The description that the agent sees."`
	Loop        string        `yaml:"loop" changes:"path" doc:"A loop's file; its input is the task that is handed over."`
	A2A         string        `yaml:"a2a" changes:"path" doc:"The address of a remote agent."`
	Headers     Headers       `yaml:"headers" changes:"path" with:"a2a" doc:"a2a: sent with every request; {env: NAME} takes a value from the environment."`
	Timeout     time.Duration `yaml:"timeout" changes:"path" above:"0" doc:"Of one task."`

	// Resolved is the loop, loaded.
	Resolved *Loop        `yaml:"-"`
	Node     *source.Node `yaml:",here" one:"loop a2a" hint:"loop names a loop's file, a2a the address of a remote agent"`
}

// User answers the agent where a step has no call.
type User struct {
	Script   *Expr   `yaml:"script" doc:"CEL list of texts: the user's turns in their order. When they are over, so is the conversation."`
	Model    string  `yaml:"model" with:"system" doc:"A name under models: it plays the user. System has what it wants, and when it answers ###STOP###."`
	System   *Prompt `yaml:"system" with:"model" doc:"The system prompt of the model that plays the user; {{ }} holds CEL."`
	Until    *Expr   `yaml:"until" doc:"CEL boolean over message, the user's turn: when it holds the conversation is over (default: it contains ###STOP###)."`
	MaxTurns int     `yaml:"max_turns" min:"1" doc:"Turns of the user in one iteration (default: as many as max_steps allows)."`

	Node *source.Node `yaml:",here" one:"script model" hint:"script is a CEL list of texts, model a name under models"`
}

// Memory keeps one conversation over all iterations.
type Memory struct {
	MaxTokens int `yaml:"max_tokens" min:"1" doc:"What is sent is kept below so many estimated tokens: the oldest turns are left out (default: nothing is)."`
}

// Stage is what executes an iteration: a phase, a strategy, or the loop itself,
// with all that it inherits from the loop.
type Stage struct {
	Name   string // "" for the loop itself
	Agent  *Agent
	Prompt *Prompt // nil: none
	Limit  int     // iterations; 0: none of its own
	Until  *Expr
}

// Stages are the phases, the strategies, or the loop itself as the only one. They are only read.
func (l *Loop) Stages() []Stage {
	var stages []Stage
	for i := range l.Phases {
		p := &l.Phases[i]
		agent := l.Agent.with(p.Agent)
		agent.Reply = cmp.Or(p.Reply, agent.Reply)
		if p.Tools != nil {
			agent.Tools = *p.Tools
		}
		stages = append(stages, Stage{Name: p.Name, Agent: agent, Prompt: cmp.Or(p.Prompt, l.Prompt), Limit: p.MaxIterations, Until: p.Until})
	}
	for i := range l.Strategies {
		s := &l.Strategies[i]
		stages = append(stages, Stage{Name: s.Name, Agent: l.Agent.with(s.Agent), Prompt: cmp.Or(s.Prompt, l.Prompt), Limit: max(1, s.MaxIterations)})
	}
	if len(stages) == 0 {
		agent := l.Agent
		if agent == nil {
			agent = &Agent{}
		}
		stages = append(stages, Stage{Agent: agent, Prompt: l.Prompt})
	}
	return stages
}

// RepliesText reports whether every stage's output is a text.
func (l *Loop) RepliesText() bool {
	return !slices.ContainsFunc(l.Stages(), func(s Stage) bool { return s.Agent.Model == "" || s.Agent.Reply == ReplyJSON })
}

// The limits of time where a suite declares none: of a program or a remote agent, of one use of a tool, of asking a scorer's
// model or program once, and of its tests.
const (
	DefaultProgramTimeout = 10 * time.Minute
	DefaultToolTimeout    = time.Minute
	DefaultScorerTimeout  = time.Minute
	DefaultTestTimeout    = 10 * time.Minute
)

// StepsOfMain is steps_of where the main conversation of a program alone counts.
const StepsOfMain = "main"

// Steps an agent may make in one iteration unless it says otherwise.
const (
	defaultSteps         = 5
	defaultStepsWithUser = 100
)

// Converses reports whether an agent of the loop makes steps: it is a model that has tools, delegates, memory or a user, or
// is told what remains. Any other one answers once.
func (l *Loop) Converses(a *Agent) bool {
	return a.Model != "" && (a.callsTools() || a.Memory != nil || a.WarnRemaining > 0 || l.User != nil)
}

// MakesSteps reports whether an agent of the loop makes steps: it converses, or is a program that calls models of the suite.
func (l *Loop) MakesSteps(a *Agent) bool { return l.Converses(a) || len(a.Models) > 0 }

// Steps is how many steps an agent of the loop may make in one iteration.
func (l *Loop) Steps(a *Agent) int {
	switch {
	case !l.Converses(a) || a.StepsOnce(l.User != nil):
		return 1
	case a.MaxSteps > 0:
		return a.MaxSteps
	case l.User != nil:
		return defaultStepsWithUser
	}
	return defaultSteps
}

// StepLimit is a limit of the steps within one iteration, at the path of its parameter. Stage is the phase or strategy whose
// iterations it limits, "" for all of the loop.
type StepLimit struct {
	Path, Stage string
	Limit       int
	Main        bool // the main conversation of a program alone counts
}

// StepLimits are those of the stages whose agents make several steps in an iteration, or are programs with a limit of them; one
// where they are all the same.
func (l *Loop) StepLimits() (limits []StepLimit) {
	same := true
	for _, s := range l.Stages() {
		limit := StepLimit{Path: "agent.max_steps", Stage: s.Name, Limit: l.Steps(s.Agent)}
		if s.Agent.limitsProgram() {
			limit.Limit, limit.Main = s.Agent.MaxSteps, s.Agent.StepsOf == StepsOfMain
		} else if !l.Converses(s.Agent) || s.Agent.StepsOnce(l.User != nil) {
			continue
		}
		switch {
		case len(l.Phases) > 0:
			limit.Path = "phases." + s.Name + ".agent.max_steps"
		case len(l.Strategies) > 0:
			limit.Path = "strategies." + s.Name + ".agent.max_steps"
		}
		limits = append(limits, limit)
		same = same && limit.Limit == limits[0].Limit && limit.Main == limits[0].Main
	}
	if len(limits) > 1 && same {
		return []StepLimit{{Path: "agent.max_steps", Limit: limits[0].Limit, Main: limits[0].Main}}
	}
	return limits
}

// LimitsPrograms reports whether max_steps of a stage limits a program that calls models.
func (l *Loop) LimitsPrograms() bool {
	return slices.ContainsFunc(l.Stages(), func(s Stage) bool { return s.Agent.limitsProgram() })
}

func (a *Agent) limitsProgram() bool { return len(a.Models) > 0 && a.MaxSteps > 0 }

// StepsOnce reports whether each iteration of the agent is one step: it has nothing to call, and no user answers it. Blocks in
// its text are calls nonetheless, and are answered.
func (a *Agent) StepsOnce(answered bool) bool {
	blocks := a.ToolCalls != "" && a.ToolCalls != "native"
	return len(a.Tools)+len(a.Delegates) == 0 && !blocks && !answered
}

func (a *Agent) callsTools() bool {
	return a.Model != "" && len(a.Tools)+len(a.Delegates) > 0
}

// Completing are the names of the agent's tools by which it ends the run as a success of the loop.
func (a *Agent) Completing() (names []string) {
	if a.Model == "" {
		return nil
	}
	for i := range a.Tools {
		if t := &a.Tools[i]; t.completes() {
			names = append(names, t.called())
		}
	}
	return names
}

// with is a copy of the agent with the overrides of a stage. An override that
// says what executes takes the place of what the loop says there.
func (a *Agent) with(over *Agent) *Agent {
	merged := Agent{}
	if a != nil {
		merged = *a
	}
	if over == nil {
		return &merged
	}
	if over.Model != "" || over.Command != nil || over.HTTP != "" || over.A2A != "" {
		merged.Model, merged.Command, merged.HTTP, merged.A2A, merged.Headers = over.Model, over.Command, over.HTTP, over.A2A, over.Headers
		merged.Arguments, merged.Recipe, merged.Env, merged.Models, merged.Usage, merged.Output = over.Arguments, "", nil, nil, nil, nil
		if a != nil && (a.Command == nil) != (over.Command == nil) {
			merged.MaxSteps, merged.StepsOf = 0, "" // the steps of programs are counted otherwise
		}
	}
	from, to := reflect.ValueOf(over).Elem(), reflect.ValueOf(&merged).Elem()
	for _, key := range keysOf(from.Type()) {
		if given := from.Field(key.field); !given.IsZero() {
			to.Field(key.field).Set(given)
		}
	}
	return &merged
}
