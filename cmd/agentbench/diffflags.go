package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/spec"
)

// compareFlags say how results are compared.
type compareFlags struct {
	margins  []string
	alpha    float64
	unpaired bool
}

func (f *compareFlags) declare(c *cobra.Command) {
	f.declareMargins(c)
	c.Flags().BoolVar(&f.unpaired, "unpaired", false, "compare all runs of one side with all of the other, though tasks could be paired")
}

func (f *compareFlags) declareMargins(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.margins, "margin", nil, "smallest change that matters: of scores 0.02, of amounts 5%, of one of them close=0.05 or cost_usd=10% (repeatable)")
	c.Flags().Float64Var(&f.alpha, "alpha", compare.DefaultAlpha, "p below which a change is shown")
}

func (f *compareFlags) validate() error {
	if !(f.alpha > 0 && f.alpha < 1) {
		return usage("the usual one is 0.05", "--alpha %v: want a number between 0 and 1", f.alpha)
	}
	for _, text := range f.margins {
		if _, _, err := marginOf(text); err != nil {
			return err
		}
	}
	return nil
}

// options are those of a comparison: what the suites say, the first of them
// first, and over that the flags.
func (f *compareFlags) options(suites ...*record.Manifest) (reports.DiffOptions, error) {
	of := margins{}
	for i := len(suites) - 1; i >= 0; i-- {
		maps.Copy(of, marginsOf(suites[i]))
	}
	for _, text := range f.margins {
		name, value, err := marginOf(text)
		if err != nil {
			return reports.DiffOptions{}, err
		}
		if err := compared(name, suites); err != nil {
			return reports.DiffOptions{}, err
		}
		of[name] = value
	}
	return reports.DiffOptions{Options: compare.Options{
		Alpha: f.alpha, ScoreMargin: of.take(spec.AllScores), RatioMargin: of.take(spec.AllAmounts), Margins: of, Unpaired: f.unpaired,
	}}, nil
}

// marginOf reads a margin: 0.02, 5%, NAME=0.05 or NAME=10%.
func marginOf(text string) (name string, value float64, err error) {
	number := text
	if before, after, ok := strings.Cut(text, "="); ok {
		name, number = before, after
	}
	share := strings.HasSuffix(number, "%")
	value, err = strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64)
	if err != nil || !(value >= 0 && value <= 1e6) {
		return "", 0, usage("for example --margin 0.02 for scores, --margin 5% for amounts, --margin close=0.05", "--margin %s: want a number from 0 on", text)
	}
	if name == "" && !share && value > 1 {
		return "", 0, usage("0.05 is 5 points of a score, 5% are for amounts; a score that goes further has a margin by its name", "--margin %s: scores go from 0 to 1", text)
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

// compared refuses the name of what is not compared.
func compared(name string, suites []*record.Manifest) error {
	names := append([]string{spec.AllScores, spec.AllAmounts}, spec.Amounts...)
	for _, m := range suites {
		names = append(names, m.Scorers...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return usage(didYouMean(name, names, "there are: "+some(names)), "nothing that is compared is called %q", name)
}

// margins are smallest changes that matter, by what they are of.
type margins map[string]float64

// take removes a margin. 0, which means the default to a comparison, becomes
// none.
func (m margins) take(name string) float64 {
	value, ok := m[name]
	delete(m, name)
	if ok && value == 0 {
		return -1
	}
	return value
}

// marginsOf reads the margins of the suite that results came from, nil where
// there are none.
func marginsOf(m *record.Manifest) (of margins) {
	var resolved struct {
		Suite struct{ Margin json.RawMessage }
	}
	if json.Unmarshal(m.Spec, &resolved) != nil {
		return nil
	}
	var all float64
	if json.Unmarshal(resolved.Suite.Margin, &all) == nil {
		return margins{spec.AllScores: all}
	}
	if json.Unmarshal(resolved.Suite.Margin, &of) != nil {
		return nil
	}
	return of
}
