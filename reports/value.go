package reports

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
	nothing   = "-"        // there was nothing to measure
	none      = "none"     // a cost per success without any success
	unbounded = "∞"        // the end of an interval that has none
	unpriced  = "unpriced" // some call has no price
	unknown   = "unknown"  // some program did not say what it used
	unscored  = "unscored" // no run has a score
)

func known(number float64) Value { return Value{Number: number} }

func missing(why string) Value { return Value{Missing: why} }

// valueOf is what the functions of reports/stats give, as a value.
func valueOf(number float64, ok bool) Value {
	if !ok || math.IsNaN(number) || math.IsInf(number, 0) {
		return missing(nothing)
	}
	return known(number)
}

// Known says that there is a number.
func (v Value) Known() bool { return v.Missing == "" }

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(raw(v.Number))
}

// raw is the number as machines get it, with twelve digits that count: what
// follows them is rounding, which differs between processors.
func raw(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// minus is missing where either number is.
func (v Value) minus(w Value) Value {
	switch {
	case !v.Known():
		return v
	case !w.Known():
		return w
	}
	return known(v.Number - w.Number)
}

// over is the share of two counts.
func over(part, whole int64) Value {
	if whole == 0 {
		return missing(nothing)
	}
	return known(float64(part) / float64(whole))
}

// exact shows the number with six digits that count.
func (v Value) exact() string {
	if !v.Known() {
		return "missing"
	}
	return fmt.Sprintf("%.6g", v.Number)
}

// Why says why there is no number.
func (v Value) Why() string {
	switch v.Missing {
	case nothing:
		return "nothing was measured"
	case none:
		return "no success"
	}
	return v.Missing
}
