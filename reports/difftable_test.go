package reports

import "testing"

// That too few tasks differ is said only where that is so: numbers that are too
// large to compare can be another cause. Clusters are counted apart from tasks.
func TestTooFewTasksAreCountedBeforeItIsSaid(t *testing.T) {
	for _, c := range []struct {
		unit            string
		wins, differing int
		want            int
	}{
		{"task", 0, 0, 1}, {"task", 5, 5, 1}, {"task", 7, 7, 1}, {"task", 40, 0, 0}, {"cluster", 40, 2, 1},
	} {
		few := Warning{Kind: TooFewDiffer, Name: c.unit, Count: c.differing, Of: 8}
		d := Difference{Quantity: "right", Score: true, Tasks: 40, Wins: c.wins, TooFew: true, few: few}
		if got := d.warnings(); len(got) != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
