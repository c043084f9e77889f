package record

import (
	"math"
	"testing"
)

// F41, F24: an absurd price or token count may not wrap into a negative cost, which would be room in a budget.
func TestF41_MoneyDoesNotWrap(t *testing.T) {
	for name, c := range map[string]struct{ got, want Money }{
		"a product":            {Money(150_000).Times(1000), 150_000_000},
		"a product that fits":  {Money(math.MaxInt64 / 2).Times(2), math.MaxInt64 - 1},
		"more than fits":       {Money(math.MaxInt64/2 + 1).Times(2), math.MaxInt64},
		"far more than fits":   {Money(math.MaxInt64).Times(math.MaxInt64), math.MaxInt64},
		"tokens below zero":    {USD.Times(-1), 0},
		"a sum":                {USD.Plus(2), USD + 2},
		"a sum more than fits": {Money(math.MaxInt64).Plus(1), math.MaxInt64},
		"a sum of usages":      {Usage{Cost: math.MaxInt64}.Plus(Usage{Cost: USD}).Cost, math.MaxInt64},
		"tokens of usages":     {Money(Usage{InputTokens: math.MaxInt64}.Plus(Usage{InputTokens: 1, OutputTokens: 1}).Tokens()), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", name, c.got, c.want)
		}
	}
}

// TestTokensTold: calls whose tokens are estimates have some; a log that tells costs alone has none, which is not zero.
func TestTokensTold(t *testing.T) {
	for _, c := range []struct {
		used Usage
		want bool
	}{
		{Usage{}, true},
		{Usage{Calls: 2, InputTokens: 5}, true},
		{Usage{Calls: 2, Estimated: 2, OutputTokens: 1}, true},
		{Usage{Calls: 2, Estimated: 2, Cost: USD}, false},
		{Usage{Calls: 2, Unreported: 1, InputTokens: 5}, false},
	} {
		if got := c.used.TokensTold(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.used, got, c.want)
		}
	}
}
