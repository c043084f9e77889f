package spec

import (
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec/source"
)

// Workspace is the folder that every run of a loop gets for itself: what it begins with, what is kept of its states, and
// what the programs in it can reach.
type Workspace struct {
	From        *Seed            `yaml:"from" changes:"path" doc:"What it begins with: CEL that gives the path of a folder; or {git, ref}, two texts in which {{ }} holds CEL. Default: an empty folder."`
	Files       *Expr            `yaml:"files" changes:"path" doc:"CEL: a map of paths to contents, which are written over it."`
	Setup       *Setup           `yaml:"setup" changes:"path" doc:"A program that prepares it, once for all runs of a task."`
	Git         bool             `yaml:"git" changes:"path" doc:"Make a Git repository of a folder that has none."`
	Reset       string           `yaml:"reset" changes:"path" enum:"never|iteration|strategy|phase" doc:"What begins with the first state again (default never: iterations build on each other)."`
	Ignore      []string         `yaml:"ignore" changes:"path" doc:"Paths that snapshots leave out, as .gitignore writes them. A .gitignore in the workspace does not count."`
	ScoreIgnore []string         `yaml:"score_ignore" changes:"scores" doc:"Paths that make no difference to scores (default .git/, __pycache__/, *.pyc)."`
	Snapshot    string           `yaml:"snapshot" changes:"scores" enum:"iteration|step" doc:"When its state is kept: after each iteration (default), or also when a model call of the program arrives."`
	Keep        string           `yaml:"keep" changes:"scores" enum:"never|failed|always" doc:"Which workspaces stay on disk after their run (default never)."`
	Sandbox     *Sandbox         `yaml:"sandbox" changes:"path" doc:"What programs in it can reach: none (default), bubblewrap, or {container: {image}}."`
	Limits      *WorkspaceLimits `yaml:"limits" changes:"path" doc:"How large it may become."`

	Node *source.Node `yaml:",here"`
}

// Seed is what a workspace begins with: a path, or a repository.
type Seed struct {
	Path *Expr   `short:"text" doc:"CEL that gives the path of a folder."`
	Git  *Prompt `yaml:"git" need:"required"`
	Ref  *Prompt `yaml:"ref"`

	Node *source.Node `yaml:",here"`
}

// Setup is a program that prepares a workspace. Its result is kept for all runs that begin with the same files.
type Setup struct {
	Command []string      `yaml:"command" need:"required" minlen:"1"`
	Network bool          `yaml:"network" doc:"It may use the network also in a sandbox."`
	Cache   *bool         `yaml:"cache" doc:"Keep its result for the other runs that begin with the same files (default true)."`
	Timeout time.Duration `yaml:"timeout" above:"0" doc:"Default 10m."`

	Node *source.Node `yaml:",here"`
}

// Kept reports whether its result serves the other runs.
func (s *Setup) Kept() bool { return s.Cache == nil || *s.Cache }

// WorkspaceLimits are what a workspace may hold.
type WorkspaceLimits struct {
	Size  Bytes `yaml:"size" doc:"Of all files together, such as 500MB (default 2GB)."`
	Files int   `yaml:"files" min:"1" doc:"How many (default 200000)."`
}

// Bytes is a size as a person writes it.
type Bytes int64

// DecodeNode takes a number of bytes, or a text such as 500MB.
func (b *Bytes) DecodeNode(n *source.Node, d *source.Decoder) {
	size, err := source.Size(n.Text)
	if err != nil || size < 1 {
		d.Fault(n, "write a number of bytes, or a size such as 500MB", "want a size")
	}
	*b = Bytes(size)
}

func (b *Bytes) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"integer", "string"}, "description": "A size such as 500MB."}
}

// The sandboxes.
const (
	SandboxNone       = "none"
	SandboxBubblewrap = "bubblewrap"
	SandboxContainer  = "container"
)

// Sandbox is what holds the programs of a workspace.
type Sandbox struct {
	Kind string
	// Accepted says that the programs may run without one although a recipe switches off their own.
	Accepted  bool
	Container Container

	Node *source.Node
}

// Container is a container of docker or podman.
type Container struct {
	Image   string  `yaml:"image" need:"required" minlen:"1"`
	Network bool    `yaml:"network" doc:"It may use the network (default false: only the models)."`
	CPUs    float64 `yaml:"cpus" above:"0"`
	Memory  Bytes   `yaml:"memory" doc:"Such as 2GB."`
}

// DecodeNode takes a word, {none: accept} or {container: {...}}.
func (s *Sandbox) DecodeNode(n *source.Node, d *source.Decoder) {
	const hint = "write sandbox: bubblewrap, or sandbox: {container: {image: NAME}}"
	s.Node = n
	none, container := n.Get(SandboxNone), n.Get(SandboxContainer)
	switch {
	case n.Kind == source.String && (n.Text == SandboxNone || n.Text == SandboxBubblewrap):
		s.Kind = n.Text
	case n.Len() == 1 && container != nil:
		s.Kind = SandboxContainer
		d.Decode(container, &s.Container)
	case n.Len() == 1 && none != nil && none.Text == "accept":
		s.Kind, s.Accepted = SandboxNone, true
	default:
		d.Fault(n, hint, "want none, bubblewrap or a container")
	}
}

func (s *Sandbox) JSONSchema(g *source.Generator) map[string]any {
	accept := map[string]any{
		"type": "object", "properties": map[string]any{SandboxNone: map[string]any{"const": "accept"}},
		"required": []any{SandboxNone}, "additionalProperties": false,
	}
	container := map[string]any{
		"type": "object", "properties": map[string]any{SandboxContainer: g.Struct(Container{})},
		"required": []any{SandboxContainer}, "additionalProperties": false,
	}
	return map[string]any{"anyOf": []any{map[string]any{"enum": []any{SandboxNone, SandboxBubblewrap}}, accept, container}}
}

// Sandboxed is the kind of the workspace's sandbox.
func (w *Workspace) Sandboxed() string {
	if w == nil || w.Sandbox == nil {
		return SandboxNone
	}
	return w.Sandbox.Kind
}

// BySteps reports whether the states of a workspace are kept when model calls arrive.
func (w *Workspace) BySteps() bool { return w != nil && w.Snapshot == "step" }

// scoreIgnored is what makes no difference to scores where a workspace does not say.
var scoreIgnored = []string{".git/", "__pycache__/", "*.pyc"}

// IgnoredByScores are the paths that make no difference to scores.
func (w *Workspace) IgnoredByScores() []string {
	if w.ScoreIgnore != nil {
		return w.ScoreIgnore
	}
	return scoreIgnored
}

// Variables are environment variables of a program, by their names: texts, or values of our own environment.
type Variables source.Named[Header]

// DecodeNode takes a mapping of names to texts or to {env: NAME}.
func (v *Variables) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.List {
		d.Fault(n, "write NAME: text, or NAME: {env: NAME} for a variable of your own environment", "want a mapping of names to values")
		return
	}
	(*source.Named[Header])(v).DecodeNode(n, d)
	for _, variable := range *v {
		switch {
		case variable.Key == "" || strings.ContainsAny(variable.Key, "= \t\n\x00"):
			d.Add(n.KeyFault(variable.Key, "write letters, digits and _", "invalid name of an environment variable"))
		case variable.Value.Env == "" && secret.Telling(variable.Key) && variable.Node.Kind == source.String:
			d.Fault(variable.Node, "write "+variable.Key+": {env: NAME}, and set the variable NAME",
				"%s would be written into the file; keys come from the environment", shorten(variable.Key))
		}
	}
}

func (v *Variables) JSONSchema(g *source.Generator) map[string]any {
	return (*source.Named[Header])(v).JSONSchema(g)
}

// Set are the variables as NAME=value; of our own environment those that are set.
func (v Variables) Set(getenv func(string) string) (set []string) {
	for _, variable := range v {
		if value, there := variable.Value.value(getenv); there {
			set = append(set, variable.Key+"="+value)
		}
	}
	return set
}

// Served are the models that a program may call, by the names that it asks for: each may hold *, and default stands for
// all others.
type Served = source.Named[string]

// Reported is what a program reports of its usage, in CEL over the JSON that it prints.
type Reported struct {
	CostUSD      *Expr `yaml:"cost_usd" doc:"CEL number."`
	InputTokens  *Expr `yaml:"input_tokens" doc:"CEL number."`
	OutputTokens *Expr `yaml:"output_tokens" doc:"CEL number."`
	Calls        *Expr `yaml:"calls" doc:"CEL number."`

	Node *source.Node `yaml:",here"`
}

// runsPrograms reports whether a stage of the loop is a program.
func (l *Loop) runsPrograms() bool {
	return slices.ContainsFunc(l.Stages(), func(s Stage) bool { return s.Agent.Command != nil })
}

// callsModels reports whether a stage of the loop is a program that calls models of the suite.
func (l *Loop) callsModels() bool {
	return slices.ContainsFunc(l.Stages(), func(s Stage) bool { return len(s.Agent.Models) > 0 })
}

// checkPrograms finds what does not go together in agents that are programs.
func (l *loader) checkPrograms(loop *Loop) {
	for _, agent := range loop.agents() {
		if agent.Usage != nil && len(agent.Models) > 0 {
			l.warn(agent.Node.Get("usage"), "delete it: what is spent on models is counted", "usage changes nothing here: the program calls models, which count what it uses")
		}
		if agent.OnLimit != "" && len(agent.Models) == 0 {
			l.add(agent.Node.KeyFault("on_limit", "it goes with models", "no model of the suite serves this program"))
		}
	}
	if b := loop.Guards.Budget; b != nil && b.Steps > 0 && !loop.callsModels() {
		l.fault(loop.Tree.Get("guards").Get("budget").Get("steps"), "write agent: {models: {default: MODEL}}; agent.max_steps limits those of a model with tools",
			"steps are calls of the suite's models, and no program here calls any")
	}
	l.checkStepsOfPrograms(loop)
	for _, stage := range loop.Stages() {
		if stage.Agent.Command != nil && stage.Agent.Recipe != "" && loop.Workspace == nil {
			l.fault(loop.recipeNode(stage.Agent.Recipe), "write workspace: {from: task.vars.repo, sandbox: bubblewrap}",
				"the recipe %s is for a program that edits files, and the loop has no workspace", stage.Agent.Recipe)
		} else if stage.Agent.Command != nil && unconfined(stage.Agent.Recipe) && loop.Workspace.Sandboxed() == SandboxNone && !(loop.Workspace.Sandbox != nil && loop.Workspace.Sandbox.Accepted) {
			l.fault(loop.recipeNode(stage.Agent.Recipe), "write workspace: {sandbox: bubblewrap}, or accept the risk: sandbox: {none: accept}",
				"the recipe %s switches off the program's own sandbox, and the loop has none", stage.Agent.Recipe)
		}
	}
}

// checkStepsOfPrograms wants models whose calls can be counted, and a limit of them.
func (l *loader) checkStepsOfPrograms(loop *Loop) {
	for _, stage := range loop.Stages() {
		switch a := stage.Agent; {
		case a.Command == nil:
		case a.MaxSteps > 0 && len(a.Models) == 0:
			l.faultOfKey(loop, "max_steps", "it goes with model, and with a command that has models", "steps are calls of the suite's models, and this program calls none")
			return
		case a.StepsOf != "" && a.MaxSteps == 0:
			l.faultOfKey(loop, "steps_of", "write max_steps", "steps_of changes nothing without max_steps")
			return
		}
	}
}

// faultOfKey is a fault at the first agent of the loop that has a key.
func (l *loader) faultOfKey(loop *Loop, key, hint, message string) {
	agents := loop.agents()
	if at := slices.IndexFunc(agents, func(a *Agent) bool { return a.Node.Get(key) != nil }); at >= 0 {
		l.add(agents[at].Node.KeyFault(key, hint, "%s", message))
	}
}

// recipeNode is where a recipe is named.
func (l *Loop) recipeNode(recipe string) *source.Node {
	for _, agent := range l.agents() {
		if agent.Recipe == recipe {
			return agent.Node.Get("recipe")
		}
	}
	return nil
}

// checkWorkspace finds what does not go together in a loop whose programs edit files.
func (l *loader) checkWorkspace(loop *Loop) {
	w := loop.Workspace
	if w == nil {
		if e := loop.Evaluate; e != nil && e.Test != nil {
			l.fault(e.Node.Get("test"), "write workspace: {from: task.vars.repo}", "tests run in the workspace of a run, and the loop has none")
		}
		return
	}
	if !loop.runsPrograms() {
		l.fault(w.Node, "a workspace is for agents that are programs: command: [PROGRAM]", "no agent of this loop is a program")
	}
	if w.BySteps() && !loop.callsModels() {
		l.fault(w.Node.Get("snapshot"), "write agent: {models: {default: MODEL}}, or snapshot: iteration", "steps are calls of the suite's models, and no program here calls any")
	}
	if w.Reset == "strategy" && len(loop.Strategies) == 0 || w.Reset == "phase" && len(loop.Phases) == 0 {
		l.fault(w.Node.Get("reset"), "write reset: iteration, or reset: never", "the loop has no %s", map[string]string{"strategy": "strategies", "phase": "phases"}[w.Reset])
	}
}
