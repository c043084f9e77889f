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
	Calls        int64 `json:"calls,omitempty"`
	InputTokens  int64 `json:"input_tokens,omitempty"`  // cached ones included
	CachedTokens int64 `json:"cached_tokens,omitempty"` // part of InputTokens: read from the provider's cache
	// CacheWriteTokens were written into the provider's cache for its usual time, five minutes at Anthropic,
	// CacheWrite1hTokens for an hour. Both are parts of InputTokens, beside CachedTokens.
	CacheWriteTokens   int64 `json:"cache_write_tokens,omitempty"`
	CacheWrite1hTokens int64 `json:"cache_write_1h_tokens,omitempty"`
	OutputTokens       int64 `json:"output_tokens,omitempty"`    // reasoning included
	ReasoningTokens    int64 `json:"reasoning_tokens,omitempty"` // part of OutputTokens
	ToolCalls          int64 `json:"tool_calls,omitempty"`
	Cost               Money `json:"cost_pusd,omitempty"` // 1e-12 USD, of the priced calls
	// Unpriced counts calls whose price is unknown: then Cost is not the cost.
	Unpriced int64 `json:"unpriced,omitempty"`
	// Estimated counts calls whose tokens the server did not report.
	Estimated int64 `json:"estimated,omitempty"`
	// Uncounted counts calls whose tokens are unknown, those of a log that
	// has their cost alone: then the tokens are not all that were used.
	Uncounted int64 `json:"uncounted,omitempty"`
	// Unreported counts runs of programs that did not say what they used: then
	// the other numbers are not all that was used.
	Unreported int64 `json:"unreported,omitempty"`
	// Cut counts calls that were cancelled in flight. The other numbers have what these used at least, which is their
	// input; OpenTokens and OpenCost are what they may have used beyond that.
	Cut        int64 `json:"cut,omitempty"`
	OpenTokens int64 `json:"open_tokens,omitempty"`
	OpenCost   Money `json:"open_pusd,omitempty"`
}

// AtMost is the most that was used, where calls were cancelled in flight.
func (u Usage) AtMost() Usage {
	u.OutputTokens, u.OpenTokens = sum(u.OutputTokens, u.OpenTokens), 0
	u.Cost, u.OpenCost = u.Cost.Plus(u.OpenCost), 0
	return u
}

// Tokens are input and output together.
func (u Usage) Tokens() int64 { return sum(u.InputTokens, u.OutputTokens) }

// WithTotal is the usage of a call whose provider reports so many tokens in all. What is beyond input and output is reasoning, which
// xAI and Gemini count beside the other output and charge for. A total that counts cached input twice adds none.
func (u Usage) WithTotal(total int64) Usage {
	if min(u.InputTokens, u.OutputTokens) < 0 || total-u.InputTokens <= u.OutputTokens {
		return u
	}
	apart := total - u.InputTokens - u.OutputTokens
	if cached := u.CachedTokens; cached > 0 && (apart == cached || apart == cached+u.CacheWriteTokens) && apart != u.ReasoningTokens {
		return u
	}
	u.OutputTokens += apart
	u.ReasoningTokens = max(u.ReasoningTokens, apart)
	return u
}

// TokensTold reports whether the tokens are known, if only as estimates. Estimates
// of which all are 0 are those of records from before Uncounted.
func (u Usage) TokensTold() bool {
	return u.Unreported == 0 && u.Uncounted == 0 && (u.Estimated == 0 || u.Tokens() > 0)
}

// Priced reports whether Cost is the whole cost.
func (u Usage) Priced() bool { return u.Unpriced == 0 && u.Unreported == 0 }

// UsageNumbers are all numbers of a usage.
type UsageNumbers [16]*int64

// Numbers are all of them.
func (u *Usage) Numbers() UsageNumbers {
	return UsageNumbers{
		&u.Calls, &u.InputTokens, &u.CachedTokens, &u.CacheWriteTokens, &u.CacheWrite1hTokens, &u.OutputTokens, &u.ReasoningTokens, &u.ToolCalls,
		(*int64)(&u.Cost), &u.Unpriced, &u.Estimated, &u.Uncounted, &u.Unreported, &u.Cut, &u.OpenTokens, (*int64)(&u.OpenCost),
	}
}

// with combines each number with the other's.
func (u Usage) with(v Usage, combine func(a, b int64) int64) Usage {
	others := v.Numbers()
	for i, n := range u.Numbers() {
		*n = combine(*n, *others[i])
	}
	return u
}

// negative reports whether some number is below zero, which nothing spends.
func (u Usage) negative() bool {
	for _, n := range u.Numbers() {
		if *n < 0 {
			return true
		}
	}
	return false
}

// Plus is the sum of both, of each number the most that fits.
func (u Usage) Plus(v Usage) Usage {
	if v == (Usage{}) {
		return u
	}
	return u.with(v, sum[int64])
}

// Minus is what is left of each number when the other's is taken away, and never
// less than nothing.
func (u Usage) Minus(v Usage) Usage {
	return u.with(v, func(a, b int64) int64 { return max(0, a-b) })
}
