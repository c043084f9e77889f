package reports

import (
	"github.com/agentbench/agentbench/reports/stats"
)

// Calibration compares what the loop believed with what the primary scorer
// says, over the runs that have both a confidence and a score.
type Calibration struct {
	Runs       int   `json:"runs"`
	Confidence Value `json:"confidence"` // mean, of the returned iterations
	Score      Value `json:"score"`      // mean
	Gap        Value `json:"gap"`        // confidence - score: above 0 it thinks too well of itself
	// The runs by what the loop believed and what was so.
	Confirmed  int `json:"confirmed"`   // believed and a success
	FalseAlarm int `json:"false_alarm"` // believed, but no success
	Missed     int `json:"missed"`      // a success, but not believed
	// Brier (0 is perfect) and AUROC (0.5 is chance) need confidences from 0 to
	// 1 and scores of 0 and 1.
	Brier Value `json:"brier"`
	AUROC Value `json:"auroc"`
}

// calibration is nil where no run has both a confidence and a score.
func (c *collector) calibration(configuration int) *Calibration {
	k := Calibration{Brier: missing(nothing), AUROC: missing(nothing)}
	var confidences, scores []float64
	var forecasts []stats.Forecast
	probabilities := true
	for _, at := range c.runs.ordered[configuration] {
		run := &c.runs.all[at]
		score, ok := c.runs.primary(at)
		if !ok || !run.evaluated {
			continue
		}
		k.count(run.believed, score >= success)
		confidences, scores = append(confidences, run.confidence), append(scores, score)
		forecasts = append(forecasts, stats.Forecast{Probability: run.confidence, Outcome: score})
		probabilities = probabilities && run.confidence >= 0 && run.confidence <= 1 && (score == 0 || score == 1)
	}
	if k.Runs == 0 {
		return nil
	}
	k.Confidence, k.Score = valueOf(stats.Mean(confidences)), valueOf(stats.Mean(scores))
	k.Gap = k.Confidence.minus(k.Score)
	if probabilities {
		k.Brier, k.AUROC = valueOf(stats.Brier(forecasts)), valueOf(stats.AUROC(forecasts))
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
