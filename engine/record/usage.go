package record

import (
	"math"
	"math/bits"
)

// Money is an amount in 1e-12 USD.
type Money int64

// USD is one US dollar.
const USD Money = 1e12

// Countless is the most that fits, 9.2 million USD: a sum that comes to it is no
// amount any more, but a bound.
const Countless Money = math.MaxInt64

// Dollars is the amount in USD.
func (m Money) Dollars() float64 { return float64(m) / float64(USD) }

// Times is n times the amount, neither below zero. More than fits stays the most
// that fits: an absurd number must not wrap into room in a budget.
func (m Money) Times(n int64) Money {
	high, low := bits.Mul64(uint64(max(m, 0)), uint64(max(n, 0)))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return Money(low)
}

// Plus is the sum, or the most that fits.
func (m Money) Plus(n Money) Money { return sum(m, n) }

func sum[N ~int64](a, b N) N {
	s := a + b
	if a > 0 && b > 0 && s < 0 {
		return math.MaxInt64
	}
	return s
}

// Usage is what calls spent.
type Usage struct {
	Calls           int64 `json:"calls,omitempty"`
	InputTokens     int64 `json:"input_tokens,omitempty"`     // cached ones included
	CachedTokens    int64 `json:"cached_tokens,omitempty"`    // part of InputTokens
	OutputTokens    int64 `json:"output_tokens,omitempty"`    // reasoning included
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"` // part of OutputTokens
	ToolCalls       int64 `json:"tool_calls,omitempty"`
	Cost            Money `json:"cost_pusd,omitempty"` // 1e-12 USD, of the priced calls
	// Unpriced counts calls whose price is unknown: then Cost is not the cost.
	Unpriced int64 `json:"unpriced,omitempty"`
	// Estimated counts calls whose tokens the server did not report.
	Estimated int64 `json:"estimated,omitempty"`
	// Uncounted counts calls of which nobody knows the tokens, those of a log that
	// has their cost alone: then the tokens are not all that were used.
	Uncounted int64 `json:"uncounted,omitempty"`
	// Unreported counts runs of programs that did not say what they used: then
	// the other numbers are not all that was used.
	Unreported int64 `json:"unreported,omitempty"`
}

// Tokens are input and output together.
func (u Usage) Tokens() int64 { return sum(u.InputTokens, u.OutputTokens) }

// TokensTold reports whether the tokens are known, if only as estimates. Estimates
// of which all are 0 are those of records from before Uncounted.
func (u Usage) TokensTold() bool {
	return u.Unreported == 0 && u.Uncounted == 0 && (u.Estimated == 0 || u.Tokens() > 0)
}

// Priced says that Cost is the whole cost.
func (u Usage) Priced() bool { return u.Unpriced == 0 && u.Unreported == 0 }

// negative says that some number is below zero, which nothing spends.
func (u Usage) negative() bool {
	return min(u.Calls, u.InputTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens, u.ToolCalls,
		int64(u.Cost), u.Unpriced, u.Estimated, u.Uncounted, u.Unreported) < 0
}

// Plus is the sum of both; tokens and cost stay the most that fits.
func (u Usage) Plus(v Usage) Usage {
	u.Calls += v.Calls
	u.InputTokens = sum(u.InputTokens, v.InputTokens)
	u.CachedTokens = sum(u.CachedTokens, v.CachedTokens)
	u.OutputTokens = sum(u.OutputTokens, v.OutputTokens)
	u.ReasoningTokens = sum(u.ReasoningTokens, v.ReasoningTokens)
	u.ToolCalls += v.ToolCalls
	u.Cost = sum(u.Cost, v.Cost)
	u.Unpriced += v.Unpriced
	u.Estimated += v.Estimated
	u.Uncounted += v.Uncounted
	u.Unreported += v.Unreported
	return u
}

// Minus is what is left of each number when the other's is taken away, and never
// less than nothing.
func (u Usage) Minus(v Usage) Usage {
	return u.each(v, func(a, b int64) int64 { return max(0, a-b) })
}

// Larger is the larger one of each number.
func (u Usage) Larger(v Usage) Usage { return u.Plus(v.Minus(u)) }

func (u Usage) each(v Usage, of func(a, b int64) int64) Usage {
	return Usage{
		Calls:           of(u.Calls, v.Calls),
		InputTokens:     of(u.InputTokens, v.InputTokens),
		CachedTokens:    of(u.CachedTokens, v.CachedTokens),
		OutputTokens:    of(u.OutputTokens, v.OutputTokens),
		ReasoningTokens: of(u.ReasoningTokens, v.ReasoningTokens),
		ToolCalls:       of(u.ToolCalls, v.ToolCalls),
		Cost:            Money(of(int64(u.Cost), int64(v.Cost))),
		Unpriced:        of(u.Unpriced, v.Unpriced),
		Estimated:       of(u.Estimated, v.Estimated),
		Unreported:      of(u.Unreported, v.Unreported),
	}
}
