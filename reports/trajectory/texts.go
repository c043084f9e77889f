package trajectory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
)

// Texts are what a page to browse shows of a run, in the words of [Tell].
type Texts struct {
	Run string `json:"run"`
	// Side is the number of the result folder that the run is of, where two are compared.
	Side       int              `json:"side,omitempty"`
	Used       string           `json:"used"`
	Returned   int              `json:"returned,omitempty"` // the number of the iteration whose output counts; 0: none
	Iterations []IterationTexts `json:"iterations"`
	// End tells why the run stopped, what it returned, and its scores.
	End []Part `json:"end"`
}

// IterationTexts is an iteration of a run.
type IterationTexts struct {
	N     int    `json:"n"`
	Stage string `json:"stage,omitempty"` // phase and strategy
	Used  string `json:"used"`
	// Step is the number of the iteration's first step. Steps are counted over the run, from 1: the
	// turns of an agent that converses, the steps of a program, and an iteration that has neither.
	Step  int    `json:"step"`
	Parts []Part `json:"parts"`
}

// Part is something that was said, done or judged.
type Part struct {
	Is   string `json:"is"` // prompt, reply, calls, output, checks …; "": it belongs to the part before
	Text string `json:"text"`
	Left int    `json:"left,omitempty"` // so many bytes of the text are left out
	Step int    `json:"step,omitempty"` // the number of the step that begins here
}

// mostText is how many bytes of one text a page has.
const mostText = 32 << 10

func partOf(name, text string) Part {
	name, end := strings.TrimSpace(name), len(text)
	if end > mostText {
		for end = mostText; !utf8.RuneStart(text[end]); end-- {
		}
	}
	return Part{Is: name, Text: text[:end], Left: len(text) - end}
}

// TextsOf are those of a run and its scores that count. Made is what each iteration changed in
// the run's workspace; nil: the diffs are those since the seed, which the record has.
func TextsOf(run *record.Run, scores []record.Score, made []*record.Workspace) *Texts {
	t := telling{Options: Options{Full: true, Width: 100, Scores: scores}}
	all := &Texts{Run: run.ID, Used: usageText(run.Total()) + ", " + seconds(run.Elapsed, run.Untimed), Returned: run.Outcome.Returned, Iterations: []IterationTexts{}}
	step := 1
	for i := range run.Iterations {
		it := &run.Iterations[i]
		shown := IterationTexts{
			N: it.N, Stage: strings.Trim(it.Phase+" · "+it.Strategy, " ·"), Step: step,
			Used: usageText(it.Total()) + ", " + seconds(it.End-it.Start, it.Untimed), Parts: []Part{},
		}
		t.parts = &shown.Parts
		t.inside(it)
		if made != nil {
			t.diff("diff", made[i])
		} else {
			t.diff("diff since the seed", it.Workspace)
		}
		step = numbered(shown.Parts, step)
		all.Iterations = append(all.Iterations, shown)
	}
	all.End = []Part{partOf("stopped by", string(stoppedBy(&run.Outcome)))}
	t.parts = &all.End
	if o := &run.Outcome; o.Limit > 0 {
		t.field("limit", fmt.Sprintf("%v of %v used", o.Used, o.Limit))
	}
	t.end(run)
	return all
}

// diff tells how two states of a workspace differ.
func (t *telling) diff(name string, w *record.Workspace) {
	if w == nil {
		return
	}
	text := w.Diff
	if w.Truncated {
		text += "… the diff is longer\n"
	}
	if text == "" {
		text = changed(w)
	}
	t.field(name, text)
}

// beginsStep is how the name of a part begins that a step begins with.
const beginsStep = "step "

// numbered numbers the steps of an iteration and gives the number of the next one's first.
func numbered(parts []Part, first int) (next int) {
	next = first
	for i := range parts {
		if strings.HasPrefix(parts[i].Is, beginsStep) {
			parts[i].Step = next
			next++
		}
	}
	return max(next, first+1)
}
