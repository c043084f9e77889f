package compare

import (
	"cmp"
	"math"
	"slices"
)

// sample is what a quantity gives of each task.
type sample struct {
	tasks         []taskMeans
	runs, leftOut int
	single        bool // one pair of runs a task
	clustered     bool // tasks depend on each other
	binary        bool // all values are 0 or 1
	unit          bool // it is a score, and all values are from 0 to 1
	positive      bool // all means are above 0
}

// taskMeans are the means of a task over its paired runs, and by how much the
// new side is above the base: by difference, or on the scale of logarithms.
type taskMeans struct {
	base, new, change float64
	cluster           int32
	at                int32 // in pairs.tasks
}

// sampled are the means of the tasks of which both sides have values of the same
// runs. The memory of an earlier sample may be used again.
func (p *pairs) sampled(base, new *Column, earlier *sample) *sample {
	s := &sample{clustered: p.clusters != nil, single: true, binary: true, unit: !new.Ratio, positive: true}
	if earlier != nil {
		s.tasks = earlier.tasks[:0]
	}
	for at := range p.tasks {
		t := &p.tasks[at]
		var sumBase, sumNew, n float64
		for i := t.from; i < t.to; i++ {
			x, y := base.Values[p.base[i]], new.Values[p.new[i]]
			if math.IsNaN(x) || math.IsNaN(y) {
				s.leftOut++
				continue
			}
			n, sumBase, sumNew = n+1, sumBase+x, sumNew+y
			s.see(x)
			s.see(y)
		}
		if n > 0 {
			s.add(taskMeans{base: sumBase / n, new: sumNew / n, change: (sumNew - sumBase) / n, cluster: p.cluster(t), at: int32(at)}, int(n))
		}
	}
	return s
}

func (s *sample) add(task taskMeans, runs int) {
	s.tasks = append(s.tasks, task)
	s.runs, s.single = s.runs+runs, s.single && runs == 1
	s.positive = s.positive && task.base > 0 && task.new > 0
}

func (s *sample) see(x float64) {
	s.binary = s.binary && (x == 0 || x == 1)
	s.unit = s.unit && x >= 0 && x <= 1
}

// equal is the largest difference that is rounding.
const equal = 1e-9

// settle turns the changes into logarithms of ratios where asked to.
func (s *sample) settle(ratios bool) {
	for i := range s.tasks {
		t := &s.tasks[i]
		if ratios {
			t.change = math.Log(t.new) - math.Log(t.base)
		}
		if math.Abs(t.change) < equal {
			t.change = 0
		}
	}
}

// groups are the changes by cluster, the clusters that hold one task first.
func (s *sample) groups() [][]float64 {
	if s.clustered {
		slices.SortStableFunc(s.tasks, func(a, b taskMeans) int { return cmp.Compare(a.cluster, b.cluster) })
	}
	changes := s.changes()
	groups := make([][]float64, 0, len(s.tasks))
	for from, to := 0, 0; from < len(changes); from = to {
		to = from + 1
		for cluster := s.tasks[from].cluster; cluster != own && to < len(changes) && s.tasks[to].cluster == cluster; {
			to++
		}
		groups = append(groups, changes[from:to])
	}
	return groups
}

func (s *sample) changes() []float64 {
	changes := make([]float64, len(s.tasks))
	for i := range s.tasks {
		changes[i] = s.tasks[i].change
	}
	return changes
}

// counted are the tasks at which the new side is above the base, below it, or
// equal.
func (s *sample) counted() (above, below, ties int) {
	for i := range s.tasks {
		switch change := s.tasks[i].change; {
		case change > 0:
			above++
		case change < 0:
			below++
		default:
			ties++
		}
	}
	return above, below, ties
}
