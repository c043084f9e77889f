package tune_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// table is a Source of outcomes that a test gives: steps and scores of every run
// under every candidate.
type table struct {
	runs       []sweep.Run
	candidates []sweep.Candidate
	scores     []string
	outcomes   [][]sweep.Outcome
}

func (s *table) Candidates() []sweep.Candidate { return s.candidates }
func (s *table) Scores() []string              { return s.scores }
func (s *table) Runs() []sweep.Run             { return s.runs }
func (s *table) Recordings() []sweep.Recording {
	return []sweep.Recording{{Configuration: "default", Scores: s.scores, Runs: s.runs}}
}
func (s *table) Recording(context.Context, int) (int, error) { return 0, nil }
func (s *table) Lead(int)                                    {}

func (s *table) Outcomes(_ context.Context, candidates ...int) (all [][]sweep.Outcome, err error) {
	for _, i := range candidates {
		all = append(all, s.outcomes[i])
	}
	return all, nil
}

func (s *table) Totals(_ context.Context, part []int, parts int, visit func(int, []sweep.Totals)) error {
	divided := sweep.Divide(s.runs, part, parts)
	for i := range s.outcomes {
		visit(i, divided.Sum(s.outcomes[i]).Totals())
	}
	return nil
}

func (s *table) Sums(_ context.Context, parts *sweep.Parts, candidates []int, visit func(int, *sweep.Sums)) error {
	for _, i := range candidates {
		visit(i, parts.Sum(s.outcomes[i]))
	}
	return nil
}

// interCodeRun is a run of the recordings of InterCode.
type interCodeRun struct {
	Task    int `json:"task_id"`
	History struct {
		Actions []string
		Rewards []float64
	} `json:"turn_history"`
	id string
}

func interCode(t testing.TB, files ...string) (runs []interCodeRun) {
	t.Helper()
	for _, file := range files {
		var all map[string]interCodeRun
		recordingtest.Decode(t, "intercode/"+file, &all)
		from := len(runs)
		for key, r := range all {
			r.id = fmt.Sprintf("%s-%s", file, key)
			runs = append(runs, r)
		}
		slices.SortFunc(runs[from:], func(a, b interCodeRun) int { return cmp.Compare(a.Task, b.Task) })
	}
	return runs
}

// stop is where a run stops under the limits, and its best reward up to there: the
// semantics of the data's README. A limit of 0 is off.
func (r *interCodeRun) stop(iterations, patience, times int) (steps int, best float64) {
	best, without, same := math.Inf(-1), 0, 0
	for i, reward := range r.History.Rewards {
		without++
		if reward > best {
			best, without = reward, 0
		}
		same++
		if i > 0 && r.History.Actions[i] != r.History.Actions[i-1] {
			same = 1
		}
		steps = i + 1
		if steps >= iterations || patience > 0 && without >= patience || times > 0 && same >= times {
			break
		}
	}
	return steps, best
}

// limits are max_iterations, patience and times of a candidate; 0 is off.
type limits [3]int

var paths = []string{"max_iterations", "patience", "times"}

func (l limits) params() (params []spec.Param) {
	for i, path := range paths {
		p := spec.Param{Path: path}
		if l[i] > 0 {
			p.Value = float64(l[i])
		}
		params = append(params, p)
	}
	return params
}

// grid is that of expected.json.
func grid() (all []limits) {
	for k := 1; k <= 10; k++ {
		for p := range 10 {
			for _, s := range []int{2, 3, 0} {
				all = append(all, limits{k, p, s})
			}
		}
	}
	return all
}

// interCodeTable replays the limits on the runs.
func interCodeTable(runs []interCodeRun, candidates []limits) *table {
	s := &table{scores: []string{"solved"}}
	for i := range runs {
		steps, best := runs[i].stop(10, 0, 0)
		run := sweep.Run{Scores: [][]float64{{solved(best)}}}
		run.Run = &record.Run{Task: runs[i].id, Trial: 1, Configuration: "default", Iterations: make([]record.Iteration, steps), Outcome: record.Outcome{Status: record.Completed, Returned: steps}}
		run.Run.Usage.Unreported = int64(steps)
		metadata := expr.NewObject(1)
		metadata.Set("task_id", float64(runs[i].Task))
		run.Task = &spec.Task{ID: runs[i].id, Metadata: metadata}
		reached := math.Inf(-1)
		for _, reward := range runs[i].History.Rewards[:steps] {
			reached = max(reached, reward)
			run.Scores[0] = append(run.Scores[0], solved(reached))
		}
		s.runs = append(s.runs, run)
	}
	for _, l := range candidates {
		s.candidates = append(s.candidates, sweep.Candidate{Name: fmt.Sprint(l), Params: l.params(), Loop: &spec.Loop{}})
		s.outcomes = append(s.outcomes, make([]sweep.Outcome, len(runs)))
		for i := range runs {
			steps, best := runs[i].stop(l[0], l[1], l[2])
			o := sweep.Outcome{Scores: []sweep.Range{{Least: solved(best), Most: solved(best)}}}
			o.Verdict, o.Iterations = replay.Exact, steps
			o.Outcome = record.Outcome{Status: record.Completed, Reason: "max_iterations", Returned: steps}
			o.Usage.Least.Unreported, o.Usage.Most.Unreported = int64(steps), int64(steps)
			s.outcomes[len(s.outcomes)-1][i] = o
		}
	}
	return s
}

func solved(best float64) float64 {
	if best >= 1 {
		return 1
	}
	return 0
}

// expected is what the reference programs say.
type expected struct {
	Validated struct {
		Folds []struct {
			Selected struct {
				MaxIterations int `json:"max_iterations"`
				Patience      int
				Times         int `json:"repeated_action"`
			}
			TrainSuccesses   int   `json:"train_successes"`
			TrainSteps       int64 `json:"train_steps"`
			HeldOutSuccesses int   `json:"heldout_successes"`
			HeldOutSteps     int64 `json:"heldout_steps"`
		} `json:"per_fold"`
		HeldOutSuccesses int   `json:"heldout_successes"`
		HeldOutSteps     int64 `json:"heldout_steps"`
		FullSuccesses    int   `json:"full_successes"`
		FullSteps        int64 `json:"full_steps"`
	} `json:"cross_validated_tuning"`
	Sweep struct {
		Front    [][2]float64 `json:"pareto_steps_success"`
		Cheapest map[string]struct {
			Steps     int64 `json:"total_steps"`
			Successes int
		} `json:"cheapest_reaching"`
	}
	Loss []struct {
		K, Lost int
		Most    float64 `json:"loss_upper95"`
	} `json:"k_loss_vs_full"`
	Smallest map[string]*int `json:"smallest_k_noninferior"`
}

// dataset is read once, and replayed once on the grid of all limits, for all tests.
type dataset struct {
	runs   []interCodeRun
	source *table
	want   expected
}

var shared struct {
	once sync.Once
	sets map[string]dataset
}

func datasets(t testing.TB) map[string]dataset {
	t.Helper()
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	shared.once.Do(func() {
		var want struct {
			SQL  expected `json:"intercode_sql_gpt-4"`
			Bash expected `json:"intercode_bash_gpt-4"`
		}
		recordingtest.Decode(t, "expected.json", &want)
		var files []string
		for i := 1; i <= 4; i++ {
			files = append(files, fmt.Sprintf("ic_bash_multiturn_gpt-4_10_turns_fs_%d.json", i))
		}
		sql, bash := interCode(t, "ic_sql_multiturn_gpt-4_10_turns.json"), interCode(t, files...)
		shared.sets = map[string]dataset{"sql": {sql, interCodeTable(sql, grid()), want.SQL}, "bash": {bash, interCodeTable(bash, grid()), want.Bash}}
	})
	return shared.sets
}

// compiled is an expression over metrics.
func compiled(t testing.TB, env *expr.Env, want expr.Want, text string) *tune.Term {
	t.Helper()
	program, faults := env.Compile(text, want)
	if program == nil {
		t.Fatalf("%s: %v", text, faults)
	}
	return &tune.Term{Text: text, Program: program}
}

// byTask is the choice and the folds of the reference.
func byTask(t testing.TB, share float64) tune.ChoiceOptions {
	t.Helper()
	return tune.ChoiceOptions{
		Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: share, Cost: compiled(t, expr.Objective(), expr.WantNumber, "iterations.sum")},
		By:     compiled(t, expr.Fold(), expr.WantAny, "int(task.metadata.task_id)"), Today: -1,
	}
}

func TestCrossValidatedTuningOfInterCode(t *testing.T) {
	t.Parallel()
	for name, data := range datasets(t) {
		t.Run(name, func(t *testing.T) {
			candidates := grid()
			tuned, err := tune.Choose(t.Context(), data.source, byTask(t, 0.98))
			if err != nil {
				t.Fatal(err)
			}
			want, v := data.want.Validated, tuned.Validation
			if v == nil || len(v.Folds) != len(want.Folds) {
				t.Fatalf("%d folds, want %d", len(v.Folds), len(want.Folds))
			}
			for f, fold := range want.Folds {
				selected := limits{fold.Selected.MaxIterations, fold.Selected.Patience, fold.Selected.Times}
				got := v.Folds[f]
				if got.Chosen < 0 || candidates[got.Chosen] != selected {
					t.Errorf("fold %d chooses %s, want %v", f, got.Name, selected)
				}
				if got.Train.Hits != fold.TrainSuccesses || got.Train.Iterations != fold.TrainSteps ||
					got.HeldOut.Hits != fold.HeldOutSuccesses || got.HeldOut.Iterations != fold.HeldOutSteps {
					t.Errorf("fold %d: trained on %+v, held out %+v, want %+v", f, got.Train, got.HeldOut, fold)
				}
			}
			if v.HeldOut.Hits != want.HeldOutSuccesses || v.HeldOut.Iterations != want.HeldOutSteps {
				t.Errorf("held out %d successes in %d steps, want %d in %d", v.HeldOut.Hits, v.HeldOut.Iterations, want.HeldOutSuccesses, want.HeldOutSteps)
			}
			if v.Recording.Hits != want.FullSuccesses || v.Recording.Iterations != want.FullSteps {
				t.Errorf("the recording has %d successes in %d steps, want %d in %d", v.Recording.Hits, v.Recording.Iterations, want.FullSuccesses, want.FullSteps)
			}
		})
	}
}

func TestTheCheapestThatReachesAShare(t *testing.T) {
	t.Parallel()
	for name, data := range datasets(t) {
		for share, want := range data.want.Sweep.Cheapest {
			t.Run(name+" "+share, func(t *testing.T) {
				var number float64
				if _, err := fmt.Sscan(share, &number); err != nil {
					t.Fatal(err)
				}
				tuned, err := tune.Choose(t.Context(), data.source, byTask(t, number))
				if err != nil {
					t.Fatal(err)
				}
				got := tuned.Validation.InSample
				if got.Hits != want.Successes || got.Iterations != want.Steps {
					t.Errorf("%d successes in %d steps, want %d in %d", got.Hits, got.Iterations, want.Successes, want.Steps)
				}
			})
		}
	}
}

func TestTheSmallestLimitThatLosesLittle(t *testing.T) {
	t.Parallel()
	for name, data := range datasets(t) {
		var candidates []limits
		for k := 1; k <= 10; k++ {
			candidates = append(candidates, limits{k})
		}
		source := interCodeTable(data.runs, candidates)
		for number, want := range data.want.Smallest {
			t.Run(name+" "+number, func(t *testing.T) {
				o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss}, Today: -1}
				if _, err := fmt.Sscan(number, &o.Choose.Number); err != nil {
					t.Fatal(err)
				}
				tuned, err := tune.Choose(t.Context(), source, o)
				switch {
				case err != nil:
					t.Fatal(err)
				case want == nil:
					if tuned.Recommended != nil || tuned.WhyNone == "" {
						t.Errorf("recommends %v (%s), want none", tuned.Recommended.Name, tuned.Why)
					}
				case tuned.Recommended == nil || tuned.Recommended.Candidate != *want-1:
					t.Errorf("recommends %v (%s %s), want a limit of %d", tuned.Recommended, tuned.Why, tuned.WhyNone, *want)
				}
			})
		}
		for k, want := range data.want.Loss {
			t.Run(fmt.Sprintf("%s loss at %d", name, want.K), func(t *testing.T) {
				got := lossOf(t, source, k)
				if got.Lost != want.Lost || math.Abs(got.LostMost.Number-want.Most) > 1e-9 {
					t.Errorf("%d lost, at most %v, want %d and %v", got.Lost, got.LostMost, want.Lost, want.Most)
				}
			})
		}
	}
}

// lossOf is today's configuration where that is the candidate.
func lossOf(t *testing.T, source tune.Candidates, candidate int) *tune.Choice {
	t.Helper()
	tuned, err := tune.Choose(t.Context(), source, tune.ChoiceOptions{Today: candidate, Folds: -1})
	if err != nil {
		t.Fatal(err)
	}
	return tuned.Today
}

func TestTheFrontOfInterCode(t *testing.T) {
	t.Parallel()
	for name, data := range datasets(t) {
		t.Run(name, func(t *testing.T) {
			tuned, err := tune.Choose(t.Context(), data.source, byTask(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			var front [][2]float64
			for _, row := range tuned.Front {
				front = append(front, [2]float64{row.ChoiceCost.Number, float64(row.Counted.Hits)})
				if !row.Share.Known() || row.Share.Number <= 0 || row.Share.Number > 1 {
					t.Errorf("%s is on the front in a share of %v", row.Name, row.Share)
				}
			}
			if !slices.Equal(front, data.want.Sweep.Front) {
				t.Errorf("front %v, want %v", front, data.want.Sweep.Front)
			}
			if first := tuned.Front[0]; first.Share.Number != 1 {
				t.Errorf("the cheapest is on the front in a share of %v, want always", first.Share)
			}
		})
	}
}

func TestTheCurveOfInterCode(t *testing.T) {
	t.Parallel()
	data := datasets(t)["sql"]
	tuned, err := tune.Choose(t.Context(), data.source, byTask(t, 0.98))
	if err != nil {
		t.Fatal(err)
	}
	last := tuned.Curve[len(tuned.Curve)-1]
	if got := fmt.Sprintf("%d %.1f %.1f", last.Iteration, last.PerExtra.Number, last.PerSuccess.Number); got != "10 28.2 7.7" {
		t.Errorf("the last iteration costs, per extra success and per success: %s, want 10 28.2 7.7", got)
	}
	second := tuned.Curve[1]
	if h := second.Hazard.Number; h < 0.03 || h > 0.04 {
		t.Errorf("the hazard of the second iteration is %v, want 3 %%", h)
	}
	if h := tuned.Curve[2].Hazard.Number; h < 0.26 || h > 0.28 {
		t.Errorf("the hazard of the third iteration is %v, want 27 %%", h)
	}
	if second.AheadTo < 3 || second.Ahead.Number >= second.PerExtra.Number {
		t.Errorf("looking ahead from iteration 2: %v to %d, want less than the %v of the step alone", second.Ahead, second.AheadTo, second.PerExtra)
	}
	for i, want := range data.want.Loss {
		if got := data.want.Validated.FullSuccesses - tuned.Curve[i].Hits; got != want.Lost {
			t.Errorf("iteration %d has lost %d, want %d", i+1, got, want.Lost)
		}
	}
}
