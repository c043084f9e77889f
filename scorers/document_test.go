package scorers

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

var documented = regexp.MustCompile("(?s)```yaml\nscorers:\n(.*?)```\n```\n(.*?)```")

// TestScorersDocument gives the scorers of docs/scorers.md the targets and outputs that stand beneath them.
func TestScorersDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/scorers.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := documented.FindAllStringSubmatch(string(text), -1)
	if len(examples) < 8 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		s := set(t, example[1])
		for line := range strings.Lines(example[2]) {
			given, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			target, output, ok := strings.Cut(given, " | ")
			if !ok {
				t.Fatalf("%q is no target, output and score", line)
			}
			scores := s.Score(context.Background(), task(t, target), run(output))
			if got := values(scores); got != strings.TrimSpace(want) {
				t.Errorf("%s%s gives %s, the document says %s", example[1], given, got, want)
			}
		}
	}
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
