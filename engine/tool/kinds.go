package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Program is a tool that is a program. It runs in a folder of the run's own, which its other
// tools share and which is removed with the run; the program itself is looked up in folder.
// Its timeout is that of the definition.
func Program(d Definition, p external.Program, folder string) Tool {
	return Tool{d, func(ctx context.Context, use *Use) (Result, error) {
		p := p
		dir, remove, err := scratch(ctx)
		if ours := record.OutOfFiles(err); ours != nil {
			return Result{}, ours
		}
		if err != nil {
			return Result{}, record.Errorf(record.Internal, "creating a folder for tools to run in: %v; does TMPDIR exist, with room?", err)
		}
		defer remove()
		p.Argv, p.Dir, p.Timeout, p.Cuts, p.Called = Located(folder, p.Argv), dir, -1, true, "the tool"
		done, err := p.Run(ctx, append(slices.Clone(use.arguments()), '\n'))
		result, wrong := Answer(done.Stdout)
		result.Duration = done.Duration
		if err == nil {
			return result, wrong
		}
		if why, ok := errors.AsType[*record.Error](err); ok && why.Class != record.Resources {
			err = &record.Error{Class: record.Tool, Message: why.Message}
		}
		result.Ended = nil
		if string(result.Content) == `""` { // it gave nothing before
			result.Content = nil
		}
		return result, err
	}}
}

// arguments are those given, {} where there are none.
func (u *Use) arguments() json.RawMessage {
	if len(u.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return u.Arguments
}

// Located has the whole paths of a program and of those of its arguments that
// name files beneath the folder: it will run in another one.
func Located(folder string, argv []string) []string {
	located := make([]string, len(argv))
	for i, argument := range argv {
		located[i] = argument
		named := filepath.FromSlash(argument)
		if i == 0 && filepath.Base(named) == named || !filepath.IsLocal(named) || strings.HasPrefix(argument, "-") {
			continue
		}
		path, err := filepath.Abs(filepath.Join(folder, named))
		if err != nil {
			continue
		}
		if _, err := os.Stat(path); err == nil || i == 0 {
			located[i] = path
		}
	}
	return located
}

// Endpoint is a tool that is an endpoint, to which the arguments are posted.
func Endpoint(d Definition, e external.Endpoint) Tool {
	return Tool{d, func(ctx context.Context, use *Use) (Result, error) {
		answer, err := e.Post(ctx, 0, use.arguments())
		if err == nil {
			result, wrong := Answer(answer.Body)
			result.Duration = answer.Duration
			return result, wrong
		}
		if why, ok := errors.AsType[*record.Error](err); ok {
			err = &record.Error{Class: record.Tool, Message: why.Message}
		}
		return Result{Duration: answer.Duration}, err
	}}
}

// Computed is a tool that is an expression. It takes no virtual time. An expression that fails
// on the arguments is an error of the tool.
func Computed(d Definition, expression *spec.Expr) Tool {
	return Tool{d, func(ctx context.Context, use *Use) (Result, error) {
		content, object, err := computed(ctx, expression, use)
		switch {
		case ctx.Err() != nil && err != nil:
			return Result{}, context.Cause(ctx)
		case err != nil:
			return Result{}, &record.Error{Class: record.Tool, Message: err.Error()}
		case object:
			return Answer(content)
		}
		return Result{Content: content}, nil
	}}
}

func computed(ctx context.Context, expression *spec.Expr, use *Use) (content json.RawMessage, object bool, err error) {
	given, err := expr.ParseJSON(use.arguments())
	if err != nil {
		return nil, false, err
	}
	value, err := expression.Value(ctx, scope{given, use})
	if err != nil {
		return nil, false, err
	}
	if text, ok := value.(string); ok {
		return Text(text), false, nil
	}
	content, err = expr.AppendJSON(nil, value)
	_, object = value.(*expr.Object)
	return content, object, err
}

type scope struct {
	args any
	use  *Use
}

// Lookup has args, task and call.
func (s scope) Lookup(name string) (any, bool) {
	switch name {
	case "args":
		return s.args, true
	case "task":
		return spec.TaskFields{Task: s.use.Task}, true
	case "call":
		return int64(s.use.Number), true
	}
	return nil, false
}

// handing is the schema of what a delegate is handed.
var handing = json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":"What is to be done, with everything that is needed to do it."}},"required":["task"],"additionalProperties":false}`)

// Delegation is the definition of another agent that a task is handed to.
func Delegation(name, description string) Definition {
	return Definition{Name: name, Description: description, Parameters: handing, Delegate: true}
}

// Handed is the task that a use hands to a delegate.
func (u *Use) Handed() string {
	var arguments struct {
		Task string `json:"task"`
	}
	_ = json.Unmarshal(u.Arguments, &arguments) // they are valid against the schema
	return arguments.Task
}

type scratchKey struct{}

// scratch is the folder in which the programs of a run work: empty at first, and
// removed when the run is closed. Where a program removed it, it is made again.
// Outside of a run the caller removes it.
func scratch(ctx context.Context) (folder string, remove func(), err error) {
	run := RunOf(ctx)
	if run == nil {
		folder, err = os.MkdirTemp("", "agentbench-tool-")
		return folder, func() { removeAll(folder) }, err
	}
	kept, err := run.Keep(scratchKey{}, func() (any, func(), error) {
		folder, err := os.MkdirTemp("", "agentbench-run-")
		return folder, func() { removeAll(folder) }, err
	})
	if err != nil {
		return "", nil, err
	}
	folder = kept.(string)
	return folder, func() {}, os.MkdirAll(folder, 0o700)
}

// removeAll also removes folders that their maker closed to writing.
func removeAll(folder string) {
	if folder == "" || os.RemoveAll(folder) == nil {
		return
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}
