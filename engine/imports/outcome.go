package imports

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Recorded is the loop that stands for the agent of a log.
type Recorded struct {
	Loop  *spec.Loop
	rules *stop.Rules
}

// byAgent are the reasons that an agent may end a run for.
var byAgent = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked, record.ReasonCapability, record.ReasonAgentEnded,
}

// reasons are all others that a log may give.
var reasons = []record.Reason{
	record.ReasonPassed, record.ReasonConfidence, record.ReasonRepeated, record.ReasonConsecutive, record.ReasonNoImprovement,
	record.ReasonTimeout, record.ReasonMaxIterations, record.ReasonCircuitBreaker, record.ReasonStagnation,
	record.ReasonRepeatedOutput, record.ReasonDegradation, record.ReasonBudgetTokens, record.ReasonBudgetCalls,
	record.ReasonBudgetCost, record.ReasonAbsolute, record.ReasonCancelled, record.ReasonError,
}

// end says how a run ended: by the rules that the log was made under, by the
// agent, or because something else cut it.
func (b *builder) end(run *record.Run, recorded *Recorded, task *spec.Task, s *scope) error {
	ended, _, err := truth(b.mapping.Ended, s)
	if err != nil {
		return err
	}
	reason, err := b.reason(s)
	if err != nil {
		return err
	}
	if ended && len(run.Iterations) > 0 {
		why := record.ReasonAgentEnded
		if slices.Contains(byAgent, reason) {
			why = reason
		}
		run.Iterations[len(run.Iterations)-1].Ended = &record.Ended{Reason: string(why)}
	}
	run.Outcome = b.decide(run, recorded, task, reason, ended)
	if success, told, err := truth(b.mapping.Success, s); err != nil || told {
		run.Outcome.Success = success
		return err
	}
	return nil
}

// decide folds the run under its rules. A rule that would have ended it earlier
// contradicts the log.
func (b *builder) decide(run *record.Run, recorded *Recorded, task *spec.Task, reason record.Reason, ended bool) record.Outcome {
	state := recorded.rules.Start(task, paramOf(recorded.Loop))
	for i := range run.Iterations {
		d := state.Fold(&run.Iterations[i])
		if !d.Stop {
			continue
		}
		if i == len(run.Iterations)-1 {
			return d.Outcome
		}
		if b.contradicts == 0 {
			b.contradicts = i + 1
		}
	}
	if ended {
		return state.StopBefore(record.ReasonAgentEnded)
	}
	o := state.StopBefore(record.ReasonMaxIterations)
	o.Class, o.Fired = record.ByCondition, "the log"
	if reason != "" && !slices.Contains(byAgent, reason) {
		o.Reason = reason
	}
	return o
}

func (b *builder) reason(s *scope) (record.Reason, error) {
	name, err := text(b.mapping.Stop, s)
	reason := record.Reason(name)
	if err != nil || name == "" || slices.Contains(byAgent, reason) || slices.Contains(reasons, reason) {
		return reason, err
	}
	return "", wrong(b.mapping.Stop, "%q is no stop reason", name)
}

// paramOf is what expressions see as param: nothing, rather than a nil object.
func paramOf(l *spec.Loop) any {
	if l.Param == nil {
		return nil
	}
	return l.Param
}
