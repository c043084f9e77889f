package reports

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "a", "task-1", "task-02", "task-2", "task-10", "task-10a", "task-b", "tasks"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturally)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %q, want %q", got, want)
	}
	propertytest.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a0-2]{0,5}`)
		a, b, c := name.Draw(rt, "a"), name.Draw(rt, "b"), name.Draw(rt, "c")
		if (naturally(a, b) == 0) != (a == b) || naturally(a, b) != -naturally(b, a) {
			rt.Fatalf("%q and %q", a, b)
		}
		if naturally(a, b) < 0 && naturally(b, c) < 0 && naturally(a, c) >= 0 {
			rt.Fatalf("%q < %q < %q, but not the first and the last", a, b, c)
		}
	})
}
