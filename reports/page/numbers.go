package page

import (
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

// Count shows a mean of counts: 2, 2.5, 1.2k.
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
