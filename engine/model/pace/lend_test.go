package pace

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// pot lends a budget's room to several processes.
type pot struct {
	mu      sync.Mutex
	left    int64
	holders []*Budget
}

// holder is one of them.
type holder struct {
	*pot
	budget *Budget
}

// Lend implements Lender: twice what is asked for, where there is as much.
func (h holder) Lend(_ context.Context, more Limits) (lent, final bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == 0 {
		for _, b := range h.holders {
			h.left += b.GiveBack().Calls
		}
	}
	n := min(2*more.Calls, h.left)
	h.left -= n
	h.budget.Grant(Limits{Calls: n})
	return n > 0, n == 0, nil
}

// However many processes borrow, no more calls are made than there are, and what one has
// not used another can.
func TestBorrowersNeverExceedTheBudget(t *testing.T) {
	const limit = 100
	p := &pot{left: limit}
	for range 4 {
		b := NewBudget(Suite, Limits{Calls: limit})
		b.Borrow(holder{p, b})
		p.holders = append(p.holders, b)
	}
	chance := make([]*rand.Rand, len(p.holders))
	for i := range chance {
		chance[i] = rand.New(rand.NewPCG(uint64(i), 7))
	}
	made, refused := make([]int64, len(p.holders)), make([]bool, len(p.holders))
	var all sync.WaitGroup
	for i, b := range p.holders {
		all.Go(func() {
			for {
				r, err := b.Reserve(t.Context(), oneCall)
				if err != nil {
					refused[i] = errors.Is(err, ErrBudget)
					return
				}
				made[i]++
				r.Settle(paid(record.Usage{Calls: 1}))
				if chance[i].IntN(8) == 0 && i%2 == 0 {
					return // and what it holds is for the others
				}
			}
		})
	}
	all.Wait()
	sum, ended := int64(0), 0
	for i := range made {
		sum += made[i]
		if refused[i] {
			ended++
		}
	}
	if sum > limit || ended > 0 && sum < limit {
		t.Errorf("%d calls were made of %d, %d were refused", sum, limit, ended)
	}
}

// What is handed over counts as spent in the ledger until it is taken back.
func TestHandOverIsPutDown(t *testing.T) {
	dir := t.TempDir()
	ledger, _ := openLedger(t, dir)
	b := NewBudget(Suite, Limits{Calls: 10})
	b.Charge(record.Usage{Calls: 1}, record.Usage{})
	b.Keep(ledger)
	p := &pot{left: 9}
	if _, err := b.HandOver(holder{p, b}); err != nil {
		t.Fatal(err)
	}
	if worst := ledger.Spent().Total; worst.Calls != 9 {
		t.Errorf("%d calls are put down, want all 9 that are left", worst.Calls)
	}
	r, err := b.Reserve(t.Context(), oneCall)
	must(t, err)
	r.Settle(paid(record.Usage{Calls: 1}))
	b.TakeBack(record.Settlement{Paid: record.Usage{Calls: 3}, Doubt: record.Usage{Calls: 1}})
	if spent := b.Spent(); spent.Calls != 6 || doubtOf(b).Calls != 1 {
		t.Errorf("%d calls are spent, %d in doubt; want 6 and 1", spent.Calls, doubtOf(b).Calls)
	}
	if worst := ledger.Spent().Total; worst.Calls != 5 {
		t.Errorf("%d calls are put down at last, want 5", worst.Calls)
	}

	// The process is killed while the rest is handed over again.
	handed, err := b.HandOver(holder{p, b})
	if err != nil || handed.Calls != 4 {
		t.Fatalf("handed over %+v, %v", handed, err)
	}
	must(t, ledger.Close())
	ledger, balance := openLedger(t, dir)
	if balance.Doubt.Calls != 5 {
		t.Fatalf("in doubt are %+v; want 5 calls", balance.Doubt)
	}
	b = NewBudget(Suite, Limits{Calls: 10})
	b.Charge(balance.Paid, balance.Doubt)
	b.Keep(ledger)
	must(t, b.Recall(handed, record.Settlement{Paid: record.Usage{Calls: 2}}))
	must(t, ledger.Close())
	balance, err = record.ReadLedger(dir, &record.Manifest{})
	if err != nil || balance.Paid.Calls != b.Spent().Calls-1 || balance.Doubt.Calls != 1 || doubtOf(b).Calls != 1 {
		t.Errorf("the ledger has %+v paid and %+v in doubt (%v), the budget %+v", balance.Paid, balance.Doubt, err, b.Spent())
	}
}

// A gate without a share lets nothing start, and none after its share has ended.
func TestShareOfAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateOptions{Requests: 600})
		g.Share(Share{})
		calls := make(chan time.Time, 100)
		m := g.Wrap(answering(func() (*model.Reply, error) { calls <- time.Now(); return &model.Reply{}, nil }))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 30 {
			go m.Call(ctx, &model.Request{})
		}
		time.Sleep(time.Minute)
		if len(calls) != 0 {
			t.Fatalf("%d calls began without a share", len(calls))
		}
		g.Share(Share{Requests: 60, Until: time.Now().Add(10 * time.Second)})
		time.Sleep(time.Minute)
		if n := len(calls); n < 9 || n > 11 {
			t.Errorf("%d calls began in 10 s at 60 a minute", n)
		}
		g.Share(Share{Requests: 600, Until: time.Now().Add(time.Hour)})
		time.Sleep(time.Minute)
		if len(calls) != 30 {
			t.Errorf("%d calls began in all, want 30", len(calls))
		}
	})
}
