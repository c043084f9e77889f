package reports

import (
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
}

// calibration is nil where no run has both a confidence and a score.
func (c *collector) calibration(m *measure) *Calibration {
	k := Calibration{Brier: page.Missing(page.Nothing), AUROC: page.Missing(page.Nothing)}
	var confidences, scores []float64
	var forecasts []stats.Forecast
	parts := m.calibration()
	probabilities := true
	for i, at := range m.ordered {
		run := &c.runs.all[at]
		score, ok := c.runs.primary(at)
		if !ok || !run.evaluated {
			continue
		}
		k.count(run.believed, score >= success)
		parts.add(m.clusters[i], run.confidence, score)
		confidences, scores = append(confidences, run.confidence), append(scores, score)
		forecast := stats.Forecast{Probability: run.confidence, Outcome: score}
		forecasts = append(forecasts, forecast)
		parts.forecasts[m.clusters[i]] = append(parts.forecasts[m.clusters[i]], forecast)
		probabilities = probabilities && run.confidence >= 0 && run.confidence <= 1 && (score == 0 || score == 1)
	}
	if k.Runs == 0 {
		return nil
	}
	k.Confidence, k.Score = page.ValueOf(stats.Mean(confidences)), page.ValueOf(stats.Mean(scores))
	k.Gap = k.Confidence.Minus(k.Score)
	k.ConfidenceInterval, k.ScoreInterval, k.GapInterval = parts.mean(parts.confidences), parts.mean(parts.scores), parts.mean(parts.gaps)
	k.BrierInterval, k.AUROCInterval = rangeOf(stats.Interval{}, false), rangeOf(stats.Interval{}, false)
	if probabilities {
		k.Brier, k.AUROC = page.ValueOf(stats.Brier(forecasts)), page.ValueOf(stats.AUROC(forecasts))
		k.BrierInterval, k.AUROCInterval = parts.mean(parts.squares), rangeOf(stats.AUROCInterval(parts.forecasts, stats.Level))
	}
	return &k
}

// calibrationParts are what the runs of each cluster add to the sums.
type calibrationParts struct {
	*measure
	runs, confidences, scores, gaps, squares []float64
	forecasts                                [][]stats.Forecast
}

func (m *measure) calibration() *calibrationParts {
	column := func() []float64 { return make([]float64, m.groups) }
	return &calibrationParts{m, column(), column(), column(), column(), column(), make([][]stats.Forecast, m.groups)}
}

func (p *calibrationParts) add(cluster int32, confidence, score float64) {
	gap := confidence - score
	p.runs[cluster]++
	p.confidences[cluster] += confidence
	p.scores[cluster] += score
	p.gaps[cluster] += gap
	p.squares[cluster] += gap * gap
}

func (p *calibrationParts) mean(sums []float64) page.Range { return p.ratio(sums, p.runs, p.draws) }

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
