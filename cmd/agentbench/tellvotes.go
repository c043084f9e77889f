package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// votes tells what those said who were asked for a score, and what that took. A
// single vote is the score itself, unless there is more to tell of it.
func (t *telling) votes(s *record.Score) {
	if len(s.Votes) > 1 || len(s.Votes) == 1 && (s.Votes[0].Repaired || s.Votes[0].Cached) {
		for i := range s.Votes {
			t.text("", voteText(&s.Votes[i]))
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
	var of []string
	for _, part := range []string{v.Criterion, v.Judge, order} {
		if part != "" {
			of = append(of, part)
		}
	}
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
