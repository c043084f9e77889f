package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
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

// ModelPrice is a model's price in USD per million tokens, in decimal notation.
type ModelPrice struct {
	Name                       string
	Input, CachedInput, Output string // CachedInput "": as other input
}

// priceFields are the fields that make a price; harmless ones say nothing of what a
// chat costs.
var (
	priceFields = []string{"input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"}
	harmless    = []string{"litellm_provider", "mode", "max_tokens", "max_input_tokens", "max_output_tokens", "deprecation_date", "source", "metadata", "comment", "notes",
		"rpm", "tpm", "rpd", "tpd"}
)

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
		price, err := priceOf(strings.TrimPrefix(key, provider+"/"), entry)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		for field := range entry {
			if !slices.Contains(priceFields, field) && !slices.Contains(harmless, field) && !strings.HasPrefix(field, "supports_") && !strings.HasPrefix(field, "supported_") {
				made.Unknown[field]++
			}
		}
		before, known := found[price.Name]
		switch {
		case price.Input == "0" && price.Output == "0":
			made.Zero = append(made.Zero, price.Name)
		case known && before != price:
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

func priceOf(name string, entry map[string]json.RawMessage) (p ModelPrice, err error) {
	p.Name = name
	for i, to := range []*string{&p.Input, &p.Output, &p.CachedInput} {
		value, given := entry[priceFields[i]]
		if !given || string(value) == "null" {
			if i < 2 {
				*to = "0"
			}
			continue
		}
		if *to, err = perMillion(string(value)); err != nil {
			return p, fmt.Errorf("%s: %w", priceFields[i], err)
		}
	}
	return p, nil
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
		cached := ""
		if m.CachedInput != "" {
			cached = ", cached_input: " + m.CachedInput
		}
		fmt.Fprintf(&out, "  %q: {input: %s%s, output: %s}\n", m.Name, m.Input, cached, m.Output)
	}
	return out.String()
}
