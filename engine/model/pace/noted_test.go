package pace

import (
	"context"
	"errors"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// failing is a model whose calls end in an error.
type failingBeneath struct{ err error }

func (f failingBeneath) Call(context.Context, *model.Request) (*model.Reply, error) {
	return nil, f.err
}

// What a run's own budget made of a call without an answer can be recorded: it
// does not depend on what is left of the budget.
func TestARunsBudgetTellsOfFailedCalls(t *testing.T) {
	request := &model.Request{Messages: []model.Message{{Role: "user", Text: "a prompt of some length"}}, MaxOutputTokens: 10}
	known := record.Usage{Calls: 1, InputTokens: 3}
	for name, c := range map[string]struct {
		err     error
		tokens  int64 // of the budget; 0: no limit
		charged func(reserved record.Usage) record.Usage
	}{
		"a call that used something known": {&model.CallError{Cause: &record.Error{Class: record.ContextLength}, Usage: known}, 0, func(record.Usage) record.Usage { return known }},
		"a call nobody knows of":           {model.Fail(record.Network, "gone", 0), 0, func(reserved record.Usage) record.Usage { return reserved }},
		"one with little room":             {model.Fail(record.Network, "gone", 0), 32, func(reserved record.Usage) record.Usage { return reserved }},
		"an agent that ended":              {model.ErrEnded, 0, func(record.Usage) record.Usage { return record.Usage{} }},
		"a refusal":                        {model.ErrEnded, 1, func(record.Usage) record.Usage { return record.Usage{} }},
	} {
		budget := NewBudget(Run, Limits{Tokens: c.tokens})
		_, err := LimitRun(failingBeneath{c.err}, LimitOptions{}).Call(WithRun(t.Context(), budget), request)
		var told *model.Unanswered
		if !errors.As(err, &told) {
			t.Errorf("%s: the error %v does not tell", name, err)
			continue
		}
		if told.Reserved.OutputTokens != 10 || told.Reserved.InputTokens == 0 || told.Charged != c.charged(told.Reserved) || budget.Spent() != told.Charged {
			t.Errorf("%s: reserved %+v, charged %+v, spent %+v", name, told.Reserved, told.Charged, budget.Spent())
		}
		if refused := c.tokens == 1; errors.Is(err, model.ErrRefused) != refused {
			t.Errorf("%s: refused is %v", name, !refused)
		}
	}
}
