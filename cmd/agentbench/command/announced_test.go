package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/engine/results"
)

// mintModel is the part of expected.json on a model of MINT.
type mintModel struct {
	Rows []struct {
		K               int
		RerunSuccesses  int `json:"rerun_successes"`
		RerunTurns      int `json:"rerun_turns"`
		ReplaySuccesses int `json:"replay_successes"`
		ReplayTurns     int `json:"replay_turns"`
	}
}

const mintTasks = 586

// mintMapped imports the runs of a model that were made under five turns; in why, m means that all were used.
const mintMapped = `import: mint
each: >-
  doc.k["5"].success.split("").transformList(i, solved, {
    "task": i,
    "solved": solved == "1",
    "turns": int(doc.k["5"].turns.charAt(i)),
    "input_tokens": doc.k["5"].prompt_tokens[i],
    "output_tokens": doc.k["5"].completion_tokens[i],
    "why": doc.k["5"].terminate.charAt(i)})
configuration: doc.model
task: row.task
iterations:
  of: lists.range(row.turns)
  output: it
usage: {input_tokens: row.input_tokens, output_tokens: row.output_tokens}
scores: {solved: row.solved}
ended: row.turns < 5 || row.why != "m"
recorded_under:
  terminate: {max_iterations: 5}
when_cut: 0
announced: [terminate.max_iterations]
`

// mintMapping is a file with this mapping, with what the agent was told or without it.
func mintMapping(t *testing.T, told bool) string {
	t.Helper()
	text := mintMapped
	if !told {
		text = strings.Replace(text, "announced: [terminate.max_iterations]\n", "", 1)
	}
	file := filepath.Join(t.TempDir(), "mint.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// rerun is how many tasks a model of MINT solved in the real runs with a limit,
// and in how many turns.
func rerun(t *testing.T, model string, k int) (solved, turns int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordingtest.Folder(t), "mint", model+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		K map[string]struct{ Success, Turns string }
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	for _, turn := range log.K[fmt.Sprint(k)].Turns {
		turns += int(turn - '0')
	}
	return strings.Count(log.K[fmt.Sprint(k)].Success, "1"), turns
}

// An agent that was told its limit has no numbers under another one. Had nobody
// said that it was told, they would be those of the page, which are not what the
// agent really did.
func TestReplayOfMINT(t *testing.T) {
	skipLong(t)
	t.Parallel()
	var want map[string]mintModel
	expectedPart(t, "mint", &want)
	models := mintModels(t)
	if len(models) != 9 {
		t.Fatalf("%d models", len(models))
	}
	told, silent := mintMapping(t, true), mintMapping(t, false)
	var table mintTable
	for _, model := range models {
		known := replayed(t, imported(t, told, "mint/"+model+".json"), "--parameter", "max_iterations=1,2,3,4")
		naive := replayed(t, imported(t, silent, "mint/"+model+".json"), "--parameter", "max_iterations=1,2,3,4")
		for i, row := range want[model].Rows[:4] {
			s := known[i].Scores[0]
			if anything := s.Bounds == nil || *s.Bounds == [2]float64{0, 1}; known[i].Label != "counterfactual" || known[i].Told != mintTasks || s.Mean != nil || s.Interval != nil || !anything {
				t.Errorf("%s, %d turns: %s with %+v", model, row.K, known[i].Label, s)
			}
			solved, turns := rerun(t, model, row.K)
			if naive[i].Scores[0].Successes != row.ReplaySuccesses || !near(naive[i].total(t, naive[i].Iterations), float64(row.ReplayTurns)) || solved != row.RerunSuccesses || turns != row.RerunTurns {
				t.Errorf("%s, %d turns: replay %d, re-run %d in %d, want %+v", model, row.K, naive[i].Scores[0].Successes, solved, turns, row)
			}
			table.add(i, naive[i].Scores[0].Successes, solved)
		}
	}
	table.expectIn(t, readDoc(t, "coding-agents.md"))
}

// fiveLimits is a mapping that imports the runs of a model under all its limits at once.
const fiveLimits = `import: mint
each: >-
  doc.k.transformList(k, runs, runs.success.split("").transformList(i, solved, {
    "limit": int(k), "task": i, "solved": solved == "1", "turns": int(runs.turns.charAt(i)), "why": runs.terminate.charAt(i)})).flatten()
configuration: doc.model + " at " + string(row.limit)
task: row.task
iterations: {of: lists.range(row.turns), output: it}
scores: {solved: row.solved}
ended: row.turns < row.limit || row.why != "m"
recorded_under: '{"terminate": {"max_iterations": row.limit}}'
when_cut: 0
`

// Runs that were made under five limits are five configurations, each with its own.
func TestImportOfFiveLimitsAtOnce(t *testing.T) {
	skipLong(t)
	t.Parallel()
	const model = "gpt-3.5-turbo-0613"
	mapping := filepath.Join(t.TempDir(), "mint.yaml")
	if err := os.WriteFile(mapping, []byte(fiveLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := imported(t, mapping, "mint/"+model+".json")
	made, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := results.Open(made, nil)
	if err != nil {
		t.Fatal(err)
	}
	cut, solved, turns, of := map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}
	for s, err := range record.ReadLight(dir) {
		if err != nil {
			t.Fatal(err)
		}
		turns[s.Configuration] += len(s.Iterations)
		of[s.ID] = s.Configuration
		if s.Outcome.Reason == record.ReasonMaxIterations {
			cut[s.Configuration]++
			limit, _, _ := f.Loop(s.Configuration).EffectiveMax()
			if len(s.Iterations) != limit {
				t.Fatalf("%s: %d of %d turns", s.ID, len(s.Iterations), limit)
			}
		}
	}
	for score, err := range record.ReadScores(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if score.Iteration == 0 && score.Value == 1 {
			solved[of[score.Run]]++
		}
	}
	for k := 1; k <= 5; k++ {
		name := fmt.Sprintf("%s at %d", model, k)
		wantSolved, wantTurns := rerun(t, model, k)
		limit, _, _ := f.Loop(name).EffectiveMax()
		if limit != k || solved[name] != wantSolved || turns[name] != wantTurns || cut[name] == 0 {
			t.Errorf("%s: at most %d turns, %d solved in %d, %d cut; want %d in %d", name, limit, solved[name], turns[name], cut[name], wantSolved, wantTurns)
		}
	}
}

// mintModels are the models of MINT that were run with every limit, by name.
func mintModels(t *testing.T) (models []string) {
	t.Helper()
	var bias map[string][]struct {
		Model         string
		Rerun, Replay float64
	}
	expectedPart(t, "mint_replay_bias_dev_models", &bias)
	for _, row := range bias["1"] {
		models = append(models, row.Model)
	}
	return models
}

// mintTable has the differences between replay and rerun that the page states.
type mintTable struct {
	models      int
	differences [4][]float64 // by limit, in points
}

func (m *mintTable) add(limit, replayed, rerun int) {
	if limit == 0 {
		m.models++
	}
	points := func(n int) float64 { return 100 * float64(n) / mintTasks }
	m.differences[limit] = append(m.differences[limit], points(rerun)-points(replayed))
}

// expectIn compares the rows of a page and its sentence with the differences.
func (m *mintTable) expectIn(t *testing.T, page string) {
	t.Helper()
	means, ranges, better, worse := "| mean difference |", "| from … to |", 0, 0
	for _, d := range m.differences {
		sum := 0.0
		for _, points := range d {
			sum += points
			if points > 0 {
				better++
			} else if points < 0 {
				worse++
			}
		}
		means += fmt.Sprintf(" %+.2f |", sum/float64(len(d)))
		ranges += fmt.Sprintf(" %+.2f … %+.2f |", slices.Min(d), slices.Max(d))
	}
	lines := []string{means, ranges, fmt.Sprintf("did better in %d of the %d, worse in %d", better, 4*m.models, worse)}
	for _, line := range lines {
		if !strings.Contains(page, line) {
			t.Errorf("docs/coding-agents.md does not say: %s", line)
		}
	}
}

// What stopping earlier would have given is not shown of an agent that knows its
// limit; usage that only whole runs tell is nothing to choose by.
func TestTuneOfMINT(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := imported(t, mintMapping(t, true), "mint/gpt-3.5-turbo-0613.json")
	page := string(says(t, "tune", dir, "--all", "-p", "max_iterations=1,2,3,4,5"))
	for _, want := range []string{"4 of 5 configurations are not exact (4 counterfactual) and cannot be recommended", "results of stopping earlier are unknown, because the agent knows its limit", "the cost is iterations.mean"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "If every recorded run stopped at this iteration") {
		t.Error("there is a curve of an agent that knows its limit")
	}
}
