package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// declaredMetric is a metric as a report's JSON tells it.
type declaredMetric struct {
	Name             string
	Value, Low, High *float64
	Tasks            int
	Groups           []declaredMetric
}

// declaredIn are the metrics of the only configuration of a result folder, by
// their names.
func declaredIn(t *testing.T, dir string) map[string]declaredMetric {
	t.Helper()
	var r struct {
		Configurations []struct{ Metrics []declaredMetric }
	}
	if err := json.Unmarshal(says(t, "report", dir, "--format", "json"), &r); err != nil || len(r.Configurations) != 1 {
		t.Fatalf("%v: %d configurations", err, len(r.Configurations))
	}
	all := map[string]declaredMetric{}
	for _, m := range r.Configurations[0].Metrics {
		all[m.Name] = m
	}
	return all
}

// tells wants a metric of so many tasks with this value.
func tells(t *testing.T, all map[string]declaredMetric, name string, tasks int, want float64) {
	t.Helper()
	m := all[name]
	if m.Value == nil || math.Abs(*m.Value-want) > 1e-9 || m.Tasks != tasks {
		t.Errorf("%s: %+v, want %v", name, m, want)
		return
	}
	if m.Low == nil || m.High == nil || *m.Low > want || *m.High < want {
		t.Errorf("%s is %v, in an interval of %v to %v", name, want, m.Low, m.High)
	}
}

// The mapping that ships tells pass^k of tau-bench as the leaderboard does: .420
// .273 .220 .200.
func TestPassHatKOfTauBench(t *testing.T) {
	skipRaces(t)
	var of struct {
		Published map[string]any
		MaxSteps  []map[string]any `json:"max_steps"`
	}
	expectedPart(t, "taubench_gpt-4o_airline", &of)
	whole := of.MaxSteps[len(of.MaxSteps)-1]
	all := declaredIn(t, imported(t, "tau-bench", "taubench/gpt-4o-airline.json"))
	if len(all) != 4 {
		t.Errorf("%d metrics", len(all))
	}
	for k := 1; k <= 4; k++ {
		name := fmt.Sprint("pass^", k)
		tells(t, all, "reward "+name, 50, whole[name].(float64))
		published := of.Published[name].(float64)
		if m := all["reward "+name]; m.Value == nil || math.Round(*m.Value*1000) != math.Round(published*1000) {
			t.Errorf("%s: %v, published is %v", name, m.Value, published)
		}
	}
}

// The samples of Game of 24 give pass@k and pass^k of expected.json, and groups of
// the tasks give the whole.
func TestPassOfKOfGame24(t *testing.T) {
	skipRaces(t)
	for log, key := range map[string]string{"cot_100.json": "tot_game24_cot_100", "tot_b5.json": "tot_game24_tot_b5"} {
		var of struct {
			Tasks   int
			Samples int                `json:"samples_per_task"`
			At      map[string]float64 `json:"pass_at_k"`
			Hat     map[string]float64 `json:"pass_hat_k"`
		}
		expectedPart(t, key, &of)
		dir := filepath.Join(t.TempDir(), "r")
		says(t, "import", recordedMapping(t, "game24.import.yaml"), filepath.Join(recordingtest.Folder(t), "tot_game24", log), "--out", dir)
		all := declaredIn(t, dir)
		if len(of.At) < 5 || len(of.Hat) < 5 {
			t.Fatalf("%s: expected.json has %d and %d", log, len(of.At), len(of.Hat))
		}
		for k, want := range of.At {
			tells(t, all, "right pass@"+k, of.Tasks, want)
			tells(t, all, "right pass^"+k, of.Tasks, of.Hat[k])
			m := all["right pass@"+k]
			if len(m.Groups) != 2 || m.Groups[0].Tasks != 50 || math.Abs(*m.Groups[0].Value+*m.Groups[1].Value-2*want) > 1e-9 {
				t.Errorf("%s: the groups of pass@%s are %+v", log, k, m.Groups)
			}
		}
		for name, m := range all {
			k, _ := strconv.Atoi(name[len("right pass@"):])
			if known := m.Value != nil; known != (k <= of.Samples) {
				t.Errorf("%s: %s is known: %v", log, name, known)
			}
		}
	}
}

// recordedMapping is a mapping beside the suites of recorded data.
func recordedMapping(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "testdata", "recorded", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}
