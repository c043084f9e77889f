package overview

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/scorers/pass"
)

// ScoreTables are the tables of Scored and ScoredSteps.
var ScoreTables = []string{"scores"}

// Scored is the page of what a pass over the runs of a folder found and did, a row for each scorer. After a dry run it
// has what would be scored, with at most so many calls.
func Scored(dir string, done *pass.Pass, dry bool, calls int) *page.Sheet {
	rows, notes := make([]scored, len(done.Counts)), []page.Words{}
	for i := range done.Counts {
		c := &done.Counts[i]
		rows[i] = scored{*c}
		if scores, versions := c.Others(); scores > 0 && !c.Removed {
			notes = append(notes, func(quote func(string) string) string {
				return fmt.Sprintf("%s: %s of runs by %s of it were there", quote(c.Name), page.Plural(scores, "score", "scores"), page.Plural(versions, "other version", "other versions"))
			})
		}
	}
	fields := slices.Concat(scoredFields, []page.Field[scored]{
		counted("removed", "removed", func(s scored) int { return s.TakenBack })[0],
		page.Right("calls", "calls", func(s scored) page.Cell { return whole(s.Usage.Calls) })[0],
		page.Right("cost", "cost_usd", scored.cost)[0],
	})
	head := page.Plural(done.Runs, "run", "runs")
	if dry {
		fields, head = toScoreFields, fmt.Sprintf("%s to be scored, with at most %s", page.Plural(done.Runs, "run is", "runs are"), page.Plural(calls, "call", "calls"))
	}
	return scoresSheet("score", dir, head, fields, rows, notes)
}

// ScoredSteps is the page of what a pass over states of workspaces did. Its numbers are of different states.
func ScoredSteps(dir string, done *pass.StepCounts, dry bool) *page.Sheet {
	rows := make([]scored, len(done.Scorers))
	for i := range done.Scorers {
		c := &done.Scorers[i]
		rows[i] = scored{pass.Count{Version: c.Version, Kept: c.Kept, Made: c.Made, Unscored: c.Unscored, Wanted: c.Wanted, Reason: c.Reason}}
	}
	fields := scoredFields
	if dry {
		fields = toScoreFields
	}
	head := fmt.Sprintf("%s of %s, %d of them different within their run", page.Plural(done.States, "state", "states"), page.Plural(done.Runs, "run", "runs"), done.Distinct)
	return scoresSheet("score-steps", dir, head, fields, rows, nil)
}

// scored is what was done of one scorer.
type scored struct{ pass.Count }

func (s scored) version() string {
	if s.Removed {
		return "-"
	}
	return s.Hash
}

func (s scored) cost() page.Cell {
	if !s.Asks {
		return page.Cell{Text: "-"}
	}
	return trajectory.CostCell(s.Usage)
}

func counted(head, key string, of func(scored) int) page.Fields[scored] {
	return page.Right(head, key, func(s scored) page.Cell { return whole(int64(of(s))) })
}

// namedFields begin each row: kept are scores of runs, the other counts are also of iterations.
var namedFields = slices.Concat(
	page.Named("scorer", "scorer", func(s scored) string { return s.Name }),
	page.Worded("version", "version", scored.version),
	counted("kept", "kept", func(s scored) int { return s.Kept }),
)

var scoredFields = slices.Concat(namedFields,
	counted("made", "made", func(s scored) int { return s.Made }),
	counted("unscored", "unscored", func(s scored) int { return s.Unscored }),
	page.Named("reason", "reason", func(s scored) string { return s.Reason }).ForMachines(),
)

var toScoreFields = slices.Concat(namedFields, counted("to make", "to_make", func(s scored) int { return s.Wanted }))

func scoresSheet(kind, dir, head string, fields []page.Field[scored], rows []scored, notes []page.Words) *page.Sheet {
	for i := range rows {
		if c := &rows[i]; c.Unscored > 0 {
			notes = append(notes, func(quote func(string) string) string {
				return fmt.Sprintf("%s: one of the reasons for what is unscored: %s", quote(c.Name), quote(c.Reason))
			})
		}
	}
	return &page.Sheet{
		Kind: kind, Suite: dir, Notes: notes,
		Head: func(quote func(string) string) string { return quote(dir) + ": " + head },
		List: []page.Table{page.TableOf("scores", "Scores", fields, slices.Values(rows))},
	}
}
