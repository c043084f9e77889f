package scorers

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// decoded reads scorers as a suite has them: a list in YAML.
func decoded(t testing.TB, yaml string) []spec.Scorer {
	t.Helper()
	tree, faults := source.Parse(source.NewFile("suite.yaml", []byte(yaml)))
	var scorers []spec.Scorer
	if faults.Err() == nil {
		faults = append(faults, source.Decode(tree, &scorers)...)
	}
	if err := faults.Err(); err != nil {
		t.Fatalf("%s\n%v", yaml, err)
	}
	return scorers
}

func set(t testing.TB, yaml string) *Set {
	t.Helper()
	s, faults := New(decoded(t, yaml), Options{})
	if err := faults.Err(); err != nil {
		t.Fatalf("%s\n%v", yaml, err)
	}
	return s
}

// task has the target that the JSON says; "" is none.
func task(t testing.TB, target string) *spec.Task {
	t.Helper()
	task := &spec.Task{ID: "t"}
	if target != "" {
		value, err := expr.ParseJSON([]byte(target))
		must(t, err)
		task.Target = value
	}
	return task
}

// run has one iteration for each output (JSON, "" for none) and returned the last.
func run(outputs ...string) *record.Run {
	r := &record.Run{ID: "default/t/1", Configuration: "default", Task: "t", Trial: 1}
	for i, output := range outputs {
		it := record.Iteration{N: i + 1}
		if output != "" {
			it.Output = json.RawMessage(output)
		}
		r.Iterations = append(r.Iterations, it)
	}
	r.Outcome = record.Outcome{Status: record.Completed, Returned: len(outputs)}
	return r
}

// shown is a score on one line: "1 (18)", "0 (26): want 18, got 26", "unscored: the target is missing".
func shown(s record.Score) string {
	if s.Unscored != "" {
		return "unscored: " + s.Unscored
	}
	line := strconv.FormatFloat(s.Value, 'g', 4, 64)
	if s.Answer != "" {
		line += " (" + s.Answer + ")"
	}
	if s.Explanation != "" {
		line += ": " + s.Explanation
	}
	return line
}

// scored is what a scorer gives a run of these outputs.
func scored(t testing.TB, scorer, target string, outputs ...string) record.Score {
	t.Helper()
	return set(t, "- {name: s, "+scorer+"}").Score(t.Context(), task(t, target), run(outputs...))[0]
}

func shownAll(scores []record.Score) string {
	lines := make([]string, len(scores))
	for i, s := range scores {
		lines[i] = s.Name + " " + strconv.Itoa(s.Iteration) + " " + shown(s)
	}
	return strings.Join(lines, "\n")
}
