package sweep

import "context"

// Totals are, for each candidate and each part of the runs, the sums of its
// outcomes. A part is a number from 0; runs of a part below 0 are left out. The
// error is that of the context.
func (s *Sweep) Totals(ctx context.Context, part []int, parts int) ([][]Totals, error) {
	all := make([][]Totals, len(s.candidates))
	into := newCells(s.tasks, part, parts)
	for i := range s.candidates {
		outcomes, err := s.Outcomes(ctx, i)
		if err != nil {
			return nil, err
		}
		on, err := s.fit(ctx, i)
		if err != nil {
			return nil, err
		}
		all[i] = addUp(outcomes, s.recordings[on].Runs, into)
	}
	return all, nil
}
