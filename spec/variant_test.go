package spec

import (
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

func TestNamesOfASweepNeedNoQuotes(t *testing.T) {
	for params, want := range map[string]string{
		"max_iterations=4,threshold=0.9": "a@max_iterations=4,threshold=0.9",
		`agent.tools=["x","y z"]`:        "a@agent.tools=x,y_z",
		"prompt=$(x) *":                  "a@prompt=__x___",
		"model=openai/gpt-4":             "a@model=openai/gpt-4",
	} {
		expect.Equal(t, params, VariantName("a", params, func(string) bool { return false }), want)
	}
	taken := map[string]bool{"a@x=_": true, "a@x=_+2": true}
	expect.Equal(t, "a name that is taken", VariantName("a", "x=?", func(name string) bool { return taken[name] }), "a@x=_+3")
}
