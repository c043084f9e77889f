package replay

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// recordedRun has an iteration a minute, each of one call, with the confidences
// given; it ended for a reason.
func recordedRun(reason record.Reason, confidences ...float64) *record.Run {
	r := &record.Run{ID: "c/t/1", Task: "t", Trial: 1, Outcome: record.Outcome{Status: record.Completed, Reason: reason}}
	for i, confidence := range confidences {
		start := time.Duration(i) * time.Minute
		r.Iterations = append(r.Iterations, record.Iteration{
			N: i + 1, Output: []byte(`"a"`), Evaluation: &record.Evaluation{Confidence: confidence},
			Calls: []record.Call{{Role: record.RoleAgent, Model: "m", Start: start, Duration: time.Minute, Usage: record.Usage{Calls: 1, InputTokens: 10, Cost: record.USD}}},
			Start: start, End: start + time.Minute, Working: time.Minute,
		})
	}
	r.Elapsed = time.Duration(len(confidences)) * time.Minute
	return r
}

const wide = plainLoop + "terminate: {confidence: off}\nmax_iterations: 4\n"

func replayed(t *testing.T, target string, o Options, r *record.Run) Result {
	t.Helper()
	return New(spectest.Loop(t, wide), spectest.Loop(t, target), o).Run(context.Background(), r, task)
}

func TestVerdicts(t *testing.T) {
	capped := recordedRun(record.ReasonMaxIterations, 0.2, 0.4, 0.6, 0.5)
	cancelled := recordedRun(record.ReasonCancelled, 0.2, 0.4)
	suite := recordedRun(record.ReasonSuiteBudget, 0.2, 0.4)
	suite.Iterations[1].Cut, suite.Iterations[1].Evaluation = string(record.ReasonSuiteBudget), nil
	dry := recordedRun(record.ReasonAgentEnded, 0.2, 0.4)
	for _, c := range []struct {
		name, target string
		run          *record.Run
		verdict      Verdict
		at           int
		iterations   int
		reason       record.Reason
		why          string
	}{
		{"a tighter limit", plainLoop + "max_iterations: 2", capped, Exact, 0, 2, record.ReasonMaxIterations, ""},
		{"a threshold", plainLoop + "terminate: {confidence: {threshold: 0.6}}", capped, Exact, 0, 3, record.ReasonConfidence, ""},
		{"a looser limit", plainLoop + "max_iterations: 5", capped, Censored, 5, 4, "", "the recording ended here: max_iterations"},
		{"an agent that had nothing more to give", plainLoop + "max_iterations: 5", dry, Exact, 0, 2, record.ReasonAgentEnded, ""},
		{"a run that was cancelled", plainLoop + "max_iterations: 2", cancelled, Exact, 0, 2, record.ReasonMaxIterations, ""},
		{"a run that was cancelled before", plainLoop + "max_iterations: 3", cancelled, Censored, 3, 2, "", "cancelled"},
		{"a run that the suite's budget cut", plainLoop + "max_iterations: 2", suite, Censored, 2, 1, "", "cut inside"},
		{"another prompt", strings.Replace(wide, "hello", "hi", 1), capped, Branches, 1, 0, "", "the prompt differs"},
		{"another temperature", strings.Replace(wide, "model: m", "model: m, temperature: 1", 1), capped, Branches, 1, 0, "", "agent.temperature differs"},
		{"another confidence", strings.Replace(wide, "0.5", "0.6", 1), capped, Branches, 1, 0, "", "evaluate.confidence differs"},
		{"phases", "agent: {model: m}\nphases: [{name: a, prompt: hello}]\nevaluate: {confidence: '0.5'}", capped, Branches, 1, 0, "", `phase "a"`},
		{"a longer time for calls", strings.Replace(wide, "model: m", "model: m, timeout: 2m", 1) + "guards: {absolute_max_iterations: 4}", capped, Exact, 0, 4, record.ReasonMaxIterations, ""},
		{"too little time for calls", strings.Replace(wide, "model: m", "model: m, timeout: 1m", 1), capped, Branches, 1, 0, "", "took this long"},
		{"a hard budget", plainLoop + "guards: {budget: {calls: 3, hard: true}}", capped, Branches, 1, 0, "", "does not have its reservation"},
		{"a soft budget", plainLoop + "guards: {budget: {cost_usd: 3}}", capped, Exact, 0, 3, record.ReasonBudgetCost, ""},
	} {
		r := replayed(t, c.target, Options{}, c.run)
		if r.Verdict != c.verdict || r.At != c.at || r.Iterations != c.iterations || r.Outcome.Reason != c.reason || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: got %+v, want %s at %d after %d for %q: %s", c.name, r, c.verdict, c.at, c.iterations, c.reason, c.why)
		}
	}
}

// An iteration that a log has no evaluation of has none under other limits, and
// conditions pass over it. Under another evaluation nobody knows.
func TestIterationsThatALogDoesNotEvaluate(t *testing.T) {
	r := recordedRun(record.ReasonMaxIterations, 0.2, 0, 0.8, 0)
	for _, i := range []int{1, 3} {
		r.Iterations[i].Evaluation, r.Iterations[i].Skipped = nil, true
	}
	for _, c := range []struct {
		target     string
		iterations int
		reason     record.Reason
		returned   int
	}{
		{plainLoop + "max_iterations: 2", 2, record.ReasonMaxIterations, 1},
		{plainLoop + "max_iterations: 4", 4, record.ReasonMaxIterations, 3},
		{plainLoop + "terminate: {confidence: {threshold: 0.7}}", 3, record.ReasonConfidence, 3},
		{plainLoop + "terminate: {any: [{repeated: {of: output, times: 2}}]}", 3, record.ReasonRepeated, 3},
	} {
		got := replayed(t, c.target, Options{}, r)
		if got.Verdict != Exact || got.Iterations != c.iterations || got.Outcome.Reason != c.reason || got.Outcome.Returned != c.returned {
			t.Errorf("%s: %+v", c.target, got)
		}
	}
	if got := replayed(t, strings.Replace(wide, "0.5", "0.6", 1), Options{}, r); got.Verdict != Branches || !strings.Contains(got.Why, "evaluate.confidence differs") {
		t.Errorf("another evaluation: %+v", got)
	}
}

// Where only the whole run tells its cost, one that stops earlier costs between nothing
// and its even share; as recorded it costs what was recorded.
func TestCostsOfWholeRuns(t *testing.T) {
	r := recordedRun(record.ReasonAgentEnded, 0.2, 0.4, 0.6)
	for i := range r.Iterations {
		r.Iterations[i].Calls[0].Usage = record.Usage{Calls: 1, Unreported: 1}
	}
	r.Iterations[2].Ended = &record.Ended{Reason: string(record.ReasonAgentEnded)}
	r.Usage = record.Usage{Calls: 3, Cost: record.USD, Uncounted: 3}
	for _, c := range []struct {
		target      string
		least, most record.Money
	}{
		{plainLoop + "max_iterations: 1", 0, 333_333_333_334},
		{plainLoop + "max_iterations: 2", 0, 666_666_666_667},
		{plainLoop + "max_iterations: 3", record.USD, record.USD},
		{plainLoop + "max_iterations: 9", record.USD, record.USD},
	} {
		for name, got := range map[string]Result{
			"walked": replayed(t, c.target, Options{}, r),
			"along":  alongPath(t, c.target, r),
		} {
			used := got.Usage
			if got.Verdict != Exact || used.Least.Cost != c.least || used.Most.Cost != c.most || !used.Most.Priced() || used.Most.TokensTold() || used.Most.Calls != int64(got.Iterations) {
				t.Errorf("%s, %s: %+v", c.target, name, got)
			}
		}
	}
	made := New(spectest.Loop(t, wide), spectest.Loop(t, plainLoop+"max_iterations: 2"), Options{})
	if _, run := made.AsIf(context.Background(), r, task); run.Usage.Priced() {
		t.Errorf("bounds became a number: %+v", run.Usage)
	}
}

// alongPath is a replay on the path of all configurations that only stop otherwise.
func alongPath(t *testing.T, target string, r *record.Run) Result {
	t.Helper()
	l := spectest.Loop(t, target)
	path := pathUnder(New(spectest.Loop(t, wide), Endless(l), Options{}), l, Recorded{Run: r, Task: task})
	return NewStops(l).Along(&path)
}

// An imported log tells what the agent was told.
func TestAnAnnouncedLimitIsCounterfactual(t *testing.T) {
	log := recordedRun(record.ReasonMaxIterations, 0.2, 0.4, 0.6, 0.5)
	for _, told := range []string{"terminate", "max_iterations", "terminate.any.max_iterations", "terminate.max_iterations"} {
		r := replayed(t, strings.Replace(wide, "4", "2", 1), Options{Announced: []string{told}}, log)
		if r.Label() != Counterfactual || !strings.Contains(r.Why, "got terminate") {
			t.Errorf("another limit, told %s: %s, %+v", told, r.Label(), r)
		}
	}
	o := Options{Announced: []string{"max_iterations"}}
	r := replayed(t, wide+"guards: {budget: {tokens: 15}}", o, log)
	if r.Label() != PointExact || r.Iterations != 2 {
		t.Errorf("the same limit: %s, %+v", r.Label(), r)
	}
}

func TestTheLabelIsTheWorst(t *testing.T) {
	exact, censored, branches := Result{Verdict: Exact}, Result{Verdict: Censored}, Result{Verdict: Branches}
	told := Result{Verdict: Branches, Told: true}
	for _, c := range []struct {
		results []Result
		want    Label
		word    string
	}{
		{nil, PointExact, "exact"},
		{[]Result{exact, exact}, PointExact, "exact"},
		{[]Result{exact, censored}, Bounded, "bounded"},
		{[]Result{branches, censored}, NeedsCalls, "needs calls"},
		{[]Result{told, branches, exact}, Counterfactual, "counterfactual"},
	} {
		var worst Label
		for i := range c.results {
			worst = max(worst, c.results[i].Label())
		}
		if worst != c.want || worst.String() != c.word {
			t.Errorf("%v are %s, want %s", c.results, worst, c.word)
		}
	}
}

// same judges as was recorded.
type same struct{}

func (same) Judge(_ context.Context, _ *spec.Task, it *record.Iteration, _ *stop.State) (*record.Evaluation, *record.Error, bool) {
	return it.Evaluation, it.Error, true
}

// What prompts and evaluations read of the history depends on the configuration
// in more ways than by its parameters.
func TestWhatIsReadOfTheHistory(t *testing.T) {
	checks := "evaluate: {checks: [{name: a, expr: 'true'}]}\n"
	phases := "agent: {model: m}\nphases: [{name: a, prompt: p, max_iterations: 1}, {name: b, prompt: p}]\n"
	inPhases := recordedRun(record.ReasonMaxIterations, 0.2, 0.4)
	inPhases.Iterations[0].Phase, inPhases.Iterations[1].Phase = "a", "b"
	for _, c := range []struct {
		name, recorded, target string
		run                    *record.Run
		at                     int
		why                    string
	}{
		{"since_improvement counts by min_delta",
			"agent: {model: m}\nprompt: '{{ since_improvement }}'\n" + checks + "terminate: {no_improvement: {patience: 9}}\n",
			"agent: {model: m}\nprompt: '{{ since_improvement }}'\n" + checks + "terminate: {no_improvement: {patience: 9, min_delta: 0.1}}\n",
			recordedRun(record.ReasonMaxIterations, 0.2), 1, "the prompt reads since_improvement"},
		{"best is another under checklist",
			"agent: {model: m}\nprompt: '{{ best == null }}'\n" + checks,
			"agent: {model: m}\nprompt: '{{ best == null }}'\npattern: checklist\n" + checks,
			recordedRun(record.ReasonMaxIterations, 0.2), 1, "the prompt reads best"},
		{"an evaluation that reads one that is skipped now",
			phases + "evaluate: {confidence: 'best == null ? 0.1 : 0.2'}\n",
			phases + "evaluate: {confidence: 'best == null ? 0.1 : 0.2', from_phase: b}\n",
			inPhases, 2, "the evaluation reads earlier ones"},
	} {
		judge := Judge(same{})
		if c.at == 2 {
			judge = nil
		}
		r := New(spectest.Loop(t, c.recorded), spectest.Loop(t, c.target), Options{Judge: judge}).Run(context.Background(), c.run, task)
		if r.Verdict != Branches || r.At != c.at || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
