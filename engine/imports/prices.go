package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PriceTable is what LiteLLM's model_prices_and_context_window.json says of models that
// chat, as far as a suite's file of prices can say it.
type PriceTable struct {
	Models []ModelPrice // by name
	// Unknown counts the models whose entry has a field that is not used here and may
	// be part of a price.
	Unknown map[string]int
	// Zero are models whose prices are 0, which may be a gap of the table.
	Zero []string
	// Ambiguous are names that several providers charge differently for.
	Ambiguous []string
}

// ModelPrice is a model's price, in USD per million tokens in decimal notation, by the keys of a file of prices.
type ModelPrice struct {
	Name  string
	Rates Rates
	Above []Step           // ascending
	Tiers map[string]Rates // flex, priority, batch
}

// Rates are what LiteLLM says of each kind of tokens: input, cached_input, cache_write, cache_write_1h, output, reasoning.
type Rates map[string]string

// Step are the rates of calls whose input has more tokens.
type Step struct {
	Tokens int64
	Rates  Rates
}

// rateKeys are the keys of a price in their order, with LiteLLM's name for each.
var rateKeys = []struct{ key, field string }{
	{"input", "input_cost_per_token"},
	{"cached_input", "cache_read_input_token_cost"},
	{"cache_write", "cache_creation_input_token_cost"},
	{"cache_write_1h", "cache_creation_input_token_cost_above_1hr"},
	{"output", "output_cost_per_token"},
	{"reasoning", "output_cost_per_reasoning_token"},
}

// harmless are fields that say nothing of what a chat costs.
var harmless = []string{"litellm_provider", "mode", "max_tokens", "max_input_tokens", "max_output_tokens", "deprecation_date", "source", "metadata", "comment", "notes",
	"rpm", "tpm", "rpd", "tpd"}

// tierSuffixes are how LiteLLM writes the service tiers behind a field.
var tierSuffixes = map[string]string{"_flex": "flex", "_priority": "priority", "_batches": "batch"}

var stepPattern = regexp.MustCompile(`_above_([0-9]+)k_tokens`)

// Prices reads the table. Of providers it keeps those named, or all where none is; names
// are those that the provider itself gives its models.
func Prices(table io.Reader, providers ...string) (*PriceTable, error) {
	var entries map[string]map[string]json.RawMessage
	if err := json.NewDecoder(table).Decode(&entries); err != nil {
		return nil, fmt.Errorf("want an object of models, as in LiteLLM's model_prices_and_context_window.json: %w", err)
	}
	delete(entries, "sample_spec")
	made := &PriceTable{Unknown: map[string]int{}}
	found := map[string]ModelPrice{}
	chats := 0
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[key]
		provider, mode := stringOf(entry["litellm_provider"]), stringOf(entry["mode"])
		if mode != "chat" && mode != "completion" && mode != "responses" || len(providers) > 0 && !slices.Contains(providers, provider) {
			continue
		}
		chats++
		price, unknown, err := priceOf(strings.TrimPrefix(key, provider+"/"), entry)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		for _, field := range unknown {
			made.Unknown[field]++
		}
		before, known := found[price.Name]
		switch {
		case price.Rates["input"] == "0" && price.Rates["output"] == "0":
			made.Zero = append(made.Zero, price.Name)
		case known && !reflect.DeepEqual(before, price):
			made.Ambiguous = append(made.Ambiguous, price.Name)
		default:
			found[price.Name] = price
		}
	}
	if chats == 0 {
		return nil, fmt.Errorf("the table has no chat model of %s", cmp.Or(strings.Join(providers, " or "), "any provider"))
	}
	slices.Sort(made.Ambiguous)
	made.Ambiguous = slices.Compact(made.Ambiguous)
	for _, name := range made.Ambiguous {
		delete(found, name)
	}
	made.Models = slices.SortedFunc(maps.Values(found), func(a, b ModelPrice) int { return cmp.Compare(a.Name, b.Name) })
	return made, nil
}

func stringOf(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // what is no text names no provider
	return s
}

// priceOf is the price that an entry has, with the fields that may be part of it and are not used.
func priceOf(name string, entry map[string]json.RawMessage) (p ModelPrice, unknown []string, err error) {
	p = ModelPrice{Name: name, Rates: Rates{"input": "0", "output": "0"}, Tiers: map[string]Rates{}}
	steps := map[int64]Rates{}
	for _, field := range slices.Sorted(maps.Keys(entry)) {
		if slices.Contains(harmless, field) || strings.HasPrefix(field, "supports_") || strings.HasPrefix(field, "supported_") {
			continue
		}
		key, tier, tokens := rateOf(field)
		switch {
		case key == "" || tier != "" && tokens > 0:
			unknown = append(unknown, field)
			continue
		case string(entry[field]) == "null":
			continue
		}
		rate, err := perMillion(string(entry[field]))
		if err != nil {
			return p, nil, fmt.Errorf("%s: %w", field, err)
		}
		switch {
		case tokens > 0:
			put(steps, tokens, key, rate)
		case tier != "":
			put(p.Tiers, tier, key, rate)
		default:
			p.Rates[key] = rate
		}
	}
	for _, tokens := range slices.Sorted(maps.Keys(steps)) {
		p.Above = append(p.Above, Step{tokens, filled(steps[tokens], p.Rates)})
	}
	for tier, rates := range p.Tiers {
		p.Tiers[tier] = filled(rates, p.Rates)
	}
	return p, unknown, nil
}

func put[K comparable](all map[K]Rates, at K, key, rate string) {
	if all[at] == nil {
		all[at] = Rates{}
	}
	all[at][key] = rate
}

// filled has the rates of input and output that a step or tier leaves as they are.
func filled(rates, otherwise Rates) Rates {
	for _, key := range []string{"input", "output"} {
		if rates[key] == "" {
			rates[key] = otherwise[key]
		}
	}
	return rates
}

// rateOf is what a field is the price of, "" where that is unknown; of a service tier, or of calls with more tokens of input.
func rateOf(field string) (key, tier string, tokens int64) {
	if step := stepPattern.FindStringSubmatch(field); step != nil {
		thousands, _ := strconv.ParseInt(step[1], 10, 32) // digits
		tokens, field = 1000*thousands, strings.Replace(field, step[0], "", 1)
	}
	for suffix, name := range tierSuffixes {
		if before, found := strings.CutSuffix(field, suffix); found {
			tier, field = name, before
		}
	}
	for _, rate := range rateKeys {
		if rate.field == field {
			return rate.key, tier, tokens
		}
	}
	return "", tier, tokens
}

// perMillion is a price for a million tokens of one for a token, exactly.
func perMillion(token string) (string, error) {
	price, ok := new(big.Rat).SetString(token)
	if !ok || price.Sign() < 0 {
		return "", fmt.Errorf("want a number that is 0 or more, got %s", token)
	}
	million, _ := price.Mul(price, big.NewRat(1e6, 1)).Float64()
	return strconv.FormatFloat(million, 'f', -1, 64), nil
}

// YAML is the file of prices, as of a day such as 2026-11-01.
func (t *PriceTable) YAML(asOf string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "as_of: %s\nprices: # USD per million tokens, from LiteLLM's table\n", asOf)
	for _, m := range t.Models {
		fmt.Fprintf(&out, "  %q: {%s", m.Name, m.Rates)
		for i, step := range m.Above {
			fmt.Fprintf(&out, "%s\"%d\": {%s}", []string{", above: {", ", "}[min(i, 1)], step.Tokens, step.Rates)
		}
		if m.Above != nil {
			out.WriteString("}")
		}
		for i, tier := range slices.Sorted(maps.Keys(m.Tiers)) {
			fmt.Fprintf(&out, "%s%s: {%s}", []string{", tiers: {", ", "}[min(i, 1)], tier, m.Tiers[tier])
		}
		if len(m.Tiers) > 0 {
			out.WriteString("}")
		}
		out.WriteString("}\n")
	}
	return out.String()
}

// String has the rates as keys of YAML in their order.
func (r Rates) String() string {
	var parts []string
	for _, rate := range rateKeys {
		if r[rate.key] != "" {
			parts = append(parts, rate.key+": "+r[rate.key])
		}
	}
	return strings.Join(parts, ", ")
}
