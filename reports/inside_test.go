package reports

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"pgregory.net/rapid"
)

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
		d := compare.Difference{Quantity: compare.Quantity{Name: "right", Score: true}, Tasks: 40, Wins: c.wins, TooFew: true, Differing: c.differing, Fewest: 8}
		if c.unit == "cluster" {
			d.Clusters = 10
		}
		if got := warningsAbout(&d); len(got) != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

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

// What each judge said at its n-th time in one order stands beside what it said at its n-th time in the other.
func TestVotesInBothOrders(t *testing.T) {
	both := inBothOrders([]record.Vote{
		{Judge: "a", Value: 1}, {Judge: "a", Value: 0.5}, {Judge: "b", Value: 0}, {Judge: "b", Unscored: "prose"},
		{Judge: "a", Swapped: true, Value: 0}, {Judge: "a", Swapped: true, Unscored: "prose"},
		{Judge: "b", Swapped: true, Value: 0.5}, {Judge: "b", Swapped: true, Value: 1}, {Judge: "c", Swapped: true, Value: 1},
	})
	if !slices.Equal(both, []float64{0.5, 0.25}) {
		t.Errorf("got %v", both)
	}
}

// The table of STATISTICS, section 3: points by tasks and by the share of them
// that come out differently. A difference larger than the share cannot be.
func TestSmallestDifferences(t *testing.T) {
	for tasks, want := range map[int][4]float64{
		20: {14.0, 19.8, 24.3, 31.3}, 50: {8.9, 12.5, 15.3, 19.8}, 100: {6.3, 8.9, 10.9, 14.0},
		200: {4.4, 6.3, 7.7, 9.9}, 500: {2.8, 4.0, 4.9, 6.3}, 1000: {2.0, 2.8, 3.4, 4.4},
	} {
		text := AssumedPower(tasks, 1)
		for i, share := range discordance {
			got, ok := power.Detectable(share, float64(tasks))
			if !ok || math.Abs(100*got-want[i]) > 0.05 {
				t.Errorf("%d tasks, %s: %v, want %v points", tasks, percent(share), 100*got, want[i])
			}
			if told := strings.Contains(text, points(got)[:len(points(got))-len(" points")]); told != (got <= share) {
				t.Errorf("%d tasks, %s: %v points, of which is told %q", tasks, percent(share), 100*got, text)
			}
		}
	}
}

func TestPowerInAFewWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{AssumedPower(100, 1), "100 tasks can show a difference of success rates of 8.9 points where 10% of them come out differently, 10.9 at 15%, 14.0 at 25%, none below 7.8 points (at 5%, with a power of 80%)"},
		{AssumedPower(100, 4), "; 4 trials of each make that 50% of it at best"},
		{AssumedPower(20, 1), "20 tasks can show no difference of success rates below 39.2 points (at 5%, with a power of 80%)"},
		{AssumedPower(7, 1), "7 tasks can show no difference of success rates"},
		{AssumedNeed(0.05), "to show a difference of 5.0 points takes 155 tasks where 5% of them come out differently, 312 at 10%, 469 at 15%, 783 at 25%"},
		{AssumedNeed(0.3), "to show a difference of 30.0 points takes 24 tasks where 30% of them come out differently"},
	} {
		if !strings.HasSuffix(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
