package spec

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// checkMetrics finds metrics of scores that there are not, and those that can never be known.
func (l *loader) checkMetrics(s *Suite) {
	scorers := s.scoreNames()
	for i := range s.Metrics {
		m := &s.Metrics[i]
		if m.Node == nil {
			continue
		}
		l.checkMetric(m)
		l.checkMetricScorers(m, scorers)
		for k, n := range m.kNodes() {
			if k < len(m.K) && m.K[k] > s.Trials {
				l.fault(n, "raise trials, or ask for fewer", "k %d is above trials %d: it can never be known", m.K[k], s.Trials)
			}
		}
		if m.Threshold != nil && (*m.Threshold <= 0 || *m.Threshold > 1) {
			l.fault(m.Node.Get("threshold"), "scores are from 0 to 1", "want a threshold above 0 and at most 1, got %v", *m.Threshold)
		}
	}
	l.uniqueMetrics(s.Metrics, scorers)
}

// checkImportedMetrics are those of a mapping, whose scores a log may name.
func (l *loader) checkImportedMetrics(m *Import) {
	var scorers []string
	if m.Scores != nil {
		scorers = m.Scores.Named.Keys()
	}
	for i := range m.Metrics {
		metric := &m.Metrics[i]
		if metric.Node == nil {
			continue
		}
		l.checkMetric(metric)
		if m.Scores == nil || m.Scores.Object == nil {
			l.checkMetricScorers(metric, scorers)
		}
	}
	l.uniqueMetrics(m.Metrics, scorers)
}

// checkMetric finds keys that do not go together.
func (l *loader) checkMetric(m *Metric) {
	asks := func(reducers []string) bool {
		return slices.ContainsFunc(m.Reduce, func(r string) bool { return slices.Contains(reducers, r) })
	}
	if len(m.Reduce) == 0 {
		return
	}
	for _, part := range []struct {
		key    string
		of     []string
		needed bool
	}{{"k", takesK, true}, {"threshold", takesThreshold, false}, {"by", []string{ReduceBestOfK}, true}} {
		n := m.Node.Get(part.key)
		switch {
		case n == nil && part.needed && asks(part.of):
			l.fault(m.Node, "", "reduce: %s needs %s", firstIn(m.Reduce, part.of), part.key)
		case n != nil && !asks(part.of):
			l.add(m.Node.KeyFault(part.key, "it belongs to reduce: "+strings.Join(part.of, ", "), "%q means nothing for reduce: %s", part.key, strings.Join(m.Reduce, ", ")))
		}
	}
	if m.Name != "" && len(SingleMetrics([]Metric{*m}, nil)) > 1 {
		l.fault(m.Node.Get("name"), "without name each gets one of its own", "a name is of one metric, and these are several")
	}
}

func firstIn(words, of []string) string {
	for _, word := range words {
		if slices.Contains(of, word) {
			return word
		}
	}
	return ""
}

// kNodes are where the numbers k stand.
func (m *Metric) kNodes() []*source.Node {
	n := m.Node.Get("k")
	switch {
	case n == nil:
		return nil
	case n.Kind == source.List:
		return n.Items
	}
	return []*source.Node{n}
}

func (l *loader) checkMetricScorers(m *Metric, scorers []string) {
	if len(scorers) == 0 {
		l.fault(m.Node, "declare scorers", "a metric is made of a score, and nothing is scored")
		return
	}
	for _, named := range []struct{ key, name string }{{"score", m.Score}, {"by", m.By}} {
		if named.name != "" && !slices.Contains(scorers, named.name) {
			l.fault(m.Node.Get(named.key), didYouMean(named.name, scorers), "there is no scorer %q", named.name)
		}
	}
}

// uniqueMetrics wants names by which each metric can be read, also those that are made.
func (l *loader) uniqueMetrics(declared []Metric, scorers []string) {
	first := map[string]*source.Node{}
	for i := range declared {
		m := &declared[i]
		if m.Node == nil {
			continue
		}
		all := SingleMetrics([]Metric{*m}, scorers)
		if m.Name != "" {
			all = all[:min(1, len(all))] // that it stands for several is told already
		}
		for _, one := range all {
			if other, taken := first[one.Name]; taken {
				l.fault(m.Node, "give one of them another name", "the metric %q stands twice; first at line %d", one.Name, other.Pos.Line)
				break
			}
			first[one.Name] = m.Node
		}
	}
}
