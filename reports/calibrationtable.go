package reports

import "iter"

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
	fields := []configurationField{
		{column{head: "configuration", key: "configuration"}, r.nameCell},
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence_mean", form, func(k *Calibration) Value { return k.Confidence }),
		value(curveHead(r), "score_mean", form, func(k *Calibration) Value { return k.Score }),
		value("gap", "gap", func(v Value) string { return gain(v, digits) }, func(k *Calibration) Value { return k.Gap }),
		number("believed\nand right", "right", func(k *Calibration) int { return k.Right }),
		number("believed\nbut wrong", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("right, not\nbelieved", "missed", func(k *Calibration) int { return k.Missed }),
		value("Brier", "brier", form, func(k *Calibration) Value { return k.Brier }),
		value("AUROC", "auroc", form, func(k *Calibration) Value { return k.AUROC }),
	}
	t := table{name: "calibration", title: "What the loop believed and what was so", columns: columnsOf(fields)}
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
