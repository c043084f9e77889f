package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/spec/expr"
	"pgregory.net/rapid"
)

// trial is what two scorers say of one trial of a task.
type trial struct {
	right, judged float64 // NaN: unscored
	answer        string
}

// tried are runs of a configuration, by task.
func tried(metrics []record.MetricHead, tasks map[string][]trial) *fixture {
	f := one(len(tasks))
	f.manifest.Scorers, f.manifest.Metrics = []string{"right", "judged"}, metrics
	for _, task := range []string{"a", "b", "c", "d"} {
		for i, of := range tasks[task] {
			s := f.run(task, i+1, 0.5)
			s.Iterations[0].Output = []byte("output " + of.answer)
			f.scores = append(f.scores, scored(s.ID, "right", of.right, of.answer), scored(s.ID, "judged", of.judged, ""))
			f.manifest.Trials = max(f.manifest.Trials, i+1)
		}
	}
	return f
}

func scored(run, name string, value float64, answer string) record.Score {
	if math.IsNaN(value) {
		return record.Score{Run: run, Name: name, Unscored: "no"}
	}
	return record.Score{Run: run, Name: name, Value: value, Answer: answer}
}

var unscored = math.NaN()

// What the trials of a task become is averaged over the tasks, each of which
// counts the same.
func TestMetricsReduceTheTrialsOfEachTask(t *testing.T) {
	tasks := map[string][]trial{
		"a": {{1, 0.9, "4"}, {0, 0.2, "5"}, {1, 0.4, "4"}, {0.5, 0.6, "4.0"}},
		"b": {{0, 0.3, "1"}, {0, 0.8, "none"}, {1, 0.1, "2"}, {0, 0.7, "none"}},
	}
	for name, c := range map[string]struct {
		head record.MetricHead
		want float64
	}{
		"mean":               {record.MetricHead{Reduce: "mean"}, (2.5/4 + 1.0/4) / 2},
		"median":             {record.MetricHead{Reduce: "median"}, (0.75 + 0) / 2},
		"min":                {record.MetricHead{Reduce: "min"}, 0},
		"max":                {record.MetricHead{Reduce: "max"}, 1},
		"std":                {record.MetricHead{Reduce: "std"}, (math.Sqrt(0.6875/3) + 0.5) / 2},
		"pass rate":          {record.MetricHead{Reduce: "pass_rate", Threshold: 1}, (2.0/4 + 1.0/4) / 2},
		"pass rate at 0.5":   {record.MetricHead{Reduce: "pass_rate", Threshold: 0.5}, (3.0/4 + 1.0/4) / 2},
		"pass@2":             {record.MetricHead{Reduce: "pass_at_k", K: 2, Threshold: 1}, (5.0/6 + 3.0/6) / 2},
		"pass^2":             {record.MetricHead{Reduce: "pass_hat_k", K: 2, Threshold: 1}, (1.0 / 6) / 2},
		"pass^3 at 0.5":      {record.MetricHead{Reduce: "pass_hat_k", K: 3, Threshold: 0.5}, (1.0 / 4) / 2},
		"majority":           {record.MetricHead{Reduce: "majority"}, (1 + 0.5) / 2},
		"best of 4 by judge": {record.MetricHead{Reduce: "best_of_k", K: 4, By: "judged"}, (1 + 0.0) / 2},
		"best of 1 by judge": {record.MetricHead{Reduce: "best_of_k", K: 1, By: "judged"}, (2.5/4 + 1.0/4) / 2},
	} {
		c.head.Name, c.head.Score = name, "right"
		r := tried([]record.MetricHead{c.head}, tasks).collect()
		m := r.Configurations[0].Declared[0]
		if !m.Value.Known() || math.Abs(m.Value.Number-c.want) > 1e-12 || m.Tasks != 2 || m.LeftOut != 0 {
			t.Errorf("%s: %+v, want %v", name, m, c.want)
		}
	}
}

// A task with fewer scored trials than a metric takes is missing from it, and not
// worth 0 or 1.
func TestTooFewTrialsAreMissing(t *testing.T) {
	heads := []record.MetricHead{
		{Name: "right pass@2", Score: "right", Reduce: "pass_at_k", K: 2, Threshold: 1}, {Name: "right pass^3", Score: "right", Reduce: "pass_hat_k", K: 3, Threshold: 1},
		{Name: "spread", Score: "right", Reduce: "std"}, {Name: "chosen", Score: "right", Reduce: "best_of_k", K: 2, By: "judged"},
		{Name: "other", Score: "never", Reduce: "mean"},
	}
	f := tried(heads, map[string][]trial{"a": {{1, 1, ""}, {1, 1, ""}}, "b": {{0, 1, ""}, {unscored, 1, ""}}, "c": {{unscored, 1, ""}}, "d": {{1, unscored, ""}, {0, 1, ""}}})
	r := f.collect()
	all := r.Configurations[0].Declared
	for i, want := range []string{"1 … 2 1", "few trials 0 3", "0.353553 … 2 1", "1 … 1 2", "unscored 0 0"} {
		m := all[i]
		got := fmt.Sprint(m.Value.Missing, " ", m.Tasks, " ", m.LeftOut)
		if m.Value.Known() {
			got = fmt.Sprintf("%.6g … %d %d", m.Value.Number, m.Tasks, m.LeftOut)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", m.Name, got, want)
		}
	}
	text := pagetest.Written(t, r, page.Options{Tables: []string{"metrics"}, Width: 160})
	if want := "right pass@2 leaves out 1 of 3 tasks, which have fewer than 2 scored trials"; !strings.Contains(text, want) || !strings.Contains(text, "few trials") {
		t.Errorf("%s", text)
	}
}

// The answer is what the scorer says; without a word of it, what was returned. A
// baseline tells neither.
func TestMajorityTakesOutputsForAnswers(t *testing.T) {
	f := tried([]record.MetricHead{{Name: "m", Score: "judged", Reduce: "majority"}}, map[string][]trial{"a": {{0, 0.2, "x"}, {0, 0.4, "y"}, {0, 0.6, "y"}}})
	if m := f.collect().Configurations[0].Declared[0]; m.Value.Number != 0.5 {
		t.Errorf("%+v", m)
	}
	for _, s := range f.signals {
		s.Iterations[0].Output = nil
	}
	m := f.collect().Configurations[0].Declared[0]
	if m.Value.Missing != "no answers" || m.LeftOut != 1 {
		t.Errorf("%+v", m)
	}
}

func TestMetricsOfGroups(t *testing.T) {
	f := tried([]record.MetricHead{{Name: "right mean", Score: "right", Reduce: "mean"}}, map[string][]trial{"a": {{1, 1, ""}}, "b": {{0, 1, ""}}, "c": {{1, 1, ""}}, "d": {{0, 0, ""}}})
	for _, s := range f.signals {
		s.Group = map[string]string{"a": "10", "b": "10", "c": "9"}[s.Task]
	}
	r := f.collect()
	m := r.Configurations[0].Declared[0]
	if len(m.Groups) != 2 || m.Groups[0].Group != "9" || m.Groups[0].Value.Number != 1 || m.Groups[1].Value.Number != 0.5 || m.Groups[1].Tasks != 2 || m.Value.Number != 0.5 || m.Tasks != 4 {
		t.Fatalf("%+v", m)
	}
	for text, want := range map[string]string{
		`configurations["c"].metrics["right mean"].value == 0.5`:                "ok",
		`configurations["c"].metrics["right mean"].n >= 5`:                      "no",
		`configurations["c"].metrics["right mean"].groups["9"].value > 0.9`:     "ok",
		`configurations["c"].metrics["right mean"].groups["10"].n == 2`:         "ok",
		`configurations["c"].metrics["right mean"].groups["hard"].value == 1.0`: `"hard"`,
		`configurations["c"].metrics["right maen"].value == 1.0`:                `"right maen"`,
	} {
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{text})[0]
		switch {
		case v.Err != nil && (want == "ok" || want == "no" || !strings.Contains(v.Err.Error(), want)):
			t.Errorf("%s: %v", text, v.Err)
		case v.Err == nil && v.OK != (want == "ok"), v.Err == nil && want != "ok" && want != "no":
			t.Errorf("%s: %v, want %s", text, v.OK, want)
		}
	}
	v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{`configurations["c"].metrics["right mean"].groups["10"].value < 0.1`})[0]
	if want := `configurations["c"].metrics["right mean"].groups["10"].value is 0.5 [`; !strings.HasPrefix(v.Detail, want) {
		t.Errorf("%q, want %q", v.Detail, want)
	}
	rows := strings.Split(pagetest.Written(t, r, page.Options{Format: "csv", Tables: []string{"metrics"}}), "\n")
	if !strings.HasPrefix(rows[0], `"configuration","simulated","group","right mean","right mean_tasks",`) || len(rows) != 5 || !strings.HasPrefix(rows[2], `"c","","9",1,1,`) {
		t.Errorf("%q", rows)
	}
}

// A bootstrap of tasks that are all alike would be sure of what it cannot know.
func TestMetricsOfEqualTasksAreNotCertain(t *testing.T) {
	heads := []record.MetricHead{{Name: "all", Score: "right", Reduce: "pass_at_k", K: 1, Threshold: 1}, {Name: "spread", Score: "right", Reduce: "std"}}
	r := tried(heads, map[string][]trial{"a": {{1, 0, ""}, {1, 0, ""}}, "b": {{1, 0, ""}, {1, 0, ""}}, "c": {{1, 0, ""}, {1, 0, ""}}}).collect()
	all := r.Configurations[0].Declared
	if low := all[0].Value.Low; !low.Known() || low.Number > 0.5 || all[0].Value.High.Number != 1 {
		t.Errorf("%v to %v", all[0].Value.Low, all[0].Value.High)
	}
	if all[1].Value.Number != 0 || all[1].Value.Low.Known() {
		t.Errorf("%+v", all[1])
	}
}

// Neither the order of runs and scores nor anything but the tasks' trials
// matters.
func TestMetricsDoNotDependOnOrder(t *testing.T) {
	heads := []record.MetricHead{
		{Name: "majority", Score: "right", Reduce: "majority"}, {Name: "chosen", Score: "right", Reduce: "best_of_k", K: 2, By: "judged"},
		{Name: "mean", Score: "judged", Reduce: "mean"}, {Name: "std", Score: "judged", Reduce: "std"},
	}
	propertytest.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		tasks := map[string][]trial{}
		for _, task := range []string{"a", "b", "c", "d"} {
			for range 1 + random.IntN(5) {
				tasks[task] = append(tasks[task], trial{float64(random.IntN(3)) / 3, random.Float64(), fmt.Sprint(random.IntN(3))})
			}
		}
		f := tried(heads, tasks)
		want := pagetest.Written(t, f.collect(), page.Options{Format: "json"})
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		if got := pagetest.Written(t, f.collect(), page.Options{Format: "json"}); got != want {
			rt.Fatalf("%s\nwant %s", got, want)
		}
	})
}

func TestThresholds(t *testing.T) {
	f := one(2)
	f.manifest.Configurations[0].Aliases = []string{"also"}
	f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: "empty"})
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5, 0.6), 0, 0)
	r := f.collect()
	for text, want := range map[string]string{
		`configurations["c"].scores["right"].mean >= 0.5`:                "ok",
		`configurations["also"].scores["right"].mean >= 0.5`:             "ok",
		`configurations["c"].scores["right"].mean > 0.5`:                 "no",
		`configurations["c"].cost_usd.mean <= 0.02`:                      "ok",
		`configurations["c"].n == 2 && configurations["c"].runs == 2`:    "ok",
		`configurations["c"].coverage == 1.0`:                            "ok",
		`configurations["c"].iterations.p95 < 2.0`:                       "ok",
		`configurations["c"].calls.total == 3.0`:                         "ok",
		`configurations["c"].latency.mean == 1.5`:                        "ok",
		`configurations["c"].tokens.mean >= 0.0`:                         "ok",
		`configurations["c"].scores["wrong"].mean >= 0.0`:                `key "wrong" not found`,
		`configurations["d"].n >= 0`:                                     `key "d" not found`,
		`configurations["empty"].n >= 0`:                                 `"empty" has no run`,
		`configurations.all(c, configurations[c].n >= 0)`:                `"empty" has no run`,
		`configurations["c"].scores["right"].maen >= 0.0`:                "maen",
		`!has(configurations["c"].success) || configurations["c"].n > 0`: "ok",
	} {
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{text})[0]
		switch {
		case v.Err != nil && (v.OK || !strings.Contains(v.Err.Error(), want)):
			t.Errorf("%s: error %v, want %s", text, v.Err, want)
		case v.Err == nil && v.OK != (want == "ok"), v.Err == nil && want != "ok" && want != "no":
			t.Errorf("%s: %v, want %s", text, v.OK, want)
		}
	}
}

// The interval of what was read is its own.
func TestThresholdsReadIntervals(t *testing.T) {
	f := coach(24)
	for i, s := range f.signals {
		s.Usage.ToolCalls = int64(i % 5)
	}
	r := f.collect()
	c := r.Configurations[1]
	for path, between := range map[string]page.Range{
		"tool_calls.mean": c.ToolCalls.Range, "calls.mean": c.Calls.Range, "tokens.mean": c.Tokens.Range, "cost_usd.mean": c.Cost.Mean.Range,
		"latency.p50": c.Latency.P50.Range, "iterations.mean": c.Iterations.Mean.Range, "success": c.Success.Range,
	} {
		text := `configurations["default"].` + path
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{text + " >= 0.0"})[0]
		if want := "[" + between.Low.Exact() + ", " + between.High.Exact() + "]"; !between.Known() || !strings.Contains(v.Detail, want) {
			t.Errorf("%q, want %s", v.Detail, want)
		}
	}
}

func TestThresholdsTellWhatTheyRead(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5)
	s.Usage.Unpriced = 1
	f.scored(s, 0, 1)
	verdicts := reports.Thresholds(t.Context(), f.collect(), reports.ThresholdOptions{}, []string{
		`configurations["c"].scores["right"].mean < 0.5`, `configurations["c"].cost_usd.mean < 0.5`,
	})
	if want := `configurations["c"].scores["right"].mean is 1 [0.206549, 1]: does not hold, though a part of the interval would`; verdicts[0].Detail != want {
		t.Errorf("detail %q, want %q", verdicts[0].Detail, want)
	}
	if v := verdicts[1]; v.OK || v.Err == nil || !strings.Contains(v.Err.Error(), `configurations["c"].cost_usd.mean is missing: unpriced`) {
		t.Errorf("an unpriced cost: %+v", v)
	}
}

func TestNothingRunNeverPasses(t *testing.T) {
	for _, text := range []string{`true`, `configurations.all(c, false)`, `size(configurations) == 0`, `!("c" in configurations)`} {
		if v := reports.Thresholds(t.Context(), one(1).collect(), reports.ThresholdOptions{}, []string{text})[0]; v.OK || v.Err == nil {
			t.Errorf("%s: %+v, want an error", text, v)
		}
	}
}

func TestObjectiveSeesOneConfiguration(t *testing.T) {
	f := one(1)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	program, faults := expr.Objective().Compile(`scores["right"].mean - cost_usd.mean`, expr.WantNumber)
	if program == nil {
		t.Fatal(faults)
	}
	got, err := program.Number(t.Context(), f.collect().Configurations[0].Metrics())
	if err != nil || got != 0.99 {
		t.Errorf("objective = %v, %v; want 0.99", got, err)
	}
}

// halves is a report of one configuration whose score is 0.5 and whose interval
// is [0.0945, 0.9055].
func halves() *reports.Report {
	f := one(2)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5), 0, 0)
	return f.collect()
}

func TestThresholdsSayWhetherTheyHoldOverTheInterval(t *testing.T) {
	r := halves()
	for text, want := range map[string]reports.Holding{
		`configurations["c"].scores["right"].mean >= 0.05`:                                                    reports.Throughout,
		`configurations["c"].scores["right"].mean >= 0.5`:                                                     reports.InPart,
		`configurations["c"].scores["right"].mean >= 0.6`:                                                     reports.Possibly,
		`configurations["c"].scores["right"].mean >= 0.95`:                                                    reports.Nowhere,
		`configurations["c"].n == 2`:                                                                          "",
		`configurations["c"].n == 2 && configurations["c"].scores["right"].mean <= 0.95`:                      reports.Throughout,
		`configurations["c"].scores["right"].mean >= 0.05 && configurations["c"].scores["right"].mean <= 0.9`: reports.InPart,
		`configurations["c"].scores["right"].mean < 0.2 || configurations["c"].scores["right"].mean < 0.95`:   reports.Throughout,
	} {
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{text})[0]
		if v.Err != nil || v.Holding != want {
			t.Errorf("%s: %q (%v), want %q", text, v.Holding, v.Err, want)
		}
	}
}

func TestThresholdsNeedTheLeastCoverage(t *testing.T) {
	f := one(3)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5), 0, 1)
	r := f.collect()
	for least, fails := range map[float64]bool{0: false, 0.6: false, 0.7: true} {
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{MinCoverage: least}, []string{`configurations["c"].n > 0`})[0]
		if v.OK == fails || fails != (v.Err != nil && strings.Contains(v.Err.Error(), `2 of 3 runs of configuration "c" could be measured; min_coverage is 0.7`)) {
			t.Errorf("at least %v: %+v", least, v)
		}
	}
}

// What was not made was left out on purpose; what failed by a fault was not.
func TestCoverageOfTheRunsThatWereMade(t *testing.T) {
	f := one(10)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5), 0, 1)
	holds := func() bool {
		options := reports.ThresholdOptions{MinCoverage: 0.7, OfMade: true}
		return reports.Thresholds(t.Context(), f.collect(), options, []string{`configurations["c"].n > 0`})[0].OK
	}
	if !holds() {
		t.Error("2 of 2 runs that were made are too few")
	}
	f.run("c", 1, 0.5).Outcome = record.Outcome{Status: record.Faulted, Error: &record.Error{Class: record.Server}}
	if holds() {
		t.Error("2 of 3 runs that were made are enough for 0.7")
	}
}

// compared is a comparison of two configurations with a baseline; nothing could
// be compared of the cost of the second.
func compared() *reports.Comparison {
	side := reports.PairSide{Configuration: "base", Tasks: 10, Runs: 10, Expected: 10, Coverage: page.Known(1)}
	pair := func(name string, change, low, high compare.Number, verdict compare.Verdict) reports.Pair {
		own := side
		own.Configuration = name
		return reports.Pair{Name: name, Base: side, New: own, Differences: []compare.Difference{
			{Quantity: compare.Quantity{Name: "close", Score: true}, Base: 0.5, New: 0.5 + change, Change: change, Low: low, High: high,
				P: 0.01, Adjusted: 0.02, Tasks: 10, Wins: 1, Losses: 6, Ties: 3, Verdict: verdict, Margin: 0.02, NotWorse: low > -0.02},
			{Quantity: compare.Quantity{Name: "cost_usd"}, Change: 0.1, Low: 0.05, High: 0.15, Relative: true, P: 0.01, Adjusted: 0.01, Tasks: 10, Verdict: compare.Worse},
			{Quantity: compare.Quantity{Name: "latency_s"}, Change: 0.2, Low: -0.1, High: 0.5, Relative: true, P: 0.4, Adjusted: 0.4, Tasks: 10, Verdict: compare.CannotTell},
		}}
	}
	c := &reports.Comparison{Pairs: []reports.Pair{pair("new", -0.1, -0.15, -0.05, compare.Worse), pair("newer", 0.01, -0.01, 0.03, compare.CannotTell)}}
	c.Pairs[1].Differences[1] = compare.Difference{Quantity: compare.Quantity{Name: "cost_usd"}, Change: compare.Number(math.NaN()), Missing: "unpriced", Verdict: compare.CannotTell}
	return c
}

func TestThresholdsOverADifference(t *testing.T) {
	const no = "error: "
	for text, want := range map[string][2]string{
		`diff.scores["close"].verdict != "worse"`:                        {"no", "yes"},
		`diff.scores["close"].not_worse`:                                 {"no", "yes"},
		`diff.scores["close"].change >= -0.05`:                           {"no possibly", "yes throughout"},
		`diff.scores["close"].change > -0.2`:                             {"yes throughout", "yes throughout"},
		`diff.scores["close"].low > -0.05 && diff.latency.p > 0.3`:       {"no", "yes"},
		`diff.scores["close"].change > 0.0 && diff.latency.change < 0.3`: {"no nowhere", "yes in_part"},
		`diff.cost_usd.change < 0.2`:                                     {"yes throughout", no + "diff.cost_usd.change is missing: unpriced"},
		`diff.cost_usd.verdict != "better"`:                              {"yes", no + "diff.cost_usd.verdict is missing: nothing could be compared"},
		`diff.configuration == "new" || diff.scores["close"].n == 10`:    {"yes", "yes"},
		`diff.scores["close"].losses <= 5`:                               {"no", "no"},
		`diff.scores["other"].change > 0.0`:                              {no + `key "other" not found`, no + `key "other" not found`},
	} {
		verdicts := reports.Thresholds(t.Context(), halves(), reports.ThresholdOptions{Comparison: compared()}, []string{text})
		if len(verdicts) != 2 || verdicts[0].Configuration != "new" || verdicts[1].Configuration != "newer" {
			t.Fatalf("%s: %+v", text, verdicts)
		}
		for i, v := range verdicts {
			got := strings.TrimSpace(map[bool]string{true: "yes", false: "no"}[v.OK] + " " + string(v.Holding))
			why, fails := strings.CutPrefix(want[i], no)
			if fails && (v.OK || v.Err == nil || !strings.Contains(v.Err.Error(), why)) || !fails && (v.Err != nil || got != want[i]) {
				t.Errorf("%s of %s: %s (%v), want %s", text, v.Configuration, got, v.Err, want[i])
			}
		}
	}
}

func TestThresholdsTellTheNumbersOfADifference(t *testing.T) {
	texts := []string{`diff.scores["close"].verdict != "worse"`, `diff.scores["close"].not_worse`, `diff.latency.change < 0.1`}
	verdicts := reports.Thresholds(t.Context(), nil, reports.ThresholdOptions{Comparison: compared()}, texts)
	for i, want := range []string{
		`diff.scores["close"].verdict is worse (change -0.1 [-0.15, -0.05], p 0.02)`,
		`diff.scores["close"].not_worse is false (change -0.1 [-0.15, -0.05], margin 0.02)`,
		`diff.latency.change is 0.2 [-0.1, 0.5]: does not hold, though a part of the interval would`,
	} {
		if got := verdicts[2*i].Detail; got != want {
			t.Errorf("%s: %s, want %s", texts[i], got, want)
		}
	}
}

func TestThresholdsOverADifferenceNeedABaselineAndRuns(t *testing.T) {
	text := []string{`diff.scores["close"].verdict != "worse"`}
	few := compared()
	few.Pairs[0].Base.Runs, few.Pairs[1].New.Runs = 0, 9
	for name, c := range map[string]struct {
		comparison *reports.Comparison
		want       []string
	}{
		"no comparison": {nil, []string{"no baseline to compare with"}},
		"no pair":       {&reports.Comparison{}, []string{"no baseline to compare with"}},
		"few runs":      {few, []string{`configuration "base" has no run that counts`, `9 of 10 runs of configuration "newer" could be measured`}},
	} {
		verdicts := reports.Thresholds(t.Context(), halves(), reports.ThresholdOptions{Comparison: c.comparison, MinCoverage: 0.95}, text)
		if len(verdicts) != len(c.want) {
			t.Fatalf("%s: %+v", name, verdicts)
		}
		for i, v := range verdicts {
			if v.OK || v.Err == nil || !strings.Contains(v.Err.Error(), c.want[i]) {
				t.Errorf("%s: %+v, want %s", name, v, c.want[i])
			}
		}
	}
}

func TestReadsDiff(t *testing.T) {
	for text, want := range map[string]bool{`diff.tokens.change < 0.1`: true, `configurations["diff"].n > 1`: false, `diffs > 1`: false} {
		if got := reports.ReadsDiff(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestThresholdsReadTheIntervalsOfMeans(t *testing.T) {
	r := coach(24).collect()
	for _, metric := range []string{"success", `scores["quality"].mean`, "iterations.mean", "latency.mean", "latency.p50", "cost_usd.mean", "tokens.mean", "calls.mean"} {
		text := `configurations["default"].` + metric + ` > -1.0`
		v := reports.Thresholds(t.Context(), r, reports.ThresholdOptions{}, []string{text})[0]
		if v.Holding != reports.Throughout || !strings.Contains(v.Detail, "[") {
			t.Errorf("%s: %+v", text, v)
		}
	}
}
