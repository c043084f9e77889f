package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// telling writes the trajectory of a run for people.
type telling struct {
	strings.Builder
	full     bool
	width    int
	scores   []record.Score
	manifest *record.Manifest
}

// longestText is how many characters of an output are shown without --full.
const longestText = 240

func (t *telling) run(r *record.Run) {
	total := r.Total()
	fmt.Fprintf(t, "run %s\n", printable(r.ID))
	t.field("task", r.Task)
	t.field("used", fmt.Sprintf("%s, %s, %s", count(len(r.Iterations), "iteration", "iterations"), usageText(total), seconds(r.Elapsed, r.Untimed)))
	if r.Judging.Calls > 0 {
		t.field("", "of that the evaluation: "+usageText(r.Judging))
	}
	if r.User.Calls > 0 {
		t.field("", "of that the user: "+usageText(r.User))
	}
	if r.Simulated {
		t.field("simulated", "a simulated model had a part in it")
	}
	for i := range r.Iterations {
		t.iteration(&r.Iterations[i])
	}
	t.end(r)
}

// nameColumn is how much of a line the names of fields take.
const nameColumn = 14

// field writes a name and a text under it; a text of several lines stays aligned.
func (t *telling) field(name, text string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		t.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s%s", nameColumn-2, name, printable(line)), " ") + "\n")
	}
}

// text writes a field in the length that was asked for.
func (t *telling) text(name, text string) {
	if text == "" {
		return
	}
	if !t.full {
		text = shorten(text, longestText)
	}
	t.field(name, text)
}

func (t *telling) iteration(it *record.Iteration) {
	head := fmt.Sprintf("\niteration %d", it.N)
	for _, stage := range []string{it.Phase, it.Strategy} {
		if stage != "" {
			head += " · " + printable(stage)
		}
	}
	fmt.Fprintf(t, "%s · %s · %s\n", head, usageText(it.Total()), seconds(it.End-it.Start, it.Untimed))
	if it.Prompt != "" || len(it.Steps) > 0 {
		t.conversation(it)
	} else {
		t.text("thinking", it.Thinking)
		for i := range it.ToolCalls {
			t.text("tool", it.ToolCalls[i].Tool+" "+string(it.ToolCalls[i].Arguments))
		}
	}
	t.text("output", cmp.Or(outputText(it.Output), emptyText(it)))
	t.notUTF8(it.OutputB64, "output_b64")
	t.trouble(it)
	t.evaluation(it)
	t.text("adapts", it.Adaptation)
	t.judged(it.N)
}

// emptyText tells of an output that is there and empty.
func emptyText(it *record.Iteration) string {
	if string(it.Output) == `""` && len(it.OutputB64) == 0 {
		return "(empty)"
	}
	return ""
}

// notUTF8 says where bytes are that cannot be shown.
func (t *telling) notUTF8(written []byte, key string) {
	if len(written) > 0 {
		t.field("", fmt.Sprintf("not UTF-8: --json has its %s as %s", count(len(written), "byte", "bytes"), key))
	}
}

// trouble tells what went wrong in an iteration.
func (t *telling) trouble(it *record.Iteration) {
	if it.Error != nil {
		t.text("failed", it.Error.Error())
	}
	for i := range it.Calls {
		t.text("stderr", it.Calls[i].Stderr)
	}
	if it.Cut != "" {
		t.field("cut", "cancelled in flight by "+it.Cut)
	}
	if it.Ended != nil {
		t.field("ended", "by the "+endedBy(record.Reason(it.Ended.Reason))+": "+it.Ended.Reason)
	}
}

func (t *telling) evaluation(it *record.Iteration) {
	e := it.Evaluation
	if e == nil {
		if it.Skipped {
			t.field("evaluation", "none in this phase")
		}
		return
	}
	passed := "not passed"
	if e.Passed {
		passed = "passed"
	}
	t.field("confidence", fmt.Sprintf("%.4g, %s", e.Confidence, passed))
	if len(e.Checks) > 0 {
		t.field("checks", checksText(e.Checks))
	}
	t.text("feedback", e.Feedback)
	t.text("fault", e.Fault)
}

// checksText lists the checks with a mark each.
func checksText(checks []record.Check) string {
	texts := make([]string, len(checks))
	for i, c := range checks {
		texts[i] = "✗ " + c.Name
		if c.Passed {
			texts[i] = "✓ " + c.Name
		}
		if c.Error != "" {
			texts[i] += " (" + firstLine(c.Error) + ")"
		}
	}
	return strings.Join(texts, "  ")
}

// judged writes the scores of an iteration, or of the run for iteration 0.
func (t *telling) judged(iteration int) {
	for i := range t.scores {
		s := &t.scores[i]
		if s.Iteration != iteration {
			continue
		}
		text := s.Name + " " + scoreText(s)
		for _, more := range []string{s.Unscored, s.Explanation} {
			if more != "" {
				text += " (" + more + ")"
			}
		}
		t.text("score", text)
		t.votes(s)
	}
}

// end tells why the run stopped and what it returned.
func (t *telling) end(r *record.Run) {
	o := &r.Outcome
	fmt.Fprintf(t, "\nstopped after %s: %s\n", count(len(r.Iterations), "iteration", "iterations"), printable(string(stoppedBy(o))))
	why := classText(o)
	if o.Fired != "" && o.Fired != string(o.Reason) {
		why += ", by " + o.Fired
	}
	t.field("why", why)
	if also := others(o); also != "" {
		t.field("also held", also)
	}
	if o.Error != nil {
		t.text("error", o.Error.Error())
	}
	believed := "no"
	if o.Success {
		believed = "yes"
	}
	t.field("success", believed+", as the loop believed")
	if o.Returned == 0 {
		t.field("returned", "nothing")
	} else {
		t.field("returned", fmt.Sprintf("the output of iteration %d", o.Returned))
	}
	t.judged(0)
}

// endedBy is who ended a run by itself.
func endedBy(reason record.Reason) string {
	if reason == record.ReasonUserEnded {
		return "user"
	}
	return "agent"
}

// classText says what a class of reasons means.
func classText(o *record.Outcome) string {
	switch o.Class {
	case record.ByCondition:
		return "a condition ended it by design"
	case record.ByGuard:
		return "a guard ended it for safety"
	case record.ByAgent:
		return "the " + endedBy(o.Reason) + " ended it"
	case record.ByBudget:
		return "the suite ended it"
	case record.ByUnknown:
		return "something cut it, the log does not say what"
	}
	if o.Status == record.Completed {
		return "an error ended it; the run counts"
	}
	if o.Status == record.Failed {
		return "the agent failed; the run counts"
	}
	return "a fault, not a failure: the run is in no number"
}

// others are the conditions and guards that held at the stop beside the one
// that decided.
func others(o *record.Outcome) string {
	var names []string
	for _, name := range o.Held {
		if name != o.Fired {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func usageText(u record.Usage) string {
	if u.Unreported > 0 && u.Calls == 0 {
		return "unknown what the program used"
	}
	parts := []string{count(int(u.Calls), "call", "calls")}
	if u.ToolCalls > 0 {
		parts = append(parts, count(int(u.ToolCalls), "tool call", "tool calls"))
	}
	tokens := fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens)
	switch {
	case u.Uncounted > 0, u.Unreported > 0 && u.Tokens() == 0:
		tokens = "unknown tokens"
	case u.Estimated > 0:
		tokens += " (estimated)"
	}
	if u.Unreported > 0 && u.Tokens() > 0 {
		tokens += " (and what programs used)"
	}
	return strings.Join(append(parts, tokens, costOf(u)), ", ")
}

func seconds(d time.Duration, untimed bool) string {
	if untimed {
		return "unknown time"
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// outputText is a text as it is, and any other output as JSON.
func outputText(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	return string(output)
}
