package cache

import (
	"context"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// A number that is taken is the lowest that no other equal request has.
func TestNumbersAreTheLowestFree(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		requests := []Key{{1}, {2}}
		n, held := numbersOf(WithRun(context.Background())), map[Key][]int{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			k := rapid.SampledFrom(requests).Draw(t, "request")
			if len(held[k]) > 0 && rapid.Bool().Draw(t, "fails") {
				failed := rapid.SampledFrom(held[k]).Draw(t, "number")
				n.giveBack(k, failed)
				held[k] = slices.DeleteFunc(held[k], func(h int) bool { return h == failed })
				continue
			}
			want := 0
			for slices.Contains(held[k], want) {
				want++
			}
			got := n.take(k)
			if got != want {
				t.Fatalf("got %d, want %d beside %v", got, want, held[k])
			}
			held[k] = append(held[k], got)
		}
	})
}
