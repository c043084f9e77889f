package temporal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
)

// counting is a model that notes when it was called, and by whom.
type counting struct {
	mu    sync.Mutex
	calls []time.Time
	by    map[string]time.Time // the last call
}

func (c *counting) of(who string) model.Model { return caller{c, who} }

type caller struct {
	*counting
	who string
}

func (c caller) Call(context.Context, *model.Request) (*model.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, time.Now())
	c.by[c.who] = time.Now()
	return &model.Reply{}, nil
}

// last is when a caller called last.
func (c *counting) last(who string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[who]
}

// most is the largest number of calls in a minute.
func (c *counting) most() (most int) {
	for i, j := 0, 0; j < len(c.calls); j++ {
		for c.calls[j].Sub(c.calls[i]) >= time.Minute {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// The limits of a model hold for all workers together, minute for minute: while one is alone,
// when another comes, when that is cut from the server, and when that comes back. One that is
// cut calls no more once its lease is over.
func TestLimitsOfTwoWorkers(t *testing.T) {
	for name, limits := range map[string]command.Limits{"rpm": {Requests: 120}, "tpm": {Tokens: 120_000}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const life = 30 * time.Second
				book := &Book{Life: life, Models: []ModelLimits{{"m", limits}}}
				server := &counting{by: map[string]time.Time{}}
				var mu sync.Mutex
				var cut atomic.Bool
				ctx, cancel := context.WithCancel(t.Context())
				var callers sync.WaitGroup
				join := func(who string) *lease {
					gate := pace.NewGate(pace.GateOptions{Requests: limits.Requests, Tokens: limits.Tokens})
					gate.Share(pace.Share{})
					ask := func(_ context.Context, r *Request) (Reply, error) {
						if who == "b" && cut.Load() {
							return Reply{}, errors.New("no server")
						}
						mu.Lock()
						defer mu.Unlock()
						return book.Answer(r, time.Now()), nil
					}
					m := gate.Wrap(server.of(who))
					for range 8 {
						callers.Go(func() {
							for ctx.Err() == nil {
								_, _ = m.Call(ctx, &model.Request{MaxOutputTokens: 1000})
							}
						})
					}
					return newLease(ask, who, "", pace.NewBudget(pace.Suite, pace.Limits{}), map[string]*pace.Gate{"m": gate}, life, func(string) {})
				}
				a := join("a")
				time.Sleep(3 * time.Minute)
				b := join("b")
				time.Sleep(3 * time.Minute)
				cut.Store(true)
				cutAt := time.Now()
				time.Sleep(3 * time.Minute)
				if late := server.last("b").Sub(cutAt); late > life {
					t.Errorf("the worker that was cut called %v later; its lease lived %v", late, life)
				}
				cut.Store(false)
				back := time.Now()
				time.Sleep(3 * time.Minute)
				if !server.last("b").After(back) {
					t.Error("the worker that came back called no more")
				}
				cancel()
				callers.Wait()
				a.Close()
				b.Close()
				if most, all := server.most(), len(server.calls); most > 120 || all < 12*120*7/10 {
					t.Errorf("up to %d calls in a minute and %d in 12 minutes, want at most 120 in each and most of that", most, all)
				}
			})
		})
	}
}

// What was lent is given back when the last run in progress ends, and not before: a run may be about to use it. The
// ledger then knows what was spent.
func TestALoanIsGivenBackAfterTheLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const life = 30 * time.Second
		book := &Book{Left: calls(1000), Life: life}
		var mu sync.Mutex
		ask := func(_ context.Context, r *Request) (Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			return book.Answer(r, time.Now()), nil
		}
		unspent := func() int64 {
			mu.Lock()
			defer mu.Unlock()
			a := &book.Accounts[0]
			return a.Lent.Calls - a.Paid.Calls
		}
		paid := func() int64 {
			mu.Lock()
			defer mu.Unlock()
			return book.Accounts[0].Paid.Calls
		}
		budget := pace.NewBudget(pace.Suite, calls(1000))
		l := newLease(ask, "w", "", budget, nil, life, func(string) {})
		budget.Borrow(l)
		call := func() {
			settle, _, err := pace.BudgetCall(t.Context(), budget)
			check(t, err)
			settle(false)
		}
		for n := range int64(3) {
			l.enter()
			l.enter()
			call()
			l.rest() // as another run's that ended a moment ago
			if unspent() == 0 {
				t.Error("all is given back while two runs are in progress")
			}
			l.exit()
			if unspent() == 0 {
				t.Error("all is given back while a run is in progress")
			}
			call()
			l.exit()
			if paid := paid(); paid != 2*(n+1) || unspent() != 0 {
				t.Errorf("after the last run the ledger has %d calls; %d are lent and not spent", paid, unspent())
			}
		}
		l.Close()
	})
}
