package tune

// madeNotes are those on the folds and the bounds.
func (t *tuner) madeNotes(r *Tuning) {
	if t.folds == 0 && t.Folds >= 0 {
		r.Notes = append(r.Notes, TuneNote{Kind: NoFolds})
	}
	if v := r.Validation; v != nil && r.Recommended != nil {
		without := 0
		for i := range v.Folds {
			without += count2(v.Folds[i].Chosen < 0)
		}
		if without > 0 {
			r.Notes = append(r.Notes, TuneNote{Kind: FoldsWithout, Count: without, Of: len(v.Folds)})
		}
	}
	if t.score >= 0 && !t.independent {
		n, what := t.lossUnits(0)
		r.Notes = append(r.Notes, TuneNote{Kind: LossByUnits, Count: n, Name: what[:len(what)-1]})
	}
}
