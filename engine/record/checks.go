package record

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

var errNegative = errors.New("its usage or time is negative")

// impossible says what no run can have, though its line is whole: nothing of this
// package writes it, and sums over it would be wrong.
func (r *Run) impossible() error {
	if err := cmp.Or(validTrial(r.Trial), negative(r.Elapsed, r.Usage, r.Judging, r.User), noneReturned(r.Outcome.Returned, len(r.Iterations))); err != nil {
		return err
	}
	for i := range r.Iterations {
		for c := range r.Iterations[i].Calls {
			if call := &r.Iterations[i].Calls[c]; call.Usage.negative() || call.Duration < 0 {
				return errNegative
			}
		}
	}
	return nil
}

func noneReturned(returned, iterations int) error {
	if iterations > 0 && (returned < 0 || returned > iterations) {
		return fmt.Errorf("iteration %d is returned, of %d", returned, iterations)
	}
	return nil
}

func validTrial(trial int) error {
	if trial < 0 || trial > math.MaxInt32 {
		return fmt.Errorf("invalid trial %d", trial)
	}
	return nil
}

func negative(elapsed time.Duration, usages ...Usage) error {
	if elapsed < 0 || slices.ContainsFunc(usages, Usage.negative) {
		return errNegative
	}
	return nil
}

// mostScored iterations of a run fit into a line of the records: each takes some 64 bytes
// at least.
const mostScored = longestLine / 64

// noIteration refuses iterations that no run has: who reads scores takes memory for all
// iterations up to the last one.
func noIteration(n int) error {
	if n < 0 || n > mostScored {
		return fmt.Errorf("invalid iteration %d", n)
	}
	return nil
}

// knownVersion refuses what other versions of this package wrote.
func knownVersion(version int) error {
	switch {
	case version > Version:
		return fmt.Errorf("a newer agentbench wrote it (format %d, this one knows %d)", version, Version)
	case version < oldest:
		return fmt.Errorf("an older agentbench wrote it (format %d, this one knows %d and later)", version, oldest)
	}
	return nil
}

// oldest is the first version that can still be read.
const oldest = 1
