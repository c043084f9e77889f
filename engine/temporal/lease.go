package temporal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// lease is what one process has of a suite's budget and of the limits of its models. One
// goroutine talks to the ledger, one request after the other: a request that is not
// answered is sent again, under its number, until it is.
type lease struct {
	ask     func(context.Context, *Request) (Reply, error)
	account string
	session string // of the ledger; "": the current one
	budget  *pace.Budget
	gates   map[string]*pace.Gate
	warn    func(string)

	demands chan demand
	over    bool          // the session is over; only the goroutine reads it
	short   bool          // others wait for room; only the goroutine reads it
	stop    func()        // the goroutine
	ended   chan struct{} // closed once it has stopped

	mu     sync.Mutex
	number int64
	name   string       // of the account; another one after it was lost
	paid   record.Usage // what the process had spent when the account began
	doubt  record.Usage
	active int  // runs in progress
	holds  bool // something was lent since all was given back
}

// demand asks for more room, or, for none, to give back what no run uses.
type demand struct {
	more   pace.Limits
	answer chan Reply
}

// impatience is how soon a request is repeated, and how soon room is given back that others wait for.
const impatience = 300 * time.Millisecond

// renewals is how often a lease is renewed during its life.
const renewals = 6

// newLease opens an account in the ledger of a session.
func newLease(ask func(context.Context, *Request) (Reply, error), account, session string, budget *pace.Budget, gates map[string]*pace.Gate, life time.Duration, warn func(string)) *lease {
	l := &lease{
		ask: ask, account: account, name: account, session: session, budget: budget, gates: gates, warn: warn,
		demands: make(chan demand), ended: make(chan struct{}),
	}
	l.paid, l.doubt, _ = budget.Books() // what earlier sessions spent
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() {
		defer close(l.ended)
		l.keep(ctx, life/renewals)
	}()
	return l
}

// asking asks the ledger of a suite.
func asking(c client.Client, workflow string) func(context.Context, *Request) (Reply, error) {
	return func(ctx context.Context, r *Request) (reply Reply, err error) {
		err = update(ctx, c, workflow, updateLease, fmt.Sprintf("%s-%d", r.Account, r.Number), *r, &reply)
		return reply, err
	}
}

// Lend implements pace.Lender.
func (l *lease) Lend(ctx context.Context, more pace.Limits) (lent, final bool, err error) {
	reply, err := l.demand(ctx, more)
	if lent = reply.Lent != (pace.Limits{}); err != nil || lent || reply.Final {
		return lent, reply.Final, err
	}
	wait(ctx, impatience)
	return false, false, nil
}

// demand has the goroutine send a demand, and waits for the answer.
func (l *lease) demand(ctx context.Context, more pace.Limits) (Reply, error) {
	d := demand{more, make(chan Reply, 1)}
	select {
	case l.demands <- d:
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	case <-l.ended:
		return Reply{Final: true}, nil
	}
	select {
	case reply := <-d.answer:
		return reply, nil
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// wait waits for a while, or until the context ends.
func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// keep renews the lease and answers demands, until the lease is closed or its session is over.
func (l *lease) keep(ctx context.Context, every time.Duration) {
	l.send(ctx, &Request{})
	for !l.over {
		pause := every
		if l.short {
			pause = min(every, impatience)
		}
		timer := time.NewTimer(pause)
		select {
		case d := <-l.demands:
			r := &Request{Want: d.more}
			if d.more == (pace.Limits{}) {
				r.Back = l.unused()
			}
			d.answer <- l.send(ctx, r)
		case <-timer.C:
			r := &Request{}
			if l.short {
				r.Back = l.budget.GiveBack()
			}
			l.send(ctx, r)
		case <-ctx.Done():
			timer.Stop()
			l.leave()
			return
		}
		timer.Stop()
	}
}

// leave gives back what is left. What the ledger does not learn counts as spent.
func (l *lease) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	r := &Request{Leaves: true, Back: l.budget.GiveBack()}
	l.fill(r)
	_, _ = l.ask(ctx, r)
}

// enter begins a run.
func (l *lease) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
}

// exit ends a run. The last one in progress gives back what is left of what was lent, before its outcome
// is known: the suite may end with it. A server that is away hears of it later.
func (l *lease) exit() {
	l.mu.Lock()
	l.active--
	rests := l.active == 0 && l.holds
	l.mu.Unlock()
	if rests {
		l.rest()
	}
}

// rest gives back what no run uses.
func (l *lease) rest() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_, _ = l.demand(ctx, pace.Limits{})
}

// unused takes what is to be given back: nothing if a run is in progress again, which may be about to use it.
func (l *lease) unused() pace.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active > 0 {
		return pace.Limits{}
	}
	l.holds = false
	return l.budget.GiveBack()
}

// send sends a request until it is answered, and does what the answer says.
func (l *lease) send(ctx context.Context, r *Request) Reply {
	r.Asks = len(l.gates) > 0
	l.fill(r)
	for pause := impatience; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		sent := time.Now()
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		reply, err := l.ask(limited, r)
		cancel()
		if err == nil {
			return l.obey(reply, sent)
		}
		wait(ctx, pause)
	}
	return Reply{Final: true}
}

// fill writes into a request what was spent through the account.
func (l *lease) fill(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	paid, doubt, _ := l.budget.Books()
	r.Account, r.Session, r.Number, r.Paid, r.Doubt = l.name, l.session, l.number, paid.Minus(l.paid), doubt.Minus(l.doubt)
}

// obey takes what the ledger gives. A lease holds from when it was asked for: the ledger
// counts from a later moment, on its own clock.
func (l *lease) obey(reply Reply, sent time.Time) Reply {
	l.short = reply.Short
	if reply.Over {
		l.over = true
		reply.Final = true
	}
	if reply.Lost {
		l.begin()
		l.warn("the ledger received no request of this process for too long, and ended its lease; the process takes a new one")
		return Reply{}
	}
	if reply.Lent != (pace.Limits{}) {
		l.mu.Lock()
		l.holds = true
		l.mu.Unlock()
		l.budget.Grant(reply.Lent)
	}
	for model, gate := range l.gates {
		share := pace.Share{}
		if s, ok := reply.Shares[model]; ok {
			share = pace.Share{Requests: s.Requests, Tokens: s.Tokens, Parallel: s.Parallel, Until: sent.Add(reply.Life)}
		}
		gate.Share(share)
	}
	return reply
}

// begin opens a new account in place of one that was lost. What was spent through that one is in doubt there.
func (l *lease) begin() {
	l.budget.GiveBack()
	paid, doubt, _ := l.budget.Books()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name, l.paid, l.doubt = fmt.Sprintf("%s+%d", l.account, l.number), paid, doubt
}

// Close gives everything back.
func (l *lease) Close() {
	l.stop()
	<-l.ended
}
