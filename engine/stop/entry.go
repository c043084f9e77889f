package stop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// entry is an iteration of a history.
type entry struct {
	*record.Iteration
	value  any
	parsed bool
}

// evaluated: there is an evaluation to go by.
func (e *entry) evaluated() bool {
	return e.Evaluation != nil && e.Error == nil && e.Cut == "" && !e.Skipped
}

// judged: expressions can judge the output.
func (e *entry) judged() bool { return e.Error == nil && e.Cut == "" && !e.Skipped }

// passedOver: conditions on outputs do not look at it.
func (e *entry) passedOver() bool { return e.Skipped || e.Cut != "" }

// counted: evaluated or failed, so it improves or it does not.
func (e *entry) counted() bool {
	return !e.passedOver() && (e.Evaluation != nil || e.Error != nil)
}

// output is the parsed output, null where there is none.
func (e *entry) output() any {
	if !e.parsed {
		e.parsed = true
		if len(e.Output) > 0 {
			e.value, _ = expr.ParseJSON(e.Output)
		}
	}
	return e.value
}

// share is the weighted share of checks that passed, 0 without checks.
func (e *entry) share() float64 {
	var passed, all float64
	for i := range e.Evaluation.Checks {
		c := &e.Evaluation.Checks[i]
		weight := c.Weight
		if weight == 0 {
			weight = 1
		}
		all += weight
		if c.Passed {
			passed += weight
		}
	}
	if all == 0 {
		return 0
	}
	return passed / all
}
