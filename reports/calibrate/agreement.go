package calibrate

import (
	"math"

	"github.com/agentbench/agentbench/reports/labels"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// measure measures pairs that have scores.
type measure struct {
	Options
	scored []Pair
	unit   []int // of each pair
	units  int
}

func (m *measure) group() {
	numbered := map[string]int{}
	for i := range m.scored {
		unit, known := numbered[m.scored[i].Unit]
		if !known {
			unit = m.units
			numbered[m.scored[i].Unit] = unit
			m.units++
		}
		m.unit = append(m.unit, unit)
	}
}

// ordered says that what labels say has distances.
func (m *measure) ordered() bool { return m.Labels.Kind != labels.YesNo }

// rated is what two say of a pair, and whether both do.
type rated func(p *Pair) (a, b float64, ok bool)

func scoreAndLabel(p *Pair) (a, b float64, ok bool) { return p.Score, p.Label, true }

func scoreAndSecond(p *Pair) (a, b float64, ok bool) {
	if p.Second == nil {
		return 0, 0, false
	}
	return p.Score, *p.Second, true
}

func labelAndSecond(p *Pair) (a, b float64, ok bool) {
	if p.Second == nil {
		return 0, 0, false
	}
	return p.Label, *p.Second, true
}

// agreements are those of the scorer with people, and of these with each other.
func (m *measure) agreements() []Agreement {
	all := []Agreement{m.agreement("scorer and label", scoreAndLabel, m.says)}
	if m.Labels.Second {
		all = append(all, m.agreement("scorer and label2", scoreAndSecond, m.says), m.agreement("label and label2", labelAndSecond, m.labelSays))
	}
	return all
}

// agreement is that of two, of whom the second is a person.
func (m *measure) agreement(between string, of rated, first func(float64) int) Agreement {
	values := m.clusters(of)
	said := mapped(values, first, m.labelSays)
	a := Agreement{Between: between, Weighted: page.Missing(page.Nothing), WeightedInterval: none}
	var same [][]float64
	for _, cluster := range said {
		a.Pairs += len(cluster)
		same = append(same, equal(cluster))
	}
	a.Same, a.SameInterval = m.share(same)
	a.Kappa, a.KappaInterval = m.kappa(said, stats.Same)
	if m.ordered() {
		a.Weighted, a.WeightedInterval = m.kappa(values, stats.Near)
	}
	kappa, interval := a.kappa()
	a.MissingForSame = m.missing(a.Pairs, len(values), a.Same, a.SameInterval)
	a.MissingForKappa = m.missing(a.Pairs, len(values), kappa, interval)
	return a
}

// clusters are what two say, by unit.
func (m *measure) clusters(of rated) [][]stats.Rated {
	all := make([][]stats.Rated, m.units)
	for i := range m.scored {
		if a, b, ok := of(&m.scored[i]); ok {
			all[m.unit[i]] = append(all[m.unit[i]], stats.Rated{A: a, B: b})
		}
	}
	return withoutEmpty(all)
}

func withoutEmpty[T any](clusters [][]T) (some [][]T) {
	for _, cluster := range clusters {
		if len(cluster) > 0 {
			some = append(some, cluster)
		}
	}
	return some
}

func mapped(clusters [][]stats.Rated, ofA, ofB func(float64) int) [][]stats.Rated {
	all := make([][]stats.Rated, len(clusters))
	for i, cluster := range clusters {
		for _, r := range cluster {
			all[i] = append(all[i], stats.Rated{A: float64(ofA(r.A)), B: float64(ofB(r.B))})
		}
	}
	return all
}

func equal(cluster []stats.Rated) []float64 {
	same := make([]float64, len(cluster))
	for i, r := range cluster {
		same[i] = stats.Same(r.A, r.B)
	}
	return same
}

// labelSays is the number of the level that a label says; yes and no need no
// threshold.
func (m *measure) labelSays(value float64) int {
	if !m.ordered() {
		return int(value)
	}
	return m.says(value)
}

// says is the number of the level that a score stands for: no and yes, by the
// threshold; else that of the labels' levels which lies nearest, the lower one of two.
func (m *measure) says(value float64) int {
	levels := m.Labels.Levels
	if !m.ordered() || len(levels) == 0 {
		if value >= m.Threshold {
			return 1
		}
		return 0
	}
	at := 0
	for i := range levels {
		if math.Abs(levels[i].Value-value) < math.Abs(levels[at].Value-value)-1e-9 {
			at = i
		}
	}
	return at
}

// kappa is missing where people always say the same: it would be 0 whatever the
// scorer is like. A scorer that always says the same has earned that 0.
func (m *measure) kappa(clusters [][]stats.Rated, weight stats.Weight) (page.Value, page.Range) {
	estimate, ok := stats.Kappa(clusters, weight)
	if !ok || oneLabel(clusters) {
		return page.Missing(page.Nothing), none
	}
	return page.Known(estimate.Value), rangeOf(stats.KappaInterval(clusters, weight, stats.Level, m.Seed))
}

func oneLabel(clusters [][]stats.Rated) bool {
	for _, cluster := range clusters {
		for _, r := range cluster {
			if r.B != clusters[0][0].B {
				return false
			}
		}
	}
	return true
}

// share is the mean of zeros and ones.
func (m *measure) share(clusters [][]float64) (page.Value, page.Range) {
	return page.ValueOf(stats.Mean(flat(clusters))), rangeOf(stats.ProportionInterval(clusters, stats.Level))
}

func flat[T any](clusters [][]T) (all []T) {
	for _, cluster := range clusters {
		all = append(all, cluster...)
	}
	return all
}

var none = page.Range{Low: page.Missing(page.Nothing), High: page.Missing(page.Nothing)}

func rangeOf(interval stats.Interval, ok bool) page.Range {
	if !ok || math.IsNaN(interval.Low) || math.IsNaN(interval.High) {
		return none
	}
	return page.Range{Low: page.Known(interval.Low), High: page.Known(interval.High)}
}
