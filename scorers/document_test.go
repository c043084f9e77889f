package scorers

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// TestScorersDocument gives the scorers of docs/scorers.md the targets and outputs that stand beneath them.
func TestScorersDocument(t *testing.T) {
	examples := documented(t, "../docs/scorers.md")
	if len(examples) < 8 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		s := setWith(t, outside{folder: t.TempDir()}, example.scorers)
		for line := range strings.Lines(example.runs) {
			given, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			target, output, ok := strings.Cut(given, "|")
			if !ok {
				t.Fatalf("%q is no target and output", given)
			}
			r := run(strings.TrimSpace(output))
			if got := values(s.Score(context.Background(), task(t, strings.TrimSpace(target)), r)); got != strings.TrimSpace(want) {
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
	must(t, err)
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
