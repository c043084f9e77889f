package page

import (
	"encoding/json"
	"strings"
)

// Range is the 95 % interval of a number, both ends included. In JSON it is a
// list of both, or null; an end that is null where the other is not is open.
type Range struct{ Low, High Value }

// Known says that there is an interval.
func (r Range) Known() bool { return r.Low.Known() || r.High.Known() }

// Over is the interval of the number divided by one above 0.
func (r Range) Over(divisor float64) Range {
	return Range{r.Low.Over(divisor), r.High.Over(divisor)}
}

// MarshalJSON writes [low, high], or null.
func (r Range) MarshalJSON() ([]byte, error) {
	if !r.Known() {
		return []byte("null"), nil
	}
	return json.Marshal([2]Value{r.Low, r.High})
}

// Text shows an interval, if there is one, and its ends in that form.
func (r Range) Text(form func(Value) string) string {
	if !r.Known() {
		return ""
	}
	low, high, sign := form(r.Low), form(r.High), "–"
	if strings.HasPrefix(low, "-") || strings.HasPrefix(high, "+") {
		sign = "…"
	}
	return Joined(low, sign, high)
}
