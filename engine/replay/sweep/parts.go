package sweep

// Parts are runs divided into parts, so that outcomes of many candidates are added
// up without dividing the runs each time.
type Parts struct {
	runs  []Run
	cells *cells
}

// Divide puts each run into a part, from 0; one of a part below 0 is left out.
func Divide(runs []Run, part []int, parts int) *Parts {
	return &Parts{runs, newCells(trials(runs), part, parts)}
}

// Sum adds up outcomes, which are those of the runs in their order, by part. Scores
// are added up in steps of 1e-9, so that their order does not matter.
func (p *Parts) Sum(outcomes []Outcome) []Totals { return addUp(outcomes, p.runs, p.cells) }
