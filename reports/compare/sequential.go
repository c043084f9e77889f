package compare

import (
	"math"

	"github.com/agentbench/agentbench/reports/stats"
)

// Sequential is evidence that may be looked at while tasks come in, any number of
// times ([stats.SequentialEvidence]). Tasks count in the order in which they stand in
// the base, which no result has a part in; clusters in that of their first tasks.
type Sequential struct {
	// Evidence is 1 where nothing is known, and the larger the less likely chance is;
	// NaN where Missing says why there is none. Needed is what shows a difference:
	// 1/alpha, times the comparisons made at once.
	Evidence, Needed float64
	// Units are the tasks, or clusters of them, that were weighed. After is after how
	// many of them the evidence first was what is needed, 0: never. Verdict is what it
	// showed then, else CannotTell.
	Units, After int
	Verdict      Verdict
	Missing      string

	differences []float64 // of the units, in their order
}

// sequential are the mean changes of the units, in their order.
func (s *sample) sequential() *Sequential {
	q := &Sequential{}
	if !s.unit {
		q.Missing = "scores beyond 0 and 1"
	}
	at, tasks := map[int32]int{}, []float64{}
	for _, t := range s.tasks {
		i, known := at[t.cluster]
		if !known || t.cluster == own {
			i = len(tasks)
			at[t.cluster] = i
			q.differences, tasks = append(q.differences, 0), append(tasks, 0)
		}
		tasks[i]++
		q.differences[i] += t.change
	}
	for i, n := range tasks {
		q.differences[i] = math.Round(q.differences[i]/n*1e9) / 1e9
	}
	q.Units = len(q.differences)
	return q
}

// weigh looks at the units one after the other, of which there are so many
// comparisons at once.
func (q *Sequential) weigh(comparisons int, o *Options) {
	q.Evidence, q.Needed, q.After, q.Verdict = math.NaN(), float64(max(1, comparisons))/o.Alpha, 0, CannotTell
	if q.Missing != "" {
		return
	}
	evidence, after, way, ok := stats.SequentialEvidence(q.differences, q.Needed)
	q.Evidence, q.After = orNaN(evidence, ok), after
	switch way {
	case 1:
		q.Verdict = Better
	case -1:
		q.Verdict = Worse
	}
}

// weighAll weighs what was asked for of several comparisons, each quantity on its own.
func weighAll(results []*Result, o *Options) {
	comparisons := map[Quantity]int{}
	for _, weigh := range []bool{false, true} {
		for _, r := range results {
			for i := range r.Lines {
				switch l := &r.Lines[i]; {
				case l.Sequential == nil:
				case weigh:
					l.Sequential.weigh(comparisons[l.Quantity], o)
				default:
					comparisons[l.Quantity]++
				}
			}
		}
	}
}
