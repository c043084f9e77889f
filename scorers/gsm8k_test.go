package scorers

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// recorded opens a file of the recordings, or skips the test where there are none.
func recorded(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	file, err := os.Open(recordingtest.File(t, name))
	must(t, err)
	t.Cleanup(func() { file.Close() })
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	return lines
}

// Each scorer, among them the one of testdata/recorded/gsm8k.suite.yaml (suite), agrees with the is_correct that came
// with the recordings, on all 2,638 solutions.
func TestGSM8K(t *testing.T) {
	scorers := set(t, `
- {name: suite, type: exact, value: 'output.replace(",", "")', extract: '(?m)^A: (.*)$'}
- {name: exact, type: exact, extract: '(?m)^A: (.*)$'}
- {name: numeric, type: numeric, extract: '(?m)^A: (.*)$'}
- {name: math, type: math, extract: '(?m)^A: (.*)$'}`)
	correct, agreed := map[string]int{}, map[string]int{}
	n := 0
	for s := range solutions(t) {
		n++
		if s.correct {
			correct[s.model]++
		}
		for _, score := range scorers.Score(context.Background(), s.task, s.run) {
			switch {
			case score.Iteration > 0:
			case score.Unscored != "" || (score.Value == 1) != s.correct:
				t.Errorf("line %d, %s: %s says %s, recorded is %v", (n+1)/2, s.model, score.Name, shown(score), s.correct)
			default:
				agreed[score.Name]++
			}
		}
	}
	if n != 2638 || correct["6b_finetuning"] != 286 || correct["6b_verification"] != 515 {
		t.Errorf("%d solutions, correct %v", n, correct)
	}
	for _, name := range []string{"suite", "exact", "numeric", "math"} {
		if agreed[name] != 2638 {
			t.Errorf("%s agrees on %d", name, agreed[name])
		}
	}
}

// solution is one of a model's recorded solutions, as a run.
type solution struct {
	model   string
	task    *spec.Task
	run     *record.Run
	correct bool
}

// solutions are all of both models.
func solutions(t *testing.T) iter.Seq[solution] {
	tasks, lines := recorded(t, "gsm8k/test.jsonl"), recorded(t, "gsm8k/model_solutions_6b.jsonl")
	return func(yield func(solution) bool) {
		for tasks.Scan() && lines.Scan() {
			task := &spec.Task{ID: "t", Target: goldAnswer(t, tasks.Bytes())}
			var line map[string]json.RawMessage
			read(t, lines.Bytes(), &line)
			for _, model := range []string{"6b_finetuning", "6b_verification"} {
				var recorded struct {
					Correct  bool `json:"is_correct"`
					Solution string
				}
				read(t, line[model], &recorded)
				if !yield(solution{model, task, run(quotedJSON(t, recorded.Solution)), recorded.Correct}) {
					return
				}
			}
		}
	}
}

// goldAnswer is what stands after ####, without commas.
func goldAnswer(t *testing.T, line []byte) string {
	var row struct{ Answer string }
	read(t, line, &row)
	_, gold, _ := strings.Cut(row.Answer, "#### ")
	return strings.ReplaceAll(gold, ",", "")
}

func read(t *testing.T, text []byte, into any) {
	t.Helper()
	must(t, json.Unmarshal(text, into))
}
