package calibrate

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a calibration, in the order in which people read them.
var TableNames = []string{"agreement", "confusion", "bias", "measures", "thresholds", "disagreements", "unscored"}

// ShownTables are those that people read without asking for them.
var ShownTables = []string{"agreement", "confusion", "bias", "measures"}

// About is a calibration of a scorer of the suite.
func (c *Calibration) About() (kind, suite string) { return "calibrate", c.Suite }

// Heading says what was held against what.
func (c *Calibration) Heading(quote func(string) string) string {
	parts := []string{quote(c.Suite), "scorer: " + quote(c.Scorer), page.Plural(c.Labels, "label", "labels") + " (" + string(c.Kind) + ")"}
	if c.Scored < c.Labels {
		parts = append(parts, fmt.Sprintf("%d scored", c.Scored))
	}
	return strings.Join(parts, " · ")
}

// Answer is how well they agree, and whether that is enough.
func (c *Calibration) Answer(func(string) string) page.Answer {
	if c.Scored == 0 {
		return page.Answer{State: page.Errored, Text: "no labelled output has a score"}
	}
	a := &c.Agreement[0]
	answer := page.Answer{State: page.Undecided, Text: "agreement " + form(a.Same) + ", " + a.told()}
	switch kappa := c.Kappa(); {
	case c.MinKappa == nil:
	case !kappa.Known():
		answer = page.Answer{State: page.Errored, Text: answer.Text + ": there is none to hold against the least of " + page.Known(*c.MinKappa).Exact()}
	case kappa.Number < *c.MinKappa:
		answer = page.Answer{State: page.Failed, Text: answer.Text + ": below the least of " + page.Known(*c.MinKappa).Exact()}
	default:
		answer = page.Answer{State: page.Passed, Text: answer.Text + ": no less than " + page.Known(*c.MinKappa).Exact()}
	}
	return answer
}

// told is the kappa with its interval.
func (a *Agreement) told() string {
	kappa, interval := a.kappa()
	name := "kappa "
	if a.Weighted.Known() {
		name = "weighted kappa "
	}
	if !kappa.Known() {
		return "kappa is not defined"
	}
	if !interval.Known() {
		return name + form(kappa)
	}
	return name + form(kappa) + " (" + interval.Text(form) + ")"
}

// form shows numbers from 0 to 1.
func form(v page.Value) string { return page.Score(v, 2) }

func difference(v page.Value) string { return page.Gain(v, 2) }

// Remark says where nothing real was measured.
func (c *Calibration) Remark(quote func(string) string) string {
	if len(c.Simulated) == 0 {
		return ""
	}
	var quoted []string
	for _, name := range c.Simulated {
		quoted = append(quoted, quote(name))
	}
	return "simulated by " + strings.Join(quoted, ", ")
}

// Tables are all tables of a calibration.
func (c *Calibration) Tables(page.Audience) []page.Table {
	return []page.Table{
		c.agreementTable(), c.confusionTable(), c.biasTable(), c.measuresTable(), c.thresholdsTable(), c.disagreementsTable(), c.unscoredTable(),
	}
}

// WholeWarnings are all notes.
func (c *Calibration) WholeWarnings() (all []page.Warning) {
	for _, n := range c.Notes {
		all = append(all, n)
	}
	return all
}

// Warned are all notes.
func (c *Calibration) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, n := range c.Notes {
			if !yield("", n) {
				return
			}
		}
	}
}

// checkGroup is the group of the only check of a calibration.
const checkGroup = "calibrate"

// Checks ask whether the kappa is large enough; without a least one nothing says so.
func (c *Calibration) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		a := c.Answer(func(text string) string { return text })
		if a.State == page.Undecided {
			a.State = page.Skipped
		}
		yield(page.Check{Group: checkGroup, Name: c.Scorer, State: a.State, Message: a.Text, Loud: true})
	}
}

// Facts are what was held against what.
func (c *Calibration) Facts(group string) []page.Fact {
	if group != checkGroup {
		return nil
	}
	return []page.Fact{{Name: "scorer", Value: c.Scorer}, {Name: "labels", Value: fmt.Sprint(c.Labels)}, {Name: "scored", Value: fmt.Sprint(c.Scored)}}
}

// WriteJSON writes the calibration as one object, whose form is that of Calibration.
func (c *Calibration) WriteJSON(w io.Writer) error {
	text, err := page.EncodeJSON(c, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// JSONSchema describes the JSON of calibrations in JSON Schema (draft 2020-12).
func JSONSchema() ([]byte, error) { return reports.SchemaOf[Calibration](Schema) }
