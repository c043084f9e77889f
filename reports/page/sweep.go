package page

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sweptMarks is how many marks have to have a parameter before its values get colours.
const sweptMarks = 3

// Sweep gives marks whose configurations differ in a parameter the colour and the shape of its
// value, where three or more have it. Of several it is the parameter by whose values the mean of
// Y differs the most, and of more values than there are colours, neighbours share one. Marks of
// grey series become hollow. The path of the parameter is "" where there is none.
func (c *Chart) Sweep() (path string) {
	path, tones := c.strongest()
	if path == "" {
		return ""
	}
	var others []Series
	byTone := map[Tone][]Series{} // hollow ones, which lie below, first
	for i := range c.Series {
		s := &c.Series[i]
		dots, rest := map[Tone][]Dot{}, *s
		rest.Dots = nil
		for _, d := range s.Dots {
			if at, has := tones[d.Params[path]]; has {
				dots[at.tone] = append(dots[at.tone], d)
			} else {
				rest.Dots = append(rest.Dots, d)
			}
		}
		for tone, of := range dots {
			name := path[strings.LastIndexByte(path, '.')+1:] + " " + nameOfTone(tones, tone)
			byTone[tone] = append(byTone[tone], Series{Name: name, Tone: tone, Hollow: s.Tone < 0, Dots: of})
		}
		if len(rest.Dots) > 0 {
			others = append(others, rest)
		}
		if s.Tone < 0 && len(dots) > 0 {
			c.Legend = append(c.Legend, Key{Hollow: true, Name: s.Name})
		}
	}
	c.Series = nil
	for _, tone := range slices.Sorted(maps.Keys(byTone)) {
		of := byTone[tone]
		slices.SortStableFunc(of, func(a, b Series) int { return cmp.Compare(hollowFirst(&a), hollowFirst(&b)) })
		for i := range of {
			of[i].Unlisted = i < len(of)-1
		}
		c.Series = append(c.Series, of...)
	}
	c.Series = append(c.Series, others...)
	return path
}

func hollowFirst(s *Series) int {
	if s.Hollow {
		return 0
	}
	return 1
}

// toned is a value of a parameter, and its tone.
type toned struct {
	number float64 // of values that are numbers or durations
	tone   Tone
}

// strongest is the parameter that changes Y the most, and its values; "": there is none.
func (c *Chart) strongest() (path string, values map[string]toned) {
	sums, counts := map[string]map[string]float64{}, map[string]map[string]float64{}
	for i := range c.Series {
		for _, d := range c.Series[i].Dots {
			for path, value := range d.Params {
				if !d.Y.Known() {
					continue
				}
				if sums[path] == nil {
					sums[path], counts[path] = map[string]float64{}, map[string]float64{}
				}
				sums[path][value] += d.Y.Number
				counts[path][value]++
			}
		}
	}
	most := -1.0
	for _, of := range slices.Sorted(maps.Keys(sums)) {
		least, greatest, marks := math.Inf(1), math.Inf(-1), 0.0
		for value, n := range counts[of] {
			least, greatest, marks = min(least, sums[of][value]/n), max(greatest, sums[of][value]/n), marks+n
		}
		found := tonesOf(slices.Collect(maps.Keys(counts[of])))
		if spread := greatest - least; marks >= sweptMarks && len(counts[of]) > 1 && found != nil && spread > most {
			path, values, most = of, found, spread
		}
	}
	return path, values
}

// tonesOf gives values their tones, in their order; nil: there are too many texts.
func tonesOf(values []string) map[string]toned {
	numbers, texts := map[string]float64{}, false
	for _, value := range values {
		number, is := numberIn(value)
		numbers[value], texts = number, texts || !is
	}
	if texts && len(values) > tones {
		return nil
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(numbers[a], numbers[b]), cmp.Compare(a, b)) })
	kept := map[string]toned{}
	for i, value := range values {
		tone := i
		if len(values) > tones {
			tone = i * tones / len(values)
		}
		kept[value] = toned{numbers[value], Tone(tone)}
	}
	return kept
}

// numberIn is a number or a duration in seconds.
func numberIn(text string) (float64, bool) {
	if number, err := strconv.ParseFloat(text, 64); err == nil && number-number == 0 {
		return number, true
	}
	duration, err := time.ParseDuration(text)
	return duration.Seconds(), err == nil
}

// nameOfTone are the values that have it: the first and the last of several.
func nameOfTone(values map[string]toned, tone Tone) string {
	var of []string
	for value, at := range values {
		if at.tone == tone {
			of = append(of, value)
		}
	}
	slices.SortFunc(of, func(a, b string) int {
		return cmp.Or(cmp.Compare(values[a].number, values[b].number), cmp.Compare(a, b))
	})
	if len(of) > 1 {
		return of[0] + " to " + of[len(of)-1]
	}
	return of[0]
}
