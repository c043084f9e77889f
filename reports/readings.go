package reports

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// readings are the metrics that an expression read, in the order in which they
// were first read.
type readings struct {
	all []reading
	// at are numbers that stand in the place of those measured, by their paths.
	at map[string]float64
	// untold is why a word that was read is not known, nil where all are.
	untold error
}

// reading is a metric that was read.
type reading struct {
	path string
	ranged
	text string // of a word, in the place of the number
}

// word is a metric that is no number.
type word struct {
	value any
	shown string // with the numbers that it comes from
	// missing says why nothing is known; "" where it is.
	missing string
}

func (r *readings) add(one reading) {
	if !slices.ContainsFunc(r.all, func(known reading) bool { return known.path == one.path }) {
		r.all = append(r.all, one)
	}
}

// number is what an expression sees of a number: null where it is missing.
func (r *readings) number(path string, of ranged) any {
	r.add(reading{path: path, ranged: of})
	if at, ok := r.at[path]; ok {
		return at
	}
	if !of.value.Known() {
		return nil
	}
	return of.value.Number
}

// word is what an expression sees of a word. Null would be unlike any word, and
// let thresholds hold of which nothing is known.
func (r *readings) word(path string, of word) any {
	if of.missing != "" {
		r.untold = fmt.Errorf("%s is missing: %s", path, of.missing)
	}
	r.add(reading{path: path, ranged: ranged{value: page.Known(0)}, text: of.shown})
	return of.value
}

// explain adds to an error what was missing.
func (r *readings) explain(err error) error {
	if err == nil {
		return r.untold
	}
	for _, one := range r.all {
		if !one.value.Known() {
			return fmt.Errorf("%w (%s is missing: %s)", err, one.path, one.value.Why())
		}
	}
	return errors.Join(err, r.untold)
}

// detail lists what was read, with the intervals.
func (r *readings) detail() string {
	parts := make([]string, len(r.all))
	for i, one := range r.all {
		parts[i] = one.path + " is " + one.exact()
	}
	return strings.Join(parts, ", ")
}

func (r *reading) exact() string {
	if r.text != "" {
		return r.text
	}
	return r.ranged.exact()
}

// exact shows the number and its interval with enough digits to see on which
// side of a bound they lie.
func (r *ranged) exact() string {
	text := r.value.Exact()
	if r.isWide() {
		text += " [" + r.low.Exact() + ", " + r.high.Exact() + "]"
	}
	return text
}

// isWide says that there is an interval.
func (r *ranged) isWide() bool {
	return r.value.Known() && r.low.Known() && r.high.Known() && r.low.Number < r.high.Number
}
