package reports

import (
	"iter"
	"slices"
)

// calibrationTable compares what the loops believed with what the primary
// scorer says.
func calibrationTable(r *Report) table {
	digits := r.scoreDigits()
	form := func(v Value) string { return score(v, digits) }
	number := func(head, key string, of func(*Calibration) int) configurationField {
		return configurationField{column{head: head, key: key, right: true}, func(c *Configuration) cell {
			return ofCount(of(c.Calibration))
		}}
	}
	value := func(head, key string, form func(Value) string, value func(*Calibration) Value) configurationField {
		return configurationField{column{head: head, key: key, right: true, optional: true}, func(c *Configuration) cell {
			return of(value(c.Calibration), form)
		}}
	}
	between := func(head, key string, form func(Value) string, of func(*Calibration) Range) []configurationField {
		return intervalFields(head, key, form, func(c *Configuration) Range { return of(c.Calibration) })
	}
	difference := func(v Value) string { return gain(v, digits) }
	fields := slices.Concat(nameFields(r, func(c *Configuration) *Configuration { return c }), []configurationField{
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence_mean", form, func(k *Calibration) Value { return k.Confidence }),
	}, between("confidence\n95%", "confidence_mean", form, func(k *Calibration) Range { return k.ConfidenceInterval }), []configurationField{
		about(r.Primary(), value("", "score_mean", form, func(k *Calibration) Value { return k.Score })),
	}, between("95%", "score_mean", form, func(k *Calibration) Range { return k.ScoreInterval }), []configurationField{
		value("gap", "gap", difference, func(k *Calibration) Value { return k.Gap }),
	}, between("gap 95%", "gap", difference, func(k *Calibration) Range { return k.GapInterval }), []configurationField{
		number("confirmed", "confirmed", func(k *Calibration) int { return k.Confirmed }),
		number("false\nalarms", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("missed", "missed", func(k *Calibration) int { return k.Missed }),
		minor(value("Brier", "brier", form, func(k *Calibration) Value { return k.Brier })),
	}, between("Brier 95%", "brier", form, func(k *Calibration) Range { return k.BrierInterval }), []configurationField{
		minor(value("AUROC", "auroc", form, func(k *Calibration) Value { return k.AUROC })),
	}, between("AUROC 95%", "auroc", form, func(k *Calibration) Range { return k.AUROCInterval }))
	t := table{name: "calibration", title: "Runs that the loop believed to be successes, and what they were", columns: columnsOf(fields)}
	t.fill(rowsOf(fields, r.calibrated()))
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
