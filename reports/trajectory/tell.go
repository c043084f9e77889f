// Package trajectory decides what people read of runs: one run iteration by iteration, with
// its conversation, its scores and why it stopped (Tell), or the runs of a result
// folder in a table, those that went wrong first (List).
//
// It is no stable API.
package trajectory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Options say how a run is shown.
type Options struct {
	Full   bool // outputs and feedback in full length
	Width  int  // of a line, in columns of a terminal
	Scores []record.Score
}

// Tell is the trajectory of a run as text.
func Tell(run *record.Run, o Options) string {
	t := telling{Options: o}
	t.run(run)
	return t.String()
}

// telling writes the trajectory of a run.
type telling struct {
	strings.Builder
	Options
	parts *[]Part // what gets the fields in place of the text; nil: the text does
}

// shortened is a text without --full: so many of its characters, and how many more there are.
func (t *telling) shortened(text string) string {
	const most = 240
	runes := []rune(text)
	if t.Full || len(runes) <= most {
		return text
	}
	return strings.TrimRight(string(runes[:most]), " ") + fmt.Sprintf(" … (%d more; --full)", len(runes)-most)
}

func (t *telling) run(r *record.Run) {
	total := r.Total()
	fmt.Fprintf(t, "run %s\n", page.Visible(r.ID))
	t.field("task", r.Task)
	t.field("used", fmt.Sprintf("%s, %s, %s", page.Plural(len(r.Iterations), "iteration", "iterations"), usageText(total), seconds(r.Elapsed, r.Untimed)))
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
	if t.parts != nil {
		*t.parts = append(*t.parts, partOf(name, text))
		return
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		t.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s%s", nameColumn-2, name, page.Visible(line)), " ") + "\n")
	}
}

// text writes a field in the length that was asked for.
func (t *telling) text(name, text string) {
	if text != "" {
		t.field(name, t.shortened(text))
	}
}

func (t *telling) iteration(it *record.Iteration) {
	head := fmt.Sprintf("\niteration %d", it.N)
	for _, stage := range []string{it.Phase, it.Strategy} {
		if stage != "" {
			head += " · " + page.Visible(stage)
		}
	}
	fmt.Fprintf(t, "%s · %s · %s\n", head, usageText(it.Total()), seconds(it.End-it.Start, it.Untimed))
	t.inside(it)
}

func (t *telling) inside(it *record.Iteration) {
	switch {
	case it.OfProgram():
		t.program(it)
	case it.Prompt != "" || len(it.Steps) > 0:
		t.conversation(it)
	default:
		t.text("thinking", it.Thinking)
		if t.parts != nil {
			t.uses(it.ToolCalls) // a page has room for what they gave
		} else {
			for i := range it.ToolCalls {
				t.text("tool", it.ToolCalls[i].Tool+" "+string(it.ToolCalls[i].Arguments))
			}
		}
	}
	output := outputText(it.Output)
	if string(it.Output) == `""` && len(it.OutputB64) == 0 {
		output = "(empty)"
	}
	t.text("output", output)
	t.notUTF8(it.OutputB64, "output_b64")
	t.workspace(it.Workspace)
	t.trouble(it)
	t.evaluation(it)
	t.text("adapts", it.Adaptation)
	t.judged(it.N)
}

// notUTF8 says where bytes are that cannot be shown.
func (t *telling) notUTF8(written []byte, key string) {
	if len(written) > 0 {
		t.field("", fmt.Sprintf("not UTF-8: --json has its %s as %s", page.Plural(len(written), "byte", "bytes"), key))
	}
}

// workspace tells how the folder of the run was left.
func (t *telling) workspace(w *record.Workspace) {
	if w == nil {
		return
	}
	text := changed(w) + " since the seed"
	if w.Reset {
		text += ", with which the iteration began again"
	}
	t.field("workspace", text+"; tree "+short(w.Tree))
	if len(w.Left) > 0 {
		t.text("left out", strings.Join(w.Left, "\n"))
	}
}

// changed is what differs between two states of a workspace.
func changed(w *record.Workspace) string {
	files := len(w.Changed) + len(w.Added) + len(w.Deleted)
	if files == 0 {
		return "no file changed"
	}
	return fmt.Sprintf("%s changed, +%d -%d", page.Plural(files, "file", "files"), w.Insertions, w.Deletions)
}

// short is the beginning of a tree's name, which tells it from the others.
func short(tree string) string { return tree[:min(12, len(tree))] }

// Differences tells what each iteration of a run changed in its workspace: the files and their
// diff. An iteration that left no state has nil.
func Differences(run *record.Run, made []*record.Workspace) string {
	var b strings.Builder
	for i, w := range made {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "iteration %d", run.Iterations[i].N)
		if w == nil {
			b.WriteString(": it left no state of the workspace\n")
			continue
		}
		fmt.Fprintf(&b, ": %s\n", changed(w))
		for line := range strings.Lines(w.Diff) {
			columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // code is indented by them
			for i := range columns {
				columns[i] = page.Visible(columns[i])
			}
			b.WriteString(strings.Join(columns, "\t") + "\n")
		}
		if w.Truncated {
			b.WriteString("… the diff is longer\n")
		}
	}
	return b.String()
}

func (t *telling) trouble(it *record.Iteration) {
	if it.Error != nil {
		t.text("failed", it.Error.Error())
	}
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Exit != 0 && it.Error == nil {
			t.field("exit", fmt.Sprintf("%s exited with %d; what it left counts", c.Model, c.Exit))
		}
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
	checks := make([]string, len(e.Checks))
	for i, c := range e.Checks {
		checks[i] = "✗ " + c.Name
		if c.Passed {
			checks[i] = "✓ " + c.Name
		}
		if c.Error != "" {
			checks[i] += " (" + strings.SplitN(c.Error, "\n", 2)[0] + ")"
		}
	}
	if len(checks) > 0 {
		t.field("checks", strings.Join(checks, "  "))
	}
	t.text("feedback", e.Feedback)
	t.text("fault", e.Fault)
}

// judged writes the scores of an iteration, or of the run for iteration 0.
func (t *telling) judged(iteration int) {
	for s := range page.EachOf(t.Scores) {
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
	fmt.Fprintf(t, "\nstopped after %s: %s\n", page.Plural(len(r.Iterations), "iteration", "iterations"), page.Visible(string(stoppedBy(o))))
	t.field("why", whyEnded(o))
	if also := slices.DeleteFunc(slices.Clone(o.Held), func(name string) bool { return name == o.Fired }); len(also) > 0 {
		t.field("also held", strings.Join(also, ", "))
	}
	if o.Error != nil {
		t.text("error", o.Error.Error())
	}
	believed := "no"
	if o.Success {
		believed = "yes"
	}
	t.field("success", believed+", by the loop's verdict")
	if o.Returned == 0 {
		t.field("returned", "nothing")
	} else {
		t.field("returned", fmt.Sprintf("the output of iteration %d", o.Returned))
	}
	t.judged(0)
}

// endedBy is who ended a run by itself.
// whyEnded says in a sentence what ended a run.
func whyEnded(o *record.Outcome) string {
	by := cmp.Or(o.Fired, string(o.Reason))
	switch o.Class {
	case record.ByCondition, record.ByGuard:
		if o.Limit > 0 {
			return fmt.Sprintf("a limit you set ended it: %s (%v of %v)", by, o.Used, o.Limit)
		}
		if o.Class == record.ByGuard {
			return "a guard ended it: " + by
		}
		return "a condition you set ended it: " + by
	case record.ByAgent:
		return "the " + endedBy(o.Reason) + " ended it"
	case record.ByBudget:
		return "a limit of the suite ended it: " + by
	case record.ByUnknown:
		return "unknown: the log does not name it"
	}
	switch {
	case o.Status == record.Completed:
		return "an error ended it; the run counts"
	case o.Status == record.Failed:
		return "the agent failed; the run counts"
	case o.Error != nil:
		return "infrastructure error (" + string(o.Error.Class) + "): excluded from all results"
	}
	return "infrastructure error: excluded from all results"
}

func endedBy(reason record.Reason) string {
	if reason == record.ReasonUserEnded {
		return "user"
	}
	return "agent"
}

func usageText(u record.Usage) string {
	if u.Unreported > 0 && u.Calls == 0 {
		return "unknown what the program used"
	}
	parts := []string{page.Plural(int(u.Calls), "call", "calls")}
	if u.ToolCalls > 0 {
		parts = append(parts, page.Plural(int(u.ToolCalls), "tool call", "tool calls"))
	}
	tokens := fmt.Sprintf("%d tokens in%s, %d out", u.InputTokens, cacheText(u), u.OutputTokens)
	switch {
	case u.Uncounted > 0, u.Unreported > 0 && u.Tokens() == 0:
		tokens = "unknown tokens"
	case u.Estimated > 0:
		tokens += " (estimated)"
	}
	if u.Unreported > 0 && u.Tokens() > 0 {
		tokens += " (and what programs used)"
	}
	return strings.Join(append(parts, tokens, Cost(u)), ", ")
}

// cacheText is what the provider's cache made of the input.
func cacheText(u record.Usage) string {
	var parts []string
	if u.CachedTokens > 0 {
		parts = append(parts, fmt.Sprintf("%d cached", u.CachedTokens))
	}
	if written := u.CacheWriteTokens + u.CacheWrite1hTokens; written > 0 {
		parts = append(parts, fmt.Sprintf("%d written to the cache", written))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
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

// conversation tells an iteration of a conversing agent step by step.
func (t *telling) conversation(it *record.Iteration) {
	t.said("prompt", it.Prompt)
	calls := it.ToolCalls
	for i := range it.Steps {
		step := &it.Steps[i]
		made := calls[:min(step.Tools, len(calls))]
		calls = calls[len(made):]
		t.WriteString("\n")
		t.fold(fmt.Sprintf("step %d", i+1), stepText(it, i))
		parts := strings.Split(step.Thinking, "\n\n")
		if slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(step.Text, part) }) { // the reply does not repeat it
			t.said("thinking", step.Thinking)
		}
		if last := i == len(it.Steps)-1; !last || step.Text != outputText(it.Output) {
			t.said("reply", step.Text)
		}
		t.uses(made)
		t.said("user", step.User)
	}
	t.uses(calls) // of a step that has no reply in the record
}

// program tells the calls of a program in the order in which they arrived: those that are steps with what the model said and the
// tools that it asked for, and the others, such as retries.
func (t *telling) program(it *record.Iteration) {
	said, used, before := map[int]*record.Step{}, map[int][]record.ToolCall{}, 0
	for s := range page.EachOf(it.Steps) {
		said[s.Call] = s
		used[s.Call] = it.ToolCalls[min(before, len(it.ToolCalls)):min(before+s.Tools, len(it.ToolCalls))]
		before += s.Tools
	}
	for i := range it.Calls {
		c := &it.Calls[i]
		if c.Conversation == "" {
			continue
		}
		t.WriteString("\n")
		name, text := "call", []string{c.Conversation, string(c.Kind)}
		if c.Step > 0 {
			name, text = beginsStep+strconv.Itoa(c.Step), text[:1]
		}
		text = append(text, c.Model, usageText(c.Usage), seconds(c.Duration, false))
		if c.Error != nil {
			text = append(text, c.Error.Error())
		}
		t.fold(name, strings.Join(text, " · "))
		if s := said[i+1]; s != nil {
			t.said("thinking", s.Thinking)
			t.said("reply", s.Text)
			t.uses(used[i+1])
		}
	}
}

// stepText is what a step took, the user's answer included.
func stepText(it *record.Iteration, at int) string {
	until := len(it.Calls)
	if at+1 < len(it.Steps) {
		until = min(until, it.Steps[at+1].Call-1)
	}
	var used record.Usage
	begun, ended := it.Start, it.Start
	for i := max(0, it.Steps[at].Call-1); i < until; i++ {
		c := &it.Calls[i]
		if i == it.Steps[at].Call-1 {
			begun = c.Start
		}
		if c.Role != record.RoleJudge {
			used, ended = used.Plus(c.Usage), max(ended, c.Start+c.Duration)
		}
	}
	text := usageText(used)
	if n := it.Steps[at].Pruned; n > 0 {
		text += ", " + page.Plural(n, "message", "messages") + " pruned"
	}
	return text + " · " + seconds(ended-begun, false)
}

// uses tells what was called, and what it gave.
func (t *telling) uses(calls []record.ToolCall) {
	for c := range page.EachOf(calls) {
		if c.Delegate != "" {
			t.said("delegates", c.Delegate+" "+string(c.Arguments))
		} else {
			t.said("calls", toolText(c))
		}
		cached := ""
		if c.Cached {
			cached = " (remembered)"
		}
		if len(c.Result) > 0 {
			t.said("  gave", outputText(c.Result)+cached)
		}
		t.notUTF8(c.ResultB64, "result_b64")
		if c.Error != nil {
			t.said("  error", c.Error.Error())
		}
		if c.Delegated != nil {
			t.delegated(c.Delegated)
		}
	}
}

func toolText(c *record.ToolCall) string {
	switch {
	case c.Tool == "":
		return "(unreadable) " + outputText(c.Arguments)
	case c.Server != "":
		return c.Tool + " of " + c.Server + " " + string(c.Arguments)
	}
	return c.Tool + " " + string(c.Arguments)
}

// delegated tells of the run of another agent: how it ended, or all of it.
func (t *telling) delegated(r *record.Run) {
	const indent = "    "
	if !t.Full {
		t.fold("  took", fmt.Sprintf("%s, %s, %s; stopped by %s (--full)",
			page.Plural(len(r.Iterations), "iteration", "iterations"), usageText(r.Total()), seconds(r.Elapsed, r.Untimed), stoppedBy(&r.Outcome)))
		return
	}
	inner := telling{Options: Options{Full: true, Width: t.Width - len(indent)}}
	inner.run(r)
	if t.parts != nil {
		t.field("  took", inner.String())
		return
	}
	for line := range strings.Lines(inner.String()) {
		t.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
	}
}

// said writes what somebody said, or gave, in the length that was asked for.
func (t *telling) said(name, text string) {
	if strings.TrimSpace(text) != "" {
		t.fold(name, t.shortened(text))
	}
}

// fold writes a field in lines that fit.
func (t *telling) fold(name, text string) {
	if t.parts != nil {
		t.field(name, text)
		return
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, folded(page.Visible(line), t.Width-nameColumn)...)
	}
	t.field(name, strings.Join(lines, "\n"))
}

// folded breaks a line at its spaces, and a word where it is too long for a line. Spaces
// at the start of the line stay.
func folded(line string, width int) (lines []string) {
	width = max(width, 20)
	start, space, wide := 0, 0, 0
	add := func(part string) {
		if start > 0 {
			part = strings.TrimLeft(part, " ")
		}
		lines = append(lines, strings.TrimRight(part, " "))
	}
	for i, r := range line {
		takes := page.Width(string(r))
		if wide+takes > width && r != ' ' {
			at := i
			if space > start {
				at = space
			}
			add(line[start:at])
			start = at + len(line[at:i]) - len(strings.TrimLeft(line[at:i], " "))
			wide = page.Width(line[start:i])
		}
		if r == ' ' && strings.TrimSpace(line[start:i]) != "" {
			space = i
		}
		wide += takes
	}
	add(line[start:])
	return lines
}

// votes tells what those said who were asked for a score, and what that took. A
// single vote is the score itself, unless there is more to tell of it.
func (t *telling) votes(s *record.Score) {
	name := ""
	if t.parts != nil {
		name = "vote"
	}
	if len(s.Votes) > 1 || len(s.Votes) == 1 && (s.Votes[0].Repaired || s.Votes[0].Cached) {
		for i := range s.Votes {
			t.text(name, voteText(&s.Votes[i]))
		}
	}
	if s.Usage != (record.Usage{}) {
		t.field("", "asked in "+usageText(s.Usage))
	}
}

// voteText is one vote on a line: of whom and of what, what it is worth, and why.
func voteText(v *record.Vote) string {
	order := ""
	if v.Swapped {
		order = "second"
	}
	of := slices.DeleteFunc([]string{v.Criterion, v.Judge, order}, func(part string) bool { return part == "" })
	text := cmp.Or(strings.Join(of, ", "), "vote") + ": "
	if v.Unscored != "" {
		return text + "- (" + v.Unscored + ")"
	}
	text += fmt.Sprintf("%.2f", v.Value)
	if number, err := strconv.ParseFloat(v.Answer, 64); v.Answer != "" && (err != nil || number != v.Value) {
		text += " " + v.Answer
	}
	if v.Repaired {
		text += ", asked twice"
	}
	if v.Cached {
		text += ", from the cache"
	}
	if v.Explanation != "" {
		text += " (" + v.Explanation + ")"
	}
	return text
}
