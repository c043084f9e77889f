package overview

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

// ScoreTables are the tables of Scores.
var ScoreTables = []string{"scores"}

// Scored is what a pass found and did of one scorer.
type Scored struct {
	Scorer, Version               string // without a version its scores were removed
	Kept                          int    // scores of runs, or of states, that stay
	Made, Unscored, Removed, ToDo int    // also of iterations
	Reason                        string // why one is unscored
	Asks                          bool   // it calls models or endpoints
	Usage                         record.Usage
}

// Scores is the page of a pass over a folder, with the columns that it has: a dry run counts what is to be made, a pass over
// states calls nothing.
func Scores(dir, head string, all []Scored, dry, ofStates bool) *page.Sheet {
	s := &page.Sheet{Kind: "score", Suite: dir, Head: page.Words(page.Foreign(dir) + ": " + head)}
	fields := slices.Concat(keptFields, madeFields, spentFields)
	switch {
	case dry:
		fields = slices.Concat(keptFields, toMakeFields)
	case ofStates:
		fields = slices.Concat(keptFields, madeFields)
	}
	s.List = []page.Table{page.TableOf("scores", "Scores", fields, slices.Values(all))}
	for i := range all {
		if of := &all[i]; of.Unscored > 0 {
			s.Notes = append(s.Notes, page.Words(fmt.Sprintf("%s: one of the reasons for what is unscored: %s", page.Foreign(of.Scorer), page.Foreign(of.Reason))))
		}
	}
	return s
}

var keptFields = slices.Concat(
	page.Named("scorer", "scorer", func(s Scored) string { return s.Scorer }),
	page.Of(page.Column{Head: "version", Key: "version"}, func(s Scored) page.Cell {
		if s.Version == "" {
			return page.Cell{Text: "-"}
		}
		return page.Text(s.Version)
	}),
	scoreCount("kept", "kept", func(s Scored) int { return s.Kept }),
)

var madeFields = slices.Concat(
	scoreCount("made", "made", func(s Scored) int { return s.Made }),
	scoreCount("unscored", "unscored", func(s Scored) int { return s.Unscored }),
	page.Named("", "unscored_because", func(s Scored) string { return s.Reason }).ForMachines(),
)

var spentFields = slices.Concat(
	scoreCount("removed", "removed", func(s Scored) int { return s.Removed }),
	scoreCount("calls", "calls", func(s Scored) int { return int(s.Usage.Calls) }),
	page.Right("cost", "cost_usd", func(s Scored) page.Cell {
		if !s.Asks {
			return page.Cell{Text: "-"}
		}
		return trajectory.CostCell(s.Usage)
	}),
)

var toMakeFields = scoreCount("to make", "to_make", func(s Scored) int { return s.ToDo })

func scoreCount(head, key string, of func(Scored) int) page.Fields[Scored] {
	return page.Right(head, key, func(s Scored) page.Cell { return whole(int64(of(s))) })
}
