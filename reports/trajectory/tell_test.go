package trajectory

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports/page"
)

const toldConversation = `run default/task-1/1
  task        task-1
  used        1 iteration, 5 calls, 4 tool calls, 337 tokens in, 35 out, $0.00, 12 s
              of that the user: 1 call, 7 tokens in, 2 out, $0.00

iteration 1 · execution · 5 calls, 4 tool calls, 337 tokens in, 35 out, $0.00 · 12 s
  prompt      How much did they earn, and why, and why, and why, and why, and
              why, and why, and why, and why, and why, and for whom?

  step 1      2 calls, 130 tokens in, 13 out, $0.00 · 3 s
  thinking    hm
  reply       Let me see.
  calls       search of filings {"for":"it"}
    gave      one
                two (remembered)
  calls       clock {}
    error     tool: exit 1
  calls       (unreadable) {"x
    error     bad_call: the block is not JSON
  delegates   researcher {"task":"Find the year."}
    gave      2024
    took      1 iteration, 1 call, 30 tokens in, 3 out, $0.00, 2 s; stopped by
              max_iterations (--full)

  step 2      2 calls, 107 tokens in, 12 out, $0.00, 1 message pruned · 2 s
  reply       Which year?
  user        2024

  step 3      1 call, 100 tokens in, 10 out, $0.00, 6 messages pruned · 1 s
  output      It is 345.

stopped after 1 iteration: final_response
  why         the agent ended it
  success     no, by the loop's verdict
  returned    the output of iteration 1
`

func TestShowTellsAConversation(t *testing.T) {
	if got := Tell(recordingtest.Conversation(), Options{Width: 80}); got != toldConversation {
		t.Errorf("%s", got)
	}
	full := Tell(recordingtest.Conversation(), Options{Width: 80, Full: true})
	if want := "    gave      2024\n    run research/task-1/1\n      task        task-1\n"; !strings.Contains(full, want) {
		t.Errorf("a delegate's run is not told whole and indented:\n%s", full)
	}
}

func TestFoldedLinesFitAndLoseNothing(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{" ", "  ", "a", "word", `{"json":"without"}`, "日本語", "é", strings.Repeat("x", 50)})).Draw(t, "line"), "")
		width := rapid.IntRange(20, 60).Draw(t, "width")
		lines := folded(line, width)
		for i, l := range lines {
			if page.Width(l) > width {
				t.Fatalf("line %d of %q is wider than %d", i, lines, width)
			}
			if i > 0 && l == "" {
				t.Fatalf("line %d of %q is empty", i, lines)
			}
		}
		if spaceless(strings.Join(lines, "")) != spaceless(line) {
			t.Fatalf("%q became %q", line, lines)
		}
	})
	if got := folded("    indented", 40); len(got) != 1 || got[0] != "    indented" {
		t.Errorf("%q", got)
	}
}

func spaceless(text string) string { return strings.ReplaceAll(text, " ", "") }

func TestShortenCountsCharactersNotBytes(t *testing.T) {
	short := &telling{}
	if text := strings.Repeat("ä", 240); short.shortened(text) != text {
		t.Errorf("got %q", short.shortened(text))
	}
	if got, want := short.shortened(strings.Repeat("ä", 240)+" and more"), strings.Repeat("ä", 240)+" … (9 more; --full)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
