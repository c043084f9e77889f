package scorers

import (
	"fmt"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/engine/secret/cuttest"
)

func TestF70_NoCutLeavesAPartOfAKey(t *testing.T) {
	cutters := map[string]func(string) string{"wire.Shorten": wire.Shorten, "quoted": quoted}
	for _, most := range []int{60, maxAnswer, maxExplanation} {
		cutters[fmt.Sprintf("secret.Prefix %d", most)] = func(s string) string { return secret.Prefix(s, most) }
		cutters[fmt.Sprintf("short %d", most)] = func(s string) string { return short(s, most) }
	}
	cuttest.LeavesNoPart(t, maxExplanation+100, cutters)
	for text, want := range map[string]string{"one two": "one two", "one two three": "one two …", "é two three": "é two …", "oné two": "oné two"} {
		expect.Equal(t, text, short(text, 9), want)
	}
}
