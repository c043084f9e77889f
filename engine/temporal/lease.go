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
	budget  *pace.Budget
	gates   map[string]*pace.Gate
	warn    func(string)

	wants chan want
	end   chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	number int64
	name   string // of the account; another one after it was lost
	before books  // what was spent when the account began
	short  bool

	session string      // of the account; "": whichever there is
	over    bool        // that session is
	active  int         // runs in progress
	wanting bool        // something may be lent
	back    pace.Limits // given back, and not told yet
}

// books are what a budget has spent.
type books = Books

type want struct {
	more   pace.Limits
	answer chan Reply
}

// impatience is how soon one asks again who got nothing, and gives back what others wait for.
const impatience = 300 * time.Millisecond

// renewal is the part of a lease's life after which it is renewed.
const renewal = 6

// newLease opens an account of a session.
func newLease(ask func(context.Context, *Request) (Reply, error), account, session string, budget *pace.Budget, gates map[string]*pace.Gate, life time.Duration, warn func(string)) *lease {
	l := &lease{ask: ask, account: account, name: account, session: session, budget: budget, gates: gates, warn: warn, wants: make(chan want), end: make(chan struct{})}
	l.ended.Go(func() { l.keep(life / renewal) })
	return l
}

// asking asks the ledger of a suite.
func asking(c client.Client, workflow string) func(context.Context, *Request) (Reply, error) {
	return func(ctx context.Context, r *Request) (reply Reply, err error) {
		handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: workflow, UpdateName: updateLease, UpdateID: fmt.Sprintf("%s-%d", r.Account, r.Number), Args: []any{*r}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, &reply)
		}
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

// keep renews the lease, and asks for what is wanted.
func (l *lease) keep(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.ended.Go(func() { // a server that is away need not answer any more
		<-l.end
		cancel()
	})
	l.send(ctx, &Request{Asks: len(l.gates) > 0})
	for {
		if l.isOver() {
			if !l.idle() {
				return
			}
			if !l.isOver() {
				l.send(ctx, &Request{Asks: len(l.gates) > 0})
			}
			continue
		}
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

// idle waits for a while in a session that is over, and reports false at the end.
func (l *lease) idle() bool {
	select {
	case w := <-l.wants:
		w.answer <- Reply{Final: l.isOver()}
	case <-time.After(impatience):
	case <-l.end:
		return false
	}
	return true
}

func (l *lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
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
			return l.obey(r, &reply, sent)
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
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books()
	r.Account, r.Session, r.Number, r.Paid, r.Doubt = b.Account, l.session, b.Number, b.Paid, b.Doubt
	r.Back = pace.Limits{Calls: r.Back.Calls + l.back.Calls, Tokens: r.Back.Tokens + l.back.Tokens, Cost: r.Back.Cost + l.back.Cost}
	l.back, l.wanting = pace.Limits{}, r.Want != (pace.Limits{})
}

// enter begins a run of a session. In another one than before the account is another one.
func (l *lease) enter(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active++; l.session != session {
		l.session, l.over = session, false
		l.renew()
	}
}

// exit ends a run, and gives the books for its outcome. Without another run in progress it gives back what was lent: this may be
// the last that is heard of the worker.
func (l *lease) exit() Books {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books()
	if l.active--; l.active > 0 || l.wanting {
		return b
	}
	back := l.budget.GiveBack()
	l.back = pace.Limits{Calls: l.back.Calls + back.Calls, Tokens: l.back.Tokens + back.Tokens, Cost: l.back.Cost + back.Cost}
	_, _, reserved := l.budget.Books()
	b.Leaves = reserved == record.Usage{}
	return b
}

// books are what was spent through the account; each has a number of its own.
func (l *lease) books() Books {
	l.number++
	paid, doubt, _ := l.budget.Books()
	return Books{Account: l.name, Number: l.number, Paid: paid.Minus(l.before.Paid), Doubt: doubt.Minus(l.before.Doubt)}
}

// obey takes what the ledger gives. A lease holds from when it was asked for: the ledger
// counts from a later moment, on its own clock.
func (l *lease) obey(r *Request, reply *Reply, sent time.Time) Reply {
	l.short = reply.Short
	if !l.take(r, reply) {
		if reply.Lost {
			l.warn("the ledger heard nothing of this process for too long, and has given its lease up; it takes a new one")
		}
		return Reply{}
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

// take takes what was lent. It reports false where the account is no longer: a new one takes its place.
func (l *lease) take(r *Request, reply *Reply) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanting = false
	switch {
	case r.Account != l.name:
		return false
	case reply.Over || reply.Lost:
		l.over = reply.Over
		l.renew()
		return false
	case reply.Lent != (pace.Limits{}):
		l.budget.Grant(reply.Lent)
	}
	return true
}

// renew opens a new account. What was lent to the one before is in doubt there.
func (l *lease) renew() {
	l.number++
	l.budget.GiveBack()
	paid, doubt, _ := l.budget.Books()
	l.name = fmt.Sprintf("%s+%d", l.account, l.number)
	l.before, l.back = Books{Paid: paid, Doubt: doubt}, pace.Limits{}
}

// Close gives everything back.
func (l *lease) Close() {
	close(l.end)
	l.ended.Wait()
}
