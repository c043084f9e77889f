package tune

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// armOf has one candidate, which is the recorded one.
func armOf(scores ...float64) Arm { return Arm{Scores: [][]float64{scores}} }

// raced runs a race over whole arms, and gives it when it is over.
func raced(r *Race, arms []Arm) *Race {
	for done := 0; done < r.tasks; {
		done = r.Next()
		r.Look(until(arms, done), done)
	}
	return r
}

// until has of each arm only the first tasks.
func until(arms []Arm, tasks int) []Arm {
	cut := make([]Arm, len(arms))
	for a := range arms {
		cut[a].Recorded = arms[a].Recorded
		for _, scores := range arms[a].Scores {
			cut[a].Scores = append(cut[a].Scores, scores[:tasks])
		}
	}
	return cut
}

func repeat(n int, scores ...float64) (all []float64) {
	for len(all) < n {
		all = append(all, scores...)
	}
	return all[:n]
}

// One who loses every task is out as soon as the evidence is there, and not
// before: 2^7/8 = 16, 2^8/9 = 28.4.
func TestTheWorseArmIsOut(t *testing.T) {
	arms := []Arm{armOf(repeat(50, 1)...), armOf(repeat(50, 0)...)}
	r := raced(NewRace(2, 50, RaceOptions{Block: 1}), arms)
	want := Out{After: 8, By: 0, Shown: true, Evidence: 256.0 / 9, Behind: 1}
	if got := r.Outs(); got[0] != (Out{}) || math.Abs(got[1].Evidence-want.Evidence) > 1e-9 || got[1].After != 8 || !got[1].Shown || got[1].Behind != 1 {
		t.Errorf("%+v, want the second to be %+v", got, want)
	}
	if left := r.Left(); !slices.Equal(left, []int{0}) || r.Next() != 50 {
		t.Errorf("left %v, next look after %d", left, r.Next())
	}
}

func TestEqualArmsStayIn(t *testing.T) {
	arms := []Arm{armOf(repeat(200, 1, 0, 1)...), armOf(repeat(200, 1, 0, 1)...), armOf(repeat(200, 0, 1, 1)...)}
	if left := raced(NewRace(3, 200, RaceOptions{}), arms).Left(); len(left) != 3 {
		t.Errorf("left %v", left)
	}
}

// An arm stands for all of its candidates: one that holds out keeps it in.
func TestTheBestCandidateKeepsAnArmIn(t *testing.T) {
	better, worse := repeat(60, 1, 1, 1, 0), repeat(60, 0)
	arms := []Arm{armOf(better...), {Recorded: 0, Scores: [][]float64{worse, better}}, {Recorded: 1, Scores: [][]float64{worse, worse}}}
	if left := raced(NewRace(3, 60, RaceOptions{}), arms).Left(); !slices.Equal(left, []int{0, 1}) {
		t.Errorf("left %v", left)
	}
}

// Who leads is told by what was recorded, not by a candidate that looks best.
func TestTheRecordedCandidateLeads(t *testing.T) {
	arms := []Arm{
		{Recorded: 1, Scores: [][]float64{repeat(40, 1), repeat(40, 0)}},
		armOf(repeat(40, 1, 0)...),
		armOf(repeat(40, 0)...),
	}
	r := raced(NewRace(3, 40, RaceOptions{Block: 1}), arms)
	if out := r.Outs(); out[2].By != 1 || !out[2].Shown || !slices.Equal(r.Left(), []int{0, 1}) {
		t.Errorf("%+v", out)
	}
}

// What the rule of choice may give away for the cost puts nobody out.
func TestAMarginKeepsArmsIn(t *testing.T) {
	scores := repeat(1000, 1)
	for task := 0; task < 1000; task += 50 { // 2 % lost
		scores[task] = 0
	}
	arms := []Arm{armOf(repeat(1000, 1)...), armOf(scores...)}
	for margin, want := range map[float64]int{0: 1, 0.02: 2} {
		if left := raced(NewRace(2, 1000, RaceOptions{Margin: margin}), arms).Left(); len(left) != want {
			t.Errorf("with a margin of %v left %v", margin, left)
		}
	}
}

// Many small losses against a few large wins are not worse in the mean. Scores
// beyond 0 to 1 have no evidence.
func TestGradedScoresAreHeldByTheirMean(t *testing.T) {
	arms := []Arm{armOf(repeat(100, 0.5)...), armOf(repeat(100, 0.45, 0.45, 0.45, 0.45, 0.45, 0.45, 0.45, 0.45, 0.45, 1)...)}
	if left := raced(NewRace(2, 100, RaceOptions{}), arms).Left(); len(left) != 2 {
		t.Errorf("left %v", left)
	}
	beyond := []Arm{armOf(repeat(100, 5)...), armOf(repeat(100, 1)...)}
	if left := raced(NewRace(2, 100, RaceOptions{}), beyond).Left(); len(left) != 2 {
		t.Errorf("left %v of scores up to 5", left)
	}
}

// A task that is unknown of one side is no loss.
func TestUnknownScoresAreNoLosses(t *testing.T) {
	unknown := repeat(100, math.NaN())
	unknown[0] = 1
	arms := []Arm{armOf(repeat(100, 1)...), armOf(unknown...), armOf(repeat(100, math.NaN())...)}
	if left := raced(NewRace(3, 100, RaceOptions{}), arms).Left(); len(left) != 3 {
		t.Errorf("left %v", left)
	}
	nothing := armOf(repeat(9, math.NaN())...)
	if left := raced(NewRace(2, 9, RaceOptions{}), []Arm{nothing, nothing}).Left(); len(left) != 2 {
		t.Errorf("left %v of arms without a score", left)
	}
}

// Many arms are halved: after a ninth of the tasks the best third goes on, and
// after a third of them three, all of it without a claim that the others are worse.
func TestManyArmsAreHalved(t *testing.T) {
	arms := make([]Arm, 27)
	for a := range arms {
		scores := repeat(180, 0)
		for task := range scores { // each is better than the next by 2 of 100 tasks
			if (task*37)%100 < 90-2*a {
				scores[task] = 1
			}
		}
		arms[a] = armOf(scores...)
	}
	r := NewRace(27, 180, RaceOptions{})
	left := map[int]int{}
	for done := 0; done < 180; {
		done = r.Next()
		r.Look(until(arms, done), done)
		left[done] = len(r.Left())
	}
	if left[9] != 27 || left[20] < 9 || left[20] > 12 || left[60] < 3 || left[60] > 4 || !slices.Contains(r.Left(), 0) {
		t.Errorf("left after so many tasks: %v", left)
	}
	if out := r.Outs()[26]; out.After != 20 || out.Shown {
		t.Errorf("the last one: %+v", out)
	}
}

// Today's configuration is not put out by halving, only by evidence.
func TestTodayIsNotHalved(t *testing.T) {
	arms := make([]Arm, 27)
	for a := range arms {
		scores := repeat(180, 0)
		for task := range scores {
			if (task*37)%100 < 90-2*a {
				scores[task] = 1
			}
		}
		arms[a] = armOf(scores...)
	}
	const today = 7
	if r := raced(NewRace(27, 180, RaceOptions{Margin: 0.2}), arms); slices.Contains(r.Left(), today) || r.Outs()[today].Shown {
		t.Fatalf("halving leaves it in, or it is shown to be worse: %+v", r.Outs()[today])
	}
	if r := raced(NewRace(27, 180, RaceOptions{Margin: 0.2, Stays: []int{today}}), arms); !slices.Contains(r.Left(), today) {
		t.Errorf("today's is out: %+v", r.Outs()[today])
	}
	if r := raced(NewRace(27, 180, RaceOptions{Margin: 0.2, Stays: []int{26}}), arms); slices.Contains(r.Left(), 26) || !r.Outs()[26].Shown {
		t.Errorf("what is shown to be worse stays: %+v", r.Outs()[26])
	}
}

// At a rung nobody goes who stands equal with one who stays.
func TestEqualArmsAreNotHalved(t *testing.T) {
	arms := make([]Arm, 12)
	for a := range arms {
		arms[a] = armOf(repeat(90, 1, 0, 1, 1)...)
	}
	arms[5] = armOf(repeat(90, 1, 0, 1, 0)...)
	if r := raced(NewRace(12, 90, RaceOptions{}), arms); len(r.Left()) != 11 || r.Outs()[5].Shown {
		t.Errorf("left %v, %+v", r.Left(), r.Outs()[5])
	}
}

// The evidence against an arm is that against the best of its candidates.
func TestTheEvidenceIsTheLeast(t *testing.T) {
	worse, worst := repeat(80, 1, 0, 0, 0), repeat(80, 0)
	one := raced(NewRace(2, 80, RaceOptions{Block: 40}), []Arm{armOf(repeat(80, 1)...), {Scores: [][]float64{worse, worst}}})
	alone := raced(NewRace(2, 80, RaceOptions{Block: 40}), []Arm{armOf(repeat(80, 1)...), armOf(worse...)})
	if got, want := one.Outs()[1], alone.Outs()[1]; got != want || !got.Shown {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// No arm leaves after the last task: it has all runs, like the one that leads.
func TestNobodyLeavesAfterTheLastTask(t *testing.T) {
	r := raced(NewRace(2, 40, RaceOptions{Block: 40}), []Arm{armOf(repeat(40, 1)...), armOf(repeat(40, 0)...)})
	if len(r.Left()) != 2 {
		t.Errorf("%+v", r.Outs())
	}
}

// All that halving needs: the tasks of a rung are looked at exactly there.
func TestRungs(t *testing.T) {
	for _, c := range []struct{ arms, tasks, rungs, first, last int }{
		{8, 1000, 0, 0, 0}, {9, 1000, 2, 333, 3}, {72, 1000, 4, 37, 3}, {72, 60, 3, 6, 8}, {72, 20, 2, 6, 24}, {72, 10, 0, 0, 0},
	} {
		rungs := rungsOf(c.arms, c.tasks)
		if len(rungs) != c.rungs || len(rungs) > 0 && (rungs[0].Resource != c.first || rungs[len(rungs)-1].Rows != c.last || rungs[len(rungs)-1].Resource != c.tasks) {
			t.Errorf("%d arms, %d tasks: %v", c.arms, c.tasks, rungs)
		}
	}
	r := NewRace(9, 100, RaceOptions{Block: 10})
	looks := []int{}
	for done := 0; done < 100; {
		done = r.Next()
		r.Look(slices.Repeat([]Arm{armOf(repeat(done, math.NaN())...)}, 9), done)
		looks = append(looks, done)
	}
	if want := []int{10, 20, 30, 33, 43, 53, 63, 73, 83, 93, 100}; !slices.Equal(looks, want) {
		t.Errorf("looks after %v tasks, want %v", looks, want)
	}
}

// One arm needs no look.
func TestARaceOfOne(t *testing.T) {
	r := NewRace(1, 77, RaceOptions{})
	if r.Next() != 77 {
		t.Errorf("next look after %d tasks", r.Next())
	}
}

// Looked at after every task, the arm that is best by a hair is put out in at most
// alpha of the races: here none of four is worse than another.
func TestRacesKeepTheirLevel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	const races = 400
	chance := rand.New(rand.NewPCG(5, 4))
	wrong := 0
	for range races {
		arms := make([]Arm, 4)
		for a := range arms {
			scores := make([]float64, 150)
			for task := range scores {
				scores[task] = float64(chance.IntN(2))
			}
			arms[a] = armOf(scores...)
		}
		if r := raced(NewRace(4, 150, RaceOptions{Block: 1}), arms); !r.in(0) {
			wrong++
		}
	}
	if wrong > races*5/100 {
		t.Errorf("the first of equals was put out in %d of %d races", wrong, races)
	}
}

// Where one is clearly better the others leave early: that is what a race is for.
func TestRacesSaveTasks(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	arms := make([]Arm, 5)
	for a := range arms {
		scores := make([]float64, 400)
		for task := range scores {
			if chance.Float64() < []float64{0.5, 0.9, 0.5, 0.4, 0.3}[a] {
				scores[task] = 1
			}
		}
		arms[a] = armOf(scores...)
	}
	r, tasks := raced(NewRace(5, 400, RaceOptions{}), arms), 0
	for _, out := range r.Outs() {
		tasks += out.After
	}
	if !slices.Equal(r.Left(), []int{1}) || tasks > 4*100 {
		t.Errorf("left %v, the others ran %d of 1600 tasks", r.Left(), tasks)
	}
}
