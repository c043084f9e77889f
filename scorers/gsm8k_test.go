package scorers

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// recorded opens a file of the recordings, or skips the test where there are none.
func recorded(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	file, err := os.Open(recordingtest.File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	return lines
}

// Both scorers agree with the is_correct that came with the recordings, on every solution.
func TestGSM8K(t *testing.T) {
	scorers := set(t, `
- {name: exact, type: exact, extract: '(?m)^A: (.*)$'}
- {name: numeric, type: numeric, extract: '(?m)^A: (.*)$'}`)
	tasks, solutions := recorded(t, "gsm8k/test.jsonl"), recorded(t, "gsm8k/model_solutions_6b.jsonl")
	correct := map[string]int{}
	n := 0
	for tasks.Scan() && solutions.Scan() {
		n++
		task := &spec.Task{ID: "t", Target: goldAnswer(t, tasks.Bytes())}
		var line map[string]json.RawMessage
		read(t, solutions.Bytes(), &line)
		for _, model := range []string{"6b_finetuning", "6b_verification"} {
			var recorded struct {
				Correct  bool `json:"is_correct"`
				Solution string
			}
			read(t, line[model], &recorded)
			if recorded.Correct {
				correct[model]++
			}
			for _, score := range scorers.Score(context.Background(), task, run(quotedJSON(t, recorded.Solution))) {
				if score.Unscored != "" || (score.Value == 1) != recorded.Correct {
					t.Errorf("line %d, %s: %s says %s, recorded is %v", n, model, score.Name, shown(score), recorded.Correct)
				}
			}
		}
	}
	if n != 1319 || correct["6b_finetuning"] != 286 || correct["6b_verification"] != 515 {
		t.Errorf("%d tasks, correct %v", n, correct)
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
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
