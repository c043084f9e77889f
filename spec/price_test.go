package spec

import "testing"

// The worst case of a call: the highest step, the tier that is asked for, cache writes where the provider may make some.
func TestDearest(t *testing.T) {
	const price = `{input: 2, cache_write: 2.5, cache_write_1h: 4, output: 10, reasoning: 11, per_call: 0.5, above: {"272000": {input: 3, output: 15}}, tiers: {priority: {input: 5, output: 20, per_call: 1}}}`
	for declared, want := range map[string][3]float64{
		"{provider: openai, price: " + price + "}":                          {4, 15, 0.5},
		"{provider: anthropic, price: " + price + "}":                       {3, 15, 0.5},
		"{provider: anthropic, cache: auto, price: " + price + "}":          {4, 15, 0.5},
		"{provider: openai, service_tier: priority, price: " + price + "}":  {5, 20, 1},
		"{provider: openai, service_tier: auto, price: " + price + "}":      {5, 20, 1},
		"{provider: openai, service_tier: flex, price: " + price + "}":      {4, 15, 0.5},
		"{provider: openai, price: {input: 2, cached_input: 3, output: 1}}": {3, 1, 0},
		"{provider: openai, price: free}":                                   {0, 0, 0},
	} {
		d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: x}]\nmodels: {m: "+declared+"}\nconfigurations: [{name: a, loop: l.yaml}]\n",
			"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
		m, _ := d.Suite.Models.Get("m")
		input, output, perCall, known := m.Dearest()
		if got := [3]float64{input, output, perCall}; got != want || !known {
			t.Errorf("%s: %v, want %v", declared, got, want)
		}
	}
	if _, _, _, known := (&Model{}).Dearest(); known {
		t.Error("a model without a price has one")
	}
}
