package page

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Value is a number, or the reason why there is none. In JSON it is a number or
// null.
type Value struct {
	Number  float64
	Missing string // "" where there is a number, else one or two words
}

// Why numbers are missing.
const (
	Nothing   = "-"          // there was nothing to measure
	None      = "none"       // a cost per success without any success
	Unbounded = "∞"          // the end of an interval that has none
	Unpriced  = "unpriced"   // some call has no price
	Unknown   = "unknown"    // some program did not say what it used
	Unscored  = "unscored"   // no run has a score
	TooMuch   = "over $9.2M" // more money than can be counted
	OneTrial  = "one trial"  // an interval of a task's mean, which wants two
	AllEqual  = "all equal"  // an interval of values of which none differs
	FewTrials = "few trials" // no task has as many as a metric takes
	// Unanswered is a metric over answers of which none is known.
	Unanswered = "no answers"
)

// Known is a number that there is.
func Known(number float64) Value { return Value{Number: number} }

// Missing is none, for a reason of one or two words.
func Missing(why string) Value { return Value{Missing: why} }

// Of is a number that its function may not have been able to give, as those of
// reports/stats.
func ValueOf(number float64, ok bool) Value {
	if !ok || math.IsNaN(number) || math.IsInf(number, 0) {
		return Missing(Nothing)
	}
	return Known(number)
}

// Known says that there is a number.
func (v Value) Known() bool { return v.Missing == "" }

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(Raw(v.Number))
}

// Raw is the number as machines get it, with twelve digits that count: what
// follows them is rounding, which differs between processors.
func Raw(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// Minus is missing where either number is.
func (v Value) Minus(w Value) Value {
	switch {
	case !v.Known():
		return v
	case !w.Known():
		return w
	}
	return Known(v.Number - w.Number)
}

// Over is the number divided by one above 0, missing where it is.
func (v Value) Over(divisor float64) Value {
	if v.Known() {
		v.Number /= divisor
	}
	return v
}

// Over is the share of two counts.
func Ratio(part, whole int64) Value {
	if whole == 0 {
		return Missing(Nothing)
	}
	return Known(float64(part) / float64(whole))
}

// Exact shows the number with six digits that count.
func (v Value) Exact() string {
	if !v.Known() {
		return "missing"
	}
	return fmt.Sprintf("%.6g", v.Number)
}

// Why says why there is no number.
func (v Value) Why() string {
	switch v.Missing {
	case Nothing:
		return "nothing was measured"
	case None:
		return "no success"
	case FewTrials:
		return "no task has as many scored trials"
	case Unanswered:
		return "no answers are known"
	}
	return v.Missing
}
