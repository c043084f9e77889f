// Package command decides how a program executes an iteration: JSON on its
// standard input, JSON or text on its standard output.

package agent

import (
	"context"
	"errors"
	"path/filepath"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// writer is how errors tell of programs.
var programWriter = Writer{Name: "the program", Class: record.Program, Empty: "wrote nothing to its standard output"}

// Agent is a program that executes iterations.
type Program struct {
	Program external.Program
	Spec    *spec.Agent // of the stage, overrides applied
}

// Execute runs the program once.
func (a *Program) Execute(ctx context.Context, turn *Turn) (Result, error) {
	stdin, err := Input(turn)
	if err != nil {
		return Result{}, &record.Error{Class: record.Internal, Message: err.Error()}
	}
	result := Result{Request: Hash(a.Program.Argv, stdin)}
	done, err := a.Program.Run(ctx, stdin)
	call := ProgramCall(record.RoleProgram, a.Program.Argv, result.Request, done, err)
	call.Usage = Unreported
	if err == nil {
		if err = programWriter.Read(done.Stdout, a.Spec.Reply, &result, &call); err != nil {
			call.Stdout = string(done.Stdout)
		}
		errors.As(err, &call.Error)
	}
	if err == nil && NothingMore(&result) {
		return Result{Request: result.Request}, model.ErrEnded
	}
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the program would be given.
func (a *Program) Sends(turn *Turn) (hash string, err error) {
	stdin, err := Input(turn)
	if err != nil {
		return "", &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return Hash(a.Program.Argv, stdin), nil
}

// Record is the record of a program that ran.
func ProgramCall(role record.Role, argv []string, hash string, done external.Finished, err error) record.Call {
	call := record.Call{
		Role: role, Model: filepath.Base(argv[0]), Request: hash,
		Duration: done.Duration, Stderr: done.Stderr,
	}
	if err != nil || !utf8.Valid(done.Stdout) {
		call.Stdout = string(done.Stdout)
	}
	errors.As(err, &call.Error)
	return call
}
