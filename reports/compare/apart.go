package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/stats"
)

// lot is one side of a comparison without pairs: a value for each independent
// cluster of tasks, the mean of the tasks' means.
type lot struct {
	values        []float64
	tasks         int
	runs, leftOut int
	binary        bool
}

// apart are the values of a side.
func apart(s *Side, c *Column) *lot {
	l := &lot{binary: true}
	clusters := numbered(s.Clusters)
	var grouped map[int32][]float64
	if clusters != nil {
		grouped = map[int32][]float64{}
	}
	for task := range s.Tasks {
		mean, ok := l.mean(c.Values[s.Starts[task]:s.Starts[task+1]])
		switch {
		case !ok:
		case grouped != nil && clusters[task] != own:
			grouped[clusters[task]] = append(grouped[clusters[task]], mean)
		default:
			l.values = append(l.values, mean)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(grouped)) {
		l.values = append(l.values, meanOf(grouped[cluster]))
	}
	return l
}

// mean is that of a task's runs.
func (l *lot) mean(values []float64) (mean float64, ok bool) {
	var sum, n float64
	for _, x := range values {
		if math.IsNaN(x) {
			l.leftOut++
			continue
		}
		n, sum = n+1, sum+x
		l.binary = l.binary && (x == 0 || x == 1)
	}
	if n == 0 {
		return 0, false
	}
	l.runs, l.tasks = l.runs+int(n), l.tasks+1
	return sum / n, true
}

// compareApart fills the line with what two independent samples say.
func (l *Line) compareApart(base, new *lot, o *Options) {
	l.Tasks, l.BaseTasks, l.Runs = new.tasks, base.tasks, base.runs+new.runs
	l.LeftOut, l.Binary = base.leftOut+new.leftOut, base.binary && new.binary && !l.Ratio
	l.Base, l.New = meanOf(base.values), meanOf(new.values)
	if base.tasks == 0 || new.tasks == 0 {
		l.know(nothing(), o)
		return
	}
	l.Relative = l.Ratio && slices.Min(base.values) > 0 && slices.Min(new.values) > 0
	l.know(byWelch(base, new, l, o), o)
}

// byWelch estimates the difference of the means, of amounts that of their
// logarithms, whose ranks are what is tested.
func byWelch(base, new *lot, l *Line, o *Options) estimate {
	x, y := base.values, new.values
	if l.Relative {
		x, y = logs(x), logs(y)
	}
	e := nothing()
	difference, known := stats.Welch(y, x)
	e.change = meanOf(y) - meanOf(x)
	if known {
		e.bound(difference.Interval(stats.Level))
		e.needed = o.needed(difference, known, (base.tasks+new.tasks)/2)
	}
	e.test = Welch
	if test, ok := difference.Test(); ok && !l.Ratio {
		e.tested(test, known)
		return e
	}
	e.test = MannWhitney
	e.tested(stats.MannWhitney(base.values, new.values))
	return e
}

func logs(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, x := range values {
		logs[i] = math.Log(x)
	}
	return logs
}
