package reports

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

// What each judge said at its n-th time in one order stands beside what it said at its n-th time in the other.
func TestVotesInBothOrders(t *testing.T) {
	both := orders([]record.Vote{
		{Judge: "a", Value: 1}, {Judge: "a", Value: 0.5}, {Judge: "b", Value: 0}, {Judge: "b", Unscored: "prose"},
		{Judge: "a", Swapped: true, Value: 0}, {Judge: "a", Swapped: true, Unscored: "prose"},
		{Judge: "b", Swapped: true, Value: 1}, {Judge: "b", Swapped: true, Value: 1}, {Judge: "c", Swapped: true, Value: 1},
	})
	if !slices.Equal(both, []stats.Placed{{First: 1, Second: 0}, {First: 0, Second: 1}}) {
		t.Errorf("got %v", both)
	}
}
