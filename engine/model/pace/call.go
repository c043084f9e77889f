package pace

import (
	"context"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// oneCall is all that is known beforehand of a call that is no model's.
var oneCall = Worst{Expected: record.Usage{Calls: 1}, Bound: record.Usage{Calls: 1}}

// Call reserves a call that is no model's, such as that of a remote agent, in the
// budget of the context's run and in the suite's, which may be nil. It is settled
// when the call is over, as one call; in the suite's as none where it is certain that
// nothing was sent. Reserved is what the record has of it under
// a budget of the run. The errors are those of models under a budget.
func BudgetCall(ctx context.Context, suite *Budget) (settle func(unsent bool), reserved *record.Usage, err error) {
	run, _ := ctx.Value(runKey{}).(*Budget)
	ofRun, err := run.one(ctx)
	if err != nil {
		return nil, nil, &model.Unanswered{Err: err, Reserved: oneCall.Expected}
	}
	ofSuite, err := suite.one(ctx)
	if err != nil {
		ofRun.Settle(record.Settlement{Cause: record.CauseNotMade})
		return nil, nil, err
	}
	if ofRun != nil {
		reserved = &record.Usage{Calls: 1}
	}
	return func(unsent bool) {
		one := record.Settlement{Paid: oneCall.Expected, Cause: record.CauseAnswered}
		ofRun.Settle(one)
		if unsent {
			one = record.Settlement{Cause: record.CauseUnsent}
		}
		ofSuite.Settle(one)
	}, reserved, nil
}

// one reserves one call; nil in no budget.
func (b *Budget) one(ctx context.Context) (*Reservation, error) {
	if b == nil {
		return nil, nil
	}
	return b.Reserve(ctx, oneCall)
}
