package record

// Money is an amount in 1e-12 USD.
type Money int64

// USD is one US dollar.
const USD Money = 1e12

// Dollars is the amount in USD.
func (m Money) Dollars() float64 { return float64(m) / float64(USD) }

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
}

// Tokens are input and output together.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// Priced says that Cost is the whole cost.
func (u Usage) Priced() bool { return u.Unpriced == 0 }

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	u.Calls += v.Calls
	u.InputTokens += v.InputTokens
	u.CachedTokens += v.CachedTokens
	u.OutputTokens += v.OutputTokens
	u.ReasoningTokens += v.ReasoningTokens
	u.ToolCalls += v.ToolCalls
	u.Cost += v.Cost
	u.Unpriced += v.Unpriced
	u.Estimated += v.Estimated
	return u
}
