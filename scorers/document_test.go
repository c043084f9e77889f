package scorers

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// TestScorersDocument gives the scorers of docs/scorers.md the targets and outputs that stand beneath them, or a run
// that took what stands there.
func TestScorersDocument(t *testing.T) {
	examples := documented(t, "../docs/scorers.md")
	if len(examples) < 20 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		s := setWith(t, outside{folder: t.TempDir()}, example.scorers)
		for line := range strings.Lines(example.runs) {
			given, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			target, r := givenRun(t, strings.TrimSpace(given))
			if got := values(s.Score(context.Background(), task(t, target), r)); got != strings.TrimSpace(want) {
				t.Errorf("%s%s gives %s, the document says %s", example.scorers, given, got, want)
			}
		}
	}
}

// example is a list of scorers and the runs beneath it, if there are any.
type example struct{ scorers, runs string }

// documented are the examples of a document.
func documented(t *testing.T, path string) (examples []example) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "\n```yaml\nscorers:\n")[1:] {
		scorers, rest, _ := strings.Cut(block, "\n```\n")
		e := example{scorers: scorers + "\n"}
		if runs, ok := strings.CutPrefix(rest, "```\n"); ok {
			e.runs, _, _ = strings.Cut(runs, "\n```\n")
		}
		examples = append(examples, e)
	}
	return examples
}

var took = regexp.MustCompile(`^(\d+) s, ([\d.]+) USD, (\d+) tokens, (\d+) iterations, (\d+) calls(?:, (\w+))?$`)

// givenRun is the run that a line tells of, by its target and output or by what it took.
func givenRun(t *testing.T, line string) (target string, r *record.Run) {
	t.Helper()
	amounts := took.FindStringSubmatch(line)
	if amounts == nil {
		target, output, ok := strings.Cut(line, "|")
		if !ok {
			t.Fatalf("%q is no target and output", line)
		}
		return strings.TrimSpace(target), run(strings.TrimSpace(output))
	}
	var numbers [5]float64
	for i := range numbers {
		if _, err := fmt.Sscan(amounts[i+1], &numbers[i]); err != nil {
			t.Fatal(err)
		}
	}
	outputs := make([]string, int(numbers[3]))
	for i := range outputs {
		outputs[i] = `"x"`
	}
	r = run(outputs...)
	r.Elapsed = time.Duration(numbers[0]) * time.Second
	r.Usage = record.Usage{Cost: record.Money(numbers[1] * float64(record.USD)), InputTokens: int64(numbers[2]), Calls: int64(numbers[4])}
	r.Iterations[len(outputs)-1].Calls = []record.Call{{Role: record.RoleAgent, Finish: amounts[6]}}
	return "", r
}

// values are the scores of a run, as the document writes them.
func values(scores []record.Score) string {
	var all []string
	for _, score := range scores {
		switch {
		case score.Iteration > 0:
		case score.Unscored != "":
			all = append(all, "unscored: "+score.Unscored)
		default:
			all = append(all, strconv.FormatFloat(score.Value, 'g', 3, 64))
		}
	}
	return strings.Join(all, ", ")
}
