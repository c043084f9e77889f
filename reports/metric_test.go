package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
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
			s.Iterations[0].Output = "output " + of.answer
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
		s.Iterations[0].Output = ""
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
	if low := all[0].Low; !low.Known() || low.Number > 0.5 || all[0].High.Number != 1 {
		t.Errorf("%v to %v", all[0].Low, all[0].High)
	}
	if all[1].Value.Number != 0 || all[1].Low.Known() {
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
