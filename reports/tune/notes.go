package tune

import (
	"fmt"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/numbers"
)

// The notes that the computation makes.
const (
	// FrontThinned: of Of configurations on the front Count were drawn, evenly.
	FrontThinned reports.WarningKind = "front_thinned"
	// FrontBounded: Count of Of configurations were drawn for the shares.
	FrontBounded reports.WarningKind = "front_bounded"
	// NoFolds: the tasks make fewer than two parts.
	NoFolds reports.WarningKind = "no_folds"
	// FoldsWithout: in Count of Of folds the rule finds nothing.
	FoldsWithout reports.WarningKind = "folds_without_choice"
	// CurveTold: the agent was told how many iterations it has (More).
	CurveTold reports.WarningKind = "curve_told"
	// LossByUnits: bounds of losses are by Count tasks or clusters (Name).
	LossByUnits reports.WarningKind = "loss_by"
)

// computed is a note that the computation makes; "" where it is another.
func (n Note) computed() string {
	switch n.Kind {
	case FrontThinned:
		return fmt.Sprintf("of the %[2]d configurations on the front %[1]d compete when the tasks are drawn anew: their shares are rather too large", n.Count, n.Of)
	case FrontBounded:
		return fmt.Sprintf("of %d different configurations the %d on or next to the front compete when the tasks are drawn anew", n.Of, n.Count)
	case NoFolds:
		return "there are too few tasks that stand for themselves to choose by some and report on others: what is recommended looks better than it is"
	case FoldsWithout:
		return fmt.Sprintf("in %s the rule finds nothing: the sums are without them", numbers.Plural(n.Count, "fold", "folds"))
	case CurveTold:
		return "what stopping earlier would have given is not shown, because the agent knows its limit: " + n.More
	case LossByUnits:
		return fmt.Sprintf("runs of one %s depend on each other: bounds of what is lost are by %s", n.Name, numbers.Plural(n.Count, n.Name, n.Name+"s"))
	}
	return ""
}

// madeNotes are those on the folds and the bounds.
func (t *tuner) madeNotes(r *Tuning) {
	if t.folds == 0 && t.Folds >= 0 {
		r.Notes = append(r.Notes, Note{Kind: NoFolds})
	}
	if v := r.Validation; v != nil && r.Recommended != nil {
		without := 0
		for i := range v.Folds {
			without += count(v.Folds[i].Chosen < 0)
		}
		if without > 0 {
			r.Notes = append(r.Notes, Note{Kind: FoldsWithout, Count: without, Of: len(v.Folds)})
		}
	}
	if t.score >= 0 && !t.independent {
		n, what := t.lossUnits(0)
		r.Notes = append(r.Notes, Note{Kind: LossByUnits, Count: n, Name: what[:len(what)-1]})
	}
}
