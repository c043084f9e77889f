package tune

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pathOf has one candidate, which is the recorded one.
func pathOf(scores ...float64) [][]float64 { return [][]float64{scores} }

// raced runs a race over all scores, and gives it when it is over.
func raced(r *Race, paths [][][]float64) *Race {
	for done := 0; done < r.tasks; {
		done = r.Next()
		r.Look(until(paths, done), done)
	}
	return r
}

// until has of each path only the first tasks.
func until(paths [][][]float64, tasks int) [][][]float64 {
	cut := make([][][]float64, len(paths))
	for i := range paths {
		for _, scores := range paths[i] {
			cut[i] = append(cut[i], scores[:tasks])
		}
	}
	return cut
}

// left are the paths that are in.
func left(r *Race) (paths []int) {
	for path := range r.paths {
		if r.In(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

func repeat(n int, scores ...float64) (all []float64) {
	for len(all) < n {
		all = append(all, scores...)
	}
	return all[:n]
}

// stairs are so many paths over 180 tasks, each better than the next by 2 of 100 tasks.
func stairs(paths int) [][][]float64 {
	all := make([][][]float64, paths)
	for path := range all {
		scores := repeat(180, 0)
		for task := range scores {
			if (task*37)%100 < 90-2*path {
				scores[task] = 1
			}
		}
		all[path] = pathOf(scores...)
	}
	return all
}

// Many paths are halved: after a ninth of the tasks the best third goes on, and
// after a third of them three.
func TestManyPathsAreHalved(t *testing.T) {
	r, paths := NewRace(27, 180, nil), stairs(27)
	in := map[int]int{}
	for done := 0; done < 180; {
		done = r.Next()
		r.Look(until(paths, done), done)
		in[done] = len(left(r))
	}
	if len(in) != 3 || in[20] < 9 || in[20] > 12 || in[60] < 3 || in[60] > 4 || in[180] != in[60] || !r.In(0) || r.Outs()[26] != 20 {
		t.Errorf("left after so many tasks: %v, %v", in, r.Outs())
	}
}

// Three run all tasks, whatever they are worth.
func TestFewPathsStay(t *testing.T) {
	paths := [][][]float64{pathOf(repeat(90, 1)...), pathOf(repeat(90, 0)...), pathOf(repeat(90, 0, 1)...)}
	if r := raced(NewRace(3, 90, nil), paths); len(left(r)) != 3 {
		t.Errorf("left %v", left(r))
	}
	if r := NewRace(1, 77, nil); r.Next() != 77 {
		t.Errorf("next look after %d tasks", r.Next())
	}
}

// A path stands for the best of its candidates.
func TestTheBestCandidateKeepsAPathIn(t *testing.T) {
	paths := [][][]float64{pathOf(repeat(90, 1)...), pathOf(repeat(90, 1, 1, 0)...), pathOf(repeat(90, 1, 0, 0)...), {repeat(90, 0), repeat(90, 1, 0), repeat(90, 0)}}
	if r := raced(NewRace(4, 90, nil), paths); !slices.Equal(left(r), []int{0, 1, 3}) {
		t.Errorf("left %v", left(r))
	}
}

// Nothing is known of a path without scores, so that it stays; tasks that one of two lacks count for neither.
func TestUnknownScoresAreNoLosses(t *testing.T) {
	nothing := pathOf(repeat(90, math.NaN())...)
	paths := [][][]float64{pathOf(repeat(90, 1, 1, 0)...), nothing, pathOf(repeat(90, 0)...), pathOf(repeat(90, 1, math.NaN(), 0)...)}
	if r := raced(NewRace(4, 90, nil), paths); !slices.Equal(left(r), []int{0, 1, 3}) {
		t.Errorf("left %v", left(r))
	}
	if r := raced(NewRace(4, 90, nil), [][][]float64{nothing, nothing, nothing, nothing}); len(left(r)) != 4 {
		t.Errorf("left %v of paths without a score", left(r))
	}
}

// Today's configuration stays in.
func TestTodayIsNotHalved(t *testing.T) {
	const today = 7
	if r := raced(NewRace(27, 180, nil), stairs(27)); r.In(today) {
		t.Fatal("halving leaves it in")
	}
	if r := raced(NewRace(27, 180, []int{today}), stairs(27)); !r.In(today) {
		t.Error("today's is out")
	}
}

// At a rung nobody goes who stands equal with one who stays.
func TestEqualPathsAreNotHalved(t *testing.T) {
	paths := make([][][]float64, 12)
	for path := range paths {
		paths[path] = pathOf(repeat(90, 1, 0, 1, 1)...)
	}
	paths[5] = pathOf(repeat(90, 1, 0, 1, 0)...)
	if r := raced(NewRace(12, 90, nil), paths); len(left(r)) != 11 || r.In(5) {
		t.Errorf("left %v", left(r))
	}
}

// No path leaves after the last task: it has all runs, like the one that leads.
func TestNobodyLeavesAfterTheLastTask(t *testing.T) {
	r := NewRace(4, 40, nil)
	r.Look([][][]float64{pathOf(repeat(40, 1)...), pathOf(repeat(40, 1)...), pathOf(repeat(40, 1)...), pathOf(repeat(40, 0)...)}, 40)
	if len(left(r)) != 4 {
		t.Errorf("%+v", r.Outs())
	}
}

// All that halving needs: the tasks of a rung are looked at exactly there.
func TestRungs(t *testing.T) {
	for _, c := range []struct{ paths, tasks, rungs, first, last int }{
		{3, 1000, 0, 0, 0}, {8, 1000, 2, 333, 3}, {9, 1000, 2, 333, 3}, {72, 1000, 4, 37, 3}, {72, 60, 3, 6, 8}, {72, 20, 2, 6, 24}, {72, 10, 0, 0, 0},
	} {
		rungs := rungsOf(c.paths, c.tasks)
		if len(rungs) != c.rungs || len(rungs) > 0 && (rungs[0].Resource != c.first || rungs[len(rungs)-1].Rows != c.last || rungs[len(rungs)-1].Resource != c.tasks) {
			t.Errorf("%d paths, %d tasks: %v", c.paths, c.tasks, rungs)
		}
	}
}

// Where one is clearly better the others leave early: that is what a race is for.
func TestRacesSaveTasks(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	paths := make([][][]float64, 12)
	for path := range paths {
		scores := make([]float64, 400)
		for task := range scores {
			if chance.Float64() < 0.3+0.05*float64(path) {
				scores[task] = 1
			}
		}
		paths[path] = pathOf(scores...)
	}
	r, tasks := raced(NewRace(12, 400, nil), paths), 0
	for _, out := range r.Outs() {
		tasks += out
	}
	if !r.In(11) || len(left(r)) != 3 || tasks > 9*134 {
		t.Errorf("left %v, the others ran %d of 3600 tasks", left(r), tasks)
	}
}
