package compare

import "cmp"

// Options say how sides are compared. The zero value has all defaults.
type Options struct {
	Alpha float64 // 0 means 0.05
	// ScoreMargin and RatioMargin are the smallest changes that matter: of
	// quantities compared by differences, in their unit (0 means 0.02), and of
	// those compared by ratios (0 means 0.05, which is 5 %). Below 0: there is no
	// margin, and nothing is ever called the same.
	ScoreMargin, RatioMargin float64
	// Margins are the margins of single quantities, by their names.
	Margins map[string]float64
	// Unpaired compares all runs of one side with all of the other though they
	// could be paired, and though no task is common.
	Unpaired bool
	// Sequential weighs scores so that one may look at any time: see [Sequential].
	Sequential bool
	// Seed is that of random sign flips, together with the sample itself.
	Seed uint64
}

// The defaults of Options.
const (
	DefaultAlpha       = 0.05
	DefaultScoreMargin = 0.02
	DefaultRatioMargin = 0.05
)

// Filled are the options with the defaults in the place of zeros.
func (o Options) Filled() Options {
	o.Alpha = cmp.Or(o.Alpha, DefaultAlpha)
	o.ScoreMargin = cmp.Or(o.ScoreMargin, DefaultScoreMargin)
	o.RatioMargin = cmp.Or(o.RatioMargin, DefaultRatioMargin)
	return o
}

// margin is that of a quantity, 0 where it has none.
func (o *Options) margin(q Quantity) float64 {
	margin, ok := o.Margins[q.Name]
	if !ok && q.Ratio {
		margin = o.RatioMargin
	} else if !ok {
		margin = o.ScoreMargin
	}
	return max(0, margin)
}
