package compare

import "errors"

// ErrNoCommonTask says that two sides have no task in common, and that there is
// nothing to pair.
var ErrNoCommonTask = errors.New("the two sides have no task in common")

// Options say how sides are compared. The zero value has all defaults.
type Options struct {
	Alpha float64 // 0 means 0.05
	// ScoreMargin and RatioMargin are the smallest changes that matter: of
	// quantities compared by differences, in their unit (0 means 0.02), and of
	// those compared by ratios (0 means 0.05, which is 5 %). Below 0: none does,
	// nothing is ever called the same.
	ScoreMargin, RatioMargin float64
	// Margins are the margins of single quantities, by their names.
	Margins map[string]float64
	// Unpaired compares all runs of one side with all of the other though they
	// could be paired, and though no task is common.
	Unpaired bool
	// Seed is that of random sign flips.
	Seed int64
}

// Result is the comparison of two sides.
type Result struct {
	Pairing Pairing
	Lines   []Line // one for each quantity that both sides have, in the order of the new one
}

// Pairing is which runs of both sides belong together.
type Pairing struct {
	Paired bool
	// Common is how many tasks both sides have, OnlyBase and OnlyNew how many one
	// of them has.
	Common, OnlyBase, OnlyNew int
	// Runs is how many runs of the common tasks are paired by their trial;
	// LoneBase and LoneNew are the runs of common tasks without a partner.
	Runs, LoneBase, LoneNew int
}

// Sides compares two sides. P values are not corrected: see Correct.
func Sides(base, new *Side, options Options) (*Result, error) {
	return &Result{}, nil
}

// Correction is how p values of several comparisons are adjusted.
type Correction string

// The Corrections.
const (
	NoCorrection      Correction = ""
	Holm              Correction = "holm"
	BenjaminiHochberg Correction = "benjamini_hochberg"
)

// Correct adjusts the p values of several comparisons, each quantity on its own,
// and judges anew: by Holm, of more than 20 comparisons by Benjamini and
// Hochberg. It does nothing to a single one.
func Correct(results []*Result, options Options) Correction {
	return NoCorrection
}
