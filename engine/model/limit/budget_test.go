package limit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

func tokens(n int64) record.Usage { return record.Usage{Calls: 1, OutputTokens: n} }

// F40, P7: however many calls run at once, spent and reserved together never
// exceed the limit, and in the end nothing stays reserved.
func TestParallelCallsNeverOvershoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Calls:  rapid.Int64Range(0, 200).Draw(t, "calls"),
			Tokens: rapid.Int64Range(0, 5000).Draw(t, "tokens"),
			Cost:   record.Money(rapid.Int64Range(0, 5000).Draw(t, "cost")),
		}
		suite := NewBudget(Suite, limits, nil)
		worst := rapid.SliceOfN(rapid.Int64Range(1, 100), 64, 64).Draw(t, "worst")
		over := &atomic.Bool{}
		var workers sync.WaitGroup
		for _, most := range worst {
			workers.Go(func() { spend(suite, most, over) })
		}
		workers.Wait()
		spent, reserved := suite.Spent(), suite.Reserved()
		if over.Load() || limits.short(spent) != "" {
			t.Fatalf("spent %+v of %+v", spent, limits)
		}
		if reserved != (record.Usage{}) {
			t.Fatalf("%+v stays reserved", reserved)
		}
	})
}

// spend makes up to eight calls, each using less than its worst.
func spend(b *Budget, most int64, over *atomic.Bool) {
	run := NewBudget(Run, Limits{Calls: 8}, b)
	for used := most; ; used = used * 2 / 3 {
		worst := record.Usage{Calls: 1, OutputTokens: most, Cost: record.Money(most)}
		r, err := run.Reserve(context.Background(), worst)
		if err != nil {
			return
		}
		if b.limits.short(b.Spent()) != "" {
			over.Store(true)
		}
		r.Settle(record.Usage{Calls: 1, OutputTokens: used, Cost: record.Money(used)})
	}
}

// A budget is used up: as long as single calls fit, nothing is left that a call
// would have fitted into.
func TestABudgetIsUsedUp(t *testing.T) {
	suite := NewBudget(Suite, Limits{Tokens: 1000}, nil)
	over := &atomic.Bool{}
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for {
				r, err := suite.Reserve(context.Background(), tokens(100))
				if err != nil {
					return
				}
				r.Settle(tokens(10))
			}
		})
	}
	workers.Wait()
	if spent := suite.Spent().Tokens(); over.Load() || spent <= 900 || spent > 1000 {
		t.Errorf("spent %d of 1000 with calls of at most 100", spent)
	}
}

func TestReserveWaitsForCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Suite, Limits{Tokens: 100}, nil)
		first, err := b.Reserve(t.Context(), tokens(80))
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), tokens(80))
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		first.Settle(tokens(20))
		if err := <-got; err != nil {
			t.Errorf("no room after the first settled: %v", err)
		}
	})
}

func TestReserveStopsWaitingWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := NewBudget(Run, Limits{}, NewBudget(Suite, Limits{Calls: 1}, nil))
		if _, err := run.Reserve(t.Context(), tokens(1)); err != nil {
			t.Fatal(err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := run.Reserve(ctx, tokens(1))
			got <- err
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-got; err != cause {
			t.Errorf("got %v", err)
		}
		if run.Reserved().Calls != 1 {
			t.Errorf("the run keeps %d calls reserved", run.Reserved().Calls)
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
		_, err := NewBudget(c.owner, c.limits, nil).Reserve(t.Context(), c.worst)
		var refused *Refused
		if !errors.As(err, &refused) || refused.StopReason() != c.reason || err.Error() != c.what {
			t.Errorf("%s: got %v", name, err)
		}
		if !errors.Is(err, ErrBudget) || !errors.Is(err, model.ErrRefused) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
}

func TestARefusalOfTheParentReleasesTheChild(t *testing.T) {
	suite := NewBudget(Suite, Limits{Calls: 1}, nil)
	run := NewBudget(Run, Limits{Calls: 5}, suite)
	r, err := run.Reserve(t.Context(), tokens(1))
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(tokens(1))
	r.Settle(tokens(100)) // only the first counts
	if _, err = run.Reserve(t.Context(), tokens(1)); !errors.Is(err, ErrBudget) {
		t.Errorf("got %v", err)
	}
	if run.Reserved() != (record.Usage{}) || run.Spent() != tokens(1) || suite.Spent() != tokens(1) {
		t.Errorf("run %+v %+v, suite %+v", run.Spent(), run.Reserved(), suite.Spent())
	}
}

// F41, P8: a budget of money and a call of unknown price do not go together.
func TestUnpricedCallsMeetNoBudgetOfMoney(t *testing.T) {
	worst := record.Usage{Calls: 1, Unpriced: 1}
	if _, err := NewBudget(Suite, Limits{Cost: 1}, nil).Reserve(t.Context(), worst); !errors.Is(err, ErrUnpriced) {
		t.Errorf("got %v", err)
	}
	if _, err := NewBudget(Suite, Limits{Calls: 1}, nil).Reserve(t.Context(), worst); err != nil {
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
		b := NewBudget(Suite, c.limits, nil)
		if got := b.Charge(c.earlier); got != c.exhausted {
			t.Errorf("%s: exhausted %v", name, got)
		}
		if b.Spent() != c.earlier {
			t.Errorf("%s: spent %+v", name, b.Spent())
		}
	}
	b := NewBudget(Suite, Limits{Calls: 3}, nil)
	b.Charge(record.Usage{Calls: 2})
	if _, err := b.Reserve(t.Context(), record.Usage{Calls: 1}); err != nil {
		t.Error(err)
	}
	if _, err := b.Reserve(t.Context(), record.Usage{Calls: 2}); !errors.Is(err, ErrBudget) {
		t.Error(err)
	}
}
