package choose

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// sums are what metrics come from: those of a candidate over a part of the runs.
// They add up, and can be taken away again.
type sums struct {
	tasks, runs, exact, successes float64
	iterations, seconds, dollars  float64
	tokens, calls, toolCalls      float64
	unpriced, unreported          float64 // calls without a price, programs that did not say
	tokensUntold                  float64 // parts of which the tokens are unknown
	scores                        []scoreSums
	everyIteration, everySecond   []float64 // of each run, where quantiles are asked for
}

// scoreSums are those of a score. Sum counts tasks alike, and is over so many
// tasks.
type scoreSums struct{ sum, tasks, known, hits, lost, gained float64 }

// add adds the totals of a part. What was cut in flight counts at its most: a
// cost that has bounds is not to look cheap.
func (s *sums) add(t *sweep.Totals) { s.include(t, 1) }

// drop takes the totals of a part away.
func (s *sums) drop(t *sweep.Totals) { s.include(t, -1) }

func (s *sums) include(t *sweep.Totals, sign float64) {
	used := &t.Most
	s.tasks += sign * t.PerTask.Tasks
	s.runs += sign * float64(t.Runs)
	s.exact += sign * float64(t.Exact-t.Faults)
	s.successes += sign * float64(t.Successes)
	s.iterations += sign * float64(t.Iterations)
	s.seconds += sign * float64(t.Elapsed) / 1e9
	s.dollars += sign * used.Cost.Dollars()
	s.tokens += sign * float64(used.Tokens())
	s.calls += sign * float64(used.Calls)
	s.toolCalls += sign * float64(used.ToolCalls)
	s.unpriced += sign * float64(used.Unpriced)
	s.unreported += sign * float64(used.Unreported)
	s.tokensUntold += sign * float64(count(!used.TokensTold()))
	for len(s.scores) < len(t.Scores) {
		s.scores = append(s.scores, scoreSums{})
	}
	for i := range t.Scores {
		s.scores[i].include(&t.Scores[i], t, sign)
	}
}

func (s *scoreSums) include(t *sweep.ScoreTotals, of *sweep.Totals, sign float64) {
	s.sum += sign * t.PerTask.Least
	if of.Runs > 0 {
		s.tasks += sign * of.PerTask.Tasks * float64(t.Known) / float64(of.Runs)
	}
	s.known += sign * float64(t.Known)
	s.hits += sign * float64(t.Hits)
	s.lost += sign * float64(t.Lost)
	s.gained += sign * float64(t.Gained)
}

// plus adds other sums.
func (s *sums) plus(o *sums) {
	s.tasks, s.runs, s.exact, s.successes = s.tasks+o.tasks, s.runs+o.runs, s.exact+o.exact, s.successes+o.successes
	s.iterations, s.seconds, s.dollars = s.iterations+o.iterations, s.seconds+o.seconds, s.dollars+o.dollars
	s.tokens, s.calls, s.toolCalls = s.tokens+o.tokens, s.calls+o.calls, s.toolCalls+o.toolCalls
	s.unpriced, s.unreported, s.tokensUntold = s.unpriced+o.unpriced, s.unreported+o.unreported, s.tokensUntold+o.tokensUntold
	for len(s.scores) < len(o.scores) {
		s.scores = append(s.scores, scoreSums{})
	}
	for i := range o.scores {
		a, b := &s.scores[i], &o.scores[i]
		a.sum, a.tasks, a.known = a.sum+b.sum, a.tasks+b.tasks, a.known+b.known
		a.hits, a.lost, a.gained = a.hits+b.hits, a.lost+b.lost, a.gained+b.gained
	}
}

// clear makes them those of no run, and keeps their room.
func (s *sums) clear() {
	clear(s.scores)
	*s = sums{scores: s.scores, everyIteration: s.everyIteration[:0], everySecond: s.everySecond[:0]}
}

// set makes them equal to others, and keeps their room.
func (s *sums) set(o *sums) {
	scores := append(s.scores[:0], o.scores...)
	*s = *o
	s.scores = scores
}

// times makes them those of so many times the runs; what every run takes stays.
func (s *sums) times(factor float64) *sums {
	for _, x := range []*float64{
		&s.tasks, &s.runs, &s.exact, &s.successes, &s.iterations, &s.seconds, &s.dollars, &s.tokens, &s.calls, &s.toolCalls,
		&s.unpriced, &s.unreported, &s.tokensUntold,
	} {
		*x *= factor
	}
	for i := range s.scores {
		c := &s.scores[i]
		c.sum, c.tasks, c.known, c.hits, c.lost, c.gained = c.sum*factor, c.tasks*factor, c.known*factor, c.hits*factor, c.lost*factor, c.gained*factor
	}
	return s
}

func (s *sums) copy() *sums {
	c := &sums{}
	c.set(s)
	return c
}

// mean is that of an amount per run.
func (s *sums) mean(total page.Value) page.Value {
	if s.runs == 0 {
		return page.Missing(page.Nothing)
	}
	if total.Known() {
		total.Number /= s.runs
	}
	return total
}

// score is the mean over tasks of a score.
func (s *sums) score(i int) page.Value {
	if i < 0 || i >= len(s.scores) || s.scores[i].tasks <= 0 {
		return page.Missing(page.Unscored)
	}
	return page.Known(s.scores[i].sum / s.scores[i].tasks)
}

func (s *sums) cost() page.Value {
	switch {
	case s.unreported > 0:
		return page.Missing(page.Unknown)
	case s.unpriced > 0:
		return page.Missing(page.Unpriced)
	}
	return page.Known(s.dollars)
}

// used is an amount that programs may not have told.
func (s *sums) used(amount float64) page.Value {
	if s.unreported > 0 {
		return page.Missing(page.Unknown)
	}
	return page.Known(amount)
}

// usedTokens are the tokens, which a log may not tell.
func (s *sums) usedTokens() page.Value {
	if s.tokensUntold > 0 {
		return page.Missing(page.Unknown)
	}
	return s.used(s.tokens)
}

// usageKnown says what of the recorded runs' usage is known, and whether any of
// it is above zero.
type usageKnown struct {
	cost, tokens, times bool
	lumps               bool // only whole runs tell the cost
}

// byIteration forgets what only whole runs tell: nobody knows it of a run that
// stops earlier.
func (k usageKnown) byIteration(runs []sweep.Run) usageKnown {
	for i := range runs {
		k.lumps = k.lumps || replay.OnlyWholeCost(runs[i].Run)
		for j := range runs[i].Run.Iterations {
			told := runs[i].Run.Iterations[j].Total()
			k.cost = k.cost && told.Unreported == 0 && told.Unpriced == 0
			k.tokens = k.tokens && told.TokensTold()
		}
	}
	return k
}

func knownOf(held *tune.Held) (k usageKnown) {
	var used record.Usage
	for i := range held.Recorded {
		used = used.Plus(held.Recorded[i].Total().Most)
	}
	k.cost = used.Unreported == 0 && used.Unpriced == 0 && used.Cost > 0
	k.tokens = used.TokensTold() && used.Tokens() > 0
	k.times = held.Timed()
	return k
}
