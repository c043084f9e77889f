package scorers

import (
	"fmt"
	"math"
	"strconv"
)

// scale turns a number into what it is worth: one of worst into 0, one of best into 1, and what lies between them in
// proportion. The zero scale takes numbers for what they are worth themselves, from 0 to 1.
type scale struct{ worst, best float64 }

// scale is the one that the scorer's range declares.
func (c *compiler) scale() scale {
	declared := c.spec.Range
	if declared == nil {
		return scale{0, 1}
	}
	if len(declared) != 2 || declared[0] == declared[1] || !finite(declared[0]) || !finite(declared[1]) || !finite(declared[1]-declared[0]) {
		c.fault("range", "want two different numbers: [what is worth 0, what is worth 1]")
		return scale{0, 1}
	}
	return scale{declared[0], declared[1]}
}

// worth is what a number is worth; an error for one that is not on the scale, as nothing is that is no number.
func (s scale) worth(number float64) (float64, error) {
	s = s.orWhole()
	if low, high := min(s.worst, s.best), max(s.worst, s.best); !(number >= low && number <= high) {
		return 0, fmt.Errorf("gave %s, which is not between %s and %s", decimal(number), decimal(low), decimal(high))
	}
	return min(max((number-s.worst)/(s.best-s.worst), 0), 1), nil
}

// clamped is what a number is worth that may lie beyond the ends: then it is what the nearer one is worth.
func (s scale) clamped(number float64) float64 {
	s = s.orWhole()
	return min(max((number-s.worst)/(s.best-s.worst), 0), 1)
}

func (s scale) orWhole() scale {
	if s == (scale{}) {
		return scale{0, 1}
	}
	return s
}

// given is the verdict on a number that was given for a score: what it is worth, with the number itself for an answer
// where those are not the same.
func (c *compiler) given() func(number float64) verdict {
	scale, name, declared := c.scale(), c.spec.Name, c.spec.Range != nil
	return func(number float64) verdict {
		value, err := scale.worth(number)
		if err != nil {
			return unscored("scorer %s %v", name, err)
		}
		v := verdict{value: value}
		if declared {
			v.answer = decimal(number)
		}
		return v
	}
}

func finite(number float64) bool { return !math.IsNaN(number) && !math.IsInf(number, 0) }

// decimal is a number as people write it: 0.25, 7, 1e+21.
func decimal(number float64) string {
	if magnitude := math.Abs(number); magnitude >= 1e-6 && magnitude < 1e21 || number == 0 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}
