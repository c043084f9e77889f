package main

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

// scoreLine is what was done of one scorer, as JSON has it.
type scoreLine struct {
	Scorer   string         `json:"scorer"`
	Version  string         `json:"version"`
	Found    map[string]int `json:"found"` // scores of runs, by the version that made them
	Kept     int            `json:"kept"`
	Made     int            `json:"made"`
	Unscored int            `json:"unscored"`
	Removed  int            `json:"removed"`
	Reason   string         `json:"reason,omitempty"` // why one of them is unscored
	Wanted   int            `json:"wanted"`
	Usage    record.Usage   `json:"usage"`
}

// tell prints what a pass found and did of each scorer.
func (s *scoring) tell(done *pass.Pass) error {
	if s.flags.format == "json" {
		for i := range done.Counts {
			c := &done.Counts[i]
			err := s.line(scoreLine{c.Name, c.Hash, c.Found, c.Kept, c.Made, c.Unscored, c.TakenBack, c.Reason, c.Wanted, c.Usage})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := page.Terminal(s.out, scoreTable(done, s.flags.dry), page.Screen{Width: s.width(s.out)}); unlessClosed(err) != nil {
		return fail(notMeasured, "", "%w", err)
	}
	for i := range done.Counts {
		s.remark(&done.Counts[i])
	}
	return nil
}

// remark tells of a scorer what the table has no room for.
func (s *scoring) remark(c *pass.Count) {
	if scores, versions := c.Others(); scores > 0 && !c.Removed {
		fmt.Fprintf(s.out, "%s: %s of runs by %s of it stood there\n", printable(c.Name), count(scores, "score", "scores"), count(versions, "other version", "other versions"))
	}
	if c.Unscored > 0 {
		fmt.Fprintf(s.out, "%s: one of the reasons for what is unscored: %s\n", printable(c.Name), printable(c.Reason))
	}
}

// scoreTable has a line for each scorer. Kept are scores of runs, the others also
// those of iterations.
func scoreTable(done *pass.Pass, dry bool) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{{Head: "scorer"}, {Head: "version"}, {Head: "kept", Right: true}}}
	heads := []string{"made", "unscored", "removed", "calls", "cost"}
	if dry {
		heads = []string{"to make"}
	}
	for _, head := range heads {
		t.Columns = append(t.Columns, page.GridColumn{Head: head, Right: true})
	}
	for i := range done.Counts {
		c := &done.Counts[i]
		version := c.Hash
		if c.Removed {
			version = "-"
		}
		row := []string{printable(c.Name), version, fmt.Sprint(c.Kept)}
		if dry {
			row = append(row, fmt.Sprint(c.Wanted))
		} else {
			row = append(row, fmt.Sprint(c.Made), fmt.Sprint(c.Unscored), fmt.Sprint(c.TakenBack), fmt.Sprint(c.Usage.Calls), scoreCost(c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func scoreCost(c *pass.Count) string {
	if !c.Asks {
		return "-"
	}
	return costOf(c.Usage)
}

// tellWorst says how many calls the scores take at most that would be made.
func (s *scoring) tellWorst(done *pass.Pass) error {
	calls := 0
	for i := range done.Counts {
		for k := range s.suite.Suite.Scorers {
			if scorer := &s.suite.Suite.Scorers[k]; scorer.Name == done.Counts[i].Name {
				calls += done.Counts[i].Wanted * callsAtMost(scorer)
			}
		}
	}
	if s.flags.format == "json" {
		return nil
	}
	_, err := fmt.Fprintf(s.out, "%s to be scored, with at most %s\n", count(done.Runs, "run is", "runs are"), count(calls, "call", "calls"))
	return unlessClosed(err)
}

// callsAtMost is how many calls one score takes, each answer asked for twice.
// Scorers of the suite that are parts of another one count for themselves.
func callsAtMost(s *spec.Scorer) int {
	asked := max(1, len(s.Models)) * max(1, s.Votes) * max(1, len(s.Criteria))
	switch s.Type {
	case "command", "http":
		return 1
	case "judge":
		return 2 * asked
	case "pairwise":
		return 4 * asked // in both orders
	}
	calls := 0
	for _, part := range s.Parts {
		if part.Scorer != nil {
			calls += callsAtMost(part.Scorer)
		}
	}
	return calls
}

// tellProblems warns of what could not be scored.
func (s *scoring) tellProblems(done *pass.Pass) {
	if n := len(done.Problems); n > 0 {
		fmt.Fprintf(s.err, "agentbench: warning: %s cannot be read, the first: %v\nhint: agentbench repair --dry-run %s says what is damaged\n",
			count(n, "place", "places"), done.Problems[0], shellWord(s.dir))
	}
	if done.Taskless > 0 && done.Taskless < done.Runs {
		fmt.Fprintf(s.err, "agentbench: warning: %s of tasks that are not at hand, such as %s, and not scored\n",
			count(done.Taskless, "run is", "runs are"), printable(strings.TrimSpace(done.FirstTaskless)))
	}
}
