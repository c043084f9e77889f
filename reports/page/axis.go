package page

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Unit is what the numbers of an axis count.
type Unit int

// The units.
const (
	InNumbers Unit = iota // scores, for example
	InCounts              // whole numbers alone
	InPercent             // of shares
	InDollars
	InSeconds
	InChanges // with a sign
	InRatios  // of change, in per cent with a sign
)

// scale says where on the paper the numbers of an axis are.
type scale struct {
	*Axis
	from, to   float64    // numbers, or their logarithms
	start, end float64    // places
	step       float64    // between ticks
	time       unitOfTime // of the ticks of durations
}

// spanned makes the axis hold all numbers; it has about so many ticks.
func spanned(a *Axis, numbers []float64, ticks int) scale {
	s := scale{Axis: a, time: unitOfTime{seconds: 1}}
	if a.isCategory() {
		s.from, s.to = -0.5, float64(len(a.Labels))-0.5
		if a.Kind == Ordinal {
			s.from, s.to = s.to, s.from
		}
		return s
	}
	numbers = append(slices.Clone(numbers), a.Shown...)
	numbers = slices.DeleteFunc(numbers, func(x float64) bool { return x-x != 0 || a.Kind == Logarithmic && x <= 0 })
	if len(numbers) == 0 {
		numbers = []float64{1}
	}
	least, most := slices.Min(numbers), slices.Max(numbers)
	if a.Limit != nil {
		least, most = max(least, a.Limit[0]), min(most, a.Limit[1])
	}
	if a.Kind == Logarithmic {
		s.from, s.to = math.Log10(nextRound(least, -1)), math.Log10(nextRound(most, 1))
		if s.to-s.from < 0.3 {
			s.from, s.to = s.from-0.31, s.to+0.31
		}
		return s
	}
	if most-least < 1e-9*max(1e-6, math.Abs(most)) {
		around := max(math.Abs(most)*0.1, 1e-6)
		if most == 0 {
			around = 0.1
		}
		least, most = least-around, most+around
	}
	if a.Unit == InSeconds {
		s.time = timeUnit(most)
	}
	s.step = nextRound((most-least)/s.time.seconds/float64(max(1, ticks)), 1) * s.time.seconds
	if a.Unit == InCounts {
		s.step = max(1, math.Round(s.step))
	}
	s.from, s.to = s.step*math.Floor(least/s.step+1e-9), s.step*math.Ceil(most/s.step-1e-9)
	if a.Unit == InCounts {
		s.from = least
	}
	if a.Limit != nil {
		s.from, s.to = max(s.from, a.Limit[0]), min(s.to, a.Limit[1])
	}
	return s
}

// at is the place of a number.
func (s *scale) at(x float64) float64 {
	if s.Kind == Logarithmic {
		x = math.Log10(max(x, 1e-300))
	}
	if s.from == s.to {
		return (s.start + s.end) / 2
	}
	return s.start + (x-s.from)/(s.to-s.from)*(s.end-s.start)
}

// inside is the place, or the nearest on the axis, and whether it was moved.
func (s *scale) inside(x float64) (place float64, moved bool) {
	place = s.at(x)
	low, high := min(s.start, s.end), max(s.start, s.end)
	return min(high, max(low, place)), place < low-0.05 || place > high+0.05
}

// tick is a number at an axis.
type tick struct {
	at   float64
	text string
}

// ticks are the numbers that are written at the axis.
func (s *scale) ticks() (all []tick) {
	if s.Kind == Logarithmic {
		return s.powers()
	}
	first, last := math.Ceil(s.from/s.step-1e-9), math.Floor(s.to/s.step+1e-9)
	for i := range int(last-first) + 1 {
		x := (first + float64(i)) * s.step
		if math.Abs(x) < s.step/1e6 {
			x = 0
		}
		all = append(all, tick{s.at(x), s.numbered(x)})
	}
	return all
}

// powers are 1, 2 and 5 of each power of ten, or 1 alone where that is enough.
func (s *scale) powers() (all []tick) {
	firsts := []float64{1, 2, 5}
	if s.to-s.from > 2.5 {
		firsts = firsts[:1]
	}
	every := max(1, int(math.Ceil((s.to-s.from)/7)))
	for e := int(math.Floor(s.from)); float64(e) <= s.to+1e-9; e++ {
		for _, first := range firsts {
			x := first * math.Pow10(e)
			if l := math.Log10(x); e%every == 0 && l >= s.from-1e-9 && l <= s.to+1e-9 {
				of := *s
				if of.step = x; s.Unit == InSeconds {
					of.time = timeUnit(x)
				}
				all = append(all, tick{s.at(x), of.numbered(x)})
			}
		}
	}
	return all
}

// numbered is a number with as many digits as the step between ticks asks for.
func (s *scale) numbered(x float64) string {
	step, unit, sign := s.step, "", ""
	switch s.Unit {
	case InPercent, InRatios:
		x, step, unit = x*100, step*100, "%"
	case InDollars:
		sign = "$"
	case InSeconds:
		x, step, unit = x/s.time.seconds, step/s.time.seconds, " "+s.time.name
	}
	if x < 0 {
		x, sign = -x, "−"+sign
	} else if x > 0 && (s.Unit == InChanges || s.Unit == InRatios) {
		sign = "+" + sign
	}
	for _, thousand := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if s.Unit != InSeconds && (x >= 10*thousand.of || x >= thousand.of && step >= thousand.of/10) {
			x, step, unit = x/thousand.of, step/thousand.of, thousand.name+unit
			break
		}
	}
	return sign + strconv.FormatFloat(x, 'f', max(0, min(9, int(math.Ceil(-math.Log10(step)-1e-9)))), 64) + unit
}

// nextRound is the next number of 1, 2 and 5 times a power of ten, up or down.
func nextRound(x float64, direction int) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(x) + 1e-9)))
	rounds := []float64{1, 2, 5, 10}
	if direction > 0 {
		for _, r := range rounds {
			if x <= r*power*(1+1e-9) {
				return r * power
			}
		}
	}
	for _, r := range slices.Backward(rounds) {
		if x >= r*power*(1-1e-9) {
			return r * power
		}
	}
	return power
}

// unitOfTime is what durations are shown in.
type unitOfTime struct {
	seconds float64
	name    string
}

// timeUnit is the one in which a duration has few digits.
func timeUnit(seconds float64) unitOfTime {
	switch {
	case seconds < 0.9995:
		return unitOfTime{1e-3, "ms"}
	case seconds < 300:
		return unitOfTime{1, "s"}
	case seconds < 300*60:
		return unitOfTime{60, "min"}
	}
	return unitOfTime{3600, "h"}
}

// place is a coordinate, rounded so that pages of equal numbers are equal.
func place(x float64) string {
	text := strconv.FormatFloat(x, 'f', 1, 64)
	if text = strings.TrimSuffix(text, ".0"); text == "-0" {
		return "0"
	}
	return text
}
