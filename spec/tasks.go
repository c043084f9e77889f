package spec

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Tasks are where the tasks come from: a list (then only Inline is set), a file or pattern (then only Files is set), or
// a mapping that also says which of them are taken. One of Inline, Files and Folders is set.
type Tasks struct {
	Node *source.Node `yaml:",here" one:"files list folders" hint:"files: [tasks.jsonl], list: [{input: ...}], or folders: repos/*"`

	Inline   []InlineTask       `yaml:"list" short:"list" minlen:"1" doc:"Tasks in the suite itself, instead of files." also:"tasks items"`
	Files    []string           `yaml:"files" short:"text" minlen:"1" doc:"Paths or patterns, also below a root: data:/x/*.json. One that ends in / is all files of a folder." also:"file path source from dataset"`
	Folders  []string           `yaml:"folders" single:"allowed" doc:"Paths or patterns of folders, each a task: its id is the folder's name, vars.repo its path. A task.yaml in it may say more."`
	Each     *Expr              `yaml:"each" want:"list" with:"files" doc:"CEL giving the list of rows of a file (default: the file is a list, or a row a line)."`
	ID       *Expr              `yaml:"id" want:"string" without:"list" doc:"CEL string."`
	Input    *Expr              `yaml:"input" without:"list" doc:"CEL. Without id, input, target, vars and metadata the rows have the keys of a task."`
	Target   *Expr              `yaml:"target" without:"list" doc:"CEL; what a right answer is judged against."`
	Vars     source.Named[Expr] `yaml:"vars" without:"list"`
	Metadata source.Named[Expr] `yaml:"metadata" without:"list"`
	Images   *Expr              `yaml:"images" without:"list" doc:"CEL: a list of paths and data: URLs of images, or one of them."`

	Where   *Expr    `yaml:"where" want:"-" doc:"CEL over task and row: the tasks that are taken, before sample, shuffle and limit."`
	Sample  *Sample  `yaml:"sample" want:"-" doc:"Some of the tasks, drawn by lot."`
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

	Node *source.Node `yaml:",here" one:"n share" hint:"n: 20 is so many, share: 0.1 a tenth"`
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

func (s *Shuffle) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": []any{"boolean", "integer"}}
}

// InlineTask is a task written in the suite, or a row of a plain task file.
type InlineTask struct {
	ID       string            `yaml:"id" minlen:"1" doc:"Default: task-1 ..." also:"name"`
	Input    any               `yaml:"input" also:"prompt question text query problem task"`
	Target   any               `yaml:"target" also:"expected answer expected_output ideal label reference output"`
	Vars     source.Named[any] `yaml:"vars"`
	Metadata source.Named[any] `yaml:"metadata"`
	Images   []string          `yaml:"images" minlen:"1" doc:"Pictures that models are shown with the prompt: paths, relative to this file, or data: URLs."`

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
	Images   []*Image
	// Folder is the folder that the task is, as vars.repo has it; "" where it is none.
	Folder string
	// Cluster is what the suite's expression of that name gives; "" where there
	// is none, or where the task stands for itself.
	Cluster string
	// Group is what group_by gives; "" where there is none, or where the task is in
	// no group.
	Group string
}

// id is the task's own or, from 1, that of its number.
func (t *InlineTask) id(i int) string { return cmp.Or(t.ID, fmt.Sprintf("task-%d", i+1)) }

func (t *InlineTask) task(i int) *Task {
	task := &Task{ID: t.id(i), Input: valueOf(t.Input), Target: valueOf(t.Target), Vars: objectOf(t.Vars), Metadata: objectOf(t.Metadata)}
	for _, reference := range t.Images {
		task.Images = append(task.Images, &Image{reference: reference})
	}
	return task
}

// objectOf is nil where nothing was written.
func objectOf(named source.Named[any]) any {
	if named == nil {
		return nil
	}
	object := expr.NewObject(len(named))
	for _, pair := range named {
		object.Set(pair.Key, valueOf(pair.Value))
	}
	return object
}

// ClusterName is the name of a cluster or a group; null names none.
func ClusterName(value any) (name string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func listOrObject(value any) string {
	if _, ok := value.([]any); ok {
		return "a list"
	}
	return "an object"
}

// taskScope is what expressions over a task alone see.
type taskScope struct{ task *Task }

// Lookup implements expr.Scope.
func (s taskScope) Lookup(name string) (any, bool) {
	if name != "task" {
		return nil, false
	}
	return TaskFields{s.task}, true
}

// TaskFields is a task as expressions inside a loop see it: without its target.
type TaskFields struct{ *Task }

// Field gives a field by its name; vars and metadata are never null.
func (f TaskFields) Field(name string) any {
	if f.Task == nil {
		return nil
	}
	switch name {
	case "id":
		return f.ID
	case "input":
		return f.Input
	case "vars":
		return orEmpty(f.Vars)
	case "metadata":
		return orEmpty(f.Metadata)
	}
	return nil
}

// JudgedTask is a task as expressions see it that never reach a loop: with its target.
type JudgedTask struct{ *Task }

// Field gives a field by its name.
func (f JudgedTask) Field(name string) any {
	if name == "target" && f.Task != nil {
		return f.Target
	}
	return TaskFields(f).Field(name)
}

func orEmpty(object any) any {
	if object == nil {
		return expr.NewObject(0)
	}
	return object
}
