package stats_test

import (
	"encoding/csv"
	"os"
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

// What a limit loses is at most this, with 95 % confidence.
func TestRecordedLosses(t *testing.T) {
	for _, v := range []struct {
		lost, runs int
		bound      float64
	}{{689, 1034, 0.690574033812122}, {658, 1034, 0.661143366385154}, {29, 200, 0.19240062167679417}, {8, 200, 0.07101416861601978}} {
		atMost(t, v.lost, v.runs, 0.95, v.bound)
	}
}
