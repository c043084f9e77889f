package reports

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// calibrationTable compares what the loops believed with what the primary
// scorer says.
func calibrationTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(head, key string, of func(*Calibration) int) configurationField {
		return configurationField{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(c *Configuration) page.Cell {
			return page.Count(of(c.Calibration))
		}}
	}
	value := func(head, key string, form func(page.Value) string, value func(*Calibration) page.Value) configurationField {
		return configurationField{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(value(c.Calibration), form)
		}}
	}
	between := func(head, key string, form func(page.Value) string, of func(*Calibration) page.Range) []configurationField {
		return page.Interval(head, key, form, func(c *Configuration) page.Range { return of(c.Calibration) })
	}
	difference := func(v page.Value) string { return page.Gain(v, digits) }
	fields := slices.Concat(nameFields(r, func(c *Configuration) *Configuration { return c }), []configurationField{
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence_mean", form, func(k *Calibration) page.Value { return k.Confidence }),
	}, between("confidence\n95%", "confidence_mean", form, func(k *Calibration) page.Range { return k.ConfidenceInterval }), []configurationField{
		page.About(r.Primary(), value("", "score_mean", form, func(k *Calibration) page.Value { return k.Score })),
	}, between("95%", "score_mean", form, func(k *Calibration) page.Range { return k.ScoreInterval }), []configurationField{
		value("gap", "gap", difference, func(k *Calibration) page.Value { return k.Gap }),
	}, between("gap 95%", "gap", difference, func(k *Calibration) page.Range { return k.GapInterval }), []configurationField{
		number("confirmed", "confirmed", func(k *Calibration) int { return k.Confirmed }),
		number("false\nalarms", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("missed", "missed", func(k *Calibration) int { return k.Missed }),
		page.Minor(value("Brier", "brier", form, func(k *Calibration) page.Value { return k.Brier })),
	}, between("Brier 95%", "brier", form, func(k *Calibration) page.Range { return k.BrierInterval }), []configurationField{
		page.Minor(value("AUROC", "auroc", form, func(k *Calibration) page.Value { return k.AUROC })),
	}, between("AUROC 95%", "auroc", form, func(k *Calibration) page.Range { return k.AUROCInterval }))
	t := page.Table{Name: "calibration", Title: "Runs that the loop believed to be successes, and what they were", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.calibrated()))
	return t
}

// calibrated are the configurations that have confidences and scores.
func (r *Report) calibrated() iter.Seq[*Configuration] {
	return func(yield func(*Configuration) bool) {
		for c := range r.each() {
			if c.Calibration != nil && !yield(c) {
				return
			}
		}
	}
}
