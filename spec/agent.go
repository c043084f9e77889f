package spec

import (
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Agent is what executes one iteration: one of model, command, http, a2a.
type Agent struct {
	Model   string   `yaml:"model" doc:"A name under models: in the suite."`
	Command []string `yaml:"command" minlen:"1" doc:"A program and its arguments: JSON on stdin, JSON or text on stdout."`
	HTTP    string   `yaml:"http" doc:"An endpoint that takes what a program takes."`
	A2A     string   `yaml:"a2a" doc:"A remote agent."`

	System          *Prompt       `yaml:"system" doc:"The system prompt; {{ }} holds CEL."`
	Reply           Reply         `yaml:"reply" enum:"text|json" doc:"text (default) or json: output is then an object in expressions."`
	Temperature     *float64      `yaml:"temperature" min:"0" max:"2"`
	TopP            *float64      `yaml:"top_p" min:"0" max:"1"`
	MaxOutputTokens int           `yaml:"max_output_tokens" min:"1" max:"10000000"`
	Seed            *int64        `yaml:"seed"`
	Timeout         time.Duration `yaml:"timeout" above:"0" doc:"Of one call or one program."`

	MaxSteps  int        `yaml:"max_steps" min:"1" doc:"Model calls inside one iteration (default 5)."`
	ToolCalls string     `yaml:"tool_calls" enum:"native|fenced|xml" doc:"How tool calls are written."`
	Tools     []Tool     `yaml:"tools"`
	Delegates []Delegate `yaml:"delegates"`
	Memory    *Memory    `yaml:"memory" doc:"One conversation over all iterations."`
	// FinalResponse sees the output of the iteration.
	FinalResponse *Expr `yaml:"final_response" doc:"CEL boolean over output: when it holds the reply is the structured final response, which ends the loop at once and is returned whole."`
	WarnRemaining int   `yaml:"warn_remaining" min:"1" doc:"Tell the agent when so many iterations remain."`

	Node *source.Node `yaml:",here"`
}

// Tool is something an agent may use: a program, an MCP server, a built-in.
type Tool struct {
	MCP         *MCP          `yaml:"mcp"`
	Builtin     string        `yaml:"builtin" enum:"task_completion|ask_question|converse"`
	Name        string        `yaml:"name"`
	Description string        `yaml:"description"`
	Parameters  JSON          `yaml:"parameters" doc:"JSON Schema of the arguments."`
	Command     []string      `yaml:"command" minlen:"1"`
	Pure        bool          `yaml:"pure" doc:"Same arguments, same result: may be answered from the cache."`
	BreaksLoop  bool          `yaml:"breaks_loop"`
	Timeout     time.Duration `yaml:"timeout" above:"0"`

	Node *source.Node `yaml:",here"`
}

// MCP is a server of tools.
type MCP struct {
	Command []string `yaml:"command" minlen:"1"`
	URL     string   `yaml:"url"`
	Shared  bool     `yaml:"shared"`
}

// Delegate is another agent that this one may hand a task to.
type Delegate struct {
	Name string `yaml:"name" need:"required" minlen:"1"`
	Loop string `yaml:"loop"`
	A2A  string `yaml:"a2a"`

	// Resolved is the loop, loaded.
	Resolved *Loop        `yaml:"-"`
	Node     *source.Node `yaml:",here"`
}

// Memory keeps one conversation over all iterations.
type Memory struct {
	MaxTokens int `yaml:"max_tokens" min:"1"`
}
