package spec

import (
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Agent is what executes one iteration: one of model, command, http, a2a.
type Agent struct {
	Model   string   `yaml:"model" doc:"A name under models: in the suite."`
	Command []string `yaml:"command" minlen:"1" doc:"A program and its arguments: JSON on stdin, JSON or text on stdout."`
	HTTP    string   `yaml:"http" doc:"The address of an endpoint that takes what a program takes."`
	A2A     string   `yaml:"a2a" doc:"The address of a remote agent."`
	Headers Headers  `yaml:"headers" doc:"http, a2a: sent with every request; {env: NAME} takes a value from the environment."`

	System          *Prompt       `yaml:"system" doc:"The system prompt; {{ }} holds CEL."`
	Reply           Reply         `yaml:"reply" enum:"text|json" doc:"text (default) or json: output is then an object in expressions."`
	Temperature     *float64      `yaml:"temperature" min:"0" max:"2"`
	TopP            *float64      `yaml:"top_p" min:"0" max:"1"`
	MaxOutputTokens int           `yaml:"max_output_tokens" min:"1" max:"10000000"`
	Seed            *int64        `yaml:"seed"`
	Timeout         time.Duration `yaml:"timeout" above:"0" doc:"Of one call or one program."`

	MaxSteps   int        `yaml:"max_steps" min:"1" doc:"Model calls inside one iteration (default 5)."`
	ToolCalls  string     `yaml:"tool_calls" enum:"native|fenced|xml" doc:"How tool calls are written: native (the server's own, default), fenced or xml blocks in the text."`
	ToolChoice string     `yaml:"tool_choice" minlen:"1" doc:"native calls: auto, none, required, or the name of a tool."`
	Tools      []Tool     `yaml:"tools" doc:"What the agent may use; [] means nothing."`
	Delegates  []Delegate `yaml:"delegates" doc:"Other agents that this one may hand tasks to."`
	Memory     *Memory    `yaml:"memory" doc:"One conversation over all iterations."`
	// FinalResponse sees the output of the iteration.
	FinalResponse *Expr `yaml:"final_response" doc:"CEL boolean over output: when it holds the reply is the structured final response, which ends the loop at once and is returned whole."`
	WarnRemaining int   `yaml:"warn_remaining" min:"1" doc:"Tell the agent when so many steps remain: in the iteration, or in the run where each iteration is one step."`

	Node *source.Node `yaml:",here"`
}

// Tool is something an agent may use: a program, an MCP server, a built-in.
type Tool struct {
	MCP         *MCP          `yaml:"mcp"`
	Builtin     string        `yaml:"builtin" enum:"task_completion|ask_question|converse"`
	Name        string        `yaml:"name" minlen:"1" doc:"What the model calls it by; of an MCP server, what records call the server."`
	Description string        `yaml:"description"`
	Parameters  JSON          `yaml:"parameters" doc:"JSON Schema of the arguments."`
	Command     []string      `yaml:"command" minlen:"1" doc:"A program: the arguments as JSON on stdin, the result on stdout."`
	HTTP        string        `yaml:"http" doc:"An endpoint: the arguments are posted as JSON."`
	Headers     Headers       `yaml:"headers" doc:"http: sent with every request; {env: NAME} takes a value from the environment."`
	CEL         *Expr         `yaml:"cel" doc:"An expression over args, task and call, the number of tool calls before it in the run."`
	Env         []string      `yaml:"env" doc:"Names of environment variables that the program may see beside the usual ones."`
	Retries     int           `yaml:"retries" min:"0" max:"10" doc:"How often it is tried again when it fails (default 0)."`
	Pure        bool          `yaml:"pure" doc:"Same arguments, same result: may be answered from the cache."`
	BreaksLoop  bool          `yaml:"breaks_loop" doc:"Its result ends the run, and is returned."`
	Success     *bool         `yaml:"success" doc:"task_completion, breaks_loop: whether a run that it ends is a success of the loop (default: of task_completion it is, of others not)."`
	Timeout     time.Duration `yaml:"timeout" above:"0" doc:"Of one use (default 60s)."`

	Node *source.Node `yaml:",here"`
}

// MCP is a server of tools.
type MCP struct {
	Command []string `yaml:"command" minlen:"1"`
	URL     string   `yaml:"url" doc:"Of a server that speaks streamable HTTP."`
	Headers Headers  `yaml:"headers" doc:"url: sent with every request; {env: NAME} takes a value from the environment."`
	Env     []string `yaml:"env" doc:"Names of environment variables that the server may see beside the usual ones."`
	Shared  bool     `yaml:"shared" doc:"One server for all runs (default: one for each)."`
	Only    []string `yaml:"only" doc:"The tools that are used; default: all that it has."`
	Pure    []string `yaml:"pure" doc:"The tools of which the same arguments give the same result."`
}

// Delegate is another agent that this one may hand a task to.
type Delegate struct {
	Name        string        `yaml:"name" need:"required" minlen:"1"`
	Description string        `yaml:"description" doc:"What the agent is told of it."`
	Loop        string        `yaml:"loop" doc:"A loop's file; its input is the task that is handed over."`
	A2A         string        `yaml:"a2a" doc:"The address of a remote agent."`
	Headers     Headers       `yaml:"headers" doc:"a2a: sent with every request; {env: NAME} takes a value from the environment."`
	Timeout     time.Duration `yaml:"timeout" above:"0" doc:"Of one task."`

	// Resolved is the loop, loaded.
	Resolved *Loop        `yaml:"-"`
	Node     *source.Node `yaml:",here"`
}

// User answers the agent where a step has no call.
type User struct {
	Script   *Expr   `yaml:"script" doc:"CEL list of texts: the user's turns in their order. When they are over, so is the conversation."`
	Model    string  `yaml:"model" doc:"A name under models: it plays the user."`
	System   *Prompt `yaml:"system" doc:"What the model that plays the user is told; {{ }} holds CEL."`
	Until    *Expr   `yaml:"until" doc:"CEL boolean over message, the user's turn: when it holds the conversation is over (default: it contains ###STOP###)."`
	MaxTurns int     `yaml:"max_turns" min:"1" doc:"Turns of the user in one iteration (default: as many as max_steps allows)."`

	Node *source.Node `yaml:",here"`
}

// Memory keeps one conversation over all iterations.
type Memory struct {
	MaxTokens int `yaml:"max_tokens" min:"1" doc:"What is sent is kept below so many estimated tokens: the oldest turns are left out (default: nothing is)."`
}
