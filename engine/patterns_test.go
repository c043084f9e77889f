package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// played runs a loop, of which the pattern and what belongs to it are written, on a
// script of replies.
func played(t *testing.T, loop string, replies ...string) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml": {Data: fmt.Appendf(nil, "suite: s\ntasks: [{id: t, input: go}]\nmodels: {m: {provider: script, responses: [%s]}}\nconfigurations: [{name: c, loop: l.yaml}]\n", strings.Join(replies, ", "))},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: '{{ feedback }}'\n" + loop)},
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return loops[0].Run(t.Context(), "c/t/1", onlyTask(t, doc), 1, nil)
}

// fiveLetters hold of "abcde"; of four letters the share of those that pass is 0.8.
const fiveLetters = `
evaluate:
  checks:
    - {name: a, expr: "output.contains('a')", feedback: write a}
    - {name: b, expr: "output.contains('b')", feedback: write b}
    - {name: c, expr: "output.contains('c')", feedback: write c}
    - {name: d, expr: "output.contains('d')", feedback: write d}
    - {name: e, expr: "output.contains('e')", feedback: write e}
`

// ended compares how a run ended, and what each iteration was found to be.
func endedWith(t *testing.T, name string, r *record.Run, reason record.Reason, success bool, returned int, verdicts string) {
	t.Helper()
	var got []string
	for _, it := range r.Iterations {
		got = append(got, fmt.Sprintf("%.2g %v", it.Evaluation.Confidence, it.Evaluation.Passed))
	}
	if found := strings.Join(got, ", "); found != verdicts {
		t.Errorf("%s: the iterations are %s, want %s", name, found, verdicts)
	}
	if o := r.Outcome; o.Reason != reason || o.Success != success || o.Returned != returned {
		t.Errorf("%s: ended by %s, success %v, returned %d; want %s, %v, %d", name, o.Reason, o.Success, o.Returned, reason, success, returned)
	}
}

// S1.3: a checklist passes with its last check, and with nothing less: not at a
// share of 0.8.
func TestS1_3_AChecklistPassesWithItsLastCheck(t *testing.T) {
	const checklist = "pattern: checklist\nmax_iterations: 3" + fiveLetters
	endedWith(t, "the third passes", played(t, checklist, "abc", "abcd", "abcde"),
		record.ReasonChecklistComplete, true, 3, "0.6 false, 0.8 false, 1 true")
	endedWith(t, "at once", played(t, checklist, "abcde", "a"), record.ReasonChecklistComplete, true, 1, "1 true")
	endedWith(t, "it never passes", played(t, checklist, "ab", "abc", "abc"),
		record.ReasonMaxIterations, false, 3, "0.4 false, 0.6 false, 0.6 false")
}

// S1.4: a strategy succeeds where all of its checks pass: 0.8 is enough only where
// there are none.
func TestS1_4_AStrategySucceedsWithAllOfItsChecks(t *testing.T) {
	const strategies = "pattern: multi_strategy\nstrategies: [{name: one}, {name: two}, {name: three}]"
	r := played(t, strategies+fiveLetters, "abcd", "abcde", "a")
	endedWith(t, "the second succeeds", r, record.ReasonStrategySucceeded, true, 2, "0.8 false, 1 true")
	if r.Iterations[1].Strategy != "two" {
		t.Errorf("strategy %s succeeded", r.Iterations[1].Strategy)
	}
	endedWith(t, "none succeeds", played(t, strategies+fiveLetters, "abcd", "abce", "abc"),
		record.ReasonStrategiesExhausted, false, 1, "0.8 false, 0.8 false, 0.6 false")
	endedWith(t, "confident beside a check that fails", played(t, strategies+fiveLetters+"  confidence: '0.95'\n", "abcd", "a", "b"),
		record.ReasonStrategiesExhausted, false, 1, "0.95 false, 0.95 false, 0.95 false")
	const byConfidence = strategies + "\nevaluate: {confidence: \"double(output)\"}\n"
	endedWith(t, "without checks", played(t, byConfidence, "'0.79'", "'0.8'", "'0.9'"),
		record.ReasonStrategySucceeded, true, 2, "0.79 false, 0.8 true")
}
