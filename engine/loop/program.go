package loop

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// askProgram lets a program judge the output, for instance by running tests. It
// reads task, trial, iteration and output as JSON and writes one JSON object;
// an exit status other than 0 is an error, not a verdict.
func (e *DeclaredEvaluator) askProgram(ctx context.Context, trial *Trial) (answer, record.Call, error) {
	stdin, err := expr.AppendJSON(nil, agent.Judged(agent.Task(trial.Task), trial.Trial, trial.Iteration, trial.Output))
	if err != nil {
		return answer{}, record.Call{Role: record.RoleJudge}, failed(ctx, "writing the program's input", err)
	}
	argv := e.Program.Argv
	done, err := e.Program.Run(ctx, stdin)
	call := agent.ProgramCall(record.RoleJudge, argv, agent.Hash(argv, stdin), done, err)
	if err != nil {
		return answer{}, call, err
	}
	said, err := parse(string(done.Stdout), expr.ParseJSON)
	if err == nil && said.confidence == nil && said.passed == nil && e.needsVerdict() {
		err = errors.New("it has neither confidence nor passed")
	}
	if err != nil {
		call.Error = &record.Error{Class: record.BadResponse, Message: "reading the answer of the evaluation's program: " + err.Error()}
		return answer{}, call, call.Error
	}
	return said, call, nil
}

// needsVerdict says that nothing but the program can say what the output is worth.
func (e *DeclaredEvaluator) needsVerdict() bool {
	return e.Spec.Confidence == nil && e.Spec.Passed == nil && len(e.Spec.Checks) == 0
}
