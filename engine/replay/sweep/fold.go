package sweep

import "context"

// Totals visits every candidate with the sums of its outcomes over each part of the
// runs, as Sum gives them, in no order and several candidates at a time. A part is a
// number from 0; runs of a part below 0 are left out. The error is that of the context.
func (s *Sweep) Totals(ctx context.Context, part []int, parts int, visit func(candidate int, totals []Totals)) error {
	into := newCells(s.tasks, part, parts)
	for _, f := range s.families {
		if err := s.fold(ctx, f, into, visit); err != nil {
			return err
		}
	}
	return nil
}

// fold adds up the outcomes of a family: by what changes from one member to the next,
// or one after the other.
func (s *Sweep) fold(ctx context.Context, f *family, into *cells, visit func(candidate int, totals []Totals)) error {
	quick, err := s.countable(ctx, f)
	if err != nil {
		return err
	}
	counted := func(candidate int) bool { return quick && !s.told(candidate, f.recording) }
	if quick {
		err = s.count(ctx, f, into, func(candidate int, totals []Totals) {
			if counted(candidate) {
				visit(candidate, totals)
			}
		})
	}
	for _, candidate := range f.members {
		if err != nil {
			return err
		}
		if counted(candidate) {
			continue
		}
		var outcomes []Outcome
		if outcomes, err = s.Outcomes(ctx, candidate); err == nil {
			visit(candidate, addUp(outcomes, s.recordings[f.recording].Runs, into))
		}
	}
	return err
}
