package reports

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// What each judge said at its n-th time in one order stands beside what it said at its n-th time in the other.
func TestVotesInBothOrders(t *testing.T) {
	first, second := orders([]record.Vote{
		{Judge: "a", Value: 1}, {Judge: "a", Value: 0.5}, {Judge: "b", Value: 0}, {Judge: "b", Unscored: "prose"},
		{Judge: "a", Swapped: true, Value: 0}, {Judge: "a", Swapped: true, Unscored: "prose"},
		{Judge: "b", Swapped: true, Value: 1}, {Judge: "b", Swapped: true, Value: 1}, {Judge: "c", Swapped: true, Value: 1},
	})
	if !slices.Equal(first, []float64{1, 0}) || !slices.Equal(second, []float64{0, 1}) {
		t.Errorf("got %v and %v", first, second)
	}
}
