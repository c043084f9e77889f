package reports

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// amount is a quantity of a run of which less is better.
type amount struct {
	name string
	of   func(*run) float64
	// missing is why a run has no such number, "" where it has.
	missing func(*run) string
}

// amounts are the quantities besides scores.
var amounts = []amount{
	{"cost_usd", func(r *run) float64 { return r.cost.Dollars() }, (*run).noCost},
	{"tokens", func(r *run) float64 { return float64(r.tokens) }, (*run).noTokens},
	{"latency_s", func(r *run) float64 { return r.elapsed.Seconds() }, (*run).noTime},
	{"iterations", func(r *run) float64 { return float64(r.iterations) }, (*run).always},
	{"calls", func(r *run) float64 { return float64(r.calls) }, (*run).noUsage},
}

func amountNamed(name string) *amount {
	return &amounts[slices.IndexFunc(amounts, func(a amount) bool { return a.name == name })]
}

func (r *run) noCost() string {
	return costOr(r.cost, r.unpriced, r.unreported).Missing
}

func (r *run) noUsage() string  { return unknownIf(r.unreported) }
func (r *run) noTokens() string { return unknownIf(r.uncounted) }
func (r *run) noTime() string   { return unknownIf(r.untimed) }

func unknownIf(is bool) string {
	if is {
		return page.Unknown
	}
	return ""
}

func (r *run) always() string { return "" }

// side is what is compared of the i-th configuration: its runs that count, in
// the natural order of their tasks.
func (r *Report) side(i int) *compare.Side {
	ordered := r.runs.ordered[i]
	s := &compare.Side{Name: r.Configurations[i].Name, Trials: make([]int32, len(ordered))}
	var start int32
	for group := range r.runs.byTask(i) {
		task := r.runs.all[group[0]].task
		s.Tasks = append(s.Tasks, r.runs.tasks.all[task])
		if r.runs.clusters != nil {
			s.Clusters = append(s.Clusters, r.runs.clusterOf(task))
		}
		s.Starts = append(s.Starts, start)
		start += int32(len(group))
	}
	s.Starts = append(s.Starts, start)
	for at, run := range ordered {
		s.Trials[at] = r.runs.all[run].trial
	}
	for _, scores := range r.runs.scores {
		s.Columns = append(s.Columns, scores.column(ordered))
	}
	for i := range amounts {
		s.Columns = append(s.Columns, r.runs.column(i, ordered))
	}
	return s
}

// column are the scores of runs.
func (s *scores) column(ordered []int32) compare.Column {
	c := compare.Column{Quantity: compare.Quantity{Name: s.name}, Values: make([]float64, len(ordered))}
	for i, run := range ordered {
		value, ok := s.of(run)
		if !ok {
			value, c.Missing = math.NaN(), page.Unscored
		}
		c.Values[i] = value
	}
	return c
}

// column is the amount of that number in the list.
func (r *runs) column(amount int, ordered []int32) compare.Column {
	of := &amounts[amount]
	c := compare.Column{Quantity: compare.Quantity{Name: of.name, Lower: true, Ratio: true}, Values: make([]float64, len(ordered))}
	for i, at := range ordered {
		run := &r.all[at]
		if why := of.missing(run); why != "" {
			c.Values[i], c.Missing = math.NaN(), max(c.Missing, why)
		} else {
			c.Values[i] = of.of(run)
		}
	}
	return c
}
