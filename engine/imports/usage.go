package imports

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// amount is a number that may be unknown.
type amount struct {
	n     int64
	known bool
}

// spent is what a mapping tells of usage.
type spent struct {
	calls, input, output, cached, reasoning amount
	// lacks says that tokens are declared, and unknown.
	lacks bool
	cost  amount // in 1e-12 USD
}

// meter reads usage, and turns counters that go on into what was added.
type meter struct {
	mapping *spec.Import
	last    map[string]int64 // of the counters that go on
	// restarts are how often a counter fell.
	restarts *int
}

// begin forgets the counters that begin anew with a run, or with a file.
func (m *meter) begin(with spec.Counting) {
	for _, counter := range m.mapping.Cumulative {
		if counter.Value == with {
			delete(m.last, counter.Key)
		}
	}
}

// added is what a counter that goes on was raised by. One that fell was
// restarted: what it says was added since.
func (m *meter) added(counter string, a amount) amount {
	if _, goesOn := m.mapping.Cumulative.Get(counter); !goesOn || !a.known {
		return a
	}
	before := m.last[counter]
	m.last[counter] = a.n
	if a.n < before {
		*m.restarts++
		return a
	}
	return amount{a.n - before, true}
}

// read evaluates what was used.
func (m *meter) read(u *spec.ImportedUsage, cost *spec.Expr, s *scope) (spent, error) {
	var used spent
	var err error
	if used.cost, err = m.dollars(cost, s); err != nil || u == nil {
		return used, err
	}
	for _, part := range []struct {
		counter string
		e       *spec.Expr
		into    *amount
	}{
		{"calls", u.Calls, &used.calls}, {"input_tokens", u.InputTokens, &used.input}, {"output_tokens", u.OutputTokens, &used.output},
		{"cached_tokens", u.CachedTokens, &used.cached}, {"reasoning_tokens", u.ReasoningTokens, &used.reasoning},
	} {
		if part.e == nil {
			continue
		}
		n, known, err := whole(part.e, s)
		if err != nil {
			return used, err
		}
		*part.into = m.added(part.counter, amount{n, known})
	}
	used.lacks = u.InputTokens != nil && !used.input.known || u.OutputTokens != nil && !used.output.known
	return used, nil
}

func (m *meter) dollars(e *spec.Expr, s *scope) (amount, error) {
	usd, known, err := number(e, s)
	switch {
	case err != nil || !known:
		return amount{}, err
	case usd < 0 || usd >= float64(math.MaxInt64)/float64(record.USD):
		return amount{}, wrong(e, "want a cost in USD from 0, got %v", usd)
	case usd == 0 && m.mapping.UnknownCostZero:
		return amount{}, nil
	}
	return m.added("cost_usd", amount{int64(math.Round(usd * float64(record.USD))), true}), nil
}

// usage is what so many calls used. What nobody knows is counted: the price, the
// tokens, or both.
func (u *spent) usage(calls int64) record.Usage {
	used := record.Usage{
		Calls: calls, InputTokens: u.input.n, OutputTokens: u.output.n, CachedTokens: u.cached.n, ReasoningTokens: u.reasoning.n,
		Cost: record.Money(u.cost.n),
	}
	tokens := (u.input.known || u.output.known) && !u.lacks
	switch {
	case !u.cost.known && !tokens:
		used.Unreported = calls
	case !u.cost.known:
		used.Unpriced = calls
	case !tokens:
		used.Uncounted = calls
	}
	return used
}

// callsOr is how many calls there were, if that is told.
func (u *spent) callsOr(otherwise int64) int64 {
	if u.calls.known {
		return u.calls.n
	}
	return otherwise
}

// none says that nothing was called and nothing spent.
func (u *spent) none() bool {
	return u.calls.known && u.calls.n == 0 && u.input.n == 0 && u.output.n == 0 && u.cost.n == 0
}

// overall puts what is known of the run as a whole in place of the sum of its
// iterations.
func (u *spent) overall(sum record.Usage) record.Usage {
	if !u.cost.known && !u.input.known && !u.output.known && !u.calls.known {
		return sum
	}
	if !u.input.known && !u.output.known {
		u.lacks = false
		u.input, u.output = amount{sum.InputTokens, sum.TokensTold() && sum.Calls > 0}, amount{n: sum.OutputTokens}
		u.cached, u.reasoning = amount{n: sum.CachedTokens}, amount{n: sum.ReasoningTokens}
	}
	if !u.cost.known {
		u.cost = amount{int64(sum.Cost), sum.Priced() && sum.Calls > 0}
	}
	total := u.usage(u.callsOr(sum.Calls))
	total.ToolCalls = sum.ToolCalls
	return total
}
