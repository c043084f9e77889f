package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/spec/source"
)

// Price is what calls of a model cost, or the word free.
type Price struct {
	Free  bool `short:"free"`
	Rates `yaml:",inline"`

	Above   source.Named[Rates]   `yaml:"above" doc:"Rates of calls whose input is longer than so many tokens: {\"200000\": {input: 6, output: 22.5}}. They apply to the whole call."`
	Tiers   source.Named[Price]   `yaml:"tiers" doc:"Prices by the service tier that the provider reports: {flex: {…}, priority: {…}}."`
	PerCall float64               `yaml:"per_call" min:"0" max:"100000" doc:"USD of a call, whatever its tokens."`
	Fees    source.Named[float64] `yaml:"fees" doc:"USD for each unit that a provider counts beside tokens, by its name in the usage: {server_tool_use.web_search_requests: 0.01}."`
}

// Rates are USD per million tokens. A rate that is absent: cached_input is input, reasoning is output, and the price of
// a cache write is unknown.
type Rates struct {
	Input        float64  `yaml:"input" need:"required" min:"0" max:"100000" also:"prompt prompt_tokens in"`
	CachedInput  *float64 `yaml:"cached_input" min:"0" max:"100000" doc:"Input that was read from the provider's cache (default: input)." also:"cached cache_read"`
	CacheWrite   *float64 `yaml:"cache_write" min:"0" max:"100000" doc:"Input that was written into the provider's cache for 5 minutes, or for its usual time."`
	CacheWrite1h *float64 `yaml:"cache_write_1h" min:"0" max:"100000" doc:"Input that was written into the provider's cache for an hour."`
	Output       float64  `yaml:"output" need:"required" min:"0" max:"100000" also:"completion completion_tokens out"`
	Reasoning    *float64 `yaml:"reasoning" min:"0" max:"100000" doc:"Output that is reasoning (default: output)."`
}

// DecodeNode also refuses prices of 0, which may be a table's gap: what is free has to be called so.
func (p *Price) DecodeNode(n *source.Node, d *source.Decoder) {
	type plain Price
	d.Decode(n, (*plain)(p))
	if isZero(n.Get("input")) && isZero(n.Get("output")) && p.PerCall == 0 {
		d.Fault(n, "write free if calls cost nothing, or the price", "both prices are 0")
	}
	p.checkSteps(n, d)
}

func (p *Price) JSONSchema(g *source.Generator) map[string]any { return g.Struct(*p) }

// checkSteps checks the names in the mappings of a price: token counts in ascending order, fees of 0 or more.
func (p *Price) checkSteps(n *source.Node, d *source.Decoder) {
	before := int64(0)
	for _, step := range p.Above {
		tokens, err := strconv.ParseInt(step.Key, 10, 64)
		if err != nil || tokens <= before {
			d.Add(n.Get("above").KeyFault(step.Key, "write numbers of input tokens in ascending order: above: {\"200000\": {input: 6, output: 22.5}}", "want a number of tokens above %d", before))
			return
		}
		before = tokens
	}
	for _, fee := range p.Fees {
		if slices.Contains(ratedCounts, fee.Key) {
			d.Add(n.Get("fees").KeyFault(fee.Key, "write its rate: input, cached_input, cache_write, output, reasoning", "%s is not a fee: tokens have rates", fee.Key))
		}
		if fee.Value < 0 || fee.Value > 100000 {
			d.Fault(fee.Node, "", "want USD from 0 to 100000, got %v", fee.Value)
		}
	}
	for _, tier := range p.Tiers {
		if tier.Node.Kind == source.Map && tier.Node.Get("tiers") != nil {
			d.Fault(tier.Node.Get("tiers"), "", "a tier has no tiers")
		}
	}
}

// ratedCounts are what providers call the tokens that have rates.
var ratedCounts = []string{"input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens",
	"cache_read_input_tokens", "cache_creation_input_tokens"}

// countedBeside are what providers are known to count beside tokens: Anthropic, xAI and Perplexity, in this order.
var countedBeside = []string{"server_tool_use.web_search_requests", "server_tool_use.web_fetch_requests", "num_sources_used", "num_search_queries"}

// countMeant is the known count that a name is meant to be, "": none.
func countMeant(name string) string {
	for _, known := range countedBeside {
		if len(name) > 3 && strings.Contains(known, name) {
			return known
		}
	}
	return source.Closest(name, countedBeside)
}

// Step are the rates of calls whose input is longer than so many tokens.
type Step struct {
	Tokens int64
	Rates
}

// Steps are the rates by the length of the input, ascending. The first are those of the price itself, of any input.
func (p *Price) Steps() []Step {
	steps := []Step{{0, p.Rates}}
	for _, above := range p.Above {
		tokens, _ := strconv.ParseInt(above.Key, 10, 64) // checked when it was decoded
		steps = append(steps, Step{tokens, above.Value})
	}
	return steps
}

// WritesCache reports whether calls may be charged for what they write into the provider's cache. Anthropic
// caches what the model declares, other providers what they like.
func (m *Model) WritesCache() bool { return m.Provider != "anthropic" || len(m.Cache) > 0 }

// Dearest are the highest rates of input and output that a call of the model may be charged, in USD per million tokens,
// and the most that it costs beside its tokens. It reports false where the price is unknown.
func (m *Model) Dearest() (input, output, perCall float64, known bool) {
	if m == nil || m.Price == nil {
		return 0, 0, 0, false
	}
	for _, p := range m.charged() {
		perCall = max(perCall, p.PerCall)
		for _, step := range p.Steps() {
			input = max(input, step.Input, orZero(step.CachedInput))
			if m.WritesCache() {
				input = max(input, orZero(step.CacheWrite), orZero(step.CacheWrite1h))
			}
			output = max(output, step.Output, orZero(step.Reasoning))
		}
	}
	return input, output, perCall, true
}

// charged are the prices that a call may be charged by: that of the service tier asked for, and the usual one, which
// a provider falls back to.
func (m *Model) charged() []*Price {
	prices := []*Price{m.Price}
	for i := range m.Price.Tiers {
		if tier := &m.Price.Tiers[i]; m.ServiceTier == "auto" || m.ServiceTier == tier.Key {
			prices = append(prices, &tier.Value)
		}
	}
	return prices
}

// UsualTier reports whether providers ask the usual price for a service tier of this name.
func UsualTier(name string) bool {
	switch name {
	case "", "auto", "default", "standard", "standard_only", "on_demand":
		return true
	}
	return false
}

func orZero(rate *float64) float64 {
	if rate == nil {
		return 0
	}
	return *rate
}

func isZero(n *source.Node) bool {
	if n == nil {
		return false
	}
	value := n.Plain()
	return value == int64(0) || value == 0.0
}

// PriceFile is a dated table of prices, by what the providers call their models.
type PriceFile struct {
	AsOf   Date                `yaml:"as_of" need:"required" doc:"The day on which they were looked up: 2026-11-01."`
	Prices source.Named[Price] `yaml:"prices" need:"required" minlen:"1" doc:"USD per million tokens, or free."`
}

// Date is a day: 2026-11-01.
type Date string

// DecodeNode takes a date, in quotes or not.
func (day *Date) DecodeNode(n *source.Node, d *source.Decoder) {
	if _, err := time.Parse(time.DateOnly, n.Text); err != nil || n.Kind != source.String {
		d.Fault(n, "", "want a date, such as 2026-11-01")
		return
	}
	*day = Date(n.Text)
}

func (day *Date) JSONSchema(*source.Generator) map[string]any {
	return map[string]any{"type": "string", "format": "date"}
}

// priceModels gives the models that say no price of their own the one in the suite's file. It stands in the suite's
// tree from then on, so that the resolved spec shows what was paid by.
func (l *loader) priceModels(s *Suite) {
	at := s.Tree.Get("prices")
	if at == nil || s.Prices == "" {
		return
	}
	file := l.priceFile(at)
	if file == nil {
		return
	}
	for i := range s.Models {
		m, name := &s.Models[i].Value, s.Models[i].Key
		if m.Node == nil || m.Node.Get("price") != nil {
			continue
		}
		name = cmp.Or(m.Name, name)
		found := slices.IndexFunc(file.Prices, func(p source.Pair[Price]) bool { return p.Key == name })
		if _, calls := m.Server(); found < 0 && calls {
			at := cmp.Or(m.Node.Get("name"), m.Node)
			add := fmt.Sprintf("add it to %s, or write a price here", s.Prices)
			l.warn(at, cmp.Or(didYouMean(name, file.Prices.Keys()), add), "%s has no price of %q: its cost is unknown", s.Prices, name)
		}
		if found < 0 {
			continue
		}
		m.Price, s.PricesAsOf = &file.Prices[found].Value, string(file.AsOf)
		m.Node.Set("price", file.Prices[found].Node)
	}
}

// LoadPrices reads a file of prices.
func LoadPrices(path string) (*PriceFile, source.Faults) {
	text, err := readTrusted(path)
	if err != nil {
		return nil, faultOfFile(path, err)
	}
	l, file := newLoader(&Document{}), &PriceFile{}
	if tree := l.parse(path, text); tree != nil {
		l.add(l.decoder.Whole(tree, file)...)
	}
	return file, l.faults
}

// priceFile reads the file that n names.
func (l *loader) priceFile(n *source.Node) *PriceFile {
	at, ok := l.named(n, l.doc.folder)
	if !ok {
		return nil
	}
	tree := l.read(n, at)
	if tree == nil {
		return nil
	}
	file := &PriceFile{}
	l.add(l.decoder.Whole(tree, file)...)
	return file
}
