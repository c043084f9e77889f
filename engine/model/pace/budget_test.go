package pace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// paid is the settlement of an answered call.
func paid(u record.Usage) record.Settlement {
	return record.Settlement{Paid: u, Cause: record.CauseAnswered}
}

func tokens(n int64) record.Usage { return record.Usage{Calls: 1, OutputTokens: n} }

// exactly is a call whose worst is known.
func exactly(u record.Usage) Worst { return Worst{Expected: u, Bound: u} }

// A budget is used up: as long as single calls fit, nothing is left that a call
// would have fitted into.
func TestABudgetIsUsedUp(t *testing.T) {
	suite := NewBudget(Suite, Limits{Tokens: 1000})
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for {
				r, err := suite.Reserve(context.Background(), exactly(tokens(100)))
				if err != nil {
					return
				}
				r.Settle(paid(tokens(10)))
			}
		})
	}
	workers.Wait()
	if spent := suite.Spent().Tokens(); spent <= 900 || spent > 1000 {
		t.Errorf("spent %d of 1000 with calls of at most 100", spent)
	}
}

func TestF40_ReserveWaitsForCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Suite, Limits{Tokens: 100})
		first, err := b.Reserve(t.Context(), exactly(tokens(80)))
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), exactly(tokens(80)))
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		first.Settle(paid(tokens(20)))
		if err := <-got; err != nil {
			t.Errorf("no room after the first settled: %v", err)
		}
	})
}

func TestReserveStopsWaitingWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Suite, Limits{Calls: 1})
		if _, err := b.Reserve(t.Context(), exactly(tokens(1))); err != nil {
			t.Fatal(err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(ctx, exactly(tokens(1)))
			got <- err
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-got; err != cause {
			t.Errorf("got %v", err)
		}
		if b.Reserved().Calls != 1 {
			t.Errorf("%d calls are reserved, want only the first", b.Reserved().Calls)
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		owner  Owner
		limits Limits
		worst  record.Usage
		reason record.Reason
		what   string
	}{
		"calls":  {Run, Limits{Calls: 1}, record.Usage{Calls: 2}, record.ReasonBudgetCalls, "the budget of the run has no room for another call: calls"},
		"tokens": {Run, Limits{Tokens: 10}, tokens(11), record.ReasonBudgetTokens, "the budget of the run has no room for another call: tokens"},
		"cost":   {Run, Limits{Cost: 10}, record.Usage{Cost: 11}, record.ReasonBudgetCost, "the budget of the run has no room for another call: cost"},
		"suite":  {Suite, Limits{Cost: 10}, record.Usage{Cost: 11}, record.ReasonSuiteBudget, "the budget of the suite has no room for another call: cost"},
	} {
		_, err := NewBudget(c.owner, c.limits).Reserve(t.Context(), exactly(c.worst))
		var refused *Refused
		if !errors.As(err, &refused) || refused.StopReason() != c.reason || err.Error() != c.what {
			t.Errorf("%s: got %v", name, err)
		}
		if !errors.Is(err, ErrBudget) || !errors.Is(err, model.ErrRefused) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
}

func TestOnlyTheFirstSettlementCounts(t *testing.T) {
	b := NewBudget(Suite, Limits{Calls: 2})
	r, err := b.Reserve(t.Context(), exactly(tokens(1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(paid(tokens(1)))
	r.Settle(paid(tokens(100)))
	if b.Reserved() != (record.Usage{}) || b.Spent() != tokens(1) {
		t.Errorf("spent %+v, reserved %+v", b.Spent(), b.Reserved())
	}
}

// A call that fits only as expected is made when no other is in flight, so that
// no more than its own excess can be too much.
func TestF40_ACallThatMayExceedIsMadeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Suite, Limits{Tokens: 100})
		first, _ := b.Reserve(t.Context(), exactly(tokens(30)))
		got := make(chan record.Usage, 1)
		go func() {
			r, err := b.Reserve(t.Context(), Worst{Expected: tokens(60), Bound: tokens(90)})
			if err != nil {
				t.Error(err)
			}
			got <- r.Worst()
		}()
		synctest.Wait()
		if len(got) > 0 {
			t.Fatal("it was made beside another one")
		}
		first.Settle(paid(tokens(30)))
		if alone := <-got; alone != tokens(60) {
			t.Errorf("%+v is reserved", alone)
		}
	})
}

func TestF40_AnOvershootIsTold(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   *Overshoot
	}{
		{Limits{}, nil},
		{Limits{Calls: 2, Tokens: 20, Cost: 50}, nil},
		{Limits{Tokens: 19}, &Overshoot{Tokens, 19, 20}},
		{Limits{Tokens: 20, Cost: 49}, &Overshoot{Cost, 49, 50}},
		{Limits{Calls: 1, Cost: 50}, &Overshoot{Calls, 1, 2}},
	} {
		b := NewBudget(Suite, c.limits)
		b.Charge(record.Usage{Calls: 2, InputTokens: 8, OutputTokens: 12, Cost: 50}, record.Usage{})
		if got := b.Overshoot(); (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("of %+v: %+v, want %+v", c.limits, got, c.want)
		}
	}
}

// P8: a budget of money and a call of unknown price do not go together.
func TestF41_UnpricedCallsMeetNoBudgetOfMoney(t *testing.T) {
	worst := record.Usage{Calls: 1, Unpriced: 1}
	if _, err := NewBudget(Suite, Limits{Cost: 1}).Reserve(t.Context(), exactly(worst)); !errors.Is(err, ErrUnpriced) {
		t.Errorf("got %v", err)
	}
	if _, err := NewBudget(Suite, Limits{Calls: 1}).Reserve(t.Context(), exactly(worst)); err != nil {
		t.Errorf("a budget of calls refuses: %v", err)
	}
}

func TestF3_WhatEarlierSessionsSpentCounts(t *testing.T) {
	for name, c := range map[string]struct {
		limits    Limits
		earlier   record.Usage
		exhausted bool
	}{
		"nothing":           {Limits{Calls: 3}, record.Usage{}, false},
		"room is left":      {Limits{Calls: 3}, record.Usage{Calls: 2}, false},
		"calls":             {Limits{Calls: 3}, record.Usage{Calls: 3}, true},
		"tokens":            {Limits{Tokens: 10}, record.Usage{InputTokens: 6, OutputTokens: 4}, true},
		"cost":              {Limits{Cost: 10}, record.Usage{Cost: 11}, true},
		"there is no limit": {Limits{}, record.Usage{Calls: 1e9, Cost: 1e15}, false},
	} {
		b := NewBudget(Suite, c.limits)
		b.Charge(c.earlier, record.Usage{})
		if got := b.Exhausted(); got != c.exhausted {
			t.Errorf("%s: exhausted %v", name, got)
		}
		if b.Spent() != c.earlier {
			t.Errorf("%s: spent %+v", name, b.Spent())
		}
	}
	b := NewBudget(Suite, Limits{Calls: 3})
	b.Charge(record.Usage{Calls: 2}, record.Usage{})
	if _, err := b.Reserve(t.Context(), exactly(record.Usage{Calls: 1})); err != nil {
		t.Error(err)
	}
	if _, err := b.Reserve(t.Context(), exactly(record.Usage{Calls: 2})); !errors.Is(err, ErrBudget) {
		t.Error(err)
	}
}

// What is reserved is in the ledger before the call is made, and what became of the
// call once it is over: paid, in doubt, or released.
func TestF3_ALedgerKnowsOfACallBeforeItIsMade(t *testing.T) {
	dir := t.TempDir()
	balance, err := record.ReadLedger(dir, &record.Manifest{})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := record.OpenLedger(dir, balance)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBudget(Suite, Limits{Calls: 10})
	b.Keep(ledger)
	call := record.Usage{Calls: 1, OutputTokens: 20}
	told := func() (paid, doubt int64) {
		now, err := record.ReadLedger(dir, &record.Manifest{})
		if err != nil {
			t.Fatal(err)
		}
		return now.Paid.OutputTokens, now.InDoubt().OutputTokens
	}
	var all []int64
	for _, s := range []record.Settlement{paid(tokens(5)), {Doubt: call, Cause: record.Cause(record.CallTimeout)}, {Cause: record.CauseUnsent}} {
		reservation, err := b.Reserve(t.Context(), Worst{Expected: call, Bound: call})
		if err != nil {
			t.Fatal(err)
		}
		before, reserved := told()
		reservation.Settle(s)
		after, doubt := told()
		all = append(all, before, reserved, after, doubt)
	}
	if want := []int64{0, 20, 5, 0, 5, 20, 5, 20, 5, 40, 5, 20}; !slices.Equal(all, want) {
		t.Errorf("told %v, want %v", all, want)
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(t.Context(), Worst{Expected: call, Bound: call}); err == nil {
		t.Error("a call that no ledger can tell of is made")
	}
}
