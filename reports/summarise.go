package reports

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

func (c *collector) summarise(i int) Configuration {
	head, u, ordered := &c.manifest.Configurations[i], &c.sums[i], c.runs.ordered[i]
	s := Configuration{
		Name: head.Name, Aliases: head.Aliases, Params: head.Params, Simulated: u.simulated,
		Runs: len(ordered), Expected: c.manifest.Tasks * c.manifest.Trials,
		Faults: []Count{}, Failures: counted(u.failed), Scores: []Score{},
		Success: page.Ratio(u.believed, u.evaluated),
	}
	for range c.runs.byTask(i) {
		s.Tasks++
	}
	s.Coverage = page.Ratio(int64(s.Runs), int64(s.Expected))
	s.Faults, s.Cancelled = c.faults(int32(i))
	for _, scores := range c.runs.scores {
		s.Scores = append(s.Scores, scores.summary(c.runs, i))
	}
	m := c.measure(i)
	s.Declared = c.metrics(i, m)
	s.SuccessInterval = m.share(func(r *run) bool { return r.believed }, func(r *run) bool { return r.assessed })
	s.Iterations = c.spread(m, func(r *run) int64 { return int64(r.iterations) }, 1)
	s.Latency = noSpread
	if u.untimed == 0 {
		s.Latency = c.spread(m, func(r *run) int64 { return int64(r.elapsed) }, float64(time.Second))
	}
	s.Stops = c.stops(i, m)
	s.Limits, s.Curve = []Limit{}, []CurvePoint{}
	if !c.manifest.Brief { // a baseline does not tell what each iteration did
		s.Curve, s.Steps = c.curve(i, m), c.stepCurve(i, m)
		s.Limits = m.limits(head, u, &c.uses[i], &s) // it reads the curve
	}
	s.KeptSteps = slices.ContainsFunc(ordered, func(at int32) bool { _, kept := c.runs.kept[at]; return kept })
	s.Calibration, s.Judges = c.calibration(m), c.judges(i, s.Scores)
	s.measureUsage(u)
	m.usage(&c.uses[i], &s)
	s.CallsInterval = m.mean(func(r *run) float64 { return float64(r.calls) }, s.Calls)
	s.TokensInterval = m.mean(func(r *run) float64 { return float64(r.tokens) }, s.Tokens)
	s.Cost.MeanInterval = m.mean(func(r *run) float64 { return r.cost.Dollars() }, s.Cost.Mean)
	s.Cost.PerSuccess = c.costPerSuccess(ordered, s.Cost.Total)
	s.Cost.PerSuccessInterval = m.perSuccess(s.Cost.PerSuccess)
	s.Warnings = c.warnAbout(i, &s)
	return s
}

// noSpread is that of a number which some run does not tell.
var noSpread = Spread{
	Mean: page.Missing(page.Unknown), P50: page.Missing(page.Unknown), P95: page.Missing(page.Unknown),
	MeanInterval: page.NoRange(page.Unknown), P50Interval: page.NoRange(page.Unknown),
}

// spread sorts the numbers of the runs; unit is what 1 is divided by for the
// reader.
func (c *collector) spread(m *measure, of func(*run) int64, unit float64) Spread {
	sorted := make([]int64, len(m.ordered))
	var total int64
	for i, run := range m.ordered {
		sorted[i] = of(&c.runs.all[run])
		total += sorted[i]
	}
	slices.Sort(sorted)
	quantile := func(p float64) page.Value {
		q, ok := stats.Quantile(sorted, p)
		return page.ValueOf(q/unit, ok)
	}
	mean, ok := stats.Ratio(float64(total), float64(len(sorted)))
	s := Spread{Mean: page.ValueOf(mean/unit, ok), P50: quantile(0.5), P95: quantile(0.95)}
	s.MeanInterval = m.mean(func(r *run) float64 { return float64(of(r)) / unit }, s.Mean)
	s.P50Interval = m.median(of, sorted, unit)
	return s
}

func (c *Configuration) measureUsage(u *sums) {
	total, runs := u.agent.Plus(u.judging).Plus(u.user), int64(c.Runs)
	used := func(n int64) page.Value {
		if u.agent.Unreported > 0 {
			return page.Missing(page.Unknown)
		}
		return page.Ratio(n, runs)
	}
	c.Calls, c.ToolCalls = used(total.Calls), page.Ratio(total.ToolCalls, runs)
	c.Tokens, c.InputTokens, c.OutputTokens = used(total.Tokens()), used(total.InputTokens), used(total.OutputTokens)
	c.CachedInput = page.Ratio(total.CachedTokens, total.InputTokens)
	if !total.TokensTold() {
		none := page.Missing(page.Unknown)
		c.Tokens, c.InputTokens, c.OutputTokens, c.CachedInput = none, none, none, none
	}
	c.TotalCalls, c.TotalToolCalls, c.TotalTokens = totalOf(total.Calls, c.Calls), totalOf(total.ToolCalls, c.ToolCalls), totalOf(total.Tokens(), c.Tokens)
	c.Judging, c.User = partOf(u.judging, runs), partOf(u.user, runs)
	c.Cost.Mean, c.Cost.Total = meanCost(total, runs), totalCost(total, runs)
}

// totalOf is a sum of which the mean is known; without runs it is 0.
func totalOf(sum int64, mean page.Value) page.Value {
	if mean.Missing == page.Unknown {
		return mean
	}
	return page.Known(float64(sum))
}

func partOf(u record.Usage, runs int64) Judging {
	return Judging{Calls: page.Ratio(u.Calls, runs), Tokens: page.Ratio(u.Tokens(), runs), Cost: meanCost(u, runs)}
}

func meanCost(u record.Usage, runs int64) page.Value {
	return totalCost(u, runs).Over(float64(runs))
}

// totalCost is missing, not 0, when any call is unpriced, or any program did not
// say what it used.
func totalCost(u record.Usage, runs int64) page.Value {
	if runs == 0 {
		return page.Missing(page.Nothing)
	}
	return costOr(u.Cost, u.Unpriced > 0, u.Unreported > 0)
}

// costOr is a cost in USD, unless it is not the whole cost.
func costOr(cost record.Money, isUnpriced, isUnreported bool) page.Value {
	switch {
	case isUnreported:
		return page.Missing(page.Unknown)
	case isUnpriced:
		return page.Missing(page.Unpriced)
	case cost >= record.Countless:
		return page.Missing(page.TooMuch)
	}
	return page.Known(cost.Dollars())
}

// costPerSuccess is a ratio of sums over the runs whose success is known: those
// that the primary scorer judged; without scorers, all.
func (c *collector) costPerSuccess(ordered []int32, total page.Value) page.Value {
	if !total.Known() {
		return total
	}
	var cost record.Money
	successes, judged := 0, 0
	for _, at := range ordered {
		succeeded, known := c.runs.succeeded(at)
		if !known {
			continue
		}
		judged++
		cost = cost.Plus(c.runs.all[at].cost)
		if succeeded {
			successes++
		}
	}
	switch {
	case judged == 0:
		return page.Missing(page.Nothing)
	case successes == 0:
		return page.Missing(page.None)
	}
	return page.Known(cost.Dollars() / float64(successes))
}

func (c *collector) faults(configuration int32) (faults []Count, cancelled int) {
	classes := map[record.ErrorClass]int{}
	for _, a := range c.absent {
		switch {
		case a.configuration != configuration:
		case a.fault == "":
			cancelled++
		default:
			classes[a.fault]++
		}
	}
	return counted(classes), cancelled
}

// AllFailed are the runs that count by the class of the error by which the agent
// failed, the most frequent first, if it failed in every one of them; else nil.
func (r *Report) AllFailed() []Count {
	classes := map[record.ErrorClass]int{}
	for c := range r.each() {
		if countAll(c.Failures) < c.Runs {
			return nil
		}
		for _, failure := range c.Failures {
			classes[record.ErrorClass(failure.Name)] += failure.N
		}
	}
	if len(classes) == 0 {
		return nil
	}
	return counted(classes)
}

// counted lists how many there are of each class, the most frequent first.
func counted(classes map[record.ErrorClass]int) []Count {
	counts := []Count{}
	for class, n := range classes {
		counts = append(counts, Count{Name: string(class), N: n})
	}
	slices.SortFunc(counts, func(a, b Count) int { return mostFirst(a.N, b.N, a.Name, b.Name) })
	return counts
}

// usage are the intervals of what is kept by task.
func (m *measure) usage(use *taskUse, c *Configuration) {
	counts := m.counts()
	interval := func(mean page.Value, column int) page.Range {
		return m.about(mean, m.perTask(use, column, whole), counts, m.draws)
	}
	c.InputTokensInterval, c.ToolCallsInterval = interval(c.InputTokens, useInput), interval(c.ToolCalls, useToolCalls)
	output := m.sums(func(r *run) float64 { return float64(r.tokens) })
	for i, input := range m.perTask(use, useInput, whole) {
		output[i] -= input
	}
	c.OutputTokensInterval = m.about(c.OutputTokens, output, counts, m.draws)
	for i, of := range [...]*Judging{&c.Judging, &c.User} {
		column := useJudging + 3*i
		of.CallsInterval, of.TokensInterval = interval(of.Calls, column), interval(of.Tokens, column+1)
		cost := m.perTask(use, column+2, func(n int64) float64 { return record.Money(n).Dollars() })
		of.CostInterval = m.about(of.Cost, cost, counts, m.draws)
	}
}
