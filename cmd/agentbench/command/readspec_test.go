package command

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
)

func TestNamesAreListedOnce(t *testing.T) {
	if got := exit.Some([]string{"right", "right", "cost_usd", "right"}); got != "right, cost_usd" {
		t.Errorf("%q", got)
	}
	if got := exit.Some(strings.Split("a b c d e f g h i j a", " ")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Errorf("%q", got)
	}
}
