package page

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// The forms of numbers for people. Missing ones show why.

// Score shows a number from 0 to 1 with so many digits after the point.
func Score(v Value, digits int) string {
	return shape(v, func(x float64) string { return fixed(x, digits) })
}

// Gain is a difference of scores, with its sign.
func Gain(v Value, digits int) string {
	return shape(v, func(x float64) string { return signed(x, fixed(x, digits)) })
}

// Percent shows a share: 0.125 is 12.5%, 0.95 is 95%.
func Percent(v Value) string {
	return shape(v, func(x float64) string {
		text := fixed(x*100, 0)
		switch {
		case x > 0 && text == "0":
			return "<1%"
		case x < 1 && text == "100":
			return ">99%"
		}
		return text + "%"
	})
}

// Dollars shows an amount with so many digits after the point.
func Dollars(v Value, digits int) string {
	return shape(v, func(x float64) string { return minus(x) + "$" + amount(math.Abs(x), digits) })
}

// ExtraDollars is a difference of amounts, with its sign.
func ExtraDollars(v Value, digits int) string {
	return shape(v, func(x float64) string { return signed(x, minus(x)+"$"+amount(math.Abs(x), digits)) })
}

func amount(x float64, digits int) string {
	switch {
	case x == 0:
		return "0"
	case x >= 1000, x < math.Pow10(-digits)/2:
		return brief(x)
	}
	return fixed(x, digits)
}

// decimals is how many digits after the point show so many that count.
func decimals(x float64, significant int) int {
	if x <= 0 {
		return 0
	}
	return max(0, significant-1-int(math.Floor(math.Log10(x))))
}

// Joined puts a sign between two numbers, and their unit once where it is the
// same.
func Joined(a, sign, b string) string {
	number, unit, ok := strings.Cut(a, " ")
	if _, same, _ := strings.Cut(b, " "); ok && same == unit {
		a = number
	}
	return a + sign + b
}

// Seconds shows a duration: 450 ms, 12.3 s, 25 min.
func Seconds(v Value) string { return shape(v, duration) }

// ExtraSeconds is a difference of durations, with its sign.
func ExtraSeconds(v Value) string {
	return shape(v, func(x float64) string { return signed(x, duration(x)) })
}

func duration(x float64) string {
	switch magnitude := math.Abs(x); {
	case magnitude == 0:
		return "0 s"
	case magnitude < 0.9995:
		return minus(x) + brief(magnitude*1e3) + " ms"
	case magnitude < 999.5:
		return minus(x) + brief(magnitude) + " s"
	case magnitude < 999.5*60:
		return minus(x) + brief(magnitude/60) + " min"
	}
	return minus(x) + brief(math.Abs(x)/3600) + " h"
}

// Whole shows a mean of counts: 2, 2.5, 1.2k.
func Whole(v Value) string {
	return shape(v, func(x float64) string { return minus(x) + plain(math.Abs(x)) })
}

func shape(v Value, form func(float64) string) string {
	if !v.Known() {
		return v.Missing
	}
	return form(v.Number)
}

// plain drops the zeros that brief keeps.
func plain(x float64) string {
	if x < 999.5 && fixed(x, 1) == fixed(x, 0)+".0" {
		return fixed(x, 0)
	}
	if x < 99.95 {
		return fixed(x, 1)
	}
	return brief(x)
}

// brief shows three digits that count: 0.0123, 1.23, 123, 1.23k, 12.3M.
func brief(x float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= unit.of*0.9995 {
			return significant(x/unit.of) + unit.name
		}
	}
	return significant(x)
}

func significant(x float64) string {
	if x == 0 {
		return "0"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	before := int(math.Floor(math.Log10(rounded) + 1e-9))
	if before < -9 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return fixed(rounded, max(0, 2-before))
}

// fixed never shows a negative zero.
func fixed(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if zero, err := strconv.ParseFloat(text, 64); err == nil && zero == 0 {
		return strconv.FormatFloat(0, 'f', digits, 64)
	}
	return text
}

func signed(x float64, text string) string {
	if x > 0 {
		return "+" + text
	}
	return text
}

func minus(x float64) string {
	if x < 0 {
		return "-"
	}
	return ""
}

// DollarDigits is how many digits after the point amounts have, the same
// everywhere so that they can be compared at a glance: two that count of the
// smallest mean cost, but not many more than three of the largest.
func DollarDigits(costs iter.Seq[Value]) int {
	smallest, largest := math.Inf(1), 0.0
	for cost := range costs {
		if cost.Known() && cost.Number > 0 {
			smallest, largest = min(smallest, cost.Number), max(largest, cost.Number)
		}
	}
	if largest == 0 {
		return 2
	}
	return max(2, min(decimals(smallest, 2), decimals(largest, 3)+2))
}

// Short shows a mean over a few trials: 1, 0.5, 0.33.
func Short(v Value) string {
	return shape(v, func(x float64) string {
		if x == 0 || x == 1 {
			return fixed(x, 0)
		}
		return fixed(x, 2)
	})
}

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

// ValueOf is a number that its function may not have been able to give, as those of
// reports/stats.
func ValueOf(number float64, ok bool) Value {
	if !ok || math.IsNaN(number) || math.IsInf(number, 0) {
		return Missing(Nothing)
	}
	return Known(number)
}

// Known reports whether there is a number.
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

// Ratio is the share of two counts.
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

// Range is the 95 % interval of a number, both ends included. In JSON it is a
// list of both, or null; an end that is null where the other is not is open.
type Range struct{ Low, High Value }

// NoRange is no interval, for a reason of one or two words.
func NoRange(why string) Range { return Range{Missing(why), Missing(why)} }

// OnScale is the interval of a mean as it is shown: where all values are from 0 to 1
// (unit) their mean is, too.
func (r Range) OnScale(unit bool) Range {
	if unit {
		r.Low.Number, r.High.Number = max(0, r.Low.Number), min(1, r.High.Number)
	}
	return r
}

// Known reports whether there is an interval.
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

// OfChange shows the interval of a change, the sign + of both ends once.
func (r Range) OfChange(form func(Value) string) string {
	low, high := form(r.Low), form(r.High)
	if strings.HasPrefix(low, "+") {
		high = strings.TrimPrefix(high, "+")
	}
	return low + "…" + high
}

// Estimate is a number with its 95 % interval. In JSON it is two members of the struct that it is in: see [EncodeJSON].
type Estimate struct {
	Value
	Range
}

// Estimated is a number with its interval, which has the reason of a missing number.
func Estimated(v Value, between Range) Estimate {
	if !v.Known() {
		between = NoRange(v.Missing)
	}
	return Estimate{v, between}
}

// NoEstimate is none, for a reason of one or two words.
func NoEstimate(why string) Estimate { return Estimate{Missing(why), NoRange(why)} }

// Known reports whether there is a number.
func (e Estimate) Known() bool { return e.Value.Known() }

// Or shows numbers in a form, and that text in place of the reason of missing ones.
func Or(missing string, form func(Value) string) func(Value) string {
	return func(v Value) string {
		if !v.Known() {
			return missing
		}
		return form(v)
	}
}

// Plural is a number of things: 1 run, 2 runs.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// USD is an amount of money: $1,234.50, and less than a cent with three digits that count; see [TooMuch].
func USD(usd float64) string {
	if usd >= math.MaxInt64/1e12 {
		return TooMuch
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'e', 2, 64), 64)
	if err != nil || usd == 0 || rounded >= 0.01 {
		whole, cents, _ := strings.Cut(fixed(usd, 2), ".")
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + "," + whole[at:]
		}
		return "$" + whole + "." + cents
	}
	return "$" + fixed(rounded, max(4, len(strconv.FormatFloat(rounded, 'f', -1, 64))-len("0.")))
}

// Bytes is a number of bytes: 12.3 MB, with units of 1000.
func Bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	size, at := float64(n), 0
	for size >= 999.5 && at < len(units)-1 {
		size, at = size/1000, at+1
	}
	return fmt.Sprintf("%.3g %s", size, units[at])
}
