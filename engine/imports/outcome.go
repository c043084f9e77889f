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

// byAgent are the reasons that an agent, or its user, may end a run for.
var byAgent = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked, record.ReasonCapability, record.ReasonAgentEnded,
	record.ReasonUserEnded,
}

// cuts are all other reasons that a log may give, and their classes.
var cuts = map[record.Reason]record.Class{
	record.ReasonPassed: record.ByCondition, record.ReasonConfidence: record.ByCondition, record.ReasonRepeated: record.ByCondition,
	record.ReasonConsecutive: record.ByCondition, record.ReasonNoImprovement: record.ByCondition, record.ReasonTimeout: record.ByCondition,
	record.ReasonMaxIterations: record.ByCondition, record.ReasonMaxSteps: record.ByCondition,
	record.ReasonCircuitBreaker: record.ByGuard, record.ReasonStagnation: record.ByGuard, record.ReasonRepeatedOutput: record.ByGuard,
	record.ReasonDegradation: record.ByGuard, record.ReasonBudgetTokens: record.ByGuard, record.ReasonBudgetCalls: record.ByGuard,
	record.ReasonBudgetCost: record.ByGuard, record.ReasonAbsolute: record.ByGuard, record.ReasonTooManyErrors: record.ByGuard,
	record.ReasonCancelled: record.ByBudget, record.ReasonError: record.ByFault, record.ReasonEnvironment: record.ByFault,
	record.ReasonUnknown: record.ByUnknown,
}

// end says how a run ended: by the rules that the log was made under, by the
// agent, or because something else cut it.
func (b *builder) end(run *record.Run, recorded *Recorded, task *spec.Task, s *scope) error {
	ended, _, err := truth(b.mapping.Ended, s)
	if err != nil {
		return err
	}
	gaveUp, _, err := truth(b.mapping.GaveUp, s)
	if err != nil {
		return err
	}
	reason, err := b.reason(s)
	if err != nil {
		return err
	}
	if ended = ended || gaveUp; ended && len(run.Iterations) > 0 {
		why := record.ReasonAgentEnded
		switch {
		case gaveUp:
			why = record.ReasonGaveUp
		case slices.Contains(byAgent, reason):
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
	if _, known := cuts[reason]; !known {
		reason = record.ReasonUnknown
	}
	o := state.StopBefore(reason)
	o.Status, o.Class, o.Fired = record.Completed, cuts[reason], "the log"
	return o
}

func (b *builder) reason(s *scope) (record.Reason, error) {
	name, err := text(b.mapping.Stop, s)
	reason := record.Reason(name)
	if _, cut := cuts[reason]; err != nil || name == "" || cut || slices.Contains(byAgent, reason) {
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
