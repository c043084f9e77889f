package pace

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// What the price pages said, in USD per million tokens.
//
// fable: platform.claude.com/docs/en/about-claude/pricing, August 2026, Claude Fable 5: cache writes at 1.25 and 2 times
// the input, reads at a tenth; 1,000 web searches are 10 USD; batches are half the price.
//
// haiku: the same page, October 2026, Claude Haiku 5.5: a call of more than 100,000 tokens of input costs five times as much.
//
// sol: developers.openai.com/api/docs/models/gpt-6.1-sol, September 2026: above 272,000 tokens of input the whole call is
// 4, 0.20, 5 and 15; flex is half, priority twice the price.
func fable() *spec.Price {
	return &spec.Price{
		Rates: spec.Rates{Input: 10, CachedInput: cents(1), CacheWrite: cents(12.50), CacheWrite1h: cents(20), Output: 50},
		Fees:  source.Named[float64]{pair("server_tool_use.web_search_requests", 0.01)},
		Tiers: source.Named[spec.Price]{pair("batch", spec.Price{Rates: spec.Rates{Input: 5, Output: 25}})},
	}
}

func haiku() *spec.Price {
	return &spec.Price{
		Rates: spec.Rates{Input: 0.10, CachedInput: cents(0.01), CacheWrite: cents(0.125), CacheWrite1h: cents(0.20), Output: 0.50},
		Above: source.Named[spec.Rates]{pair("100000", spec.Rates{Input: 0.50, CachedInput: cents(0.05), CacheWrite: cents(0.625), CacheWrite1h: cents(1), Output: 2.50})},
	}
}

func sol() *spec.Price {
	times := func(n float64) spec.Rates {
		return spec.Rates{Input: 2 * n, CachedInput: cents(0.10 * n), CacheWrite: cents(2.50 * n), Output: 10 * n}
	}
	return &spec.Price{
		Rates: times(1),
		Above: source.Named[spec.Rates]{pair("272000", spec.Rates{Input: 4, CachedInput: cents(0.20), CacheWrite: cents(5), Output: 15})},
		Tiers: source.Named[spec.Price]{pair("flex", spec.Price{Rates: times(0.5)}), pair("priority", spec.Price{Rates: times(2)})},
	}
}

// Costs of published examples, and of mistakes that other tools made, in USD by hand: tokens times rates.
func TestPublishedPrices(t *testing.T) {
	const micro = record.USD / 1e6
	for name, c := range map[string]struct {
		price    *spec.Price
		usage    record.Usage
		tier     string
		reported string
		want     record.Money // -1: unknown
	}{
		// github.com/langfuse/claude-observability-plugin/issues/34: $0.4646875 by the 5-minute rate, and a window for which the
		// vendor itself shows $16.36: $16.31 by these counts, which are rounded there, and $12.31 by the 5-minute rate.
		"one write of 1 hour":    {fable(), record.Usage{InputTokens: 37_175, CacheWrite1hTokens: 37_175}, "", "", 743_500 * micro},
		"one write of 5 minutes": {fable(), record.Usage{InputTokens: 37_175, CacheWriteTokens: 37_175}, "", "", 464_687_500_000},
		"the vendor's own sum": {fable(), record.Usage{InputTokens: 5_335_700, CachedTokens: 4_800_000, CacheWrite1hTokens: 533_800, OutputTokens: 16_300},
			"standard", "", 16_310_000 * micro},
		// github.com/phuryn/claude-usage/issues/162: all writes at the 5-minute rate come to a third less.
		"writes of both lifetimes": {fable(), record.Usage{InputTokens: 216_471_965, CacheWriteTokens: 47_745_500, CacheWrite1hTokens: 168_726_465}, "", "",
			(596_818_750 + 3_374_529_300) * micro},
		// github.com/microsoft/conductor/pull/427: input includes what is cached and written; charged twice it is eleven times as much.
		"input includes the cache":  {fable(), record.Usage{InputTokens: 19_173, CachedTokens: 19_071, CacheWriteTokens: 100}, "", "", (20 + 19_071 + 1_250) * micro},
		"cached input is not input": {sol(), record.Usage{InputTokens: 456_684 / 2, CachedTokens: 391_094 / 2, OutputTokens: 1_000}, "", "", (65_590+10_000)*micro + 19_554_700_000},
		"two web searches, by the fee of a tier": {&spec.Price{Rates: spec.Rates{Input: 1}, Fees: fable().Fees, Tiers: source.Named[spec.Price]{
			pair("batch", spec.Price{Rates: spec.Rates{Input: 1}, Fees: source.Named[float64]{pair("server_tool_use.web_search_requests", 0.02)}}),
		}}, record.Usage{InputTokens: 1_000}, "batch", `{"server_tool_use.web_search_requests": 2}`, 41_000 * micro},
		"two web searches in a tier without a fee": {fable(), record.Usage{InputTokens: 1_000}, "batch", `{"server_tool_use.web_search_requests": 2}`, 25_000 * micro},
		"two web searches":                         {fable(), record.Usage{InputTokens: 1_000}, "", `{"server_tool_use.web_search_requests": 2}`, 30_000 * micro},
		"a batch":                                  {fable(), record.Usage{InputTokens: 10_000, OutputTokens: 1_000}, "batch", "", 75_000 * micro},
		"a cache write in a tier without":          {fable(), record.Usage{InputTokens: 10_000, CacheWriteTokens: 1}, "batch", "", -1},

		"100,000 tokens are not above":    {haiku(), record.Usage{InputTokens: 100_000, OutputTokens: 1_000}, "", "", 10_500 * micro},
		"above, the whole call is dearer": {haiku(), record.Usage{InputTokens: 100_001, OutputTokens: 1_000}, "", "", 52_500_500_000},
		"above counts the cache, too":     {haiku(), record.Usage{InputTokens: 150_000, CachedTokens: 140_000}, "", "", (5_000 + 7_000) * micro},

		"reasoning is output":            {sol(), record.Usage{InputTokens: 1_000, OutputTokens: 2_000, ReasoningTokens: 1_900}, "default", "", 22_000 * micro},
		"flex":                           {sol(), record.Usage{InputTokens: 8_000, CachedTokens: 4_000, OutputTokens: 1_000}, "flex", "", 9_200 * micro},
		"priority":                       {sol(), record.Usage{InputTokens: 8_000, CachedTokens: 4_000, OutputTokens: 1_000}, "priority", "", 36_800 * micro},
		"long, with a write":             {sol(), record.Usage{InputTokens: 300_000, CachedTokens: 200_000, CacheWriteTokens: 50_000, OutputTokens: 2_000}, "", "", (200_000 + 40_000 + 250_000 + 30_000) * micro},
		"a tier without a price":         {sol(), record.Usage{InputTokens: 1_000}, "ultrafast", "", -1},
		"a search without a price":       {sol(), record.Usage{InputTokens: 1_000}, "", `{"num_sources_used": 1}`, -1},
		"a count of 0 costs nothing":     {sol(), record.Usage{InputTokens: 1_000}, "", `{"num_sources_used": 0}`, 2_000 * micro},
		"a cache write without a price":  {&spec.Price{Rates: spec.Rates{Input: 1, Output: 2}}, record.Usage{InputTokens: 1_000, CacheWriteTokens: 10}, "", "", -1},
		"its own price of reasoning":     {&spec.Price{Rates: spec.Rates{Input: 1, Output: 2, Reasoning: cents(3)}}, record.Usage{OutputTokens: 100, ReasoningTokens: 40}, "", "", 240 * micro},
		"a price of the call":            {&spec.Price{PerCall: 0.02}, record.Usage{InputTokens: 5_000}, "", "", 20_000 * micro},
		"what is free is so in any tier": {&spec.Price{Free: true}, record.Usage{InputTokens: 5_000, CacheWriteTokens: 10}, "scale", `{"num_sources_used": 1}`, 0},
		"an unknown price":               {nil, record.Usage{InputTokens: 5_000}, "", "", -1},
	} {
		price := PriceOf(c.price)
		reply := &model.Reply{Usage: c.usage, Tier: c.tier}
		reply.Usage.Calls = 1
		if c.reported != "" {
			reply.Reported = json.RawMessage(c.reported)
		}
		price.charge(reply)
		got := reply.Usage.Cost
		if reply.Usage.Unpriced > 0 {
			if got != 0 {
				t.Errorf("%s: unknown, and costs %d", name, got)
			}
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d (1e-12 USD)", name, got, c.want)
		}
	}
}

// A model that refuses is paid for, in the tier that answered.
func TestRefusalsCost(t *testing.T) {
	failed := model.Fail(record.ContentFilter, "the model refused", 0)
	failed.Reply = &model.Reply{Usage: record.Usage{Calls: 1, InputTokens: 8_000, CachedTokens: 4_000, OutputTokens: 1_000}, Tier: "flex"}
	budget := NewBudget(Suite, Limits{Calls: 9})
	m := Limit(answers{err: failed}, budget, LimitOptions{Price: PriceOf(sol())})
	asked := model.Asked{Model: m, Name: "m", Request: &model.Request{}}
	_, call, err := asked.Ask(t.Context())
	want := record.Usage{Calls: 1, InputTokens: 8_000, CachedTokens: 4_000, OutputTokens: 1_000, Cost: 92 * record.USD / 1e4}
	if err == nil || call.Usage != want || call.Tier != "flex" || budget.Spent() != want {
		t.Errorf("%v: %+v, paid %+v", err, call, budget.Spent())
	}
}

// No call costs more than is reserved for tokens of its kind: those from the cache and written into it, reasoning, and tiers that were
// asked for.
func TestReservationKnowsCacheWrites(t *testing.T) {
	const micro = record.USD / 1e6
	dearer := &spec.Price{Rates: spec.Rates{Input: 1, CachedInput: cents(3), Output: 1}}
	thinking := &spec.Price{Rates: spec.Rates{Input: 1, Output: 1, Reasoning: cents(3)}}
	for name, c := range map[string]struct {
		model         spec.Model
		input, output int64
		want          record.Money
	}{
		"a cache for an hour":              {spec.Model{Provider: "anthropic", Price: fable(), Cache: []string{"auto"}}, 10_000, 100, 205_000 * micro},
		"no cache":                         {spec.Model{Provider: "anthropic", Price: fable()}, 1_000_000, 0, 10 * record.USD},
		"a provider caches what it likes":  {spec.Model{Provider: "openai", Price: sol()}, 100_000, 0, record.USD / 4},
		"above 100,000 tokens":             {spec.Model{Provider: "anthropic", Price: haiku()}, 200_000, 0, record.USD / 10},
		"input from the cache is dearer":   {spec.Model{Price: dearer}, 10, 50, 80 * micro},
		"reasoning is dearer":              {spec.Model{Price: thinking}, 0, 10, 30 * micro},
		"no tier":                          {spec.Model{Price: sol()}, 0, 1, 10 * micro},
		"a tier that is cheaper":           {spec.Model{Price: sol(), ServiceTier: "flex"}, 0, 1, 10 * micro},
		"a tier that is dearer":            {spec.Model{Price: sol(), ServiceTier: "priority"}, 0, 1, 20 * micro},
		"a tier that the provider chooses": {spec.Model{Price: sol(), ServiceTier: "auto"}, 0, 1, 20 * micro},
	} {
		price := PriceOfModel(&c.model)
		if got := price.most(record.Usage{Calls: 1, InputTokens: c.input, OutputTokens: c.output}).Cost; got != c.want {
			t.Errorf("%s: %d is reserved, want %d", name, got, c.want)
		}
	}
	e := newEstimate(LimitOptions{Price: PriceOf(dearer), Input: 10, MaxOutput: 5})
	if got, want := e.of(request).Bound.Cost, record.Money(80*micro); got != want {
		t.Errorf("for a request %d is reserved, want %d", got, want)
	}
}

// Input costs at least what the provider takes for what it has kept, in the cheapest tier that was asked for.
func TestLeastInput(t *testing.T) {
	for name, c := range map[string]struct {
		model  spec.Model
		tokens int64
		want   record.Money
	}{
		"kept by the provider":    {spec.Model{Price: sol()}, 100_000, record.USD / 100},
		"above 272,000 tokens":    {spec.Model{Price: sol()}, 300_000, record.USD * 6 / 100},
		"a tier that is cheaper":  {spec.Model{Price: sol(), ServiceTier: "flex"}, 100_000, record.USD / 200},
		"a tier that is dearer":   {spec.Model{Price: sol(), ServiceTier: "priority"}, 100_000, record.USD / 100},
		"what is kept is dearer":  {spec.Model{Price: &spec.Price{Rates: spec.Rates{Input: 1, CachedInput: cents(3)}}}, 100_000, record.USD / 10},
		"a price that is unknown": {spec.Model{}, 100_000, 0},
	} {
		price := PriceOfModel(&c.model)
		if got := price.LeastInput(c.tokens); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func pair[T any](key string, value T) source.Pair[T] { return source.Pair[T]{Key: key, Value: value} }
