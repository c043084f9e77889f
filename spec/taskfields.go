package spec

import "github.com/agentbench/agentbench/spec/expr"

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
