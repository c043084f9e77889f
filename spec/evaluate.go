package spec

import (
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Evaluate is how an iteration is judged inside the loop: checks, and CEL over
// the output and over what a judge or a program answered.
type Evaluate struct {
	Checks     []Check  `yaml:"checks" minlen:"1" doc:"Requirements; confidence is their weighted share unless declared."`
	Confidence *Expr    `yaml:"confidence" doc:"CEL number."`
	Passed     *Expr    `yaml:"passed" doc:"CEL boolean; ends the run successfully."`
	Feedback   *Expr    `yaml:"feedback" doc:"CEL string: what the next prompt may say."`
	Judge      *Judge   `yaml:"judge" doc:"A model that gives confidence and feedback."`
	Command    *Command `yaml:"command" doc:"A program that gives confidence, passed and feedback, for instance a test run."`
	FromPhase  string   `yaml:"from_phase" doc:"Evaluate only from this phase on."`
	Fix        string   `yaml:"fix" enum:"all|one" doc:"Tell every failing check at once (all, the default) or only the first (one)."`

	Node *source.Node `yaml:",here"`
}

// Check is one requirement on the output.
type Check struct {
	Name     string   `yaml:"name" need:"required" minlen:"1"`
	Expr     *Expr    `yaml:"expr" need:"required" doc:"CEL boolean; an error in it fails the check."`
	Feedback string   `yaml:"feedback" doc:"What is told when it fails."`
	Weight   *float64 `yaml:"weight" above:"0" doc:"Default 1."`

	Node *source.Node `yaml:",here"`
}

// Judge is a model that judges by a rubric.
type Judge struct {
	Model           string   `yaml:"model" need:"required" minlen:"1"`
	Rubric          *Prompt  `yaml:"rubric" need:"required" doc:"{{ }} holds CEL; the task's input and the output are always shown."`
	Temperature     *float64 `yaml:"temperature" min:"0" max:"2"`
	MaxOutputTokens int      `yaml:"max_output_tokens" min:"1" max:"10000000"`

	Node *source.Node `yaml:",here"`
}

// Command is a program that judges. In YAML: a list, or {command, timeout}.
type Command struct {
	Argv    []string      `yaml:"command" need:"required" minlen:"1"`
	Timeout time.Duration `yaml:"timeout" above:"0"`

	Node *source.Node `yaml:",here"`
}

// DecodeNode takes the program and its arguments, or a mapping.
func (c *Command) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping Command
	switch n.Kind {
	case source.List:
		c.Node = n
		d.DecodeTagged(n, &c.Argv, `minlen:"1"`)
	case source.Map:
		d.Decode(n, (*mapping)(c))
	default:
		d.Fault(n, "write the program and its arguments: [program, argument]", "want a list or a mapping")
	}
}

// JSONSchema describes both forms.
func (c *Command) JSONSchema(g *source.Generator) map[string]any {
	return map[string]any{"anyOf": []any{g.Tagged(c.Argv, `minlen:"1"`), g.Struct(*c)}}
}
