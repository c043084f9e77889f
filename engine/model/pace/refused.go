package pace

import (
	"errors"
	"fmt"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// ErrBudget says that a budget has no room for a call.
var ErrBudget = errors.New("the budget is spent")

// ErrUnpriced says that a call of unknown price met a budget of money.
var ErrUnpriced = fmt.Errorf("%w: its price is unknown, and the budget limits the cost", model.ErrRefused)

// Refused is the ErrBudget of a budget that has no room for a call.
type Refused struct {
	Budget   *Budget
	Resource Resource
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the budget of the %s has no room for another call: %s", e.Budget.owner, e.Resource)
}

// Is makes it an ErrBudget, which is a call that was not made.
func (e *Refused) Is(target error) bool { return target == ErrBudget || target == model.ErrRefused }

// StopReason is the reason for which a run stops that meets the refusal.
func (e *Refused) StopReason() record.Reason {
	switch {
	case e.Budget.owner == Suite:
		return record.ReasonSuiteBudget
	case e.Resource == Calls:
		return record.ReasonBudgetCalls
	case e.Resource == Tokens:
		return record.ReasonBudgetTokens
	}
	return record.ReasonBudgetCost
}
