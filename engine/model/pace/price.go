package pace

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Price is what tokens cost, in 1e-12 USD a token. The zero Price is free.
type Price struct {
	Input, CachedInput, Output record.Money
	Unknown                    bool // nobody said
}

// PriceOf is a declared price; nil is an unknown one. Cached input costs as
// much as other input unless a price says otherwise.
func PriceOf(p *spec.Price) Price {
	switch {
	case p == nil:
		return Price{Unknown: true}
	case p.Free:
		return Price{}
	}
	price := Price{Input: perToken(p.Input), CachedInput: perToken(p.Input), Output: perToken(p.Output)}
	if p.CachedInput != nil {
		price.CachedInput = perToken(*p.CachedInput)
	}
	return price
}

// perToken turns USD per million tokens into 1e-12 USD per token.
func perToken(usdPerMillion float64) record.Money {
	exact := math.Round(usdPerMillion * float64(record.USD) / 1e6)
	if exact >= math.MaxInt64 {
		return math.MaxInt64
	}
	if exact < 1 && usdPerMillion > 0 {
		return 1 // not free
	}
	return record.Money(exact)
}

// Most is the price with which no input costs more than it says, whether the
// server finds it in its cache or not.
func (p Price) Most() Price {
	p.Input = max(p.Input, p.CachedInput)
	return p
}

// Apply puts the cost of the tokens, or that it is unknown, into a usage.
func (p Price) Apply(u record.Usage) record.Usage {
	u.Cost, u.Unpriced = 0, 0
	if p.Unknown {
		u.Unpriced = u.Calls
		return u
	}
	cached := min(u.CachedTokens, u.InputTokens)
	u.Cost = p.Input.Times(u.InputTokens - cached).Plus(p.CachedInput.Times(cached)).Plus(p.Output.Times(u.OutputTokens))
	return u
}
