package compare

import "errors"

// ErrNoCommonTask says that two sides have no task in common, and that there is
// nothing to pair.
var ErrNoCommonTask = errors.New("the two sides have no task in common")

// Result is the comparison of two sides.
type Result struct {
	Pairing Pairing
	Lines   []Line // one for each quantity that both sides have, in the order of the new one
}

// Pairing is which runs of both sides belong together.
type Pairing struct {
	// Paired says that the runs are compared in pairs. They are not where that
	// was asked for, where no trial is common, and where fewer than half of the
	// tasks of the smaller side are.
	Paired bool
	// Common is how many tasks both sides have, OnlyBase and OnlyNew how many one
	// of them has.
	Common, OnlyBase, OnlyNew int
	// Runs is how many runs of the common tasks are paired by their trial;
	// LoneBase and LoneNew are the runs of common tasks without a partner.
	Runs, LoneBase, LoneNew int
}

// Sides compares two sides in each quantity that both have. P values are not
// corrected: see Correct.
func Sides(base, new *Side, options Options) (*Result, error) {
	o := options.Filled()
	joined, pairing := pair(base, new, &o)
	if pairing.Common == 0 && !o.Unpaired {
		return nil, ErrNoCommonTask
	}
	r := &Result{Pairing: pairing}
	var s *sample
	for i := range new.Columns {
		y := &new.Columns[i]
		x := base.column(y.Quantity)
		if x == nil {
			continue
		}
		line := Line{Quantity: y.Quantity, Paired: pairing.Paired}
		if pairing.Paired {
			s = joined.sampled(x, y, s)
			line.compare(s, &o)
			line.Flips = joined.flips(s, base, &line)
		} else {
			line.compareApart(apart(base, x), apart(new, y), &o)
			if o.Sequential && !line.Ratio {
				line.Sequential = &Sequential{Missing: "not paired"}
			}
		}
		line.explain(x, y)
		r.Lines = append(r.Lines, line)
	}
	return r, nil
}

// explain says why there is nothing to compare.
func (l *Line) explain(base, new *Column) {
	switch {
	case l.Tasks > 0 && l.BaseTasks > 0:
	case base.Missing != "":
		l.Missing = base.Missing
	case new.Missing != "":
		l.Missing = new.Missing
	default:
		l.Missing = "-"
	}
}
