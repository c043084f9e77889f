package labels

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// mostLevels are told apart of numbers.
const mostLevels = 11

// levels are what labels can say, in the order of their worth.
func (f *File) levels(scale *Scale) []Level {
	switch f.Kind {
	case YesNo:
		return []Level{{"no", 0}, {"yes", 1}}
	case Choice:
		return scale.choiceLevels()
	}
	return f.numberLevels(scale)
}

// choiceLevels are the choices; those that are worth the same are one.
func (s *Scale) choiceLevels() (levels []Level) {
	for _, c := range s.Choices {
		value := s.turned(c.Value)
		if at := slices.IndexFunc(levels, func(l Level) bool { return l.Value == value }); at >= 0 {
			levels[at].Name += "/" + c.Name
			continue
		}
		levels = append(levels, Level{c.Name, value})
	}
	return sorted(levels)
}

// numberLevels are the whole numbers of a scale of few, or else the numbers that were
// given; none where these are many.
func (f *File) numberLevels(scale *Scale) (levels []Level) {
	numbers := f.numbers()
	from, to := scale.ends()
	if from, to = min(from, to), max(from, to); to-from < mostLevels && to-from > 1 && !slices.ContainsFunc(append(numbers, from, to), isFraction) {
		numbers = nil
		for x := from; x <= to; x++ {
			numbers = append(numbers, x)
		}
	}
	if len(numbers) > mostLevels {
		return nil
	}
	for _, x := range numbers {
		levels = append(levels, Level{number(x), scale.worth(x)})
	}
	return sorted(levels)
}

func isFraction(x float64) bool { return x != math.Trunc(x) }

// numbers are those that labels say, each once.
func (f *File) numbers() (all []float64) {
	for _, text := range f.texts() {
		if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func sorted(levels []Level) []Level {
	slices.SortFunc(levels, func(a, b Level) int { return cmp.Compare(a.Value, b.Value) })
	return levels
}
