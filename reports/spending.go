package reports

import "github.com/agentbench/agentbench/reports/numbers"

// spending adds up what the runs of each cluster spent, iteration by iteration.
type spending struct {
	*measure
	counts           []float64
	dollars, seconds []float64
}

func (m *measure) spending() *spending {
	return &spending{measure: m, counts: m.counts(), dollars: make([]float64, m.groups), seconds: make([]float64, m.groups)}
}

// upTo are the intervals of the means per run up to an iteration, which is the
// one behind that of the call before. That of the cost is missing where the cost
// is.
func (s *spending) upTo(iteration int, mean numbers.Value) (cost, seconds numbers.Range) {
	for i, at := range s.ordered {
		if run := &s.runs.all[at]; iteration <= int(run.iterations) {
			step := int(run.steps) + iteration - 1
			s.dollars[s.clusters[i]] += float64(s.runs.stepDollars[step])
			s.seconds[s.clusters[i]] += float64(s.runs.stepSeconds[step])
		}
	}
	cost = numbers.Range{Low: mean, High: mean}
	if mean.Known() {
		cost = s.ratio(s.dollars, s.counts, s.curveDraws)
	}
	return cost, s.ratio(s.seconds, s.counts, s.curveDraws)
}
