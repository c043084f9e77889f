package tune_test

import (
	"math"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// drawable are rows of tasks: what a task scores and costs under each.
func drawable(scores [][]float64, cents []int64) *table {
	all, order := map[limits][]cell{}, []limits{}
	for i := range scores {
		l := limits{1 + i}
		for _, s := range scores[i] {
			all[l] = append(all[l], cell{s, 1, cents[i]})
		}
		order = append(order, l)
	}
	return made(len(scores[0]), 1, all, order...)
}

func front(t *testing.T, source tune.Candidates) map[string]tune.FrontRow {
	t.Helper()
	all := map[string]tune.FrontRow{}
	for _, row := range tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}, Today: -1}).Front {
		all[row.Name] = row
	}
	return all
}

// All 27 ways to draw 3 tasks: the dear one is better unless the third is not drawn.
func TestHowSureTheFrontIs(t *testing.T) {
	all := front(t, drawable([][]float64{{1, 1, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 0}}, []int64{1, 2, 3, 1}))
	if len(all) != 2 {
		t.Fatalf("the front is %v", all)
	}
	cheap, dear := all["[1 0 0]"], all["[2 0 0]"]
	if cheap.Share.Number != 1 || cheap.Same != 1 || math.Abs(dear.Share.Number-19.0/27) > 1e-12 || dear.Same != 0 {
		t.Errorf("the cheap one %v with %d others, the dear one %v: want 1 with 1, and 19/27", cheap.Share, cheap.Same, dear.Share)
	}
}

// Of a front that is too large to draw all of it, some have no share, and it is said.
// Thirds that are equal stay equal: a task with 2 of 3 right weighs as much as two
// tasks with one of 3. The dear configuration is on the front where its first two
// tasks are drawn more often than the third.
func TestEqualThirdsOnTheFront(t *testing.T) {
	const tasks, trials = 4, 3
	right := func(each [tasks]int, cents int64) []cell {
		all := make([]cell, tasks*trials)
		for i := range all {
			all[i] = cell{float64(toInt(i%trials < each[i/trials])), 1, cents}
		}
		return all
	}
	cheap, dear := [tasks]int{1, 1, 1, 0}, [tasks]int{2, 2, 0, 0}
	source := made(tasks, trials, map[limits][]cell{{2}: right(dear, 2), {1}: right(cheap, 1)}, limits{2}, limits{1})
	better := 0
	for draw := range tasks * tasks * tasks * tasks {
		sum := 0
		for range tasks {
			sum += dear[draw%tasks] - cheap[draw%tasks]
			draw /= tasks
		}
		better += toInt(sum > 0)
	}
	want := float64(better) / (tasks * tasks * tasks * tasks)
	if got := front(t, source)["[2 0 0]"]; math.Abs(got.Share.Number-want) > 1e-12 {
		t.Errorf("on the front in %v of the draws, want %v", got.Share.Number, want)
	}
}

func TestALargeFrontIsShownInFull(t *testing.T) {
	const n = 60
	scores, cents := make([][]float64, n), make([]int64, n)
	for i := range scores {
		scores[i], cents[i] = make([]float64, n), int64(i+1)
		for task := range i {
			scores[i][task] = 1
		}
	}
	r := tuned(t, drawable(scores, cents), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, Today: -1})
	drawn, noted := 0, false
	for _, row := range r.Front {
		drawn += toInt(row.Share.Known())
		if row.Recommended && !row.Share.Known() {
			t.Errorf("the recommended one has no share")
		}
	}
	for _, note := range r.Notes {
		noted = noted || note.Kind == tune.FrontThinned && note.Count == drawn && note.Of == n
	}
	if len(r.Front) != n || drawn != 40 || !noted {
		t.Errorf("%d on the front, %d drawn, noted %v", len(r.Front), drawn, noted)
	}
	if first, last := r.Front[0], r.Front[n-1]; !first.Share.Known() || !last.Share.Known() {
		t.Error("the ends of the front are not drawn")
	}
}

// A terminal shows few of a long front, but always its ends and what is taken, and
// says how many there are besides.
func TestATerminalShowsFewOfALongFront(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	const n = 60
	scores, cents := make([][]float64, n), make([]int64, n)
	for i := range scores {
		scores[i], cents[i] = make([]float64, n), int64(i+1)
		for task := range i {
			scores[i][task] = 1
		}
	}
	source := drawable(scores, cents)
	for today := range n {
		r := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, Today: today})
		table := r.Tables(page.People)[3]
		for _, at := range []int{0, n - 1, today, slices.IndexFunc(r.Front, func(row tune.FrontRow) bool { return row.Recommended })} {
			if !slices.Contains(table.Shown, at) {
				t.Errorf("with %d as today's, row %d of the front is not shown: %v", today, at, table.Shown)
			}
		}
		if len(table.Shown) > 20 || table.Count != n {
			t.Errorf("%d of %d rows are shown", len(table.Shown), table.Count)
		}
	}
}

// The fastest is on the front though it is dear and no better.
func TestTheFrontKnowsLatency(t *testing.T) {
	all := map[limits][]cell{{1}: cells(20, 10, 5, 1), {2}: cells(20, 10, 1, 2), {3}: cells(20, 10, 3, 3)}
	got := front(t, made(20, 1, all, limits{1}, limits{2}, limits{3}))
	if _, slow := got["[3 0 0]"]; len(got) != 2 || slow || got["[2 0 0]"].Seconds.Number != 1 {
		t.Errorf("the front is %v, want the cheap one and the fast one", got)
	}
}
