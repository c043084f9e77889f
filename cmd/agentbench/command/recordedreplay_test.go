package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
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
	got := replayed(t, dir, "--sweep", r.path+"="+strings.Join(values, ","))
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
	skipRaces(t)
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
	var want struct {
		Steps   []expectedRow `json:"max_steps"`
		Dollars []expectedRow `json:"budget_usd"`
		Tokens  []expectedRow `json:"budget_tokens"`
		Seconds []expectedRow `json:"timeout_s"`
	}
	expectedPart(t, "tau2_claude-sonnet-4-5_airline", &want)
	skipRaces(t)
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
	var want struct {
		Steps  []expectedRow                  `json:"max_steps"`
		Calls  []expectedRow                  `json:"repeated_tool_call"`
		Errors []expectedRow                  `json:"consecutive_errors"`
		Beyond struct{ Lower, Upper float64 } `json:"bounds_beyond_30"`
	}
	expectedPart(t, "taubench_gpt-4o_airline", &want)
	skipRaces(t)
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

func skipRaces(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector takes ten times as long")
	}
}
