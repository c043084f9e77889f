package proxy

import (
	"strconv"

	"github.com/agentbench/agentbench/engine/record"
)

// conversations tells to which conversation of a run a call belongs, and what it is for.
type conversations struct {
	named map[string]*conversation // by what a header says
	ended map[sum]*conversation    // by the whole of a request in it
	main  *conversation            // the newest one that no other one began
	begun bool                     // main belongs to the iteration in flight
	count map[record.CallKind]int
	equal map[sum]int // how many different draws of a request there were
	steps int
}

// conversation is one of them.
type conversation struct {
	name      string
	kind      record.CallKind
	opening   sum
	own, side *place // its latest step, and the latest of what else is asked in it
}

// place is where a call belongs.
type place struct {
	conversation *conversation
	kind         record.CallKind
	side         bool // it, or what it repeats, is no step
	sum          sum
	step         int
	nth          int    // of the equal requests of the run
	call, turn   int    // of its model: how many calls came before it, and how many of those had its name in a script
	latest       *place // that of its conversation before it
	over         bool
	complete     bool  // it was answered whole
	said         *said // its answer, where it is a step
	items        int   // of the conversation in its request
}

func newConversations() *conversations {
	return &conversations{
		named: map[string]*conversation{}, ended: map[sum]*conversation{},
		count: map[record.CallKind]int{}, equal: map[sum]int{},
	}
}

// arrive finds the place of a call that arrives.
func (c *conversations) arrive(a *asked) *place {
	side := a.rules.isSide(a)
	of := c.of(a, side)
	latest := &of.own
	p := &place{conversation: of, kind: of.kind, side: side, sum: a.sum}
	if side {
		latest, p.kind = &of.side, record.SideCall
	}
	if n := len(a.prefixes); n > 0 {
		c.ended[a.prefixes[n-1]] = of
	}
	if last := *latest; last != nil && last.sum == a.sum && last.over && !last.complete {
		p.kind, p.nth, p.call, p.turn = record.RetryCall, last.nth, last.call, last.turn
	} else {
		p.nth = c.equal[a.sum]
		c.equal[a.sum]++
	}
	p.latest, *latest = *latest, p
	c.begun = c.begun || p.kind == record.MainCall
	if p.kind.IsStep() {
		c.steps++
		p.step = c.steps
	}
	return p
}

// withdraw takes back the latest place: the call that it is of is not made, and the run goes on.
func (c *conversations) withdraw(p *place) {
	latest := &p.conversation.own
	if p.side {
		latest = &p.conversation.side
	}
	*latest = p.latest
	if p.kind != record.RetryCall {
		c.equal[p.sum]--
	}
	if p.kind.IsStep() {
		c.steps--
	}
}

// of is the conversation of a call: the one that its header names, or whose request it continues, or a new one.
func (c *conversations) of(a *asked, side bool) *conversation {
	r := a.rules
	id := first(a.header, r.thread)
	if known := c.named[id]; known != nil && (id != "" || r.apart) {
		return known
	}
	if id == "" && !r.apart {
		for i := len(a.prefixes) - 1; i >= 0; i-- {
			if known := c.ended[a.prefixes[i]]; known != nil {
				return known
			}
		}
		if r.opening && c.main != nil && c.main.opening == a.opening {
			return c.main
		}
	}
	made := c.begin(c.kindOf(a, side), a.opening)
	if id != "" || r.apart {
		c.named[id] = made
	}
	return made
}

// kindOf is the kind of a conversation that begins with a call.
func (c *conversations) kindOf(a *asked, side bool) record.CallKind {
	switch {
	case first(a.header, a.rules.child) != "", a.rules.opening && c.begun && !side:
		return record.AgentCall
	case side && first(a.header, a.rules.thread) == "" && !a.rules.apart:
		return record.SideCall
	}
	return record.MainCall
}

// begin begins a conversation: main, main2 ..., sub1, sub2 ..., side1 ...
func (c *conversations) begin(kind record.CallKind, opening sum) *conversation {
	c.count[kind]++
	n := strconv.Itoa(c.count[kind])
	made := &conversation{kind: kind, opening: opening}
	switch {
	case kind == record.AgentCall:
		made.name = "sub" + n
	case kind == record.SideCall:
		made.name = "side" + n
	case n == "1":
		made.name, c.main = "main", made
	default:
		made.name, c.main = "main"+n, made
	}
	return made
}

// script is the name under which a script has replies to the call: that of its conversation, or side.
func (p *place) script() string {
	if p.side {
		return "side"
	}
	return p.conversation.name
}
