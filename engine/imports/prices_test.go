package imports

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

const liteLLM = `{
  "sample_spec": {"litellm_provider": "one of ...", "mode": "one of: chat, ...", "input_cost_per_token": 0.0},
  "gpt-4o": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_priority": 4.25e-06, "output_cost_per_token_priority": 1.7e-05, "max_tokens": 16384, "supports_vision": true},
  "gpt-4o-mini": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07},
  "groq/llama-3.3-70b": {"litellm_provider": "groq", "mode": "chat", "input_cost_per_token": 5.9e-07, "output_cost_per_token": 7.9e-07},
  "together/llama-3.3-70b": {"litellm_provider": "together", "mode": "chat", "input_cost_per_token": 8.8e-07, "output_cost_per_token": 8.8e-07},
  "gemini/gemini-2.5-pro": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05, "input_cost_per_token_above_200k_tokens": 2.5e-06, "cache_read_input_token_cost_above_200k_tokens": 2.5e-07, "input_cost_per_audio_token": 1e-06},
  "claude-sonnet-5": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05, "cache_read_input_token_cost": 2e-07, "cache_creation_input_token_cost": 2.5e-06, "cache_creation_input_token_cost_above_1hr": 4e-06, "output_cost_per_reasoning_token": 1e-05, "search_context_cost_per_query": {"search_context_size_low": 0.01}},
  "ollama/llama3": {"litellm_provider": "ollama", "mode": "chat", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0},
  "dall-e-3": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_pixel": 4e-08}
}`

func TestPricesOfLiteLLM(t *testing.T) {
	got, err := Prices(strings.NewReader(liteLLM))
	if err != nil {
		t.Fatal(err)
	}
	want := &PriceTable{
		Models: []ModelPrice{
			{"claude-sonnet-5", Rates{"input": "2", "cached_input": "0.2", "cache_write": "2.5", "cache_write_1h": "4", "output": "10", "reasoning": "10"}, nil, map[string]Rates{}},
			{"gemini-2.5-pro", Rates{"input": "1.25", "output": "10"}, []Step{{200000, Rates{"input": "2.5", "cached_input": "0.25", "output": "10"}}}, map[string]Rates{}},
			{"gpt-4o", Rates{"input": "2.5", "cached_input": "1.25", "output": "10"}, nil, map[string]Rates{"priority": {"input": "4.25", "output": "17"}}},
			{"gpt-4o-mini", Rates{"input": "0.15", "output": "0.6"}, nil, map[string]Rates{}},
		},
		Unknown: map[string]int{"input_cost_per_audio_token": 1, "search_context_cost_per_query": 1}, Zero: []string{"llama3"}, Ambiguous: []string{"llama-3.3-70b"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	const yaml = `as_of: 2026-11-01
prices: # USD per million tokens, from LiteLLM's table
  "claude-sonnet-5": {input: 2, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, output: 10, reasoning: 10}
  "gemini-2.5-pro": {input: 1.25, output: 10, above: {"200000": {input: 2.5, cached_input: 0.25, output: 10}}}
  "gpt-4o": {input: 2.5, cached_input: 1.25, output: 10, tiers: {priority: {input: 4.25, output: 17}}}
  "gpt-4o-mini": {input: 0.15, output: 0.6}
`
	if text := got.YAML("2026-11-01"); text != yaml {
		t.Errorf("%s", text)
	}
	got, err = Prices(strings.NewReader(liteLLM), "groq", "openai")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range got.Models {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"gpt-4o", "gpt-4o-mini", "llama-3.3-70b"}) {
		t.Errorf("%q", names)
	}
}

func TestPricesThatAreWrong(t *testing.T) {
	for table, part := range map[string]string{
		`[]`:        "want an object of models",
		`{"a": {}}`: "no chat model of any provider",
		`{"a": {"mode": "chat", "input_cost_per_token": "free"}}`: `"a": input_cost_per_token: want a number`,
		`{"a": {"mode": "chat", "input_cost_per_token": -1}}`:     "want a number that is 0 or more, got -1",
	} {
		if _, err := Prices(strings.NewReader(table)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", table, err)
		}
	}
}
