package spec

import (
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Loop is a declared pattern of iterations, after presets were applied.
type Loop struct {
	Name    string  `yaml:"loop" need:"required" minlen:"1" doc:"The loop's name."`
	Pattern Pattern `yaml:"pattern" enum:"confidence|improvement|checklist|multi_strategy" doc:"Presets: what adapts, what ends the loop, what it returns."`
	Preset  string  `yaml:"preset" enum:"base|qa_specialist|coordinator|financial_analyst|risk_analyst" doc:"Phase limits of a role: planning, execution, refinement."`
	Agent   *Agent  `yaml:"agent" doc:"What executes one iteration; strategies and phases may override it."`
	Prompt  *Prompt `yaml:"prompt" doc:"What the agent is sent; {{ }} holds CEL."`

	Phases     []Phase    `yaml:"phases" minlen:"1" doc:"Named stages in their order."`
	Strategies []Strategy `yaml:"strategies" minlen:"1" doc:"Approaches tried in their order (pattern multi_strategy)."`

	// MaxIterations is short for terminate.max_iterations, to which it was moved: see EffectiveMax.
	MaxIterations source.Maybe[int] `yaml:"max_iterations" min:"1" doc:"Short for terminate.max_iterations."`
	User          *User             `yaml:"user" doc:"Answers the agent where it calls no tool."`
	Evaluate      *Evaluate         `yaml:"evaluate" doc:"How an iteration is judged inside the loop. It never sees the target."`
	Terminate     Tree              `yaml:"terminate" doc:"Conditions that end the loop by design."`
	Guards        Guards            `yaml:"guards" doc:"Limits that end the loop for safety."`
	OnError       *OnError          `yaml:"on_error" doc:"What happens after a failed iteration."`

	// Tree is the text it was decoded from, with presets of its role and `set` applied.
	Tree *source.Node `yaml:",here"`
	// Folder is where the file stands on disk: programs run there. Empty for a loop that is embedded.
	Folder string `yaml:"-"`
	// Param is what expressions see as param: every scalar parameter by its full path, by every unambiguous suffix
	// of it, and nested. What is off is null.
	Param *expr.Object `yaml:"-"`

	hash   string
	origin *origin
}

// Pattern names a set of presets; none is the zero value.
type Pattern string

// The patterns.
const (
	PatternNone          Pattern = ""
	PatternConfidence    Pattern = "confidence"
	PatternImprovement   Pattern = "improvement"
	PatternChecklist     Pattern = "checklist"
	PatternMultiStrategy Pattern = "multi_strategy"
)

// Phase is a named stage inside a loop.
type Phase struct {
	Name          string  `yaml:"name" need:"required" minlen:"1"`
	Prompt        *Prompt `yaml:"prompt" doc:"Default: the loop's."`
	Agent         *Agent  `yaml:"agent" doc:"Overrides of the loop's agent in this phase."`
	Reply         Reply   `yaml:"reply" enum:"text|json"`
	Tools         *[]Tool `yaml:"tools" doc:"The tools of this phase; [] means none."`
	MaxIterations int     `yaml:"max_iterations" min:"1" doc:"The phase ends after so many of its iterations; absent: no limit."`
	Until         *Expr   `yaml:"until" doc:"The phase also ends after an iteration at which this holds (CEL)."`

	Node *source.Node `yaml:",here"`
}

// Strategy is one approach of a multi_strategy loop.
type Strategy struct {
	Name          string  `yaml:"name" need:"required" minlen:"1"`
	Prompt        *Prompt `yaml:"prompt" doc:"Default: the loop's."`
	Agent         *Agent  `yaml:"agent" doc:"Overrides of the loop's agent for this strategy."`
	MaxIterations int     `yaml:"max_iterations" min:"1" doc:"1 unless it says more."`

	Node *source.Node `yaml:",here"`
}

// OnError decides after the iterations that failed.
type OnError struct {
	ContinueIf *Expr `yaml:"continue_if" doc:"CEL; default: best != null && best.confidence > 0.5"`
}

// Reply says how a reply becomes an output.
type Reply string

// The replies: text as it is, or one JSON value.
const (
	ReplyText Reply = "text"
	ReplyJSON Reply = "json"
)
