package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// compare fills the line with what a sample of pairs says.
func (l *Line) compare(s *sample, o *Options) {
	l.Tasks, l.BaseTasks, l.Runs, l.LeftOut, l.Binary = len(s.tasks), len(s.tasks), s.runs, s.leftOut, s.binary && !l.Ratio
	l.Base, l.New = s.means()
	if len(s.tasks) == 0 {
		l.know(nothing(), o)
		return
	}
	l.Relative = l.Ratio && s.positive
	s.settle(l.Relative)
	if o.Sequential && !l.Ratio {
		l.Sequential = s.sequential()
	}
	above, below, ties := s.counted()
	l.Wins, l.Losses, l.Ties = above, below, ties
	if l.Lower {
		l.Wins, l.Losses = below, above
	}
	if l.Binary && s.single && !s.clustered {
		l.know(byMcNemar(above, below, len(s.tasks), o), o)
		return
	}
	if s.clustered {
		l.Clusters = len(s.groups())
		l.BaseClusters = l.Clusters
	}
	l.know(s.byFlips(o), o)
}

// know takes over an estimate, and judges by its p alone.
func (l *Line) know(e estimate, o *Options) {
	l.Test, l.Method, l.P, l.Adjusted = e.test, e.method, e.p, e.p
	l.Change, l.Low, l.High = e.change, e.low, e.high
	if l.Relative {
		l.Change, l.Low, l.High = math.Expm1(e.change), math.Expm1(e.low), math.Expm1(e.high)
	}
	l.Margin = l.marginOf(o)
	l.Differing, l.Fewest, l.contrary = e.differing, fewest(o.Alpha), e.contrary
	l.needed, l.tooFew = e.needed, l.Paired && l.Tasks > 0 && l.Differing < l.Fewest
	l.judge(o)
}

// nothing is the estimate of an empty sample.
func nothing() estimate {
	return estimate{change: math.NaN(), low: math.NaN(), high: math.NaN(), p: math.NaN(), needed: math.NaN()}
}

// mostNeeded is the number of tasks that is as good as none.
const mostNeeded = 1e6

// numberNeeded rounds up, and is more than there are: they did not do.
func numberNeeded(change, needed float64, have int) int {
	switch {
	case change == 0 && have > 1, needed > mostNeeded:
		return Beyond
	case math.IsNaN(needed):
		return 0
	}
	return max(int(math.Ceil(needed)), have+1)
}

// means are the means of the tasks' means.
func (s *sample) means() (base, new float64) {
	values := make([]float64, len(s.tasks))
	for i := range s.tasks {
		values[i] = s.tasks[i].base
	}
	base = meanOf(values)
	for i := range s.tasks {
		values[i] = s.tasks[i].new
	}
	return base, meanOf(values)
}

func meanOf(values []float64) float64 {
	mean, ok := stats.Mean(values)
	return orNaN(mean, ok)
}

// flips are the tasks whose mean of a binary score changed.
func (p *pairs) flips(s *sample, base *Side, l *Line) (flips []Flip) {
	if !l.Binary {
		return nil
	}
	for _, t := range s.tasks {
		if at := p.tasks[t.at]; t.change != 0 {
			flips = append(flips, Flip{Task: base.Tasks[at.base], Base: t.base, New: t.new, BaseAt: at.base, NewAt: at.new})
		}
	}
	toTheBad := func(f Flip) float64 {
		if l.Lower {
			return f.Base - f.New
		}
		return f.New - f.Base
	}
	slices.SortFunc(flips, func(a, b Flip) int {
		x, y := toTheBad(a), toTheBad(b)
		return cmp.Or(cmp.Compare(sign(x), sign(y)), -cmp.Compare(math.Abs(x), math.Abs(y)), cmp.Compare(a.BaseAt, b.BaseAt))
	})
	return flips
}

func sign(x float64) int { return cmp.Compare(x, 0) }
