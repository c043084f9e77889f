// Package program decides how a program is a tool: the arguments as JSON on its
// standard input, the result on its standard output.

package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

// Tool is a program. It runs in a folder of the run's own, which its other tools
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
