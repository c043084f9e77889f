package sweep

import "context"

// Totals are, for each candidate and each part of the runs, the sums of its
// outcomes, as Sum gives them. A part is a number from 0; runs of a part below 0
// are left out. The error is that of the context.
func (s *Sweep) Totals(ctx context.Context, part []int, parts int) ([][]Totals, error) {
	all := make([][]Totals, len(s.candidates))
	into := newCells(s.tasks, part, parts)
	for _, f := range s.families {
		if err := s.fold(ctx, f, into, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fold adds up the outcomes of a family: by bits, or one after the other.
func (s *Sweep) fold(ctx context.Context, f *family, into *cells, all [][]Totals) error {
	quick, err := s.countable(ctx, f)
	if err != nil {
		return err
	}
	if quick {
		if err := s.count(ctx, f, into, all); err != nil {
			return err
		}
	}
	for _, candidate := range f.members {
		if quick && !s.told(candidate, f.recording) {
			continue
		}
		outcomes, err := s.Outcomes(ctx, candidate)
		if err != nil {
			return err
		}
		all[candidate] = addUp(outcomes, s.recordings[f.recording].Runs, into)
	}
	return nil
}
