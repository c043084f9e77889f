package reports

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Calibration compares what the loop believed with what the primary scorer
// says, over the runs that have both a confidence and a score.
type Calibration struct {
	Runs               int        `json:"runs"`
	Confidence         page.Value `json:"confidence"` // mean, of the returned iterations
	ConfidenceInterval page.Range `json:"confidence_interval"`
	Score              page.Value `json:"score"` // mean
	ScoreInterval      page.Range `json:"score_interval"`
	Gap                page.Value `json:"gap"` // confidence - score: above 0 it thinks too well of itself
	GapInterval        page.Range `json:"gap_interval"`
	// The runs by what the loop believed and what was so.
	Confirmed  int `json:"confirmed"`   // believed and a success
	FalseAlarm int `json:"false_alarm"` // believed, but no success
	Missed     int `json:"missed"`      // a success, but not believed
	// Brier (0 is perfect) and AUROC (0.5 is chance) need confidences from 0 to
	// 1 and scores of 0 and 1.
	Brier         page.Value `json:"brier"`
	BrierInterval page.Range `json:"brier_interval"`
	AUROC         page.Value `json:"auroc"`
	AUROCInterval page.Range `json:"auroc_interval"`
	// Bins are those of the chart; none where confidences or scores are not from 0 to 1.
	Bins []Bin `json:"bins,omitempty"`
}

// calibration is nil where no run has both a confidence and a score.
func (c *collector) calibration(m *measure) *Calibration {
	k := Calibration{Brier: page.Missing(page.Nothing), AUROC: page.Missing(page.Nothing)}
	both := func(yield func(cluster int32, f stats.Forecast, believed bool)) {
		for i, at := range m.ordered {
			run := &c.runs.all[at]
			if score, ok := c.runs.primary(at); ok && !math.IsNaN(run.confidence) {
				yield(m.clusters[i], stats.Forecast{Probability: run.confidence, Outcome: score}, run.believed)
			}
		}
	}
	counts, probabilities := make([]float64, m.groups), true
	both(func(cluster int32, f stats.Forecast, believed bool) {
		k.count(believed, f.Outcome >= success)
		counts[cluster]++
		probabilities = probabilities && f.Probability >= 0 && f.Probability <= 1 && (f.Outcome == 0 || f.Outcome == 1)
	})
	if k.Runs == 0 {
		return nil
	}
	forecasts, clusters := make([]stats.Forecast, k.Runs), make([][]stats.Forecast, m.groups)
	for cluster, from := 0, 0; cluster < m.groups; cluster++ {
		clusters[cluster] = forecasts[from:from]
		from += int(counts[cluster])
	}
	both(func(cluster int32, f stats.Forecast, _ bool) { clusters[cluster] = append(clusters[cluster], f) })
	values := make([]float64, k.Runs)
	overall := func(of func(f stats.Forecast) float64) page.Value {
		for i, f := range forecasts {
			values[i] = of(f)
		}
		return page.ValueOf(stats.Mean(values))
	}
	mean := func(of func(f stats.Forecast) float64) page.Range {
		sums := make([]float64, m.groups)
		for cluster, all := range clusters {
			for _, f := range all {
				sums[cluster] += of(f)
			}
		}
		return m.ratio(sums, counts, m.draws)
	}
	gap := func(f stats.Forecast) float64 { return f.Probability - f.Outcome }
	confidence, score := func(f stats.Forecast) float64 { return f.Probability }, func(f stats.Forecast) float64 { return f.Outcome }
	k.Confidence, k.Score = overall(confidence), overall(score)
	k.Gap = k.Confidence.Minus(k.Score)
	k.ConfidenceInterval, k.ScoreInterval, k.GapInterval = mean(confidence), mean(score), mean(gap)
	k.BrierInterval, k.AUROCInterval = page.NoRange(page.Nothing), page.NoRange(page.Nothing)
	if probabilities {
		k.Bins = Binned(forecasts)
		k.Brier, k.AUROC = page.ValueOf(stats.Brier(forecasts)), page.ValueOf(stats.AUROC(forecasts))
		k.BrierInterval, k.AUROCInterval = mean(func(f stats.Forecast) float64 { return gap(f) * gap(f) }), RangeOf(stats.AUROCInterval(clusters, stats.Level))
	}
	return &k
}

func (k *Calibration) count(believed, succeeded bool) {
	k.Runs++
	switch {
	case believed && succeeded:
		k.Confirmed++
	case believed:
		k.FalseAlarm++
	case succeeded:
		k.Missed++
	}
}

// calibrationTable compares what the loops believed with what the primary
// scorer says.
func calibrationTable(r *Report) page.Table {
	digits := r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	difference := func(v page.Value) string { return page.Gain(v, digits) }
	number := func(head, key string, of func(*Calibration) int) configurationFields {
		return page.Counted(head, key, func(c *Configuration) int { return of(c.Calibration) })
	}
	value := func(head, between, key string, form func(page.Value) string, of func(*Calibration) (page.Value, page.Range)) configurationFields {
		return perRun(head, between, key, form, func(c *Configuration) (page.Value, page.Range) { return of(c.Calibration) }).Optional()
	}
	fields := slices.Concat(nameFields(r, itself),
		number("runs", "runs", func(k *Calibration) int { return k.Runs }),
		value("confidence", "confidence\n95%", "confidence_mean", form, func(k *Calibration) (page.Value, page.Range) { return k.Confidence, k.ConfidenceInterval }),
		value("", "95%", "score_mean", form, func(k *Calibration) (page.Value, page.Range) { return k.Score, k.ScoreInterval }).About(r.Primary()),
		value("gap", "gap 95%", "gap", difference, func(k *Calibration) (page.Value, page.Range) { return k.Gap, k.GapInterval }),
		number("confirmed", "confirmed", func(k *Calibration) int { return k.Confirmed }),
		number("false\nalarms", "false_alarm", func(k *Calibration) int { return k.FalseAlarm }),
		number("missed", "missed", func(k *Calibration) int { return k.Missed }),
		value("Brier", "Brier 95%", "brier", form, func(k *Calibration) (page.Value, page.Range) { return k.Brier, k.BrierInterval }).Minor(),
		value("AUROC", "AUROC 95%", "auroc", form, func(k *Calibration) (page.Value, page.Range) { return k.AUROC, k.AUROCInterval }).Minor())
	return page.Filled(page.Table{Name: "calibration", Title: "Verdict and confidence of the loop, compared with the scores"}, fields,
		func(yield func(*Configuration) bool) {
			for c := range r.each() {
				if c.Calibration != nil && !yield(c) {
					return
				}
			}
		})
}
