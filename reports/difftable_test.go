package reports

import "testing"

// That too few tasks differ is said only where that is so: clusters, or numbers
// that are too large to compare, can be another cause.
func TestTooFewTasksAreCountedBeforeItIsSaid(t *testing.T) {
	for wins, want := range map[int]int{0: 1, 5: 1, 6: 0, 40: 0} {
		d := Difference{Quantity: "right", Score: true, Tasks: 40, Wins: wins, TooFew: true}
		if got := d.warnings(); len(got) != want {
			t.Errorf("%d tasks differ: %v", wins, got)
		}
	}
}
