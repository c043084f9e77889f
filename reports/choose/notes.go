package choose

import (
	"github.com/agentbench/agentbench/reports/tune"
)

// madeNotes are those on the folds and the bounds.
func (t *chooser) madeNotes(r *tune.Tuning) {
	if t.folds == 0 && t.Folds >= 0 {
		r.Notes = append(r.Notes, tune.Note{Kind: tune.NoFolds})
	}
	if v := r.Validation; v != nil && r.Recommended != nil {
		without := 0
		for i := range v.Folds {
			without += count(v.Folds[i].Chosen < 0)
		}
		if without > 0 {
			r.Notes = append(r.Notes, tune.Note{Kind: tune.FoldsWithout, Count: without, Of: len(v.Folds)})
		}
	}
	if t.score >= 0 && !t.independent {
		n, what := t.lossUnits(0)
		r.Notes = append(r.Notes, tune.Note{Kind: tune.LossByUnits, Count: n, Name: what[:len(what)-1]})
	}
}
