package temporal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/agentbench/agentbench/engine/model/pace"
)

// lease is what one process has of a suite's budget and of the limits of its models. One
// goroutine talks to the ledger, one request after the other: a request that is not
// answered is sent again, under its number, until it is.
type lease struct {
	ask     func(context.Context, *Request) (Reply, error)
	account string
	session string // of the ledger; "": whichever there is
	budget  *pace.Budget
	gates   map[string]*pace.Gate
	warn    func(string)

	wants chan want
	over  chan struct{} // closed once the session is over
	end   chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	number int64
	name   string // of the account; another one after it was lost
	before Books  // what was spent when the account began
	short  bool
	active int  // runs in progress
	holds  bool // something was lent since all was given back
}

// want asks for more; for nothing: to give back what no run uses.
type want struct {
	more   pace.Limits
	answer chan Reply
}

// impatience is how soon one asks again who got nothing, and gives back what others wait for.
const impatience = 300 * time.Millisecond

// renewal is the part of a lease's life after which it is renewed.
const renewal = 6

// newLease opens an account in the ledger of a session.
func newLease(ask func(context.Context, *Request) (Reply, error), account, session string, budget *pace.Budget, gates map[string]*pace.Gate, life time.Duration, warn func(string)) *lease {
	l := &lease{
		ask: ask, account: account, name: account, session: session, budget: budget, gates: gates, warn: warn,
		wants: make(chan want), over: make(chan struct{}), end: make(chan struct{}),
	}
	l.before.Paid, l.before.Doubt, _ = budget.Books() // what earlier sessions spent
	l.ended.Go(func() { l.keep(life / renewal) })
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
	w := want{more, make(chan Reply, 1)}
	select {
	case l.wants <- w:
	case <-ctx.Done():
		return false, false, context.Cause(ctx)
	case <-l.over:
		return false, true, nil
	case <-l.end:
		return false, true, nil
	}
	select {
	case reply := <-w.answer:
		lent = reply.Lent != (pace.Limits{})
		if lent || reply.Final {
			return lent, reply.Final, nil
		}
	case <-ctx.Done():
		return false, false, context.Cause(ctx)
	}
	timer := time.NewTimer(impatience)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return false, false, nil
}

// keep renews the lease, and asks for what is wanted, until the end of its session.
func (l *lease) keep(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.ended.Go(func() { // a server that is away need not answer any more
		<-l.end
		cancel()
	})
	l.send(ctx, &Request{Asks: len(l.gates) > 0})
	for !l.isOver() {
		pause := every
		if l.short {
			pause = min(every, impatience)
		}
		timer := time.NewTimer(pause)
		r := &Request{Asks: len(l.gates) > 0}
		var asked *want
		select {
		case w := <-l.wants:
			r.Want, asked = w.more, &w
			if w.more == (pace.Limits{}) {
				r.Back = l.surrender()
			}
		case <-timer.C:
			if l.short {
				r.Back = l.budget.GiveBack()
			}
		case <-l.end:
			timer.Stop()
			r.Leaves, r.Back = true, l.budget.GiveBack()
			l.once(context.Background(), r)
			return
		}
		timer.Stop()
		reply := l.send(ctx, r)
		if asked != nil {
			asked.answer <- reply
		}
	}
}

// enter begins a run.
func (l *lease) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active++
}

// exit ends a run, and gives the books for its outcome. The last of those in progress gives back all that is left of
// what was lent: no outcome tells of what the process spends later, and the suite may end now.
func (l *lease) exit() Books {
	l.mu.Lock()
	l.active--
	rest := l.active == 0 && l.holds
	l.mu.Unlock()
	if rest {
		l.rest()
	}
	return l.books()
}

// rest gives back what no run uses. A server that is away hears of it later.
func (l *lease) rest() {
	late := time.NewTimer(farewell)
	defer late.Stop()
	w := want{answer: make(chan Reply, 1)}
	select {
	case l.wants <- w:
	case <-late.C:
		return
	case <-l.over:
		return
	case <-l.end:
		return
	}
	select {
	case <-w.answer:
	case <-late.C:
	case <-l.end:
	}
}

// surrender takes what is to be given back, unless a run is in progress again: that may be about to use it.
func (l *lease) surrender() pace.Limits {
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
	l.fill(r)
	for wait := impatience; ; wait = min(2*wait, 5*time.Second) {
		sent := time.Now()
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		reply, err := l.ask(limited, r)
		cancel()
		if err == nil {
			return l.obey(&reply, sent)
		}
		select {
		case <-time.After(wait):
		case <-l.end:
			return Reply{Final: true}
		}
	}
}

// once sends the last request. Where it is not answered, the coordinator tells the ledger
// what the last outcomes said.
func (l *lease) once(ctx context.Context, r *Request) {
	l.fill(r)
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _ = l.ask(limited, r)
}

// fill writes the books into a request.
func (l *lease) fill(r *Request) {
	b := l.books()
	r.Account, r.Session, r.Number, r.Paid, r.Doubt = b.Account, l.session, b.Number, b.Paid, b.Doubt
}

// books are what was spent through the account; each has a number of its own.
func (l *lease) books() Books {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	paid, doubt, _ := l.budget.Books()
	return Books{Account: l.name, Number: l.number, Paid: paid.Minus(l.before.Paid), Doubt: doubt.Minus(l.before.Doubt)}
}

// obey takes what the ledger gives. A lease holds from when it was asked for: the ledger
// counts from a later moment, on its own clock.
func (l *lease) obey(reply *Reply, sent time.Time) Reply {
	l.short = reply.Short
	if reply.Over {
		close(l.over)
		reply.Final = true
	}
	if reply.Lost {
		l.begin()
		l.warn("the ledger heard nothing of this process for too long, and has given its lease up; it takes a new one")
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
	return *reply
}

// isOver reports whether the session is over.
func (l *lease) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// begin opens a new account in place of one that was lost. What that has spent is in doubt
// there.
func (l *lease) begin() {
	l.budget.GiveBack()
	paid, doubt, _ := l.budget.Books()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = fmt.Sprintf("%s+%d", l.account, l.number)
	l.before = Books{Paid: paid, Doubt: doubt}
}

// Close gives everything back.
func (l *lease) Close() {
	close(l.end)
	l.ended.Wait()
}
