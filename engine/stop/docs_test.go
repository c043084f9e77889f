package stop

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	docExample = regexp.MustCompile("(?s)```yaml\n(.*?)```\n```\n(.*?)```")
)

// TestLoopsDocument plays every history of docs/loops.md.
func TestLoopsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/loops.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := docExample.FindAllStringSubmatch(string(text), -1)
	if blocks := strings.Count(string(text), "```yaml"); len(examples) != blocks || blocks < 20 {
		t.Fatalf("%d of %d examples have histories", len(examples), blocks)
	}
	for _, example := range examples {
		rules := load(t, example[1])
		for line := range strings.Lines(example[2]) {
			words, want, ok := strings.Cut(strings.TrimSpace(line), "->")
			if !ok {
				t.Fatalf("%q says no result", line)
			}
			if got := playedOut(rules, words); got != strings.TrimSpace(want) {
				t.Errorf("%s%s gives %q, the document says %q", example[1], words, got, strings.TrimSpace(want))
			}
		}
	}
}

func playedOut(rules *Rules, words string) string {
	n, outcome, stopped := play(rules, history(words))
	if !stopped {
		return "continues"
	}
	return fmt.Sprintf("%s after %d, returns %d", outcome.Reason, n, outcome.Returned)
}
