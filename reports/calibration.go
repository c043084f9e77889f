package reports

import (
	"math"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Calibration compares what the loop believed with what the primary scorer
// says, over the runs that have both a confidence and a score.
type Calibration struct {
	Runs       int           `json:"runs" col:"runs"`
	Confidence page.Estimate `json:"confidence" key:"confidence_mean" col:"confidence,precise,optional"` // mean, of the returned iterations
	Score      page.Estimate `json:"score" key:"score_mean" col:"score,precise,about optional"`          // mean
	Gap        page.Estimate `json:"gap" col:"gap,gain,optional"`                                        // confidence - score: above 0 it thinks too well of itself
	// The runs by what the loop believed and what was so.
	Confirmed  int `json:"confirmed" col:"confirmed"`       // believed and a success
	FalseAlarm int `json:"false_alarm" col:"false\nalarms"` // believed, but no success
	Missed     int `json:"missed" col:"missed"`             // a success, but not believed
	// Brier (0 is perfect) and AUROC (0.5 is chance) need confidences from 0 to
	// 1 and scores of 0 and 1.
	Brier page.Estimate `json:"brier" col:"Brier,precise,optional minor"`
	AUROC page.Estimate `json:"auroc" col:"AUROC,precise,optional minor"`
	// Bins are those of the chart; none where confidences or scores are not from 0 to 1.
	Bins []Bin `json:"bins,omitempty"`
}

// calibration is nil where no run has both a confidence and a score.
func (c *collector) calibration(m *measure) *Calibration {
	k := Calibration{Brier: page.NoEstimate(page.Nothing), AUROC: page.NoEstimate(page.Nothing)}
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
	mean := func(of func(f stats.Forecast) float64) page.Estimate {
		sums := make([]float64, m.groups)
		for cluster, all := range clusters {
			for _, f := range all {
				sums[cluster] += of(f)
			}
		}
		for i, f := range forecasts {
			values[i] = of(f)
		}
		return page.Estimate{Value: page.ValueOf(stats.Mean(values)), Range: m.ratio(sums, counts, m.draws)}
	}
	gap := func(f stats.Forecast) float64 { return f.Probability - f.Outcome }
	k.Confidence, k.Score = mean(func(f stats.Forecast) float64 { return f.Probability }), mean(func(f stats.Forecast) float64 { return f.Outcome })
	k.Gap = mean(gap)
	k.Gap.Value = k.Confidence.Minus(k.Score.Value)
	if probabilities {
		k.Bins = Binned(forecasts)
		k.Brier = mean(func(f stats.Forecast) float64 { return gap(f) * gap(f) })
		k.Brier.Value = page.ValueOf(stats.Brier(forecasts))
		k.AUROC = page.Estimate{Value: page.ValueOf(stats.AUROC(forecasts)), Range: RangeOf(stats.AUROCInterval(clusters, stats.Level))}
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
	fields := append(nameFields(r, itself), page.Tagged(tagsOf(r, itself), func(c *Configuration) *Calibration { return c.Calibration })...)
	return page.Filled(page.Table{Name: "calibration", Title: "Verdict and confidence of the loop, compared with the scores"}, fields,
		func(yield func(*Configuration) bool) {
			for c := range r.each() {
				if c.Calibration != nil && !yield(c) {
					return
				}
			}
		})
}
