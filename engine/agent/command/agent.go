// Package command decides how a program executes an iteration: JSON on its
// standard input, JSON or text on its standard output.
package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/process"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Agent is a program that executes iterations.
type Agent struct {
	Program process.Program
	Spec    *spec.Agent // of the stage, overrides applied
}

// Execute runs the program once.
func (a *Agent) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	stdin, err := input(turn)
	if err != nil {
		return agent.Result{}, &record.Error{Class: record.Internal, Message: err.Error()}
	}
	result := agent.Result{Request: Hash(a.Program.Argv, stdin)}
	done, err := a.Program.Run(ctx, stdin)
	call := Record(record.RoleProgram, a.Program.Argv, result.Request, done, err)
	call.Usage = unreported
	if err == nil {
		if err = read(done.Stdout, a.Spec.Reply, &result, &call); err != nil {
			call.Stdout = string(done.Stdout)
		}
		errors.As(err, &call.Error)
	}
	if err == nil && result.Ended != nil && result.Ended.Reason == string(record.ReasonAgentEnded) && result.Output == nil {
		return agent.Result{Request: result.Request}, model.ErrEnded
	}
	result.Calls = []record.Call{call}
	if err != nil {
		return result, err
	}
	result.Ended, err = agent.FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the program would be given.
func (a *Agent) Sends(turn *agent.Turn) (hash string, err error) {
	stdin, err := input(turn)
	if err != nil {
		return "", &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return Hash(a.Program.Argv, stdin), nil
}

// Hash identifies what a program is given, as records name a request.
func Hash(argv []string, stdin []byte) string {
	h := sha256.New()
	for _, argument := range argv {
		h.Write([]byte(argument))
		h.Write([]byte{0})
	}
	h.Write(stdin)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Record is the record of a program that ran.
func Record(role record.Role, argv []string, hash string, done process.Finished, err error) record.Call {
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
