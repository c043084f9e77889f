package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Program is a program. It runs in a folder of the run's own, which its other tools
// share and which is removed with the run; what it is, is looked up in Folder.
type Program struct {
	Defined Definition
	Program external.Program
	Folder  string
}

// Definition is what was declared.
func (t *Program) Definition() Definition { return t.Defined }

// Use runs the program once. How long it may take is its user's affair.
func (t *Program) Use(ctx context.Context, use *Use) (Result, error) {
	folder, remove, err := scratch(ctx)
	if ours := record.OutOfFiles(err); ours != nil {
		return Result{}, ours
	}
	if err != nil {
		return Result{}, &record.Error{Class: record.Internal, Message: "there is no folder for tools to run in: " + err.Error() + "; is TMPDIR there, with room?"}
	}
	defer remove()
	p := t.Program
	p.Argv, p.Dir, p.Timeout, p.Cuts, p.Called = Located(t.Folder, p.Argv), folder, -1, true, "the tool"
	done, err := p.Run(ctx, append(arguments(use), '\n'))
	result, wrong := Answer(done.Stdout)
	result.Duration = done.Duration
	if err == nil {
		return result, wrong
	}
	if why, ok := errors.AsType[*record.Error](err); ok && why.Class != record.Resources {
		err = programFailed(why.Message)
	}
	result.Ended = nil
	if string(result.Content) == `""` { // it gave nothing before
		result.Content = nil
	}
	return result, err
}

func arguments(use *Use) []byte {
	if len(use.Arguments) == 0 {
		return []byte("{}")
	}
	return append([]byte(nil), use.Arguments...)
}

func programFailed(message string) error { return &record.Error{Class: record.Tool, Message: message} }

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

// Endpoint is an endpoint.
type Endpoint struct {
	Defined  Definition
	Endpoint external.Endpoint
}

// Definition is what was declared.
func (t *Endpoint) Definition() Definition { return t.Defined }

// Use posts the arguments once.
func (t *Endpoint) Use(ctx context.Context, use *Use) (Result, error) {
	body := use.Arguments
	if len(body) == 0 {
		body = []byte("{}")
	}
	answer, err := t.Endpoint.Post(ctx, body)
	if err == nil {
		result, wrong := Answer(answer.Body)
		result.Duration = answer.Duration
		return result, wrong
	}
	if why, ok := errors.AsType[*record.Error](err); ok {
		err = &record.Error{Class: record.Tool, Message: why.Message}
	}
	return Result{Duration: answer.Duration}, err
}

// Computed is an expression. It takes no as-if time.
type Computed struct {
	Defined    Definition
	Expression *spec.Expr
}

// Definition is what was declared.
func (t *Computed) Definition() Definition { return t.Defined }

// Use evaluates the expression. What is wrong with it on these arguments is told
// to whoever called it.
func (t *Computed) Use(ctx context.Context, use *Use) (Result, error) {
	arguments := use.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	given, err := expr.ParseJSON(arguments)
	if err != nil {
		return failed(ctx, err)
	}
	value, err := t.Expression.Value(ctx, scope{given, use})
	if err != nil {
		return failed(ctx, err)
	}
	if text, ok := value.(string); ok {
		return Result{Content: Text(text)}, nil
	}
	written, err := expr.AppendJSON(nil, value)
	if err != nil {
		return failed(ctx, err)
	}
	if _, object := value.(*expr.Object); object {
		return Answer(written)
	}
	return Result{Content: written}, nil
}

func failed(ctx context.Context, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return Result{}, &record.Error{Class: record.Tool, Message: err.Error()}
}

// scope is what the expression sees.
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
// removed when the run is closed. A program may have removed it, and the next one
// is given it anew. Outside of a run it is the caller's to remove.
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
