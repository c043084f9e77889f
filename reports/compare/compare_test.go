package compare_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/stats"
	"pgregory.net/rapid"
)

var (
	right = compare.Quantity{Name: "right", Score: true}
	cost  = compare.Quantity{Name: "cost_usd"}
	nan   = math.NaN()
)

// side has the tasks t0, t1, … with the values of their trials.
func side(q compare.Quantity, tasks ...[]float64) *compare.Side {
	s := &compare.Side{Starts: []int32{0}}
	var values []float64
	for i, trials := range tasks {
		s.Tasks = append(s.Tasks, fmt.Sprint("t", i))
		for trial, value := range trials {
			s.Trials = append(s.Trials, int32(trial+1))
			values = append(values, value)
		}
		s.Starts = append(s.Starts, int32(len(values)))
	}
	s.Columns = []compare.Column{{Quantity: q, Values: values}}
	return s
}

// once has one trial of each task.
func once(q compare.Quantity, values ...float64) *compare.Side {
	tasks := make([][]float64, len(values))
	for i, v := range values {
		tasks[i] = []float64{v}
	}
	return side(q, tasks...)
}

// won are the sides of tasks with binary scores: won and lost by the new one,
// and passed by both.
func won(won, lost, both, none int) (base, new *compare.Side) {
	x := slices.Concat(slices.Repeat([]float64{0}, won), slices.Repeat([]float64{1}, lost), slices.Repeat([]float64{1}, both), slices.Repeat([]float64{0}, none))
	y := slices.Concat(slices.Repeat([]float64{1}, won), slices.Repeat([]float64{0}, lost), slices.Repeat([]float64{1}, both), slices.Repeat([]float64{0}, none))
	return once(right, x...), once(right, y...)
}

func compared(t testing.TB, base, new *compare.Side, options compare.Options) compare.Difference {
	t.Helper()
	r, err := compare.Sides(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) != 1 {
		t.Fatalf("%d lines, not 1", len(r.Differences))
	}
	return r.Differences[0]
}

func isNaN(x compare.Number) bool { return math.IsNaN(float64(x)) }

func abs(x compare.Number) compare.Number { return compare.Number(math.Abs(float64(x))) }

func near[N ~float64, M ~float64 | ~int](x N, y M) bool {
	got, want := float64(x), float64(y)
	return math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))
}

// The 6B pair of GSM8K, the separate runs of InterCode and Reflexion on MBPP,
// whose numbers are computed elsewhere, with R.
func TestRecordedPairs(t *testing.T) {
	for _, c := range []struct {
		won, lost, n         int
		change, low, high, p float64
		verdict              compare.Verdict
	}{
		{293, 64, 1319, 0.17361637604245642, 0.14684129836445156, 0.1998657417566688, 3.928874710490944e-36, compare.Better},
		{33, 12, 1034, 0.020309477756286266, 0.0073592186601252624, 0.033181321880415275, 0.002458900322096724, compare.Better},
		{17, 29, 397, -0.030226700251889168, -0.06397965791793339, 0.0038292819780837706, 0.10380535550410741, compare.CannotTell},
	} {
		base, new := won(c.won, c.lost, 1, c.n-c.won-c.lost-1)
		l := compared(t, base, new, compare.Options{})
		if l.Test != compare.McNemar || l.Wins != c.won || l.Losses != c.lost || l.Tasks != c.n || l.Ties != c.n-c.won-c.lost {
			t.Errorf("%+v", l)
		}
		if float64(l.Change) != c.change || !near(l.Low, c.low) || !near(l.High, c.high) || math.Abs(float64(l.P)/c.p-1) > 1e-9 {
			t.Errorf("%v [%v, %v] p %v; want %+v", l.Change, l.Low, l.High, l.P, c)
		}
		if l.Verdict != c.verdict {
			t.Errorf("%+v: %s", c, l.Verdict)
		}
	}
}

func TestVerdicts(t *testing.T) {
	type sides = [2]*compare.Side
	pair := func(base, new *compare.Side) sides { return sides{base, new} }
	cheap, dear := once(cost, 1, 2, 3, 4, 5, 6, 7, 8), once(cost, 2, 4, 6, 8, 10, 12, 14, 16.5)
	for _, c := range []struct {
		name     string
		of       sides
		options  compare.Options
		verdict  compare.Verdict
		notWorse bool
	}{
		{"six wins", pair(won(6, 0, 4, 0)), compare.Options{}, compare.Better, true},
		{"five wins", pair(won(5, 0, 4, 0)), compare.Options{}, compare.CannotTell, true},
		{"six losses", pair(won(0, 6, 4, 0)), compare.Options{}, compare.Worse, false},
		{"six losses, strictly", pair(won(0, 6, 4, 0)), compare.Options{Alpha: 0.01}, compare.CannotTell, false},
		{"equal on few tasks", pair(won(0, 0, 10, 10)), compare.Options{}, compare.CannotTell, false},
		{"equal on many tasks", pair(won(0, 0, 100, 100)), compare.Options{}, compare.Same, true},
		{"a little better on very many", pair(won(20, 2, 5000, 100)), compare.Options{}, compare.Same, true},
		{"without a margin", pair(won(20, 2, 5000, 100)), compare.Options{ScoreMargin: -1}, compare.Better, true},
		{"a margin of its own", pair(won(0, 30, 500, 470)), compare.Options{Margins: map[string]float64{"right": 0.1}}, compare.Same, true},
		{"dearer", pair(cheap, dear), compare.Options{}, compare.Worse, false},
		{"cheaper", pair(dear, cheap), compare.Options{}, compare.Better, true},
		{"as cheap on many", pair(once(cost, slices.Repeat([]float64{0.3}, 30)...), once(cost, slices.Repeat([]float64{0.3}, 30)...)), compare.Options{}, compare.Same, true},
		{"one iteration each", pair(once(cost, slices.Repeat([]float64{1}, 300)...), once(cost, slices.Repeat([]float64{1}, 300)...)), compare.Options{}, compare.Same, true},
		{"for nothing", pair(once(cost, slices.Repeat([]float64{0}, 30)...), once(cost, slices.Repeat([]float64{0}, 30)...)), compare.Options{}, compare.Same, true},
		{"for nothing, without a margin", pair(once(cost, slices.Repeat([]float64{0}, 30)...), once(cost, slices.Repeat([]float64{0}, 30)...)), compare.Options{RatioMargin: -1}, compare.CannotTell, false},
		{"a score of no scale", pair(once(right, slices.Repeat([]float64{3}, 30)...), once(right, slices.Repeat([]float64{3}, 30)...)), compare.Options{}, compare.CannotTell, false},
		{"as dear", pair(dear, dear), compare.Options{}, compare.CannotTell, false},
		{"as dear on many", pair(once(cost, slices.Repeat([]float64{3}, 20)...), once(cost, slices.Repeat([]float64{3}, 20)...)), compare.Options{}, compare.Same, true},
	} {
		l := compared(t, c.of[0], c.of[1], c.options)
		if l.Verdict != c.verdict || l.NotWorse != c.notWorse {
			t.Errorf("%s: %s, not worse %v; want %s, %v (%+v)", c.name, l.Verdict, l.NotWorse, c.verdict, c.notWorse, l)
		}
	}
}

// By hand: the differences are 0.5, 0.5, 0, 0.5, -0.5, whose mean is 0.2. Of the 16
// signs of the four that differ, 10 have a sum of 1 or more, or of -1 or less.
func TestTrialsAreMeansOfTheirTask(t *testing.T) {
	base := side(right, []float64{0, 0}, []float64{0, 1}, []float64{1, 1}, []float64{0, 1}, []float64{1, 0})
	new := side(right, []float64{0, 1}, []float64{1, 1}, []float64{1, 1}, []float64{1, 1}, []float64{0, 0})
	l := compared(t, base, new, compare.Options{Alpha: 0.2})
	want := intervalOf(t, stats.Units{Sum: 0.5, Size: 1, Count: 3}, stats.Units{Size: 1, Count: 1}, stats.Units{Sum: -0.5, Size: 1, Count: 1})
	if l.Test != compare.SignFlip || !near(l.Change, 0.2) || !near(l.Low, want.Low) || !near(l.High, want.High) || !near(l.P, 10.0/16) {
		t.Errorf("%+v", l)
	}
	if l.Wins != 3 || l.Losses != 1 || l.Ties != 1 || l.Runs != 10 || !near(l.Base, 0.5) || !near(l.New, 0.7) {
		t.Errorf("%+v", l)
	}
}

// intervalOf is that of a mean change of scores from 0 to 1.
func intervalOf(t *testing.T, units ...stats.Units) stats.Interval {
	t.Helper()
	sample, ok := stats.NewBounded(units, -1, 1)
	if !ok {
		t.Fatalf("no interval of %v", units)
	}
	return sample.Interval(0.95)
}

// Within 5 % is from 1/1.05 to 1.05: less by 4.83 % is not, since the other side
// then has more by 5.07 %.
func TestMarginsOfRatiosAreAlikeFromBothSides(t *testing.T) {
	ones, less := slices.Repeat([]float64{1}, 24), make([]float64, 24)
	for i := range less {
		less[i] = math.Exp(-0.0495 + 1e-4*float64(i%2))
	}
	there := compared(t, once(cost, ones...), once(cost, less...), compare.Options{})
	back := compared(t, once(cost, less...), once(cost, ones...), compare.Options{})
	if there.Verdict != compare.Better || back.Verdict != compare.Worse {
		t.Errorf("%+v\n%+v", there, back)
	}
}

// By hand: every task weighs the same, whatever cluster it is in. The means of the sides
// are 1/4 and 3/4; one of two clusters, of three tasks and of one, has all the successes.
func TestTasksApartInClusters(t *testing.T) {
	base, new := once(right, 0, 0, 0, 1), once(right, 1, 1, 1, 0)
	base.Clusters = []string{"a", "a", "a", "b"}
	new.Clusters = base.Clusters
	l := compared(t, base, new, compare.Options{Unpaired: true})
	few, _ := stats.NewBounded([]stats.Units{{Size: 3, Count: 1}, {Sum: 1, Size: 1, Count: 1}}, 0, 1)
	of := few.Interval(0.95) // that of the new side is the mirror image
	half := math.Hypot(0.25-of.Low, 0.25-of.Low)
	if l.Tasks != 4 || l.Clusters != 2 || !near(l.Base, 0.25) || !near(l.New, 0.75) || !near(l.Change, 0.5) || !near(l.High-l.Change, half) {
		t.Errorf("%+v; want 0.5 + %v", l, half)
	}
}

// Amounts of clustered tasks are tested as their interval is made, and not by
// ranks, which know nothing of clusters: 12 tasks in 2 clusters a side tell little.
func TestAmountsApartInClusters(t *testing.T) {
	base, new := once(cost, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2), once(cost, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4)
	if l := compared(t, base, new, compare.Options{Unpaired: true}); l.Test != compare.MannWhitney || l.Verdict != compare.Worse {
		t.Errorf("without clusters: %+v", l)
	}
	base.Clusters = strings.Split("aaaaaabbbbbb", "")
	new.Clusters = base.Clusters
	l := compared(t, base, new, compare.Options{Unpaired: true})
	if l.Test != compare.Welch || l.Verdict != compare.CannotTell || !(l.Low < 0 && l.High > 0) || !near(l.Change, 3.5/1.5-1) {
		t.Errorf("in clusters: %+v", l)
	}
}

// Most tasks are a little cheaper, three of them dearer by far: the ranks say
// less, the ratio of the means says more, and so nothing is better or worse.
func TestNothingIsBetterAgainstTheShownChange(t *testing.T) {
	values := func(low float64, dear int) (values []float64) {
		for i := range 20 {
			values = append(values, low+float64(i)/100)
		}
		for i := range dear {
			values[i] = 1e9
		}
		return values
	}
	base, new := once(cost, values(10, 0)...), once(cost, values(9, 3)...)
	there := compared(t, base, new, compare.Options{Unpaired: true})
	if there.Verdict != compare.CannotTell || !there.Contrary || !(there.P < 0.05) || !(there.Change > 0) || there.Needed != 0 || there.NotWorse {
		t.Errorf("%+v", there)
	}
	back := compared(t, new, base, compare.Options{Unpaired: true})
	if back.Verdict != compare.CannotTell || !back.Contrary || !(back.Change < 0) {
		t.Errorf("turned: %+v", back)
	}
	if l := compared(t, base, once(cost, values(9, 0)...), compare.Options{Unpaired: true}); l.Verdict != compare.Better || l.Contrary {
		t.Errorf("without the dear ones: %+v", l)
	}
	if l := compared(t, base, new, compare.Options{Unpaired: true, Alpha: 1e-9}); l.Contrary {
		t.Errorf("what shows nothing contradicts nothing: %+v", l)
	}
}

// By hand: of 4 clusters of 3 tasks the changes add up to 3, 0, 0 and 1; the
// mean is 1/3, and CR1 of equal clusters sqrt(4+1+1+0)/12 * sqrt(4/3). So many
// tasks are needed as 7.849 times 12 SE^2 over its square, and a third as many
// clusters.
func TestNeededClusters(t *testing.T) {
	base := once(right, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	new := once(right, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0)
	base.Clusters = strings.Split("aaabbbcccddd", "")
	l := compared(t, base, new, compare.Options{})
	se := math.Sqrt(6) / 12 * math.Sqrt(4.0/3)
	tasks := max(7.84888*12*se*se*9, 6*12/2) // at least six clusters that differ, of which there are two
	if l.Clusters != 4 || l.Needed != int(math.Ceil(tasks)) || l.ClustersNeeded != int(math.Ceil(tasks/3)) {
		t.Errorf("%+v, want %v tasks and %v clusters", l, tasks, tasks/3)
	}
	base.Clusters = nil
	if l := compared(t, base, new, compare.Options{}); l.Clusters != 0 || l.ClustersNeeded != 0 || l.Needed == 0 {
		t.Errorf("without clusters: %+v", l)
	}
}

// Scores and amounts of one name are two quantities.
func TestQuantitiesAreToldApartByWhatTheyAre(t *testing.T) {
	score, amount := once(compare.Quantity{Name: "cost_usd", Score: true}, 1, 0, 1), once(cost, 1, 2, 3)
	both := once(cost, 1, 2, 4)
	both.Columns = append(both.Columns, score.Columns[0])
	if l := compared(t, amount, both, compare.Options{}); l.Score || l.Wins != 0 || l.Losses != 1 {
		t.Errorf("%+v", l)
	}
	if l := compared(t, score, both, compare.Options{}); !l.Score || l.Ties != 3 {
		t.Errorf("%+v", l)
	}
}

// By hand: the means are 4 and 6. As shares of both sums, 12 and 18, the tasks' residuals
// are 0, -1/9 and 1/9, and their sizes 1/6, 5/18 and 5/9, whose squares add up to 134/324.
func TestAmountsAreComparedByTheRatioOfTheirMeans(t *testing.T) {
	l := compared(t, once(cost, 2, 4, 6), once(cost, 3, 4, 11), compare.Options{})
	if !l.Relative || !near(l.Change, 0.5) || l.Wins != 0 || l.Losses != 2 || l.Ties != 1 || !near(l.P, 2.0/4) {
		t.Errorf("%+v", l)
	}
	quantile, _ := stats.StudentQuantile(0.975, 324.0/134-1)
	half := quantile * math.Sqrt(math.Pow(1.0/9/(13.0/18), 2)+math.Pow(1.0/9/(4.0/9), 2))
	if low, high := 1.5*math.Exp(-half)-1, 1.5*math.Exp(half)-1; !near(l.Low, low) || !near(l.High, high) {
		t.Errorf("[%v, %v], want [%v, %v]", l.Low, l.High, low, high)
	}
	l = compared(t, once(cost, 2, 100, 0), once(cost, 1, 200, 3), compare.Options{})
	if !l.Relative || !near(l.Change, 1) {
		t.Errorf("a task that costs nothing is part of the mean: %+v", l)
	}
	l = compared(t, once(cost, 0, 0, 0), once(cost, 1, 200, 3), compare.Options{})
	if l.Relative || !near(l.Change, 68) || !near(l.Margin, 0.05*68/2) {
		t.Errorf("the base costs nothing, so the difference is told: %+v", l)
	}
}

// The ratio of the means of clusters is that of the means of their tasks, and tasks of a
// cluster that change alike say as little as one of them.
func TestRatiosInClusters(t *testing.T) {
	base, new := once(cost, 1, 2, 3, 4, 5, 6, 7, 8), once(cost, 2, 4, 3, 4, 10, 12, 7, 8)
	alone := compared(t, base, new, compare.Options{})
	base.Clusters = strings.Split("aabbccdd", "")
	l := compared(t, base, new, compare.Options{})
	sums := compared(t, once(cost, 3, 7, 11, 15), once(cost, 6, 7, 22, 15), compare.Options{})
	if l.Clusters != 4 || !near(l.Change, 50.0/36-1) || !near(l.Change, alone.Change) || !near(l.Low, sums.Low) || !near(l.High, sums.High) || !near(l.P, sums.P) {
		t.Errorf("%+v\nwant the interval of %+v", l, sums)
	}
	if !(l.Low < alone.Low && l.High > alone.High) {
		t.Errorf("[%v, %v] in clusters, [%v, %v] without", l.Low, l.High, alone.Low, alone.High)
	}
}

func TestMissingValuesLeaveThePair(t *testing.T) {
	base := side(right, []float64{1, 0}, []float64{nan, 1}, []float64{0, 0}, []float64{1, 1})
	new := side(right, []float64{1, 1}, []float64{1, nan}, []float64{1, nan}, []float64{0, 1})
	l := compared(t, base, new, compare.Options{})
	if l.Tasks != 3 || l.Runs != 5 || l.LeftOut != 3 {
		t.Errorf("%d tasks, %d runs, %d left out", l.Tasks, l.Runs, l.LeftOut)
	}
	if !near(l.Base, (0.5+0+1)/3) || !near(l.New, (1+1+0.5)/3) {
		t.Errorf("base %v, new %v", l.Base, l.New)
	}
	unpriced := once(cost, nan, nan)
	unpriced.Columns[0].Missing = "unpriced"
	l = compared(t, once(cost, 1, 2), unpriced, compare.Options{})
	if l.Missing != "unpriced" || l.Verdict != compare.CannotTell || !isNaN(l.Change) || !isNaN(l.Base) || l.Needed != 0 {
		t.Errorf("%+v", l)
	}
}

func TestPairing(t *testing.T) {
	base := side(right, []float64{1, 0}, []float64{1}, []float64{0})
	new := side(right, []float64{1, 0, 1}, []float64{1}, []float64{0}, []float64{1})
	new.Trials = []int32{2, 3, 4, 2, 1, 1}
	r, err := compare.Sides(base, new, compare.Options{})
	want := compare.PairedHow{Paired: true, Common: 3, OnlyNew: 1, Runs: 2, LoneBase: 2, LoneNew: 3}
	if err != nil || r.Pairing != want {
		t.Errorf("%+v, %v; want %+v", r.Pairing, err, want)
	}
	if l := r.Differences[0]; l.Tasks != 2 || l.Runs != 2 || l.Base != 0 || l.New != 0.5 {
		t.Errorf("trial 2 of t0 and trial 1 of t2 are pairs: %+v", l)
	}
}

func TestTasksApart(t *testing.T) {
	base, new := once(right, 1, 1, 1, 0, 0, 0), once(right, 1, 1, 1, 1, 1, 0)
	for i := range new.Tasks {
		new.Tasks[i] = fmt.Sprint("other", i)
	}
	if _, err := compare.Sides(base, new, compare.Options{}); !errors.Is(err, compare.ErrNoCommonTask) {
		t.Errorf("no common task: %v", err)
	}
	l := compared(t, base, new, compare.Options{Unpaired: true})
	if l.Paired || l.Test != compare.Welch || l.Tasks != 6 || l.BaseTasks != 6 || !near(l.Change, 1.0/3) || l.Wins != 0 || l.Flips != nil {
		t.Errorf("%+v", l)
	}
	new.Tasks[0] = "t0"
	if l := compared(t, base, new, compare.Options{}); l.Paired {
		t.Error("one common task in six is paired")
	}
	new.Tasks[1], new.Tasks[2] = "t1", "t2"
	if l := compared(t, base, new, compare.Options{}); !l.Paired || l.Tasks != 3 {
		t.Error("half of the tasks are common and not paired")
	}
	dear := compared(t, once(cost, 1, 2, 4), once(cost, 8, 16, 32), compare.Options{Unpaired: true})
	if dear.Test != compare.MannWhitney || !near(dear.Change, 7) || !near(dear.P, 0.1) {
		t.Errorf("U of 3 and 3 without overlap has p 2/20: %+v", dear)
	}
}

// By hand: the changes of the clusters add up to 2, 2 and -1: of the 8 signs 4
// have a sum as far from 0 as 3. The mean is 0.5.
func TestClusters(t *testing.T) {
	base := once(right, 0, 0, 0, 0, 1, 0)
	new := once(right, 1, 1, 1, 1, 0, 0)
	base.Clusters = []string{"a", "a", "b", "b", "c", "c"}
	l := compared(t, base, new, compare.Options{Alpha: 0.6})
	want := intervalOf(t, stats.Units{Sum: 2, Size: 2, Count: 2}, stats.Units{Sum: -1, Size: 2, Count: 1})
	if l.Test != compare.SignFlip || !near(l.Change, 0.5) || !near(l.Low, want.Low) || !near(l.High, want.High) || !near(l.P, 4.0/8) {
		t.Errorf("%+v, want %v", l, want)
	}
	base.Clusters = []string{"a", "b", "c", "d", "e", ""}
	if l := compared(t, base, new, compare.Options{}); l.Test != compare.McNemar {
		t.Errorf("tasks of their own are in a cluster: %+v", l)
	}
}

// A baseline that was kept before the suite declared its clusters has none.
func TestClustersOfTheNewSideCountWhereTheBaseHasNone(t *testing.T) {
	base, new := once(right, 0, 0, 0, 0, 0, 0), once(right, 1, 1, 1, 1, 1, 1)
	new.Clusters = []string{"a", "a", "a", "b", "b", "b"}
	if l := compared(t, base, new, compare.Options{}); l.Test != compare.SignFlip || !near(l.P, 0.5) || l.Clusters != 2 {
		t.Errorf("%+v", l)
	}
	if l := compared(t, new, base, compare.Options{}); !near(l.P, 0.5) {
		t.Errorf("the other way round: %+v", l)
	}
}

// Clusters weigh as much as they have tasks.
func TestFewUnequalClustersHaveAnIntervalAroundTheirChange(t *testing.T) {
	base, new := once(right, slices.Repeat([]float64{0}, 10)...), once(right, append(slices.Repeat([]float64{1}, 6), 0, 0, 0, 0)...)
	base.Clusters = []string{"a", "a", "a", "a", "a", "a", "", "", "", ""}
	l := compared(t, base, new, compare.Options{})
	want := intervalOf(t, stats.Units{Sum: 6, Size: 6, Count: 1}, stats.Units{Size: 1, Count: 4})
	if !near(l.Change, 0.6) || !near(l.Low, want.Low) || !near(l.High, want.High) {
		t.Errorf("%v [%v, %v]", l.Change, l.Low, l.High)
	}
	if !l.TooFew || l.Differing != 1 || l.Fewest != 6 {
		t.Errorf("%d of %d clusters differ, too few %v", l.Differing, l.Fewest, l.TooFew)
	}
}

func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		won, lost, n int
		needed       int
		tooFew       bool
	}{
		{15, 5, 100, 0, false},                // shown
		{15, 5, 99, 0, false},                 //
		{12, 6, 100, 391, false},              // Connor: ((1.96*sqrt(.18)+.8416*sqrt(.18-.0036))/.06)^2
		{3, 0, 100, 260, true},                //
		{5, 0, 5, 6, true},                    // six have to differ
		{7, 7, 100, compare.Beyond, false},    // no difference was seen
		{0, 0, 10, compare.Beyond, true},      //
		{51, 50, 2000, compare.Beyond, false}, //
	} {
		base, new := won(c.won, c.lost, 0, c.n-c.won-c.lost)
		l := compared(t, base, new, compare.Options{ScoreMargin: -1})
		if l.Needed != c.needed || l.TooFew != c.tooFew {
			t.Errorf("%+v: %d tasks needed, too few %v (p %v)", c, l.Needed, l.TooFew, l.P)
		}
	}
}

func TestFlips(t *testing.T) {
	base := side(right, []float64{1, 1}, []float64{0, 0}, []float64{1, 1}, []float64{0, 1}, []float64{0, 0})
	new := side(right, []float64{0, 1}, []float64{1, 1}, []float64{0, 0}, []float64{0, 1}, []float64{0, 1})
	want := []compare.Flip{{"t2", 1, 0, 2, 2}, {"t0", 1, 0.5, 0, 0}, {"t1", 0, 1, 1, 1}, {"t4", 0, 0.5, 4, 4}}
	if l := compared(t, base, new, compare.Options{}); !slices.Equal(l.Flips, want) {
		t.Errorf("%v, want %v", l.Flips, want)
	}
	if l := compared(t, once(right, 0.2), once(right, 0.4), compare.Options{}); l.Flips != nil {
		t.Errorf("graded scores do not flip: %v", l.Flips)
	}
	if l := compared(t, once(cost, 1, 1), once(cost, 1, 0), compare.Options{}); l.Flips != nil {
		t.Errorf("amounts do not flip: %v", l.Flips)
	}
}

func TestCorrections(t *testing.T) {
	results := func(n int) (all []*compare.Result) {
		for i := range n {
			base, new := won(6+i%3, 0, 10, 0)
			r, err := compare.Sides(base, new, compare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	one := results(1)
	if how := compare.Correct(one, compare.Options{}); how != compare.NoCorrection || one[0].Differences[0].Adjusted != one[0].Differences[0].P {
		t.Errorf("one comparison: %q", how)
	}
	three := results(3) // p 1/32, 1/64, 1/128
	if how := compare.Correct(three, compare.Options{}); how != compare.Holm {
		t.Errorf("three comparisons: %q", how)
	}
	for i, want := range []float64{1.0 / 32, 1.0 / 32, 3.0 / 128} {
		if l := three[i].Differences[0]; !near(l.Adjusted, want) || l.Verdict != compare.Better {
			t.Errorf("%d: adjusted %v, want %v, %s", i, l.Adjusted, want, l.Verdict)
		}
	}
	two := results(2)
	compare.Correct(append(two, results(1)...), compare.Options{})
	if l := two[0].Differences[0]; !near(l.Adjusted, 2.0/32) || l.Verdict != compare.CannotTell || l.Needed <= l.Tasks {
		t.Errorf("p 1/32, 1/64, 1/32: %+v", l)
	}
	// ((z(1-0.0125)+0.8416)/(z(1-0.025)+0.8416))^2 is 1.211 times the 390.1 tasks alone.
	base, new := won(12, 6, 82, 0)
	r, _ := compare.Sides(base, new, compare.Options{})
	again := *r
	again.Differences = slices.Clone(r.Differences)
	compare.Correct([]*compare.Result{r, &again}, compare.Options{})
	if got := r.Differences[0].Needed; got != 473 {
		t.Errorf("%d tasks needed among two, want 473", got)
	}
	if how := compare.Correct(results(21), compare.Options{}); how != compare.BenjaminiHochberg {
		t.Errorf("a sweep: %q", how)
	}
}

// Three times 0.1 is not 0.3 in binary: trials of equal costs have the mean of
// one, and ranks that tell them apart would be a difference of nothing.
func TestRoundingIsNoDifferenceOfTasksApart(t *testing.T) {
	var base, new [][]float64
	for range 20 {
		base, new = append(base, []float64{0.1, 0.1, 0.1}), append(new, []float64{0.1})
	}
	for _, q := range []compare.Quantity{cost, right} {
		l := compared(t, side(q, base...), side(q, new...), compare.Options{Unpaired: true})
		if l.Verdict == compare.Better || l.Verdict == compare.Worse || l.P < 1 || l.Change != 0 {
			t.Errorf("%s: %+v", q.Name, l)
		}
	}
}

// Changes that are put together task by task have the interval of the line that
// compares the same scores, also when they held other tasks before.
func TestChangesHaveTheIntervalOfALine(t *testing.T) {
	var c compare.Changes
	propertytest.Check(t, func(t *rapid.T) {
		base, new := drawnSides(t)
		for i, q := range base.Columns[:2] { // of amounts the ratios are compared
			c.Clear()
			var number int32
			for task := range base.Tasks {
				x, y := paired(base, new, i, task)
				cluster := 1000 + number
				if base.Clusters != nil {
					cluster = int32(base.Clusters[task][0])
				}
				c.Add(cluster, x, y)
				number++
			}
			r, err := compare.Sides(base, new, compare.Options{})
			if err != nil || !r.Pairing.Paired {
				t.Skip("there are no pairs")
			}
			interval, ok := c.Interval()
			if line := r.Differences[i]; ok == isNaN(line.Low) || ok && (!near(interval.Low, line.Low) || !near(interval.High, line.High)) {
				t.Fatalf("%s: %v, %v; the line has %v to %v of %d tasks", q.Name, interval, ok, line.Low, line.High, line.Tasks)
			}
		}
	})
}

// paired are the values of a task in runs that both sides have.
func paired(base, new *compare.Side, column, task int) (x, y []float64) {
	for i := base.Starts[task]; i < base.Starts[task+1]; i++ {
		for j := new.Starts[task]; j < new.Starts[task+1]; j++ {
			a, b := base.Columns[column].Values[i], new.Columns[column].Values[j]
			if base.Trials[i] == new.Trials[j] && !math.IsNaN(a) && !math.IsNaN(b) {
				x, y = append(x, a), append(y, b)
			}
		}
	}
	return x, y
}

// A new side that is as good as the base and fails wholly on few tasks is not called the
// same, nor not worse, and the interval holds what it loses. Student's t of the differences
// never saw a failure in four samples of ten: it called such a side the same in 36 % of them.
func TestRareFailuresAreCountedWith(t *testing.T) {
	rounds := 60
	if n, err := strconv.Atoi(os.Getenv("AGENTBENCH_SUITES")); err == nil { // as in reports/stats
		rounds = n
	}
	r := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		tasks, clusters int
		fails           float64
		unpaired        bool
	}{{30, 1, 0.03, false}, {30, 1, 0.1, false}, {120, 1, 0.025, false}, {240, 4, 0.03, false}, {30, 1, 0.1, true}, {120, 1, 0.025, true}} {
		quality := func() float64 { return 0.79 + 0.02*r.Float64() }
		same, notWorse, held := 0, 0, 0
		for range rounds {
			x, y := make([]float64, c.tasks), make([]float64, c.tasks)
			for i := range x {
				if x[i], y[i] = quality(), quality(); i%c.clusters == 0 && r.Float64() < c.fails || i%c.clusters > 0 && y[i-1] == 0 {
					y[i] = 0
				}
			}
			base, new := once(right, x...), once(right, y...)
			for i := range x {
				base.Clusters = append(base.Clusters, fmt.Sprint(i/c.clusters))
			}
			new.Clusters = base.Clusters
			l := compared(t, base, new, compare.Options{Unpaired: c.unpaired})
			same += zeroOrOne(l.Verdict == compare.Same)
			notWorse += zeroOrOne(l.NotWorse)
			held += zeroOrOne(float64(l.Low) <= -0.8*c.fails && float64(l.High) >= -0.8*c.fails)
		}
		most := 0.025*float64(rounds) + 2*math.Sqrt(0.025*float64(rounds)) // of 2.5 %
		if float64(same) > most || float64(notWorse) > most || held < rounds*94/100 {
			t.Errorf("%+v: of %d the same %d, not worse %d, the interval holds %d", c, rounds, same, notWorse, held)
		}
		t.Logf("%+v: of %d the same %d, not worse %d, the interval holds %d", c, rounds, same, notWorse, held)
	}
}

func zeroOrOne(is bool) int {
	if is {
		return 1
	}
	return 0
}
