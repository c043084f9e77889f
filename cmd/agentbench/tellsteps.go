package main

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

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
		if !repeats(step) {
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

// repeats says that what was thought stands in the reply, around the calls that
// are written there.
func repeats(step *record.Step) bool {
	for _, part := range strings.Split(step.Thinking, "\n\n") {
		if !strings.Contains(step.Text, part) {
			return false
		}
	}
	return true
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
		text += ", " + count(n, "message", "messages") + " pruned"
	}
	return text + " · " + seconds(ended-begun, false)
}

// uses tells what was called, and what it gave.
func (t *telling) uses(calls []record.ToolCall) {
	for i := range calls {
		c := &calls[i]
		if c.Delegate != "" {
			t.said("delegates", c.Delegate+" "+string(c.Arguments))
		} else {
			t.said("calls", toolText(c))
		}
		if len(c.Result) > 0 {
			t.said("  gave", outputText(c.Result)+cachedText(c))
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
	name := c.Tool
	if name == "" {
		return "(unreadable) " + outputText(c.Arguments)
	}
	if c.Server != "" {
		name += " of " + c.Server
	}
	return name + " " + string(c.Arguments)
}

func cachedText(c *record.ToolCall) string {
	if c.Cached {
		return " (remembered)"
	}
	return ""
}

// delegated tells of the run of another agent: how it ended, or all of it.
func (t *telling) delegated(r *record.Run) {
	const indent = "    "
	if !t.full {
		t.fold("  took", fmt.Sprintf("%s, %s, %s; stopped by %s (--full)",
			count(len(r.Iterations), "iteration", "iterations"), usageText(r.Total()), seconds(r.Elapsed, r.Untimed), stoppedBy(&r.Outcome)))
		return
	}
	inner := telling{full: true, width: t.width - len(indent), manifest: t.manifest}
	inner.run(r)
	for line := range strings.Lines(inner.String()) {
		t.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
	}
}

// said writes what somebody said, or gave, in the length that was asked for.
func (t *telling) said(name, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if !t.full {
		text = shorten(text, longestText)
	}
	t.fold(name, text)
}

// fold writes a field in lines that fit.
func (t *telling) fold(name, text string) {
	var lines []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, folded(printable(line), t.width-nameColumn)...)
	}
	t.field(name, strings.Join(lines, "\n"))
}

// folded breaks a line at its spaces, and a word where it is too long for a line.
func folded(line string, width int) (lines []string) {
	width = max(width, 20)
	start, space, wide := 0, 0, 0
	for i, r := range line {
		takes := page.Width(string(r))
		if wide+takes > width && r != ' ' {
			at := i
			if space > start {
				at = space
			}
			lines = append(lines, unfolded(line[start:at], start))
			start = at + len(line[at:i]) - len(strings.TrimLeft(line[at:i], " "))
			wide = page.Width(line[start:i])
		}
		if r == ' ' && strings.TrimSpace(line[start:i]) != "" {
			space = i
		}
		wide += takes
	}
	return append(lines, unfolded(line[start:], start))
}

// unfolded is a part of a line without the spaces at which it was broken; those
// at the start of the line stay.
func unfolded(part string, start int) string {
	part = strings.TrimRight(part, " ")
	if start > 0 {
		part = strings.TrimLeft(part, " ")
	}
	return part
}
