package trajectory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// Of many runs the list holds few, and those that went wrong stand first.
func TestListsHoldFewRuns(t *testing.T) {
	for _, most := range []int{0, 1, 20} {
		s := shortlist{most: most, of: map[int][]listed{}}
		random := rand.New(rand.NewPCG(1, uint64(most)))
		for _, n := range random.Perm(5000) {
			r := listed{task: fmt.Sprintf("%04d", n), configuration: n % 2, outcome: record.Outcome{Status: record.Completed}}
			if n == 4321 {
				r.outcome.Status = record.Faulted
			}
			s.add(r)
			if held := len(s.of[n%2]); most > 0 && held > 100+2*most {
				t.Fatalf("%d runs are held for %d", held, most)
			}
		}
		runs := s.runs()
		want := 2 * most
		if most == 0 {
			want = 5000
		}
		if len(runs) != want || s.seen != 5000 || runs[0].task != "0000" || runs[want/2].task != "4321" {
			t.Errorf("at most %d: %d runs of %d, beginning with %s and %s", most, len(runs), s.seen, runs[0].task, runs[want/2].task)
		}
	}
}

// What was taken back, and what could not be judged, is no 0 in a list.
func TestScoresInLists(t *testing.T) {
	for want, s := range map[string]record.Score{
		"":         {Removed: true},
		"unscored": {Unscored: "no target"},
		"0.00":     {},
		"0.67":     {Value: 2.0 / 3},
	} {
		if got := scoreText(&s); got != want {
			t.Errorf("%+v is listed as %q, want %q", s, got, want)
		}
	}
}
