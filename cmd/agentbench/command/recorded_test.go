package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/stats"
)

// expectedPart is a part of the numbers that a correct replay computes.
func expectedPart(t *testing.T, key string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordingtest.Folder(t), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(parts[key], into); err != nil {
		t.Fatal(err)
	}
}

// says runs a command that is to succeed, and gives what it prints.
func says(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("agentbench %s: exit code %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.Bytes()
}

// imported imports recorded logs, and gives the result folder.
func imported(t *testing.T, mapping, pattern string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(recordingtest.Folder(t), pattern))
	dir := filepath.Join(t.TempDir(), "r")
	says(t, append([]string{"import", mapping, "--out", dir}, files...)...)
	return dir
}

// replayedPage is what replay says in JSON, as far as these tests read it.
type replayedPage struct{ Configurations []replayedRow }

type replayedRow struct {
	Name, Label       string
	Recorded          bool
	Params            []struct{ Value any }
	Runs, Exact, Told int
	Scores            []replayedScore
	Iterations        replayedMean
	Tokens            replayedMean
	Cost              replayedMean `json:"cost_usd"`
}

type replayedScore struct {
	Name             string
	Mean             *float64
	Interval, Bounds *[2]float64
	Successes, Lost  int
}

type replayedMean struct{ Mean *float64 }

// score is the score of that name.
func (r *replayedRow) score(t *testing.T, name string) *replayedScore {
	t.Helper()
	for i := range r.Scores {
		if r.Scores[i].Name == name {
			return &r.Scores[i]
		}
	}
	t.Fatalf("%s has no score %s", r.Name, name)
	return nil
}

// total is the sum over all runs of what a row has the mean of.
func (r *replayedRow) total(t *testing.T, m replayedMean) float64 {
	t.Helper()
	if m.Mean == nil {
		t.Fatalf("%s: a mean is missing", r.Name)
	}
	return *m.Mean * float64(r.Runs)
}

// replayed gives the rows of a replay, the recorded ones left out.
func replayed(t *testing.T, dir string, flags ...string) []replayedRow {
	t.Helper()
	var page replayedPage
	if err := json.Unmarshal(says(t, append([]string{"replay", dir, "--format", "json"}, flags...)...), &page); err != nil {
		t.Fatal(err)
	}
	var rows []replayedRow
	for _, row := range page.Configurations {
		if !row.Recorded {
			rows = append(rows, row)
		}
	}
	return rows
}

// expectedRow is a rule of expected.json with what it gives.
type expectedRow struct {
	K             int
	Patience      int
	Tau           float64
	MinIterations int `json:"min_iterations"`
	Times         int
	USD           float64
	Tokens        float64
	Seconds       int

	N           int
	Successes   int
	TotalSteps  int        `json:"total_steps"`
	Best        *float64   `json:"mean_best_reward"`
	Wilson      [2]float64 `json:"wilson95"`
	TotalCost   float64    `json:"total_cost_usd"`
	TotalTokens float64    `json:"total_tokens"`
}

// rule is a list of expected rows beside the parameter that says them.
type rule struct {
	name  string
	rows  []expectedRow
	path  string
	value func(expectedRow) string
}

// verify holds a sweep over the values of a rule to the expected rows.
func (r rule) verify(t *testing.T, dir, score string) {
	t.Helper()
	if len(r.rows) == 0 {
		t.Fatalf("expected.json has no rows of %s", r.name)
	}
	var values []string
	for _, row := range r.rows {
		values = append(values, r.value(row))
	}
	got := replayed(t, dir, "--parameter", r.path+"="+strings.Join(values, ","))
	if len(got) != len(values) {
		t.Fatalf("%s: %d configurations of %v", r.name, len(got), values)
	}
	for i := range got {
		got[i].verify(t, r.name+" "+values[i], score, &r.rows[i])
	}
}

func (r *replayedRow) verify(t *testing.T, name, score string, want *expectedRow) {
	t.Helper()
	s := r.score(t, score)
	if r.Label != "exact" || r.Exact != r.Runs || want.N > 0 && r.Runs != want.N || s.Successes != want.Successes || !near(r.total(t, r.Iterations), float64(want.TotalSteps)) {
		t.Errorf("%s: %s, %d successes in %v steps of %d runs; want %d in %d of %d", name, r.Label, s.Successes, r.total(t, r.Iterations), r.Runs, want.Successes, want.TotalSteps, want.N)
	}
	if want.Best != nil && !near(*r.score(t, "reward").Mean, *want.Best) {
		t.Errorf("%s: a mean best reward of %v, want %v", name, *r.score(t, "reward").Mean, *want.Best)
	}
	if want.Wilson[1] > 0 && (s.Interval == nil || !near(s.Interval[0], want.Wilson[0]) || !near(s.Interval[1], want.Wilson[1])) {
		t.Errorf("%s: an interval of %v, want %v", name, s.Interval, want.Wilson)
	}
	if want.TotalTokens > 0 && (!near(r.total(t, r.Cost), want.TotalCost) || !near(r.total(t, r.Tokens), want.TotalTokens)) {
		t.Errorf("%s: %v USD, %v tokens; want %v, %v", name, r.total(t, r.Cost), r.total(t, r.Tokens), want.TotalCost, want.TotalTokens)
	}
}

// near compares numbers that are printed with 12 digits.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-10*max(1, math.Abs(b)) }

// set says one --set after the other.
func set(pairs ...any) (flags []string) {
	for i := 0; i < len(pairs); i += 2 {
		flags = append(flags, "--set", fmt.Sprintf("%v=%v", pairs[i], pairs[i+1]))
	}
	return flags
}

// times says a rule with how often something has to come.
func times(format string) func(expectedRow) string {
	return func(r expectedRow) string { return fmt.Sprintf(format, r.Times) }
}

func steps(r expectedRow) string { return fmt.Sprint(r.K) }

const (
	sameAction      = "{of: output.action, times: %d}"
	sameObservation = "{of: output.observation, times: %d}"
	sameError       = "{of: 'output.valid == false ? output.observation : null', times: %d}"
	invalid         = "{when: output.valid == false, times: %d}"
)

// interCodeExpected is the part of expected.json on one of the InterCode recordings.
type interCodeExpected struct {
	Turns       []expectedRow `json:"max_iterations"`
	Patience    []expectedRow `json:"no_improvement"`
	Threshold   []expectedRow
	Action      []expectedRow `json:"repeated_action"`
	Invalid     []expectedRow `json:"consecutive_invalid"`
	SameError   []expectedRow `json:"consecutive_same_error"`
	Observation []expectedRow `json:"repeated_observation"`
	Combined    []expectedRow
}

// rules are the rules of one parameter.
func (e *interCodeExpected) rules() []rule {
	return []rule{
		{"max_iterations", e.Turns, "max_iterations", steps},
		{"no_improvement", e.Patience, "terminate.no_improvement.patience", func(r expectedRow) string { return fmt.Sprint(r.Patience) }},
		{"threshold", e.Threshold, "terminate.confidence", func(r expectedRow) string {
			return fmt.Sprintf("{threshold: %v, min_iterations: %d}", r.Tau, r.MinIterations)
		}},
		{"repeated_action", e.Action, "terminate.repeated", times(sameAction)},
		{"consecutive_invalid", e.Invalid, "terminate.consecutive", times(invalid)},
		{"consecutive_same_error", e.SameError, "terminate.repeated", times(sameError)},
		{"repeated_observation", e.Observation, "terminate.repeated", times(sameObservation)},
	}
}

// combinations are the rules of several parameters, in the order of expected.json.
var combinations = [][]string{
	set("max_iterations", 8, "terminate.no_improvement.patience", 4, "terminate.repeated", fmt.Sprintf(sameAction, 3)),
	set("max_iterations", 6, "terminate.consecutive", fmt.Sprintf(invalid, 3), "terminate.repeated", fmt.Sprintf(sameAction, 2)),
	set("terminate.confidence", "{threshold: 0.9, min_iterations: 2}", "terminate.no_improvement.patience", 3, "terminate.repeated", fmt.Sprintf(sameError, 3)),
}

var interCode = map[string]string{
	"intercode_sql_gpt-4":  "intercode/ic_sql_multiturn_gpt-4_10_turns.json",
	"intercode_bash_gpt-4": "intercode/ic_bash_multiturn_gpt-4_10_turns_fs_?.json",
}

// Every rule of expected.json that the InterCode agents could have run under, by
// import and replay.
func TestReplayOfInterCode(t *testing.T) {
	skipLong(t)
	t.Parallel()
	for key, files := range interCode {
		t.Run(key, func(t *testing.T) {
			var want interCodeExpected
			expectedPart(t, key, &want)
			dir := imported(t, "intercode", files)
			for _, rule := range want.rules() {
				rule.verify(t, dir, "solved")
			}
			for i, flags := range combinations {
				replayed(t, dir, flags...)[0].verify(t, fmt.Sprint(flags), "solved", &want.Combined[i])
			}
		})
	}
}

// tau2 has times, tokens and costs of every message.
func TestReplayOfTau2(t *testing.T) {
	t.Parallel()
	var want struct {
		Steps   []expectedRow `json:"max_steps"`
		Dollars []expectedRow `json:"budget_usd"`
		Tokens  []expectedRow `json:"budget_tokens"`
		Seconds []expectedRow `json:"timeout_s"`
	}
	expectedPart(t, "tau2_claude-sonnet-4-5_airline", &want)
	skipLong(t)
	dir := imported(t, "tau2", "tau2/claude-sonnet-4-5_airline.json")
	for _, rule := range []rule{
		{"max_steps", want.Steps, "max_iterations", steps},
		{"budget_usd", want.Dollars, "guards.budget.cost_usd", func(r expectedRow) string { return fmt.Sprint(r.USD) }},
		{"budget_tokens", want.Tokens, "guards.budget.tokens", func(r expectedRow) string { return fmt.Sprintf("%.0f", r.Tokens) }},
		{"timeout_s", want.Seconds, "terminate.timeout", func(r expectedRow) string { return fmt.Sprintf("{after: %ds, cancel: false}", r.Seconds) }},
	} {
		rule.verify(t, dir, "reward")
	}
}

// tau-bench rewards only finished conversations; five were cut at 30 steps.
func TestReplayOfTauBench(t *testing.T) {
	t.Parallel()
	var want struct {
		Steps  []expectedRow                  `json:"max_steps"`
		Calls  []expectedRow                  `json:"repeated_tool_call"`
		Errors []expectedRow                  `json:"consecutive_errors"`
		Beyond struct{ Lower, Upper float64 } `json:"bounds_beyond_30"`
	}
	expectedPart(t, "taubench_gpt-4o_airline", &want)
	skipLong(t)
	dir := imported(t, "tau-bench", "taubench/gpt-4o-airline.json")
	for _, rule := range []rule{
		{"max_steps", want.Steps, "max_iterations", steps},
		{"repeated_tool_call", want.Calls, "guards.stagnation.window", times("%d")},
		{"consecutive_errors", want.Errors, "terminate.consecutive", times("{when: 'output.results.exists(r, r.startsWith(\"Error\"))', times: %d}")},
	} {
		rule.verify(t, dir, "reward")
	}
	for _, k := range []int{31, 50, 1000} {
		row := replayed(t, dir, set("max_iterations", k)...)[0]
		s := row.score(t, "reward")
		if row.Label != "bounded" || row.Exact != 195 || s.Mean != nil || s.Bounds == nil || !near(s.Bounds[0], want.Beyond.Lower) || !near(s.Bounds[1], want.Beyond.Upper) {
			t.Errorf("beyond the recording, %d steps: %s, %v, %v; want bounds from %v to %v and no point", k, row.Label, s.Mean, s.Bounds, want.Beyond.Lower, want.Beyond.Upper)
		}
	}
}

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
	skipLong(t)
	t.Parallel()
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
	skipLong(t)
	t.Parallel()
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
	skipLong(t)
	t.Parallel()
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
	p := newProgram(func(string) string { return "" }, nil, io.Discard, io.Discard, nil)
	axis, faults := sweep.AxisFrom("--parameter", flag)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	r, err := p.openRecordedRuns(dir, &recordedFlags{})
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := r.Candidates(nil, []sweep.Axis{axis})
	if err != nil {
		t.Fatal(err)
	}
	of, err := r.Sweep(candidates)
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
		if outcomes[0][i].Scores[0].Hit() {
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

// tunedPage is what tune says in JSON, as far as these tests read it.
type tunedPage struct {
	Recommended *tunedRow
	Front       []struct{ Counted foldCount }
	Validation  struct {
		Folds []struct {
			Params  []struct{ Value any }
			Train   foldCount `json:"train"`
			HeldOut foldCount `json:"held_out"`
		}
		HeldOut   foldCount `json:"held_out"`
		InSample  foldCount `json:"in_sample"`
		Recording foldCount
	}
}

type tunedRow struct {
	Params   []struct{ Value any }
	Label    string
	Cost     float64 `json:"choice_cost"`
	Lost     int
	LostMost *float64 `json:"lost_most"`
	Scores   []replayedScore
}

type foldCount struct {
	Hits       int
	Iterations float64
}

func (c foldCount) is(successes, steps int) bool {
	return c.Hits == successes && c.Iterations == float64(steps)
}

// recommends runs tune, which is to end with an exit code.
func recommends(t *testing.T, code int, dir string, flags ...string) (page tunedPage) {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"tune", dir, "--format", "json"}, flags...)
	if got := run(context.Background(), args, dataFolderOnly, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("%v: exit code %d, want %d: %s", args, got, code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// dataFolderOnly is an environment that names the recordings, if anything.
func dataFolderOnly(name string) string {
	if name != "AGENTBENCH_DATA" {
		return ""
	}
	return os.Getenv(name)
}

// interCodeGrid are the 300 configurations of expected.json, with steps as cost.
var interCodeGrid = []string{
	"--set", "terminate.repeated={of: output.action, times: off}", "--cost", "iterations.sum",
	"-p", "max_iterations=1,2,3,4,5,6,7,8,9,10", "-p", "terminate.no_improvement.patience=1,2,3,4,5,6,7,8,9,off", "-p", "terminate.repeated.times=2,3,off",
}

// tunedExpected is the part of expected.json on tuning one of the recordings.
type tunedExpected struct {
	Sweep struct {
		Front    [][2]int               `json:"pareto_steps_success"`
		Cheapest map[string]expectedRow `json:"cheapest_reaching"`
	}
	Tuning struct {
		Folds []struct {
			Selected struct {
				Turns    int `json:"max_iterations"`
				Patience any
				Repeated any `json:"repeated_action"`
			}
			TrainSuccesses   int `json:"train_successes"`
			TrainSteps       int `json:"train_steps"`
			HeldOutSuccesses int `json:"heldout_successes"`
			HeldOutSteps     int `json:"heldout_steps"`
		} `json:"per_fold"`
		Successes     int `json:"heldout_successes"`
		Steps         int `json:"heldout_steps"`
		FullSuccesses int `json:"full_successes"`
		FullSteps     int `json:"full_steps"`
	} `json:"cross_validated_tuning"`
	Losses []struct {
		K, Lost int
		Upper   float64 `json:"loss_upper95"`
	} `json:"k_loss_vs_full"`
	Smallest map[string]*int `json:"smallest_k_noninferior"`
}

// Tuning on the runs of InterCode: chosen on four folds and counted on the fifth,
// the front of all 300 configurations, and the cheapest that reaches a share.
func TestTuneOfInterCode(t *testing.T) {
	skipLong(t)
	t.Parallel()
	for key, files := range interCode {
		t.Run(key, func(t *testing.T) {
			var want tunedExpected
			expectedPart(t, key, &want)
			dir := imported(t, "intercode", files)
			got := recommends(t, 0, dir, append([]string{"--choose", "at_least:0.98", "--folds", "5", "--fold-by", "int(task.metadata.task_id)"}, interCodeGrid...)...)
			want.verifyFolds(t, &got)
			want.verifyFront(t, &got)
			for share, row := range want.Sweep.Cheapest {
				chosen := recommends(t, 0, dir, append([]string{"--choose", "at_least:" + share, "--folds", "0"}, interCodeGrid...)...).Recommended
				if chosen.Label != "exact" || chosen.Scores[0].Successes != row.Successes || chosen.Cost != float64(row.TotalSteps) {
					t.Errorf("at least %s: %+v, want %+v", share, chosen, row)
				}
			}
			want.verifyLosses(t, dir)
		})
	}
}

// The same, said in YAML: tune records the suite once, and recommends from that.
func TestTuneOfInterCodeInYAML(t *testing.T) {
	skipLong(t)
	var want tunedExpected
	expectedPart(t, "intercode_bash_gpt-4", &want)
	suite, err := filepath.Abs("../../../testdata/recorded/intercode-bash-tune.suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	got := recommends(t, 0, suite)
	want.verifyFolds(t, &got)
	want.verifyFront(t, &got)
}

func (e *tunedExpected) verifyFolds(t *testing.T, got *tunedPage) {
	t.Helper()
	v := &got.Validation
	if len(v.Folds) != len(e.Tuning.Folds) || len(v.Folds) != 5 {
		t.Fatalf("%d folds", len(v.Folds))
	}
	for i, want := range e.Tuning.Folds {
		f := &v.Folds[i]
		var chosen []any
		for _, p := range f.Params[len(f.Params)-3:] { // before them stands what is set in all
			chosen = append(chosen, p.Value)
		}
		selected := []any{float64(want.Selected.Turns), orOff(want.Selected.Patience), orOff(want.Selected.Repeated)}
		if fmt.Sprint(chosen) != fmt.Sprint(selected) || !f.Train.is(want.TrainSuccesses, want.TrainSteps) || !f.HeldOut.is(want.HeldOutSuccesses, want.HeldOutSteps) {
			t.Errorf("fold %d: %v, %+v, %+v; want %+v", i, chosen, f.Train, f.HeldOut, want)
		}
	}
	if !v.HeldOut.is(e.Tuning.Successes, e.Tuning.Steps) || !v.Recording.is(e.Tuning.FullSuccesses, e.Tuning.FullSteps) {
		t.Errorf("held out %+v, recorded %+v; want %+v", v.HeldOut, v.Recording, e.Tuning)
	}
}

func orOff(value any) any {
	if value == nil {
		return "off"
	}
	return value
}

// verifyFront holds the front to the expected one, the cheapest first.
func (e *tunedExpected) verifyFront(t *testing.T, got *tunedPage) {
	t.Helper()
	var front [][2]int
	for _, point := range got.Front {
		front = append(front, [2]int{int(point.Counted.Iterations), point.Counted.Hits})
	}
	if fmt.Sprint(front) != fmt.Sprint(e.Sweep.Front) {
		t.Errorf("the front is %v, want %v", front, e.Sweep.Front)
	}
}

// verifyLosses holds the smallest limit that loses little to the expected one;
// where there is none, that is the answer.
func (e *tunedExpected) verifyLosses(t *testing.T, dir string) {
	t.Helper()
	for loss, k := range e.Smallest {
		flags := []string{"--choose", "max_loss:" + loss, "--folds", "0", "-p", "max_iterations=1..10"}
		if k == nil {
			if got := recommends(t, 1, dir, flags...); got.Recommended != nil {
				t.Errorf("a loss of %s: %+v, want none", loss, got.Recommended)
			}
			continue
		}
		got, want := recommends(t, 0, dir, flags...).Recommended, e.Losses[*k-1]
		if got.Params[0].Value != float64(*k) || want.K != *k || got.Lost != want.Lost || got.LostMost == nil || !near(*got.LostMost, want.Upper) {
			t.Errorf("a loss of %s: %+v, want %+v", loss, got, want)
		}
	}
}

// TestTuneDocument runs the examples of docs/tune.md.
func TestTuneDocument(t *testing.T) { runDocument(t, "../../../docs/tune.md", 9) }
