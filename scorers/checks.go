package scorers

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// checks takes the score from what the loop's own evaluation said: whether the named check passed, or the weighted
// share of those that did. What was not evaluated is unscored.
func checks(c *compiler) comparison {
	name := c.spec.Check
	return func(_ context.Context, s *subject) verdict {
		it := s.judged()
		switch {
		case it == nil || !it.Evaluated():
			return unscored("iteration %d was not evaluated", s.n)
		case len(it.Evaluation.Checks) == 0:
			return unscored("the evaluation has no checks")
		case name != "":
			return oneCheck(it.Evaluation.Checks, name)
		}
		return allChecks(it.Evaluation.Checks)
	}
}

func oneCheck(list []record.Check, name string) verdict {
	for i := range list {
		switch check := &list[i]; {
		case check.Name != name:
		case check.Passed:
			return verdict{value: 1, answer: "passed"}
		default:
			return verdict{answer: "failed", explanation: short(check.Feedback, maxAnswer)}
		}
	}
	return unscored("the evaluation has no check %q", name)
}

func allChecks(list []record.Check) verdict {
	var failing []string
	for i := range list {
		if !list[i].Passed {
			failing = append(failing, list[i].Name)
		}
	}
	v := verdict{value: record.Share(list), answer: fmt.Sprintf("%d of %d", len(list)-len(failing), len(list))}
	if len(failing) > 0 {
		v.explanation = short("failing: "+strings.Join(failing, ", "), maxAnswer)
	}
	return v
}
