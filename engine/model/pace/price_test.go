package pace

import (
	"math"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// F24, F41: what a server says of its tokens and a slip in a price never make a cost below zero.
func TestF41_CostIsNeverBelowZero(t *testing.T) {
	half := 0.5
	for name, c := range map[string]struct {
		price spec.Price
		usage record.Usage
		want  record.Money
	}{
		"cached tokens cost their own price": {spec.Price{Input: 1, CachedInput: &half, Output: 2}, record.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 1}, 10_000_000},
		"a price beyond all money":           {spec.Price{Input: 1e30, Output: 1}, record.Usage{InputTokens: 2}, math.MaxInt64},
		"tokens beyond all money":            {spec.Price{Input: 1, Output: 1000}, record.Usage{InputTokens: 1, OutputTokens: math.MaxInt64}, math.MaxInt64},
		"tokens below zero":                  {spec.Price{Input: 1, Output: 1}, record.Usage{InputTokens: -5, OutputTokens: -5}, 0},
		"more cached tokens than input":      {spec.Price{Input: 1, CachedInput: &half, Output: 1}, record.Usage{InputTokens: 10, CachedTokens: 100}, 5_000_000},
	} {
		if got := PriceOf(&c.price).Apply(c.usage).Cost; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
