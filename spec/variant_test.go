package spec

import "testing"

func TestNamesOfASweepNeedNoQuotes(t *testing.T) {
	for params, want := range map[string]string{
		"max_iterations=4,threshold=0.9": "a@max_iterations=4,threshold=0.9",
		`agent.tools=["x","y z"]`:        "a@agent.tools=x,y_z",
		"prompt=$(x) *":                  "a@prompt=__x___",
		"model=openai/gpt-4":             "a@model=openai/gpt-4",
	} {
		if got := VariantName("a", params, func(string) bool { return false }); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
	taken := map[string]bool{"a@x=_": true, "a@x=_+2": true}
	if got := VariantName("a", "x=?", func(name string) bool { return taken[name] }); got != "a@x=_+3" {
		t.Errorf("a name that is taken: %s", got)
	}
}
