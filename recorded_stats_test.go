package agentbench

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/stats"
)

// Watched from the first task on, evidence that one model is better exceeds each
// bound at the expected task.
func TestRecordedGSM8KEvidence(t *testing.T) {
	var want struct {
		Sequential []struct {
			First map[string]int `json:"first_task_with_E_at_least"`
			Final float64        `json:"final_log_E"`
		}
	}
	recordingtest.Expected(t, "gsm8k", &want)
	r := reported(t, "gsm8k.suite.yaml")
	first, won, lost, last := map[string]int{}, 0, 0, 0.0
	for task := range r.Tasks() {
		switch base, new := task.Results[0].Score.Number, task.Results[1].Score.Number; {
		case new > base:
			won++
		case new < base:
			lost++
		}
		at, _ := strconv.Atoi(task.ID)
		last, _ = stats.Evidence(won, lost, 1)
		for bound := range want.Sequential[0].First {
			if least, _ := strconv.ParseFloat(bound, 64); first[bound] == 0 && last >= least {
				first[bound] = at
			}
		}
	}
	for bound, at := range want.Sequential[0].First {
		if first[bound] != at {
			t.Errorf("evidence of %s at task %d, want %d", bound, first[bound], at)
		}
	}
	if math.Abs(math.Log(last)-want.Sequential[0].Final) > 1e-9*want.Sequential[0].Final {
		t.Errorf("the logarithm of the evidence is %v in the end, want %v", math.Log(last), want.Sequential[0].Final)
	}
}

func TestRecordedTauBenchClusters(t *testing.T) {
	var want struct {
		Clustered struct {
			Mean float64 `json:"mean"`
			SE   float64 `json:"se_clustered_cr1"`
		} `json:"clustered_se_by_task"`
	}
	recordingtest.Expected(t, "taubench_gpt-4o_airline", &want)
	text := recordingtest.Read(t, "taubench/gpt-4o-airline.json")
	var runs []struct {
		Task   int     `json:"task_id"`
		Reward float64 `json:"reward"`
	}
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	rewards := map[int][]float64{}
	for _, run := range runs {
		rewards[run.Task] = append(rewards[run.Task], run.Reward)
	}
	got, ok := stats.ClusteredMean(slices.Collect(maps.Values(rewards)))
	if !ok || math.Abs(got.Value-want.Clustered.Mean) > 1e-9 || math.Abs(got.SE-want.Clustered.SE) > 1e-9 {
		t.Errorf("%+v, want %+v", got, want.Clustered)
	}
}

// A cost of 0, or none at all, is not known and in no front.
func TestRecordedAiderFront(t *testing.T) {
	var want struct {
		Entries int `json:"entries"`
		Unknown int `json:"entries_cost_zero_or_missing"`
		Front   []struct {
			Cost   float64  `json:"total_cost"`
			Rate   float64  `json:"pass_rate_2"`
			Models []string `json:"models"`
		} `json:"pareto"`
	}
	recordingtest.Expected(t, "aider_polyglot_leaderboard", &want)
	text := recordingtest.Read(t, "aider/polyglot_leaderboard.yml")
	var points []stats.Point
	var models []string
	unknown := 0
	for _, entry := range strings.Split("\n"+string(text), "\n- ")[1:] {
		rate, _ := strconv.ParseFloat(value(entry, "pass_rate_2"), 64)
		cost, err := strconv.ParseFloat(value(entry, "total_cost"), 64)
		if err != nil || cost == 0 {
			cost = math.NaN()
			unknown++
		}
		points, models = append(points, stats.Point{Cost: cost, Quality: rate}), append(models, value(entry, "model"))
	}
	if len(points) != want.Entries || unknown != want.Unknown {
		t.Fatalf("%d entries, %d of unknown cost; want %d, %d", len(points), unknown, want.Entries, want.Unknown)
	}
	front := stats.Front(points)
	if len(front) != len(want.Front) {
		t.Fatalf("%d on the front, want %d", len(front), len(want.Front))
	}
	for i, at := range front {
		if p, w := points[at], want.Front[i]; p.Cost != w.Cost || p.Quality != w.Rate || models[at] != w.Models[0] {
			t.Errorf("%s %+v, want %+v", models[at], p, w)
		}
	}
}

// value is that of a key in an entry of plain YAML.
func value(entry, key string) string {
	for _, line := range strings.Split(entry, "\n") {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && k == key {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}
