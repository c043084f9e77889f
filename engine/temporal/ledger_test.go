package temporal

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

func calls(n int64) pace.Limits { return pace.Limits{Calls: n} }

// Whatever workers ask, spend, give back, and whichever are lost, what is lent and spent
// never exceeds the budget, and what is lost counts as spent.
func TestBookNeverExceedsTheBudget(t *testing.T) {
	for seed := range uint64(100) {
		chance := rand.New(rand.NewPCG(seed, 1))
		limit := chance.Int64N(500) + 1
		b := &Book{Left: calls(limit), Life: time.Minute}
		now := time.Unix(0, 0)
		type worker struct {
			Request
			lent int64
		}
		workers := make([]worker, 4)
		for i := range workers {
			workers[i].Account = string(rune('a' + i))
		}
		var spent int64
		for range 200 {
			w := &workers[chance.IntN(len(workers))]
			now = now.Add(time.Duration(chance.IntN(30)) * time.Second)
			used := chance.Int64N(w.lent + 1)
			w.lent, spent = w.lent-used, spent+used
			w.Paid.Calls += used
			back := chance.Int64N(w.lent + 1)
			w.lent -= back
			w.Back = calls(back)
			w.Want, w.Number = calls(chance.Int64N(5)), w.Number+1
			reply := b.Answer(&w.Request, now)
			if again := b.Answer(&w.Request, now); again.Lent != reply.Lent || again.Lost != reply.Lost {
				t.Fatalf("seed %d: asked twice, the book answers %+v and %+v", seed, reply, again)
			}
			if reply.Lost {
				*w = worker{Request: Request{Account: w.Account + "'"}}
				continue
			}
			w.lent += reply.Lent.Calls
		}
		total := b.Totals()
		if all := total.Paid.Calls + total.Doubt.Calls; all > limit || all < spent || total.Paid.Calls > spent {
			t.Fatalf("seed %d: %d calls are paid and %d in doubt; %d were made, of %d", seed, total.Paid.Calls, total.Doubt.Calls, spent, limit)
		}
	}
}

// Who wants more than there is waits as long as others may give back, and then has what is left.
func TestBookWaitsForOthers(t *testing.T) {
	b := &Book{Left: calls(10), Life: time.Minute}
	now := time.Unix(0, 0)
	if r := b.Answer(&Request{Account: "a", Number: 1, Want: calls(8)}, now); r.Lent.Calls != 8 {
		t.Fatalf("lent %+v", r)
	}
	if r := b.Answer(&Request{Account: "b", Number: 1, Want: calls(5)}, now); r.Lent != (pace.Limits{}) || r.Final || !r.Short {
		t.Fatalf("b, which wants 5 of the 2 that are free, got %+v", r)
	}
	if r := b.Answer(&Request{Account: "a", Number: 2, Paid: record.Usage{Calls: 4}, Back: calls(4)}, now); !r.Short {
		t.Errorf("a does not learn that others wait: %+v", r)
	}
	if r := b.Answer(&Request{Account: "b", Number: 2, Want: calls(5)}, now); r.Lent.Calls != 5 {
		t.Errorf("b got %+v, want 5 of the 6 that are free", r)
	}
	if r := b.Answer(&Request{Account: "a", Number: 3, Paid: record.Usage{Calls: 4}, Leaves: true}, now); r.Lost {
		t.Error("a is lost")
	}
	b.Answer(&Request{Account: "b", Number: 3, Paid: record.Usage{Calls: 6}}, now)
	if r := b.Answer(&Request{Account: "b", Number: 4, Paid: record.Usage{Calls: 6}, Want: calls(1)}, now); !r.Final {
		t.Errorf("nothing is left, and b got %+v", r)
	}
}

// The shares of a model's limits never sum up to more than there is: who comes has to wait
// until all others know.
func TestBookShares(t *testing.T) {
	b := &Book{Life: time.Minute, Models: []ModelLimits{{"m", command.Limits{Requests: 100, Parallel: 3}}}}
	now := time.Unix(0, 0)
	numbers := map[string]int64{}
	ask := func(name string, leaves bool) (command.Limits, bool) {
		numbers[name]++
		r := b.Answer(&Request{Account: name, Number: numbers[name], Asks: true, Leaves: leaves}, now)
		share, ok := r.Shares["m"]
		return share, ok
	}
	if share, ok := ask("a", false); !ok || share.Requests != 100 || share.Parallel != 3 {
		t.Fatalf("alone a has %+v", share)
	}
	if share, ok := ask("b", false); ok {
		t.Fatalf("b has %+v, and a does not know of it", share)
	}
	if share, _ := ask("a", false); share.Requests != 50 || share.Parallel != 2 {
		t.Errorf("a has %+v of two", share)
	}
	if share, _ := ask("b", false); share.Requests != 50 || share.Parallel != 1 {
		t.Errorf("b has %+v of two", share)
	}
	ask("a", true)
	if share, _ := ask("b", false); share.Requests != 100 || share.Parallel != 3 {
		t.Errorf("after a has left b has %+v", share)
	}
	now = now.Add(2 * time.Minute)
	if share, _ := ask("c", false); share.Requests != 100 {
		t.Errorf("c has %+v, though b is lost", share)
	}
	if r := b.Answer(&Request{Account: "b", Number: 99}, now); !r.Lost {
		t.Error("b does not learn that it was given up")
	}
}
