package reports_test

import (
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// fixture is a result folder in memory.
type fixture struct {
	manifest record.Manifest
	signals  []*record.Run
	scores   []record.Score
}

func (f *fixture) collect() *reports.Report {
	r, err := reports.Collect(&f.manifest, each(f.signals), each(f.scores))
	if err != nil {
		panic(err)
	}
	return r
}

func each[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// draw is a number from 0 to 1 that depends on nothing but its arguments.
func draw(of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	x := h.Sum64()
	x ^= x >> 31 // FNV's low bits of short texts are poor
	return float64((x*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

// coach is a suite of five configurations, one of them with phases, and three
// trials. Its runs get better by the iteration, some have faults.
func coach(tasks int) *fixture {
	f := &fixture{manifest: record.Manifest{
		Suite: "interview-coach", Status: record.StateComplete, Baseline: "single-pass",
		Tasks: tasks, Trials: 3, Scorers: []string{"close", "quality"}, Metrics: []record.MetricHead{
			{Name: "close pass@2", Score: "close", Reduce: "pass_at_k", K: 2, Threshold: 1},
			{Name: "close pass^3", Score: "close", Reduce: "pass_hat_k", K: 3, Threshold: 1},
			{Name: "quality median", Score: "quality", Reduce: "median"},
		},
		Configurations: []record.ConfigurationHead{
			{Name: "single-pass", MaxIterations: 1, EffectiveMax: 1},
			{Name: "default", Aliases: []string{"sweep[threshold=0.85,max_iterations=5]"}, MaxIterations: 5, EffectiveMax: 5},
			{Name: "sweep[threshold=0.75,max_iterations=3]", MaxIterations: 3, EffectiveMax: 3},
			{Name: "sweep[threshold=0.95,max_iterations=5]", MaxIterations: 5, EffectiveMax: 5},
			{Name: "phased", EffectiveMax: 7, Phases: []record.PhaseHead{{Name: "planning", Limit: 2}, {Name: "execution", Limit: 3}, {Name: "refinement", Limit: 1}}},
		},
	}}
	thresholds := []float64{2, 0.85, 0.75, 0.95, 0.9}
	for c := range f.manifest.Configurations {
		for task := 1; task <= f.manifest.Tasks; task++ {
			for trial := 1; trial <= f.manifest.Trials; trial++ {
				f.play(c, fmt.Sprintf("interview-%d", task), trial, thresholds[c])
			}
		}
	}
	return f
}

// play makes up one run of a configuration.
func (f *fixture) play(c int, task string, trial int, threshold float64) {
	head := &f.manifest.Configurations[c]
	s := &record.Run{
		ID: record.RunID(head.Name, task, trial), Configuration: head.Name, Task: task, Trial: trial, Group: []string{"easy", "hard"}[int(2*draw("hard", task))],
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Fired: "max_iterations"},
	}
	if draw("fault", head.Name, task, trial) < 0.02 {
		s.Outcome = record.Outcome{Status: record.Faulted, Class: record.ByFault, Error: &record.Error{Class: record.RateLimit}}
		f.signals = append(f.signals, s)
		return
	}
	best, correct := 0.0, false
	hard := draw("hard", task)
	for n := 1; n <= head.EffectiveMax; n++ {
		confidence := 0.5 + 0.1*float64(n)*draw("confidence", task, trial, n) + 0.2*(1-hard)
		it := record.Iteration{
			N: n, Phase: phaseAt(head, n), Output: []byte(`"x"`), Evaluation: &record.Evaluation{Confidence: min(1, confidence)},
			Start: s.Elapsed, Calls: []record.Call{
				{Role: record.RoleAgent, Usage: record.Usage{Calls: 1, InputTokens: 900 + int64(100*n), OutputTokens: 200, Cost: 255_000_000}},
				{Role: record.RoleJudge, Usage: record.Usage{Calls: 1, InputTokens: 400, OutputTokens: 40, Cost: 84_000_000}},
			},
		}
		s.Elapsed += time.Duration(1e9 + 2e9*draw("time", head.Name, task, trial, n))
		it.End = s.Elapsed
		s.Usage, s.Judging = s.Usage.Plus(it.Calls[0].Usage), s.Judging.Plus(it.Calls[1].Usage)
		s.Iterations = append(s.Iterations, it)
		right := draw("right", task, trial, n) < 0.3+0.12*float64(n)-0.3*hard+0.4*(confidence-0.5)
		f.scores = append(f.scores, record.Score{Run: s.ID, Name: "close", Iteration: n, Value: number(right)})
		if confidence > best {
			best, correct, s.Outcome.Returned = confidence, right, n
		}
		if confidence >= threshold {
			s.Outcome.Reason, s.Outcome.Fired, s.Outcome.Success = record.ReasonConfidence, "confidence", true
			break
		}
		if it.Phase == "" && head.Phases != nil {
			s.Outcome.Reason, s.Outcome.Fired = record.ReasonPhasesComplete, ""
			break
		}
	}
	f.signals = append(f.signals, s)
	f.scores = append(f.scores, record.Score{Run: s.ID, Name: "close", Value: number(correct)})
	quality := record.Score{Run: s.ID, Name: "quality", Value: float64(int(best*20)) / 20}
	if draw("judge", s.ID) < 0.01 {
		quality = record.Score{Run: s.ID, Name: "quality", Unscored: "the judge's answer is not a number"}
	}
	quality.Usage = record.Usage{Calls: 3, InputTokens: 1500, OutputTokens: 90, Cost: 276_000_000}
	for vote := range 3 {
		quality.Votes = append(quality.Votes, record.Vote{Value: float64(int(best*20*(0.9+0.2*draw("vote", s.ID, vote)))) / 20})
	}
	f.scores = append(f.scores, quality)
}

func phaseAt(head *record.ConfigurationHead, n int) string {
	for _, phase := range head.Phases {
		if n <= phase.Limit {
			return phase.Name
		}
		n -= phase.Limit
	}
	return ""
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// calling makes the agents of all runs programs that call a model: a step an iteration.
func (f *fixture) calling() *fixture {
	for _, s := range f.signals {
		for i := range s.Iterations {
			call, judge := &s.Iterations[i].Calls[0], &s.Iterations[i].Calls[1]
			call.Kind, call.Step, call.Arrived = record.MainCall, i+1, s.Iterations[i].Start+time.Millisecond
			judge.Start = call.Arrived + time.Millisecond
		}
	}
	return f
}

// simulated makes all runs of the configurations named simulated ones.
func (f *fixture) simulated(configurations ...string) *fixture {
	f.manifest.Simulated = []string{"toy"}
	for _, s := range f.signals {
		s.Simulated = len(configurations) == 0 || slices.Contains(configurations, s.Configuration)
	}
	return f
}
