package labels

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// truths are words for yes and no.
var truths = map[string]float64{"true": 1, "false": 0, "yes": 1, "no": 0, "pass": 1, "fail": 0, "1": 1, "0": 0}

// judge finds out what kind of labels there are, and what each is worth.
func (f *File) judge(scale Scale) (faults source.Faults) {
	f.Kind = f.kind(&scale)
	judged := f.Labels[:0:0]
	for i := range f.Labels {
		l := &f.Labels[i]
		var found source.Faults
		l.Value, found = f.value(l.first, &scale)
		if second := strings.TrimSpace(l.second.text); second != "" {
			value, wrong := f.value(l.second, &scale)
			l.Second, found = &value, append(found, wrong...)
		}
		if faults = append(faults, found...); len(found) == 0 {
			judged = append(judged, *l)
		}
	}
	f.Levels = f.levels(&scale)
	f.Labels = judged
	return faults
}

// texts are what all labels say.
func (f *File) texts() (all []string) {
	for i := range f.Labels {
		for _, c := range []cell{f.Labels[i].first, f.Labels[i].second} {
			if text := plain(c.text); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// plain is a text without what makes no difference: 1.0 is 1.
func plain(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if x, err := strconv.ParseFloat(text, 64); err == nil && (x == 0 || x == 1) {
		return number(math.Abs(x))
	}
	return text
}

// kind is choices where one of the labels is one, else yes or no where one of them
// says so. Zeros and ones alone say so on a scale from 0 to 1, and where they are not
// on the scale.
func (f *File) kind(scale *Scale) Kind {
	texts := f.texts()
	choice := func(text string) bool { _, ok := scale.choice(text); return ok }
	word := func(text string) bool { _, ok := truths[text]; return ok && text != "0" && text != "1" }
	switch {
	case slices.ContainsFunc(texts, choice):
		return Choice
	case slices.ContainsFunc(texts, word):
		return YesNo
	case len(scale.Choices) > 0 && !slices.ContainsFunc(texts, isTruth):
		return Choice // or none that is known
	case slices.ContainsFunc(texts, isNumber):
		return Number
	}
	from, to := scale.ends()
	if len(scale.Choices) == 0 && (min(from, to) != 0 || max(from, to) != 1) && !slices.ContainsFunc(texts, scale.misses) {
		f.Ambiguous = true
		return Number
	}
	return YesNo
}

func isTruth(text string) bool { _, ok := truths[text]; return ok }

// isNumber says that a text is one that means neither yes nor no.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && !isTruth(text)
}

// misses says that a number is not on the scale.
func (s *Scale) misses(text string) bool {
	x, err := strconv.ParseFloat(text, 64)
	return err != nil || !s.holds(x)
}

// choice is what a word is worth that the judge could have said.
func (s *Scale) choice(text string) (value float64, ok bool) {
	at := slices.IndexFunc(s.Choices, func(c Level) bool { return plain(c.Name) == plain(text) })
	if at < 0 {
		return 0, false
	}
	return s.turned(s.Choices[at].Value), true
}

// value is what a label is worth.
func (f *File) value(c cell, scale *Scale) (value float64, faults source.Faults) {
	text := plain(c.text)
	var ok bool
	switch f.Kind {
	case Choice:
		value, ok = scale.choice(text)
	case YesNo:
		value, ok = truths[text]
	case Number:
		x, err := strconv.ParseFloat(text, 64)
		if err == nil && !scale.holds(x) && !math.IsNaN(x) {
			from, to := scale.ends()
			return 0, source.Faults{f.fault(c, "", "the label %v is not between %v and %v", x, min(from, to), max(from, to))}
		}
		value, ok = scale.worth(x), err == nil && !math.IsNaN(x)
	}
	if ok {
		return value, nil
	}
	return 0, source.Faults{f.fault(c, f.hint(text, scale), "the label %q is none of %s", strings.TrimSpace(c.text), f.wanted(scale))}
}

// wanted is what labels of the kind say.
func (f *File) wanted(scale *Scale) string {
	switch f.Kind {
	case Choice:
		return "the judge's choices: " + strings.Join(scale.words(), ", ")
	case YesNo:
		return "yes and no, as the others are (or true and false, pass and fail, 1 and 0)"
	}
	from, to := scale.ends()
	return "the numbers from " + number(min(from, to)) + " to " + number(max(from, to))
}

func (f *File) hint(text string, scale *Scale) string {
	if f.Kind == Number && strings.Contains(text, ",") {
		return "decimals are written with a point"
	}
	words := []string{"yes", "no", "true", "false", "pass", "fail"}
	if f.Kind == Choice {
		words = scale.words()
	}
	if closest := source.Closest(text, words); closest != "" {
		return "did you mean " + closest + "?"
	}
	return ""
}

func (s *Scale) words() (words []string) {
	for _, c := range s.Choices {
		words = append(words, c.Name)
	}
	return words
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
