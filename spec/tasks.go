package spec

import "github.com/agentbench/agentbench/spec/source"

// Tasks are where the tasks come from: a list (then only Inline is set), a file or pattern (then only Files is set), or
// a mapping that also says which of them are taken.
type Tasks struct {
	Node *source.Node `yaml:",here"`

	Inline   []InlineTask       `yaml:"list" minlen:"1" doc:"Tasks in the suite itself, in the place of files."`
	Files    []string           `yaml:"files" minlen:"1" doc:"Paths or patterns, also below a root: data:/x/*.json. One that ends in / is all files of a folder."`
	Each     *Expr              `yaml:"each" doc:"CEL giving the list of rows of a file (default: the file is a list, or a row a line)."`
	ID       *Expr              `yaml:"id" doc:"CEL string."`
	Input    *Expr              `yaml:"input" doc:"CEL. Without id, input, target, vars and metadata the rows have the keys of a task."`
	Target   *Expr              `yaml:"target" doc:"CEL; what a right answer is judged against."`
	Vars     source.Named[Expr] `yaml:"vars"`
	Metadata source.Named[Expr] `yaml:"metadata"`

	Where   *Expr    `yaml:"where" doc:"CEL over task and row: the tasks that are taken, before sample, shuffle and limit."`
	Sample  *Sample  `yaml:"sample" doc:"Some of the tasks, drawn by lot."`
	Shuffle *Shuffle `yaml:"shuffle" doc:"true or a seed: another order, drawn by lot (default seed: the suite's)."`
	Limit   int      `yaml:"limit" min:"1" doc:"The first so many tasks, after where, sample and shuffle."`
	Targets string   `yaml:"targets" enum:"required|optional" doc:"Whether tasks need a target where scorers compare with it (default required)."`
}

// TargetsOptional lets tasks have no target: what compares with it leaves their runs unscored.
const TargetsOptional = "optional"

// Sample says how many tasks are drawn by lot, of all or of each stratum. One of N and Share is set.
type Sample struct {
	By    *Expr   `yaml:"by" doc:"CEL over task and row: tasks for which it gives the same are a stratum."`
	N     int     `yaml:"n" min:"1" doc:"So many, of each stratum."`
	Share float64 `yaml:"share" above:"0" max:"1" doc:"This share, of each stratum as near as can be."`
	Seed  *int64  `yaml:"seed" doc:"Default: the suite's seed."`

	Node *source.Node `yaml:",here"`
}

// Shuffle says whether tasks are shuffled, and by which seed; nil: the suite's.
type Shuffle struct {
	On   bool
	Seed *int64
}

// DecodeNode takes true, false or a seed.
func (s *Shuffle) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind == source.Bool {
		d.Decode(n, &s.On)
		return
	}
	s.On, s.Seed = true, new(int64)
	d.Decode(n, s.Seed)
}

// JSONSchema describes both forms.
func (s *Shuffle) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"boolean", "integer"}}
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

// isMapped says that rows become tasks by expressions.
func (t *Tasks) isMapped() bool {
	return t.ID != nil || t.Input != nil || t.Target != nil || t.Vars != nil || t.Metadata != nil
}

// JSONSchema describes the three forms.
func (t *Tasks) JSONSchema(g *source.Generator) map[string]any {
	path := map[string]any{"type": "string", "minLength": 1, "description": "A .jsonl, .json, .yaml or .csv file, a pattern, or a folder that ends in /."}
	return map[string]any{"anyOf": []any{path, g.Tagged(t.Inline, `minlen:"1"`), g.Struct(*t)}}
}
