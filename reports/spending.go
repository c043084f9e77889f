package reports

// spending adds up what the runs of each cluster spent, iteration by iteration.
type spending struct {
	*measure
	counts           []float64
	dollars, seconds stepwise
}

// stepwise is an amount of each cluster: in an iteration, and up to it.
type stepwise struct{ extra, all []float64 }

func (m *measure) spending() *spending {
	column := func() stepwise { return stepwise{make([]float64, m.groups), make([]float64, m.groups)} }
	return &spending{measure: m, counts: m.counts(), dollars: column(), seconds: column()}
}

// bound finds the intervals of what runs spent up to a point of the curve, which
// is the one behind that of the call before.
func (s *spending) bound(p *CurvePoint) {
	clear(s.dollars.extra)
	clear(s.seconds.extra)
	for i, at := range s.ordered {
		if run := &s.runs.all[at]; p.Iteration <= int(run.iterations) {
			step, cluster := int(run.steps)+p.Iteration-1, s.clusters[i]
			s.dollars.extra[cluster] += float64(s.runs.stepDollars[step])
			s.seconds.extra[cluster] += float64(s.runs.stepSeconds[step])
		}
	}
	s.dollars.settle()
	s.seconds.settle()
	p.ExtraCostInterval = s.about(p.ExtraCost, s.dollars.extra, s.counts, s.curveDraws)
	p.ExtraSecondsInterval = s.about(p.ExtraSeconds, s.seconds.extra, s.counts, s.curveDraws)
	p.CostInterval, p.SecondsInterval = p.ExtraCostInterval, p.ExtraSecondsInterval
	if p.Iteration > 1 {
		p.CostInterval = s.about(p.Cost, s.dollars.all, s.counts, s.curveDraws)
		p.SecondsInterval = s.about(p.Seconds, s.seconds.all, s.counts, s.curveDraws)
	}
}

func (a *stepwise) settle() {
	for i, extra := range a.extra {
		a.all[i] += extra
	}
}
