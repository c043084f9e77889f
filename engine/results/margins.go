package results

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Margins are smallest changes that matter, by what they are of.
type Margins map[string]float64

// MarginsOver are those that suites name, the first of them first, and over that those of
// the command line.
func MarginsOver(texts []string, suites ...*record.Results) (Margins, error) {
	of := Margins{}
	for _, r := range slices.Backward(suites) {
		if len(r.Manifest.Specs) == 0 {
			continue
		}
		folder, err := Open(r, nil)
		switch {
		case err != nil:
			return nil, exit.With(exit.NotMeasured, "", "%s: %w", r.Path, err)
		case folder.Document.Suite.Margin == nil:
			continue
		}
		for _, margin := range folder.Document.Suite.Margin.Of {
			of[margin.Key] = margin.Value
		}
	}
	for _, text := range texts {
		name, value, err := ParseMargin(text)
		if err == nil {
			err = Compared(name, suites...)
		}
		if err != nil {
			return nil, err
		}
		of[name] = value
	}
	return of, nil
}

// Take removes a margin. 0, which means the default to a comparison, becomes none.
func (m Margins) Take(name string) float64 {
	value, ok := m[name]
	delete(m, name)
	if ok && value == 0 {
		return -1
	}
	return value
}

// ParseMargin reads a margin: 0.02, 5%, NAME=0.05 or NAME=10%.
func ParseMargin(text string) (name string, value float64, err error) {
	number := text
	if before, after, ok := strings.Cut(text, "="); ok {
		name, number = before, after
	}
	number, share := strings.CutSuffix(number, "%")
	value, err = strconv.ParseFloat(number, 64)
	if err != nil || !(value >= 0 && value <= 1e6) {
		return "", 0, exit.Usage("for example --margin 0.02 for scores, --margin 5% for amounts, --margin close=0.05", "--margin %s: want a number from 0 on", text)
	}
	if name == "" && !share && value > 1 {
		return "", 0, exit.Usage("0.05 is 5 points of a score, 5% are for amounts; a score that goes further has a margin by its name", "--margin %s: scores go from 0 to 1", text)
	}
	if share {
		value /= 100
	}
	switch {
	case name == "" && share:
		name = spec.AllAmounts
	case name == "":
		name = spec.AllScores
	}
	return name, value, nil
}

// Compared refuses the name of what is not compared.
func Compared(name string, suites ...*record.Results) error {
	names := append([]string{spec.AllScores, spec.AllAmounts}, spec.Amounts...)
	for _, r := range suites {
		names = append(names, r.Manifest.Scorers...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return exit.Usage(exit.DidYouMean(name, names, "there are: "+exit.Some(names)), "nothing that is compared is called %q", name)
}
