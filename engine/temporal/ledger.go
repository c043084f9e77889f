package temporal

import (
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/cmd/agentbench/command"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// Book is the ledger of a suite: who has borrowed what of its budget, and who shares the
// limits of its models. It is part of the suite workflow: no clock, no randomness, no maps
// in the order of the machine.
//
// The sum of what is lent and of what is spent never exceeds the limits. Who is silent for
// longer than the life of a lease is given up: all that was lent to it and is not known to
// be spent is in doubt, and counts as spent.
type Book struct {
	// Left is what there was of the budget when the suite was given away. Zero: no limit.
	Left pace.Limits
	// Models has the limits of models.
	Models []ModelLimits
	// Session is the one that the ledger is of. Accounts of others are not taken.
	Session string
	Life    time.Duration
	// Accounts are those of the workers, in the order in which they came.
	Accounts []Account
	// Joins counts the accounts that came, and Waits those that got less than they want.
	Joins int64
	Waits bool
}

// ModelLimits are those of one model.
type ModelLimits struct {
	Model  string
	Limits command.Limits
}

// Account is what one worker has.
type Account struct {
	Name    string
	Number  int64       // of its last request
	Lent    pace.Limits // in all
	Paid    record.Usage
	Doubt   record.Usage
	Renewed time.Time
	Joined  int64 // the number of joins with this one
	Knows   int64 // the joins that it has learned of
	Asks    bool  // it calls models
	Gone    bool  // it left, or was given up
	Lost    bool
	Last    Reply
}

// coordinator begins the accounts of who gave the suite away, one for each session.
const coordinator = "coordinator"

// Answer takes a request at a time.
func (b *Book) Answer(r *Request, now time.Time) Reply {
	if r.Session != "" && r.Session != b.Session {
		return Reply{Over: true}
	}
	b.expire(now)
	a := b.account(r, now)
	switch {
	case a.Lost:
		return Reply{Lost: true, Life: b.Life}
	case a.Number == r.Number:
		return a.Last
	}
	a.Number, a.Renewed = r.Number, now
	a.settle(r)
	reply := Reply{Life: b.Life}
	if r.Leaves {
		a.Gone, a.Lent = true, a.spent() // all else is given back
	} else if a.Asks = r.Asks; a.Asks {
		reply.Shares = b.shares(a)
	}
	if r.Want != (pace.Limits{}) {
		reply.Lent, reply.Final = b.lend(a, &r.Want)
		b.Waits = reply.Lent == (pace.Limits{}) && !reply.Final
	}
	reply.Short = b.Waits
	a.Last = reply
	return reply
}

func (b *Book) account(r *Request, now time.Time) *Account {
	at := slices.IndexFunc(b.Accounts, func(a Account) bool { return a.Name == r.Account })
	if at < 0 {
		b.Joins++
		at = len(b.Accounts)
		b.Accounts = append(b.Accounts, Account{Name: r.Account, Joined: b.Joins, Renewed: now, Number: r.Number - 1})
	}
	return &b.Accounts[at]
}

// settle notes what a worker spent and gave back.
func (a *Account) settle(r *Request) {
	a.Paid, a.Doubt = r.Paid, r.Doubt
	a.Lent.Calls -= r.Back.Calls
	a.Lent.Tokens -= r.Back.Tokens
	a.Lent.Cost -= r.Back.Cost
}

// spent is what an account has paid and what of it is in doubt.
func (a *Account) spent() pace.Limits {
	u := a.Paid.Plus(a.Doubt)
	return pace.Limits{Calls: u.Calls, Tokens: u.Tokens(), Cost: u.Cost}
}

// taken is what an account takes of the budget: more than was lent, where a call used more
// than was reserved for it.
func (a *Account) taken() pace.Limits {
	spent := a.spent()
	return pace.Limits{Calls: max(a.Lent.Calls, spent.Calls), Tokens: max(a.Lent.Tokens, spent.Tokens), Cost: max(a.Lent.Cost, spent.Cost)}
}

// expire gives up who is silent.
func (b *Book) expire(now time.Time) {
	for i := range b.Accounts {
		a := &b.Accounts[i]
		if !a.Gone && now.Sub(a.Renewed) > b.Life {
			a.Gone, a.Lost = true, true
		}
	}
}

// free is what can be lent.
func (b *Book) free() pace.Limits {
	var used record.Usage
	for i := range b.Accounts {
		t := b.Accounts[i].taken()
		used = used.Plus(record.Usage{Calls: t.Calls, InputTokens: t.Tokens, Cost: t.Cost})
	}
	return b.Left.Left(used)
}

// lend gives an account what it wants and more, so that it need not ask for each call:
// sixteen times as much, but only a part of what is free.
func (b *Book) lend(a *Account, want *pace.Limits) (lent pace.Limits, final bool) {
	free, parts := b.free(), int64(4*max(1, b.active()))
	portion := func(want, free int64) int64 {
		return min(free, want+min(15*want, max(0, free-want)/parts))
	}
	enough := want.Calls <= free.Calls && want.Tokens <= free.Tokens && want.Cost <= free.Cost
	if !enough && b.held(a, want) {
		return lent, false
	}
	lent = pace.Limits{
		Calls: portion(want.Calls, free.Calls), Tokens: portion(want.Tokens, free.Tokens),
		Cost: record.Money(portion(int64(want.Cost), int64(free.Cost))),
	}
	a.Lent.Calls += lent.Calls
	a.Lent.Tokens += lent.Tokens
	a.Lent.Cost += lent.Cost
	return lent, lent == (pace.Limits{})
}

func (b *Book) active() (n int) {
	for i := range b.Accounts {
		if !b.Accounts[i].Gone {
			n++
		}
	}
	return n
}

// held reports whether others hold what they may give back of what one wants.
func (b *Book) held(than *Account, want *pace.Limits) bool {
	return slices.ContainsFunc(b.Accounts, func(a Account) bool {
		spent := a.spent()
		more := a.Lent.Calls > spent.Calls && want.Calls > 0 || a.Lent.Tokens > spent.Tokens && want.Tokens > 0 || a.Lent.Cost > spent.Cost && want.Cost > 0
		return a.Name != than.Name && !a.Gone && more
	})
}

// shares are what an account may use of the models' limits; nil until all others know
// that it is there, for until then they use its part.
func (b *Book) shares(of *Account) map[string]command.Limits {
	of.Knows = b.Joins
	n, rank := int64(0), int64(0)
	for i := range b.Accounts {
		a := &b.Accounts[i]
		if a.Gone || !a.Asks {
			continue
		}
		if a.Name == of.Name {
			rank = n
		} else if a.Knows < of.Joined {
			return nil
		}
		n++
	}
	shares := map[string]command.Limits{}
	part := func(of int64) int64 {
		share := of / n
		if rank < of%n {
			share++
		}
		return share
	}
	for _, m := range b.Models {
		l := m.Limits
		share := command.Limits{Requests: part(l.Requests), Tokens: part(l.Tokens), Parallel: int(part(int64(l.Parallel)))}
		if l.Requests > 0 && share.Requests == 0 || l.Tokens > 0 && share.Tokens == 0 || l.Parallel > 0 && share.Parallel == 0 {
			continue // no call may start
		}
		shares[m.Model] = share
	}
	return shares
}

// Totals are what all but the coordinator spent, which knows its own part. What a worker has not given
// back is in doubt: it may have been killed after its last request, and have spent that.
func (b *Book) Totals() (t Totals) {
	for i := range b.Accounts {
		a := &b.Accounts[i]
		if strings.HasPrefix(a.Name, coordinator) {
			continue
		}
		t.Paid, t.Doubt = t.Paid.Plus(a.Paid), t.Doubt.Plus(a.Doubt)
		if a.Lost || !a.Gone {
			lent, spent := a.taken(), a.spent()
			t.Doubt = t.Doubt.Plus(record.Usage{Calls: lent.Calls - spent.Calls, InputTokens: lent.Tokens - spent.Tokens, Cost: lent.Cost - spent.Cost})
		}
	}
	return t
}
