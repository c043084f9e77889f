package command

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/stats"
)

// tauBenchTrials are the expected chances of a table, by the value that is swept:
// all of k trials, then one of k.
func tauBenchTrials(t *testing.T, table string) (values []string, chances [][]float64) {
	t.Helper()
	var all map[string]any
	expectedPart(t, "taubench_gpt-4o_airline", &all)
	rows, _ := all[table].([]any)
	for _, each := range rows {
		row := each.(map[string]any)
		value, swept := row["k"]
		if !swept {
			value = row["times"]
		}
		values = append(values, fmt.Sprint(value))
		var wanted []float64
		for _, form := range []string{"pass^%d", "pass@%d"} {
			for k := 1; k <= 4; k++ {
				chance, known := row[fmt.Sprintf(form, k)].(float64)
				if !known {
					t.Fatalf("expected.json has no "+form, k)
				}
				wanted = append(wanted, chance)
			}
		}
		chances = append(chances, wanted)
	}
	return values, chances
}

// Trials of a task stay together when they are replayed, so that pass^k and
// pass@k are those of real runs with another limit.
func TestReplayKeepsTrialsTogether(t *testing.T) {
	skipRaces(t)
	dir := imported(t, "tau-bench", "taubench/gpt-4o-airline.json")
	for table, flag := range map[string]struct{ path, form string }{
		"max_steps":          {"max_iterations", "%s"},
		"repeated_tool_call": {"guards.stagnation.window", "%s"},
		"consecutive_errors": {"terminate.consecutive", "{when: 'output.results.exists(r, r.startsWith(\"Error\"))', times: %s}"},
	} {
		values, want := tauBenchTrials(t, table)
		if len(values) < 2 {
			t.Fatalf("expected.json has %d rows of %s", len(values), table)
		}
		texts := make([]string, len(values))
		for i := range values {
			texts[i] = fmt.Sprintf(flag.form, values[i])
		}
		of := swept(t, dir, flag.path+"="+strings.Join(texts, ","))
		for c := range of.Candidates() {
			got := passes(t, of, c)
			for i := range got {
				if !near(got[i], want[c][i]) {
					t.Errorf("%s %s: %v, want %v", table, values[c], got, want[c])
					break
				}
			}
		}
	}
}

// swept is the sweep that replay makes.
func swept(t *testing.T, dir, flag string) *sweep.Sweep {
	t.Helper()
	p := &program{env: func(string) string { return "" }, out: io.Discard, err: io.Discard}
	axis, faults := sweep.AxisFrom("--sweep", flag)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	r, err := p.openRecordedRuns(dir, &recordedFlags{})
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := r.candidates(nil, []sweep.Axis{axis})
	if err != nil {
		t.Fatal(err)
	}
	of, err := r.sweep(candidates)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// passes are the means over the tasks of pass^1 to pass^4 and pass@1 to pass@4.
func passes(t *testing.T, of *sweep.Sweep, candidate int) []float64 {
	t.Helper()
	outcomes, err := of.Outcomes(t.Context(), candidate)
	if err != nil {
		t.Fatal(err)
	}
	trials, hits := map[string]int{}, map[string]int{}
	for i, run := range of.Runs() {
		trials[run.Run.Task]++
		if outcomes[i].Scores[0].Hit() {
			hits[run.Run.Task]++
		}
	}
	sums := make([]float64, 8)
	for task, n := range trials {
		for k := 1; k <= 4; k++ {
			all, known := stats.PassHatK(n, hits[task], k)
			some, _ := stats.PassAtK(n, hits[task], k)
			if !known {
				t.Fatalf("%s has %d trials", task, n)
			}
			sums[k-1] += all / float64(len(trials))
			sums[k+3] += some / float64(len(trials))
		}
	}
	return sums
}
