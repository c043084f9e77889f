package pace

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Rates are what tokens cost, in 1e-12 USD a token.
type Rates struct {
	Input, CachedInput, CacheWrite, CacheWrite1h, Output, Reasoning record.Money
}

// unknownRate is the rate of a cache write that no price names.
const unknownRate record.Money = -1

// Price is what calls cost. The zero Price is free.
type Price struct {
	Rates
	Unknown bool // no price is declared

	perCall record.Money
	above   []step // ascending
	tiers   map[string]Price
	asked   []Price // the tiers that may be charged where they are asked for
	fees    map[string]record.Money
	writes  bool // calls may write into the provider's cache
}

// step are the rates of calls whose input has more tokens.
type step struct {
	tokens int64
	Rates
}

// PriceOfModel is the price of a declared model, with what is asked of its provider.
func PriceOfModel(m *spec.Model) Price {
	p := PriceOf(m.Price)
	p.writes = m.WritesCache()
	for name, tier := range p.tiers {
		if m.ServiceTier == "auto" || m.ServiceTier == name {
			p.asked = append(p.asked, tier)
		}
	}
	return p
}

// PriceOf is a declared price; nil is an unknown one.
func PriceOf(p *spec.Price) Price {
	switch {
	case p == nil:
		return Price{Unknown: true}
	case p.Free:
		return Price{}
	}
	price := Price{Rates: ratesOf(&p.Rates), perCall: dollars(p.PerCall)}
	for _, s := range p.Steps()[1:] {
		price.above = append(price.above, step{s.Tokens, ratesOf(&s.Rates)})
	}
	if len(p.Tiers) > 0 {
		price.tiers = map[string]Price{}
	}
	for _, tier := range p.Tiers {
		price.tiers[tier.Key] = PriceOf(&tier.Value)
	}
	if len(p.Fees) > 0 {
		price.fees = map[string]record.Money{}
	}
	for _, fee := range p.Fees {
		price.fees[fee.Key] = dollars(fee.Value)
	}
	return price
}

// ratesOf fills in the rates that a declaration leaves out. Cached input costs as much as other input, and reasoning
// as much as other output; what a cache write costs depends on the provider.
func ratesOf(r *spec.Rates) Rates {
	or := func(rate *float64, otherwise record.Money) record.Money {
		if rate == nil {
			return otherwise
		}
		return perToken(*rate)
	}
	input, output := perToken(r.Input), perToken(r.Output)
	return Rates{
		Input: input, CachedInput: or(r.CachedInput, input), CacheWrite: or(r.CacheWrite, unknownRate), CacheWrite1h: or(r.CacheWrite1h, unknownRate),
		Output: output, Reasoning: or(r.Reasoning, output),
	}
}

// perToken turns USD per million tokens into 1e-12 USD per token.
func perToken(usdPerMillion float64) record.Money {
	return rounded(usdPerMillion * float64(record.USD) / 1e6)
}

func dollars(usd float64) record.Money { return rounded(usd * float64(record.USD)) }

func rounded(amount float64) record.Money {
	exact := math.Round(amount)
	if exact >= math.MaxInt64 {
		return math.MaxInt64
	}
	if exact < 1 && amount > 0 {
		return 1 // not free
	}
	return record.Money(exact)
}

// rates are those of a call with so many tokens of input.
func (p *Price) rates(input int64) *Rates {
	for i := range slices.Backward(p.above) {
		if input > p.above[i].tokens {
			return &p.above[i].Rates
		}
	}
	return &p.Rates
}

// tokens puts the cost of the tokens of one call, or that it is unknown, into its usage.
func (p *Price) tokens(u record.Usage) record.Usage {
	u.Cost, u.Unpriced = 0, 0
	r := p.rates(u.InputTokens)
	if p.Unknown || r.CacheWrite < 0 && u.CacheWriteTokens > 0 || r.CacheWrite1h < 0 && u.CacheWrite1hTokens > 0 {
		u.Unpriced = u.Calls
		return u
	}
	left := u.InputTokens
	part := func(tokens int64) int64 { // of the input, and no more than is left of it
		tokens = max(0, min(tokens, left))
		left -= tokens
		return tokens
	}
	u.Cost = r.CachedInput.Times(part(u.CachedTokens)).
		Plus(r.CacheWrite1h.Times(part(u.CacheWrite1hTokens))).
		Plus(r.CacheWrite.Times(part(u.CacheWriteTokens))).
		Plus(r.Input.Times(left))
	reasoning := max(0, min(u.ReasoningTokens, u.OutputTokens))
	u.Cost = u.Cost.Plus(r.Reasoning.Times(reasoning)).Plus(r.Output.Times(u.OutputTokens - reasoning))
	return u
}

// Charged is the usage of calls as long as this with what they cost: tokens, and the price of the calls themselves.
func (p *Price) Charged(u record.Usage) record.Usage {
	if u = p.tokens(u); u.Unpriced == 0 {
		u.Cost = u.Cost.Plus(p.perCall.Times(u.Calls))
	}
	return u
}

// charge puts what a call cost into its reply: by the service tier that the provider reports, with the price of the
// call itself and the fees of what it counts beside tokens. What has no declared price is unknown.
func (p *Price) charge(reply *model.Reply) {
	of := p
	if tier, declared := p.tiers[reply.Tier]; declared {
		of = &tier
	} else if !spec.UsualTier(reply.Tier) && !p.free() {
		of = &Price{Unknown: true}
	}
	reply.Usage = of.tokens(reply.Usage)
	if reply.Usage.Unpriced > 0 {
		return
	}
	fees, known := p.feesOf(of, reply.Reported)
	if !known {
		reply.Usage.Cost, reply.Usage.Unpriced = 0, reply.Usage.Calls
		return
	}
	reply.Usage.Cost = reply.Usage.Cost.Plus(of.perCall).Plus(fees)
}

func (p *Price) free() bool {
	return !p.Unknown && p.Rates == Rates{} && p.perCall == 0 && p.above == nil && p.tiers == nil && p.fees == nil
}

// billed are the counts that providers are known to charge for.
var billed = []string{"server_tool_use.web_search_requests", "num_sources_used"}

// feesOf is what the provider's counts cost beside tokens: by the fees of the tier, or else the usual ones. It reports false
// where one is charged for, and has no price.
func (p *Price) feesOf(tier *Price, reported json.RawMessage) (fees record.Money, known bool) {
	if reported == nil || p.free() {
		return 0, true
	}
	var counts map[string]float64
	if json.Unmarshal(reported, &counts) != nil {
		return 0, true
	}
	for name, n := range counts {
		fee, declared := tier.fees[name]
		if !declared {
			fee, declared = p.fees[name]
		}
		if !declared && n > 0 && slices.Contains(billed, name) {
			return 0, false
		}
		fees = fees.Plus(fee.Times(int64(math.Ceil(n))))
	}
	return fees, true
}

// most is a usage with the most that its tokens may cost: however much of the input is read from the provider's cache
// or written into it, and in whichever tier that was asked for.
func (p *Price) most(u record.Usage) record.Usage {
	worst := p.dearest(u, p.writes)
	for i := range p.asked {
		if tier := p.asked[i].dearest(u, p.writes); tier.Unpriced > 0 || tier.Cost > worst.Cost {
			worst = tier
		}
	}
	return worst
}

// LeastInput is what so many tokens of input cost at least: those of which the provider may have kept all.
func (p *Price) LeastInput(tokens int64) record.Money {
	if p.Unknown {
		return 0
	}
	r := p.rates(tokens)
	least := min(r.Input, r.CachedInput)
	for i := range p.asked {
		tier := p.asked[i].rates(tokens)
		least = min(least, tier.Input, tier.CachedInput)
	}
	return least.Times(tokens)
}

func (p *Price) dearest(u record.Usage, writes bool) record.Usage {
	u.Cost, u.Unpriced = 0, 0
	if p.Unknown {
		u.Unpriced = u.Calls
		return u
	}
	r := p.rates(u.InputTokens)
	input := max(r.Input, r.CachedInput)
	if writes {
		input = max(input, r.CacheWrite, r.CacheWrite1h)
	}
	u.Cost = input.Times(u.InputTokens).Plus(max(r.Output, r.Reasoning).Times(u.OutputTokens)).Plus(p.perCall)
	return u
}
