package sweep

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
	"pgregory.net/rapid"
)

const plain = "agent: {model: m}\nprompt: hello\nevaluate: {confidence: '0.5'}\n"

const wide = plain + "terminate: {confidence: off}\nmax_iterations: 4\n"

// run is a run of a task that ended at its maximum; each iteration scores what it
// is confident of, and takes a minute, a call and a dollar.
func run(task string, trial int, confidences ...float64) Run {
	r := &record.Run{ID: "c/" + task + "/" + strconv.Itoa(trial), Task: task, Trial: trial, Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations}}
	scores := []float64{0}
	for i, confidence := range confidences {
		start := time.Duration(i) * time.Minute
		r.Iterations = append(r.Iterations, record.Iteration{
			N: i + 1, Output: []byte(`"a"`), Evaluation: &record.Evaluation{Confidence: confidence},
			Calls: []record.Call{{Role: record.RoleAgent, Model: "m", Start: start, Duration: time.Minute, Usage: record.Usage{Calls: 1, InputTokens: 10, Cost: record.USD}}},
			Start: start, End: start + time.Minute, Working: time.Minute,
		})
		if confidence > scores[0] {
			r.Outcome.Returned, scores[0] = i+1, confidence
		}
		scores = append(scores, confidence)
	}
	return Run{Recorded: replay.Recorded{Run: r, Task: &spec.Task{ID: task, Input: "hello"}}, Scores: [][]float64{scores}}
}

func recorded(t testing.TB, loop string, runs ...Run) Recording {
	return Recording{Configuration: "wide", Loop: spectest.Loop(t, loop), Scores: []string{"score"}, Runs: runs}
}

func swept(t testing.TB, recordings []Recording, loops ...string) *Sweep {
	t.Helper()
	var candidates []Candidate
	for _, text := range loops {
		candidates = append(candidates, Candidate{Loop: spectest.Loop(t, text)})
	}
	s, err := New(recordings, candidates, Options{})
	spectest.Must(t, err)
	return s
}

func outcomes(t testing.TB, s *Sweep, candidate int) []Outcome {
	t.Helper()
	all, err := s.Outcomes(context.Background(), candidate)
	spectest.Must(t, err)
	return all[0]
}

func totals(t testing.TB, s *Sweep, part []int, parts int) [][]Totals {
	t.Helper()
	all := make([][]Totals, len(s.Candidates()))
	spectest.Must(t, s.Totals(context.Background(), part, parts, func(candidate int, totals []Totals) { all[candidate] = totals }))
	return all
}

func TestARunIsWorthTheIterationReturned(t *testing.T) {
	r := recorded(t, wide, run("a", 1, 0.2, 1, 0.4, 0.6), run("b", 1, 0.3, 0.1, 0.2, 1))
	s := swept(t, []Recording{r}, wide, plain+"terminate: {confidence: off}\nmax_iterations: 2\n", plain+"terminate: {confidence: off}\nmax_iterations: 6\n")
	for i, want := range [][]Range{{{1, 1}, {1, 1}}, {{1, 1}, {0.3, 0.3}}, {{0, 1}, {0, 1}}} {
		for k, o := range outcomes(t, s, i) {
			if o.Scores[0] != want[k] {
				t.Errorf("candidate %d, run %d: %v, want %v", i, k, o.Scores[0], want[k])
			}
		}
	}
}

func TestSumsOfParts(t *testing.T) {
	r := recorded(t, wide, run("a", 1, 0.2, 1, 0.4, 0.6), run("a", 2, 0.5, 0.5, 0.5, 0.5), run("b", 1, 0.3, 0.1, 0.2, 1), run("c", 1, 1, 1, 1, 1))
	s := swept(t, []Recording{r}, plain+"terminate: {confidence: off}\nmax_iterations: 3\n", plain+"terminate: {confidence: off}\nmax_iterations: 5\n")
	all := totals(t, s, []int{0, 0, 1, -1}, 2)
	a, b := all[0][0], all[0][1]
	if a.Runs != 2 || a.Exact != 2 || a.Iterations != 6 || a.Least.Cost != 6*record.USD || a.Elapsed != int64(6*time.Minute) || a.Label() != replay.PointExact {
		t.Errorf("%+v", a)
	}
	if s := a.Scores[0]; s.Known != 2 || s.Least != 1.5 || s.Most != 1.5 || s.Hits != 1 || s.Lost != 0 || s.PerTask.Least != 0.75 {
		t.Errorf("%+v", s)
	}
	if p := a.PerTask; p.Tasks != 1 || p.Iterations != 3 || p.Least.InputTokens != 30 {
		t.Errorf("%+v", p)
	}
	if s := b.Scores[0]; s.Lost != 1 || s.Hits != 0 || s.Least != 0.3 {
		t.Errorf("%+v", s)
	}
	a.Add(&b)
	if a.Runs != 3 || a.PerTask.Tasks != 2 || a.Scores[0].Least != 1.8 || a.Scores[0].Lost != 1 {
		t.Errorf("together %+v", a)
	}
	if censored := all[1][0]; censored.Censored != 2 || censored.Label() != replay.Bounded || censored.Scores[0].Least != 0 || censored.Scores[0].Most != 2 || censored.Iterations != 8 {
		t.Errorf("%+v", censored)
	}
}

// Runs that ended before an iteration count, too: those whose agent gave nothing are
// known, those that were cut are not.
func TestRunsWithoutIterations(t *testing.T) {
	ended, cut := run("a", 1), run("b", 1)
	ended.Run.Outcome = record.Outcome{Status: record.Completed, Reason: record.ReasonAgentEnded, Class: record.ByAgent, Fired: "agent_ended"}
	cut.Run.Outcome = record.Outcome{Status: record.Cancelled, Reason: record.ReasonCancelled, Class: record.ByBudget, Fired: "cancelled"}
	r := recorded(t, wide, ended, cut, run("c", 1, 0.2, 1, 0.4, 0.6))
	s := swept(t, []Recording{r}, wide, plain+"terminate: {confidence: off}\nmax_iterations: 2\n")
	all, parts := totals(t, s, []int{0, 0, 0}, 1), Divide(s.Runs(), []int{0, 1, 1}, 2)
	for i, iterations := range []int64{4, 2} {
		if got := all[i][0]; got.Runs != 3 || got.Exact != 2 || got.Iterations != iterations || !reflect.DeepEqual(all[i], Sum(outcomes(t, s, i), s.Runs(), []int{0, 0, 0}, 1)) {
			t.Errorf("candidate %d: %+v", i, got)
		}
		err := s.Sums(t.Context(), parts, []int{i}, func(_ int, sums *Sums) {
			if got := sums.Totals(); got[0].Runs != 1 || got[0].Exact != 1 || !reflect.DeepEqual(got, parts.Sum(outcomes(t, s, i)).Totals()) {
				t.Errorf("candidate %d by part: %+v", i, got)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNotKnownIsNotZero(t *testing.T) {
	nan := math.NaN()
	one := run("a", 1, 0.2, 0.9, 0.4, 0.6)
	one.Run.Outcome.Class, one.Run.Outcome.Fired, one.Run.Outcome.Success = record.ByCondition, "max_iterations", true
	short := plain + "terminate: {confidence: off}\nmax_iterations: 3\n"
	other := plain + "terminate: {confidence: off, when: iteration == 4}\nmax_iterations: 5\n"
	shorter := plain + "terminate: {confidence: off}\nmax_iterations: 1\n"
	for _, c := range []struct {
		name    string
		scores  []float64
		reads   Reads
		target  string
		want    float64
		unknown bool // a live run may have a score
	}{
		{"the run has a score alone, and stops earlier", []float64{0.9}, ReadsUnknown, short, nan, true},
		{"and returns the same output", []float64{0.9}, ReadsOutput, short, 0.9, false},
		{"and returns another", []float64{0.9}, ReadsOutput, shorter, nan, true},
		{"and stops as it did", []float64{0.9}, ReadsUnknown, wide, 0.9, false},
		{"the iteration stands for runs that stop there", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsAround, short, nan, true},
		{"and here one does", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsAround, shorter, 0.1, false},
		{"or for all that do, whatever they return", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsCourse, short, 0.3, false},
		{"why a run stops is not that of an iteration", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsStop, shorter, nan, true},
		{"and where it stops as recorded, for that reason", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsStop, wide, 0.9, false},
		{"but for another one it is not known", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsStop, other, nan, true},
		{"which does not matter to others", []float64{0.9, 0.1, 0.2, 0.3, 0.4}, ReadsCourse, other, 0.9, false},
		{"the iteration is unscored", []float64{0.9, 0.1, nan, 0.3, 0.4}, ReadsUnknown, short, nan, true},
		{"it was not judged, and stops as it did", []float64{nan}, ReadsUnknown, wide, nan, false},
		{"and returns the output that was not judged", []float64{nan}, ReadsOutput, short, nan, false},
		{"and stops earlier", []float64{nan}, ReadsUnknown, short, nan, true},
		{"or returns another output", []float64{nan}, ReadsOutput, shorter, nan, true},
		{"or stops for another reason", []float64{nan}, ReadsStop, other, nan, true},
	} {
		one.Scores = [][]float64{c.scores}
		r := recorded(t, wide, one)
		r.Reads = []Reads{c.reads}
		s := swept(t, []Recording{r}, c.target)
		if got := outcomes(t, s, 0)[0].Scores[0]; !(got.Least == c.want || math.IsNaN(c.want) && !got.Known()) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := totals(t, s, []int{0}, 1)[0][0].Scores[0]; (got.Known == 0) != math.IsNaN(c.want) || (got.Unknown == 1) != c.unknown || got.Lost != 0 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// What goes by what was done has the score of the last iteration made, also where
// nothing is returned; nobody knows it where an iteration went otherwise.
func TestScoresOfWhatWasDone(t *testing.T) {
	one := run("a", 1, 0.2, 0.9, 0.4, 0.6)
	one.Scores[0] = []float64{0.9, 0.1, 0.2, 0.3, 0.4}
	for name, c := range map[string]struct {
		reads Reads
		by    ending
		want  float64
		why   Why
	}{
		"nothing is returned":        {ReadsCourse, ending{made: 2}, 0.2, ""},
		"no iteration is made":       {ReadsCourse, ending{}, math.NaN(), NotJudged},
		"the last one is cut":        {ReadsCourse, ending{made: 3, returned: 1, changed: 3}, math.NaN(), GoesOtherwise},
		"one after it is":            {ReadsCourse, ending{made: 2, returned: 1, changed: 3}, 0.2, ""},
		"the returned one is whole":  {ReadsUnknown, ending{made: 3, returned: 1, changed: 3}, 0.1, ""},
		"it is judged otherwise":     {ReadsUnknown, ending{made: 3, returned: 1, changed: 1}, math.NaN(), GoesOtherwise},
		"its output is what it was":  {ReadsOutput, ending{made: 3, returned: 1, changed: 1}, 0.1, ""},
		"as recorded, but otherwise": {ReadsCourse, ending{made: 4, returned: 2, changed: 4}, math.NaN(), GoesOtherwise},
		"its output is another":      {ReadsOutput, ending{made: 3, returned: 3, changed: 3, usedUp: true}, math.NaN(), UsesUpSteps},
		"another is returned":        {ReadsOutput, ending{made: 3, returned: 1, changed: 3, usedUp: true}, 0.1, ""},
		"it returns an earlier one":  {ReadsAround, ending{made: 3, returned: 1}, math.NaN(), ReturnsEarlier},
	} {
		r := recorded(t, wide, one)
		r.Reads = []Reads{c.reads}
		got, why := r.worthOf(&one, 0, &c.by)
		if why != c.why || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v %q", name, got, why)
		}
	}
}

// A score outside of 0 and 1 may be anything where a run would have gone on.
func TestUnboundedScores(t *testing.T) {
	one := run("a", 1, 0.2, 0.4, 0.4, 0.6)
	one.Scores = [][]float64{{-3, 0, 0, 0, -3}}
	s := swept(t, []Recording{recorded(t, wide, one)}, plain+"terminate: {confidence: off}\nmax_iterations: 5\n")
	if got := totals(t, s, []int{0}, 1)[0][0].Scores[0]; !math.IsInf(got.Least, -1) || !math.IsInf(got.Most, 1) {
		t.Errorf("%+v", got)
	}
}

func TestSeveralRecordings(t *testing.T) {
	other := plain + "terminate: {confidence: off}\nmax_iterations: 3\n"
	hot := "agent: {model: m, temperature: 1.0}\nprompt: hello\nevaluate: {confidence: '0.5'}\nterminate: {confidence: off}\nmax_iterations: 4\n"
	recordings := []Recording{
		recorded(t, other, run("a", 1, 0.1, 0.2, 0.3), run("b", 1, 0.1, 0.2, 0.3)),
		recorded(t, hot, run("b", 1, 0.6, 0.7, 0.8, 1)),
		recorded(t, wide, run("a", 1, 0.1, 0.2, 0.3, 0.4), run("b", 1, 0.1, 0.2, 0.3, 0.4)),
	}
	third := "agent: {model: n}\nprompt: hello\nevaluate: {confidence: '0.5'}\n"
	s := swept(t, recordings, wide, hot, third)
	if n := len(s.Recordings()); n != 2 || s.Unpaired() != 1 || len(s.Runs()) != 1 || s.Runs()[0].Run.Task != "b" {
		t.Fatalf("%d recordings, %d unpaired, %d runs", n, s.Unpaired(), len(s.Runs()))
	}
	if o := outcomes(t, s, 0)[0]; o.Verdict != replay.Exact || o.Scores[0] != point(0.4) {
		t.Errorf("wide %+v", o)
	}
	if o := outcomes(t, s, 1)[0]; o.Verdict != replay.Exact || o.Scores[0] != point(1) {
		t.Errorf("hot %+v", o)
	}
	if o := outcomes(t, s, 2)[0]; o.Verdict != replay.Branches || o.Scores[0] != (Range{0, 1}) {
		t.Errorf("another model %+v", o)
	}
	if label := totals(t, s, []int{0}, 1)[2][0].Label(); label != replay.NeedsCalls {
		t.Errorf("another model %v", label)
	}
}

func TestNothingToReplay(t *testing.T) {
	l := Candidate{Loop: spectest.Loop(t, wide)}
	for _, c := range []struct {
		recordings []Recording
		candidates []Candidate
	}{
		{nil, []Candidate{l}}, {[]Recording{recorded(t, wide, run("a", 1, 1))}, nil}, {[]Recording{recorded(t, wide)}, []Candidate{l}},
	} {
		if _, err := New(c.recordings, c.candidates, Options{}); err == nil {
			t.Errorf("%+v", c)
		}
	}
}

func TestTheOrderOfASumDoesNotMatter(t *testing.T) {
	values := []float64{0.1, -2.7, 1e6, 0.3333333333, 1, -0.0000001}
	up, down := make(sums, 3), make(sums, 3)
	for i := range values {
		up.addValue(values[i])
		down.addValue(values[len(values)-1-i])
	}
	if !slices.Equal(up, down) || math.Abs(up.value(1)-(1e6+0.1-2.7+0.3333333333+1-1e-7)) > 1e-6 {
		t.Errorf("%v and %v", up.value(1), down.value(1))
	}
}

// The order of the recordings changes nothing where several have the longest runs of a
// path.
func TestTheOrderOfRecordingsDoesNotMatter(t *testing.T) {
	recordings := []Recording{recorded(t, wide, run("a", 1, 0.1, 0.2, 0.3, 0.4)), recorded(t, wide, run("a", 1, 0.4, 0.3, 0.2, 0.1))}
	recordings[0].Configuration, recordings[1].Configuration = "one", "other"
	for range 2 {
		if s := swept(t, recordings, wide); len(s.Recordings()) != 1 || s.Recordings()[0].Configuration != "one" {
			t.Errorf("%d recordings, the first is %s", len(s.Recordings()), s.Recordings()[0].Configuration)
		}
		recordings[0], recordings[1] = recordings[1], recordings[0]
	}
}

// What leads changes the order of recordings, and no outcome.
func TestLead(t *testing.T) {
	hot := "agent: {model: m, temperature: 1.0}\nprompt: hello\nevaluate: {confidence: '0.5'}\nterminate: {confidence: off}\nmax_iterations: 4\n"
	s := swept(t, []Recording{recorded(t, wide, run("a", 1, 0.1, 0.2, 0.3, 0.4)), recorded(t, hot, run("a", 1, 0.6, 0.7, 0.8, 1))}, wide, hot)
	before := outcomes(t, s, 1)[0].Scores[0]
	if on, _ := s.Recording(t.Context(), 1); on != 1 {
		t.Errorf("hot is replayed on %d", on)
	}
	s.Lead(1)
	if on, _ := s.Recording(t.Context(), 1); on != 0 || s.Runs()[0].Run.Iterations[3].Evaluation.Confidence != 1 {
		t.Errorf("hot is replayed on %d", on)
	}
	if after := outcomes(t, s, 1)[0].Scores[0]; after != before {
		t.Errorf("%v became %v", before, after)
	}
}

// same reports whether two outcomes are the same, where a number that is not known is
// like another.
func same(a, b *Outcome) bool {
	return reflect.DeepEqual(a.Result, b.Result) && fmt.Sprint(a.Scores, a.Unscored) == fmt.Sprint(b.Scores, b.Unscored)
}

// What candidates make of runs under hard budgets is what each makes of them alone,
// though most are not replayed.
func TestBudgetsAreTheirReplays(test *testing.T) {
	ways, parameters := map[record.Reason]int{}, "prompt: '{{ param.guards.budget.calls }} left'\n"
	propertytest.CheckCases(test, 150, func(t *rapid.T) {
		number := func(label string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, label) }
		budget := "guards: {budget: {calls: 30, tokens: 900, cost_usd: 30, hard: true}}\n"
		loop := plain
		if rapid.Bool().Draw(t, "tells") {
			loop = strings.Replace(plain, "prompt: hello\n", parameters, 1)
		}
		var runs []Run
		for i := range 5 {
			one := run(fmt.Sprint("t", i), 1, make([]float64, number("iterations", 6))...)
			for n := range one.Run.Iterations {
				it := &one.Run.Iterations[n]
				it.Evaluation.Confidence = float64(number("confidence", 10)) / 10
				for range number("calls", 2) {
					it.Calls = append(it.Calls, it.Calls[0])
				}
				for k := range it.Calls {
					c := &it.Calls[k]
					c.Usage = record.Usage{Calls: number("made", 1), InputTokens: number("tokens", 40), Cost: record.Money(number("cost", 3)) * record.USD}
					more := c.Usage.Plus(record.Usage{OutputTokens: number("reserved", 40), Cost: record.Money(number("more", 2)) * record.USD})
					if c.Reserved = &more; number("unreserved", 30) == 0 {
						c.Reserved = nil
					}
				}
				one.Run.Usage = one.Run.Usage.Plus(it.Total())
			}
			runs = append(runs, one)
		}
		axes := []Axis{axis(test, "guards.budget.calls=1,3,8"), axis(test, "guards.budget.cost_usd=2,5,14"), axis(test, "max_iterations=2,5"), axis(test, "terminate.confidence.threshold=0.4,0.8"), axis(test, "terminate.no_improvement.patience=1,2"), axis(test, "guards.budget.tokens=20,200")}
		axes = slices.DeleteFunc(axes, func(Axis) bool { return rapid.Bool().Draw(t, "left out") })
		candidates, err := Grid([]Base{{Name: "wide", Loop: spectest.Loop(test, loop+budget+"max_iterations: 6\n")}}, nil, axes)
		spectest.Must(t, err)
		s, err := New([]Recording{recorded(test, loop+budget+"max_iterations: 6\n", runs...)}, candidates, Options{})
		spectest.Must(t, err)
		together, all := make([][]Outcome, len(candidates)), make([]int, len(candidates))
		for i := range all {
			all[i], together[i] = i, make([]Outcome, len(runs))
		}
		spectest.Must(t, s.Visit(context.Background(), all, func() func(int, int, *Outcome) {
			return func(k, run int, o *Outcome) {
				together[k][run] = *o
				together[k][run].Scores = slices.Clone(o.Scores)
			}
		}))
		for i := range candidates {
			live := replay.New(s.recordings[0].Loop, candidates[i].Declared(), replay.Options{})
			for run, alone := range outcomes(test, s, i) {
				ways[alone.Outcome.Reason]++
				if !same(&together[i][run], &alone) {
					t.Fatalf("%s, run %d:\n%+v, want\n%+v", candidates[i].Name, run, together[i][run], alone)
				}
				if want := live.Run(context.Background(), s.Runs()[run].Run, s.Runs()[run].Task); !reflect.DeepEqual(together[i][run].Result, want) {
					t.Fatalf("%s, run %d:\n%+v, want by itself\n%+v", candidates[i].Name, run, together[i][run].Result, want)
				}
			}
		}
	})
	for _, reason := range []record.Reason{"", record.ReasonBudgetCalls, record.ReasonBudgetTokens, record.ReasonBudgetCost, record.ReasonMaxIterations} {
		if ways[reason] < 20 {
			test.Errorf("%d ended by %q: the property says little", ways[reason], reason)
		}
	}
}
