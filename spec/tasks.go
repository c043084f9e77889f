package spec

import "github.com/agentbench/agentbench/spec/source"

// Tasks are where the tasks come from: an inline list, a file or glob (then
// only Files is set), or a mapping over files.
type Tasks struct {
	Inline []InlineTask
	Node   *source.Node `yaml:",here"`

	Files    []string           `yaml:"files" need:"required" minlen:"1" doc:"Paths or globs, also below a root: data:/x/*.json"`
	Each     *Expr              `yaml:"each" doc:"CEL giving the list of rows of a file (default: the file is a list, or a row a line)."`
	ID       *Expr              `yaml:"id" doc:"CEL string."`
	Input    *Expr              `yaml:"input" doc:"CEL."`
	Target   *Expr              `yaml:"target" doc:"CEL; what a right answer is judged against."`
	Vars     source.Named[Expr] `yaml:"vars"`
	Metadata source.Named[Expr] `yaml:"metadata"`
}

// InlineTask is a task written in the suite, or a row of a plain task file.
type InlineTask struct {
	ID       string            `yaml:"id" minlen:"1" doc:"Default: task-1 ..."`
	Input    any               `yaml:"input"`
	Target   any               `yaml:"target"`
	Vars     source.Named[any] `yaml:"vars"`
	Metadata source.Named[any] `yaml:"metadata"`

	Node *source.Node `yaml:",here"`
}

// Task is one problem. Values are those of expr: string, float64, bool, nil,
// []any and *expr.Object.
type Task struct {
	ID       string
	Input    any
	Vars     any
	Target   any // nil where there is none
	Metadata any
	// Cluster is what the suite's expression of that name gives; "" where there
	// is none, or where the task stands for itself.
	Cluster string
	// Group is what group_by gives; "" where there is none, or where the task is in
	// no group.
	Group string
}

// DecodeNode takes a list of tasks, a path, or a mapping over files.
func (t *Tasks) DecodeNode(n *source.Node, d *source.Decoder) {
	type mapping Tasks
	t.Node = n
	switch n.Kind {
	case source.List:
		d.Decode(n, &t.Inline)
		if len(n.Items) == 0 {
			d.Fault(n, "", "the list of tasks is empty")
		}
	case source.Map:
		d.Decode(n, (*mapping)(t))
	default:
		var path string
		d.DecodeTagged(n, &path, `minlen:"1"`)
		t.Files = []string{path}
	}
}

// JSONSchema describes the three forms.
func (t *Tasks) JSONSchema(g *source.Generator) map[string]any {
	path := map[string]any{"type": "string", "minLength": 1, "description": "A .jsonl, .json, .yaml or .csv file, or a glob."}
	return map[string]any{"anyOf": []any{path, g.Tagged(t.Inline, `minlen:"1"`), g.Struct(*t)}}
}
