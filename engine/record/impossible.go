package record

import (
	"errors"
	"fmt"
	"math"
)

var errNegative = errors.New("its usage or time is negative")

// impossible says what no run can have, though the line that tells of it is
// whole: nothing of this package writes it, and sums over it would be wrong.
func (s *Signals) impossible() error {
	if err := s.amounts(); err != nil {
		return err
	}
	if n := s.Outcome.Returned; len(s.Iterations) > 0 && (n < 0 || n > len(s.Iterations)) {
		return fmt.Errorf("iteration %d is returned, of %d", n, len(s.Iterations))
	}
	for i := range s.Iterations {
		for c := range s.Iterations[i].Calls {
			if call := &s.Iterations[i].Calls[c]; call.Usage.negative() || call.Duration < 0 {
				return errNegative
			}
		}
	}
	return nil
}

// amounts are impossible if one is below zero, or the trial beyond what can be
// counted.
func (s *Signals) amounts() error {
	switch {
	case s.Trial < 0 || s.Trial > math.MaxInt32:
		return fmt.Errorf("there is no trial %d", s.Trial)
	case s.negative():
		return errNegative
	}
	return nil
}

func (s *Signals) negative() bool {
	return s.Elapsed < 0 || s.Usage.negative() || s.Judging.negative() || s.User.negative()
}

// mostScored iterations of a run fit into a line of the records: each takes some 64 bytes
// at least.
const mostScored = longestLine / 64

// impossibleScores says what no scores can have.
func impossibleScores(scores []Score) error {
	for i := range scores {
		if scores[i].Usage.negative() {
			return errNegative
		}
		if err := noIteration(scores[i].Iteration); err != nil {
			return err
		}
	}
	return nil
}

func (line *Scored) impossible() error {
	for i := range line.Scores {
		if err := noIteration(line.Scores[i].Iteration); err != nil {
			return err
		}
	}
	return nil
}

// noIteration says what no run has: who reads scores takes memory for all
// iterations up to the last one.
func noIteration(n int) error {
	if n < 0 || n > mostScored {
		return fmt.Errorf("there is no iteration %d", n)
	}
	return nil
}
