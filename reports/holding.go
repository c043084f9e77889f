package reports

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// Holding says what becomes of a threshold within the intervals of the metrics
// that it reads. It is "" where it reads none that has an interval.
type Holding string

// The Holdings.
const (
	Throughout Holding = "throughout" // it holds over the whole interval
	InPart     Holding = "in_part"    // it holds, but not over the whole interval
	Possibly   Holding = "possibly"   // it does not hold, but would in a part of the interval
	Nowhere    Holding = "nowhere"    // it does not hold anywhere in the interval
)

// after adds to numbers what the Holding means.
func (h Holding) after(numbers string) string {
	switch h {
	case Throughout:
		return numbers + ": holds over the whole interval"
	case InPart:
		return numbers + ": holds, but not over the whole interval"
	case Possibly:
		return numbers + ": does not hold, though a part of the interval would"
	case Nowhere:
		return numbers + ": does not hold anywhere in the interval"
	}
	return numbers
}

// mostCorners bounds the metrics whose ends are tried in all combinations. Of
// more, all are at their low ends together, then all at their high ones.
const mostCorners = 3

// holding evaluates a threshold again with the ends of the intervals that it
// read in the place of the numbers.
func (j *judge) holding(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, ok bool) Holding {
	wide := seen.wide()
	alike := true
	for {
		alike = j.alike(ctx, program, pair, seen, wide, ok)
		more := seen.wide()
		if len(more) == len(wide) {
			break
		}
		wide = more // at the ends it read more than before
	}
	switch {
	case len(wide) == 0:
		return ""
	case ok && alike:
		return Throughout
	case ok:
		return InPart
	case alike:
		return Nowhere
	}
	return Possibly
}

// alike says whether the threshold gives the same at all ends.
func (j *judge) alike(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, wide []reading, ok bool) bool {
	alike := true
	for _, corner := range corners(wide) {
		there := readings{at: corner}
		holds, err := j.holds(ctx, program, pair, &there)
		alike = alike && (holds && err == nil) == ok
		for _, one := range there.all {
			seen.add(one)
		}
	}
	return alike
}

// wide are the readings that have an interval.
func (r *readings) wide() (wide []reading) {
	for _, one := range r.all {
		if one.isWide() {
			wide = append(wide, one)
		}
	}
	return wide
}

// corners are the combinations of ends that are tried, by the paths of the
// metrics.
func corners(wide []reading) []map[string]float64 {
	if len(wide) == 0 {
		return nil
	}
	all := []map[string]float64{}
	if len(wide) > mostCorners {
		low, high := map[string]float64{}, map[string]float64{}
		for _, one := range wide {
			low[one.path], high[one.path] = one.low.Number, one.high.Number
		}
		return append(all, low, high)
	}
	for bits := range 1 << len(wide) {
		corner := map[string]float64{}
		for i, one := range wide {
			corner[one.path] = one.low.Number
			if bits>>i&1 == 1 {
				corner[one.path] = one.high.Number
			}
		}
		all = append(all, corner)
	}
	return all
}
