package stats_test

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/stats"
)

// tauBench holds 50 tasks of four trials each.
func tauBench(t *testing.T) (clusters [][]float64) {
	t.Helper()
	var runs []struct {
		Task   int     `json:"task_id"`
		Reward float64 `json:"reward"`
	}
	recordingtest.Decode(t, "taubench/gpt-4o-airline.json", &runs)
	clusters = make([][]float64, 50)
	for _, run := range runs {
		clusters[run.Task] = append(clusters[run.Task], run.Reward)
	}
	return clusters
}

// interCode holds the successes on the questions of each of 20 databases.
func interCode(t *testing.T) (clusters [][]float64) {
	t.Helper()
	var runs map[string]struct {
		Summary struct {
			Reward float64 `json:"max_reward"`
		} `json:"summary"`
	}
	recordingtest.Decode(t, "intercode/ic_sql_multiturn_gpt-4_10_turns.json", &runs)
	file, err := os.Open(recordingtest.File(t, "intercode/sql_clusters.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	var names []string
	for _, row := range rows[1:] {
		value := 0.0
		if runs[row[0]].Summary.Reward >= 1 {
			value = 1
		}
		values, names = append(values, value), append(names, row[1])
	}
	return grouped(values, names)
}

// grouped are values by the names of their clusters, in the order in which these first come.
func grouped(values []float64, names []string) (clusters [][]float64) {
	at := map[string]int{}
	for i, v := range values {
		cluster, seen := at[names[i]]
		if !seen {
			cluster = len(clusters)
			at[names[i]] = cluster
			clusters = append(clusters, nil)
		}
		clusters[cluster] = append(clusters[cluster], v)
	}
	return clusters
}

// The figures are those that the recordings were published with, and those that
// were computed from them beside.
func TestRecordedTrials(t *testing.T) {
	clusters := tauBench(t)
	components, ok := stats.VarianceComponents(clusters)
	nearTo(t, "between", components.Between, ok, 0.0997, 5e-5)
	nearTo(t, "within", components.Within, ok, 0.1467, 5e-5)
	for k, want := range []float64{0.420, 0.273, 0.220, 0.200} {
		all := overTasks(t, clusters, func(n, c int) (float64, bool) { return stats.PassHatK(n, c, k+1) })
		nearTo(t, "pass^k", all, true, want, 5e-4)
	}
}

func overTasks(t *testing.T, clusters [][]float64, of func(n, c int) (float64, bool)) float64 {
	t.Helper()
	var values []float64
	for _, cluster := range clusters {
		value, ok := of(len(cluster), int(stats.Sum(cluster)))
		if !ok {
			t.Fatalf("no answer for %v", cluster)
		}
		values = append(values, value)
	}
	mean, _ := stats.Mean(values)
	return mean
}

func nearTo(t *testing.T, what string, got float64, ok bool, want, off float64) {
	t.Helper()
	if !ok || !(got >= want-off && got <= want+off) {
		t.Errorf("%s = %v, %v; want %v", what, got, ok, want)
	}
}

// Two models, task by task in the order of the file: when is it sure which is
// better, if one looks after every task?
func TestRecordedEvidence(t *testing.T) {
	text := recordingtest.Read(t, "gsm8k/model_solutions_6b.jsonl")
	first := map[float64]int{}
	won, lost, tasks := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		var task map[string]json.RawMessage
		var better, worse struct {
			Correct bool `json:"is_correct"`
		}
		if json.Unmarshal([]byte(line), &task) != nil || json.Unmarshal(task["6b_verification"], &better) != nil || json.Unmarshal(task["6b_finetuning"], &worse) != nil {
			t.Fatal("a line that cannot be read: ", line)
		}
		tasks++
		switch {
		case better.Correct && !worse.Correct:
			won++
		case worse.Correct && !better.Correct:
			lost++
		}
		evidence, _ := stats.Evidence(won, lost, 1)
		for _, wanted := range []float64{20, 40, 60, 100} {
			if first[wanted] == 0 && evidence >= wanted {
				first[wanted] = tasks
			}
		}
	}
	if want := (map[float64]int{20: 113, 40: 132, 60: 134, 100: 135}); !maps.Equal(first, want) || won != 293 || lost != 64 {
		t.Errorf("%v with %d won, %d lost; want %v", first, won, lost, want)
	}
	evidence, ok := stats.Evidence(won, lost, 1)
	nearTo(t, "log evidence", math.Log(evidence), ok, 76.58137970378289, 1e-9)
}

// Costs that are 0 or missing are unknown, and so not on the front.
func TestRecordedFront(t *testing.T) {
	text := recordingtest.Read(t, "aider/polyglot_leaderboard.yml")
	var points []stats.Point
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimLeft(line, "- "), ":")
		number, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch key {
		case "dirname":
			points = append(points, stats.Point{Cost: math.NaN()})
		case "pass_rate_2":
			points[len(points)-1].Quality = number
		case "total_cost":
			if number != 0 {
				points[len(points)-1].Cost = number
			}
		}
	}
	var front []stats.Point
	for _, at := range stats.Front(points) {
		front = append(front, points[at])
	}
	want := []stats.Point{{Cost: 0.3236, Quality: 3.6}, {Cost: 0.3369, Quality: 48.4}, {Cost: 0.7346, Quality: 49.3}, {Cost: 0.8756, Quality: 70.2}, {Cost: 1.3045, Quality: 74.2}, {Cost: 10.3713, Quality: 81.3}, {Cost: 17.693, Quality: 86.7}, {Cost: 29.0829, Quality: 88}}
	if len(points) != 69 || !slices.Equal(front, want) {
		t.Errorf("%d points, front %v; want %v", len(points), front, want)
	}
}

// What a limit loses is at most this, with 95 % confidence.
func TestRecordedLosses(t *testing.T) {
	for _, v := range []struct {
		lost, runs int
		bound      float64
	}{{689, 1034, 0.690574033812122}, {658, 1034, 0.661143366385154}, {29, 200, 0.19240062167679417}, {8, 200, 0.07101416861601978}} {
		atMost(t, v.lost, v.runs, 0.95, v.bound)
	}
}
