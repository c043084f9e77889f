package spec

import (
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Tree is the terminate tree of a loop together with the presets of its
// pattern: an `any` whose entries are in the order in which they give the reason.
type Tree struct {
	Any []Condition

	written *source.Node // nil where only presets stand
}

// Kind is the kind of a condition, and the reason it gives.
type Kind string

// The kinds; a map of conditions gives the reason in this order.
const (
	KindConfidence    Kind = "confidence"
	KindWhen          Kind = "when"
	KindRepeated      Kind = "repeated"
	KindConsecutive   Kind = "consecutive"
	KindNoImprovement Kind = "no_improvement"
	KindTimeout       Kind = "timeout"
	KindMaxIterations Kind = "max_iterations"
	KindAny           Kind = "any"
	KindAll           Kind = "all"
)

// Condition is one condition, or a nested any or all of them. Of the fields
// after Off, the one named by Kind is set. A condition that is Off never holds;
// one with a required field `off` is Off.
type Condition struct {
	Kind Kind
	Name string // default: the kind, then kind-2 ...
	Off  bool

	Confidence    Confidence
	When          *Expr
	Repeated      Repeated
	Consecutive   Consecutive
	NoImprovement NoImprovement
	Timeout       Timeout
	MaxIterations int
	Nested        []Condition // of any, all

	Node *source.Node // nil for a preset of the pattern
}

// Confidence holds from min_iterations on when the confidence reaches the threshold.
type Confidence struct {
	Threshold     source.Maybe[float64] `yaml:"threshold" need:"required"`
	MinIterations int                   `yaml:"min_iterations" min:"0"`
}

// NoImprovement holds when patience iterations in a row did not improve.
type NoImprovement struct {
	Patience source.Maybe[int] `yaml:"patience" need:"required" min:"1"`
	MinDelta float64           `yaml:"min_delta" min:"0"`
}

// Repeated holds when the last values of an expression are equal.
type Repeated struct {
	Of    *Expr             `yaml:"of" need:"required"`
	Times source.Maybe[int] `yaml:"times" need:"required" min:"2"`
}

// Consecutive holds when an expression was true so many times in a row.
type Consecutive struct {
	When  *Expr             `yaml:"when" need:"required"`
	Times source.Maybe[int] `yaml:"times" need:"required" min:"1"`
}

// Timeout holds when so much as-if time has passed. `timeout: 60s` is short for
// {after: 60s}.
type Timeout struct {
	After   source.Maybe[time.Duration] `yaml:"after" need:"required" above:"0"`
	Cancel  *bool                       `yaml:"cancel" doc:"Also cancel the iteration in flight (default true at the top and under any, false under all)."`
	Working bool                        `yaml:"working" doc:"Count working time only, not what was waited for rate limits."`
}

// Guards end the loop for safety. Absent ones are off, but for the absolute
// limit, which is 10.
type Guards struct {
	AbsoluteMaxIterations source.Maybe[int]         `yaml:"absolute_max_iterations" min:"1" doc:"Default 10."`
	Budget                *RunBudget                `yaml:"budget"`
	RepeatedOutput        bool                      `yaml:"repeated_output" doc:"The output equals any earlier one of the run, within the strategy."`
	Degradation           *Degradation              `yaml:"degradation"`
	Stagnation            *Stagnation               `yaml:"stagnation"`
	CircuitBreaker        *CircuitBreaker           `yaml:"circuit_breaker"`
	Repeated              Several[NamedRepeated]    `yaml:"repeated" doc:"One {of, times} or a list of named ones."`
	Consecutive           Several[NamedConsecutive] `yaml:"consecutive" doc:"One {when, times} or a list of named ones."`
}

// ScopeStep is the scope of guards that are asked after every step of a
// conversing agent; the others are asked after every iteration.
const ScopeStep = "step"

// NamedRepeated is a repeated condition used as a guard.
type NamedRepeated struct {
	Name     string `yaml:"name"`
	Repeated `yaml:",inline"`

	Scope  string `yaml:"scope" enum:"iteration|step" doc:"After what it is asked (default iteration)."`
	Window int    `yaml:"window" min:"2" doc:"Look for the equal values among so many (default: as many as times, so that they follow one another)."`

	Node *source.Node `yaml:",here"`
}

// NamedConsecutive is a consecutive condition used as a guard.
type NamedConsecutive struct {
	Name        string `yaml:"name"`
	Consecutive `yaml:",inline"`
	Scope       string `yaml:"scope" enum:"iteration|step" doc:"After what it is asked (default iteration)."`

	Node *source.Node `yaml:",here"`
}

// RunBudget is what one run may spend. Zero means no limit.
type RunBudget struct {
	Tokens  int64   `yaml:"tokens" min:"1"`
	Calls   int64   `yaml:"calls" min:"1"`
	CostUSD float64 `yaml:"cost_usd" above:"0" max:"1000000"`
	Hard    bool    `yaml:"hard" doc:"Reserve every call first, so that it is never exceeded."`
}

// Degradation is so many evaluated iterations, each worse than the one before.
type Degradation struct {
	Window source.Maybe[int] `yaml:"window" min:"2" doc:"Default 3."`
}

// Stagnation is the same set of tool calls so many times in a row.
type Stagnation struct {
	Window    source.Maybe[int] `yaml:"window" min:"2" doc:"Default 3."`
	Times     source.Maybe[int] `yaml:"times" min:"2" doc:"How often among the window (default: all of it)."`
	Signature string            `yaml:"signature" enum:"calls|normalized|observations" doc:"What is compared (default calls)."`
	Scope     string            `yaml:"scope" enum:"iteration|step" doc:"Of what the calls are a set (default iteration)."`
}

// CircuitBreaker is the same error so many times in a row: of iterations, and of
// steps whose every call failed.
type CircuitBreaker struct {
	Threshold source.Maybe[int] `yaml:"threshold" min:"1" doc:"Default 3."`
}
