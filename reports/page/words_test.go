package page_test

import (
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"pgregory.net/rapid"
)

// Whatever a text from outside holds, marks of its own included, it is the part of the words that formats quote, and the
// rest is ours.
func TestWordsKeepTextsFromOutsideApart(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		foreign := rapid.OneOf(rapid.String(), rapid.StringMatching("[\x00<>=a]{1,12}"))
		own := rapid.StringMatching("[a-z<>=]{0,4}")
		words, raw, visible, quoted := "", "", "", ""
		for range rapid.IntRange(0, 4).Draw(rt, "parts") {
			ours, name := own.Draw(rt, "own"), foreign.Draw(rt, "foreign")
			words, raw, visible = words+ours+page.Foreign(name), raw+ours+name, visible+ours+page.Visible(name)
			if quoted += ours; name != "" {
				quoted += "‹›"
			}
		}
		of := page.Words(words)
		if of.Raw() != raw || of.Visible() != visible {
			rt.Fatalf("%q is %q and %q, want %q and %q", words, of.Raw(), of.Visible(), raw, visible)
		}
		if got := pagetest.Quoted(of, func(string) string { return "‹›" }); got != quoted {
			rt.Fatalf("%q quoted is %q, want %q", words, got, quoted)
		}
	})
}
