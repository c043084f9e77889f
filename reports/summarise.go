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
	s.Success = page.Estimate{Value: page.Ratio(u.believed, u.evaluated), Range: m.share(func(r *run) bool { return r.believed }, func(r *run) bool { return r.assessed })}
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
	m.usage(u, &c.uses[i], &s)
	s.Cost.PerSuccess = m.perSuccess(c.costPerSuccess(ordered, s.Cost.Total))
	s.Warnings = c.warnAbout(i, &s)
	return s
}

// noSpread is that of a number which some run does not tell.
var noSpread = Spread{page.NoEstimate(page.Unknown), page.NoEstimate(page.Unknown), page.Missing(page.Unknown)}

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
	return Spread{
		Mean: m.mean(func(r *run) float64 { return float64(of(r)) / unit }, page.ValueOf(mean/unit, ok)),
		P50:  page.Estimate{Value: quantile(0.5), Range: m.median(of, sorted, unit)}, P95: quantile(0.95),
	}
}

// usage is what the runs used. Some of it is kept by task.
func (m *measure) usage(u *sums, use *taskUse, c *Configuration) {
	total, runs, counts := u.agent.Plus(u.judging).Plus(u.user), int64(c.Runs), m.counts()
	mean := func(n int64) page.Value {
		if u.agent.Unreported > 0 {
			return page.Missing(page.Unknown)
		}
		return page.Ratio(n, runs)
	}
	tokens := func(n int64) page.Value {
		if !total.TokensTold() {
			return page.Missing(page.Unknown)
		}
		return mean(n)
	}
	byTask := func(mean page.Value, column int, unit func(int64) float64) page.Estimate {
		return m.about(mean, m.perTask(use, column, unit), counts, m.draws)
	}
	c.Calls = m.mean(func(r *run) float64 { return float64(r.calls) }, mean(total.Calls))
	c.ToolCalls = byTask(page.Ratio(total.ToolCalls, runs), useToolCalls, whole)
	c.Tokens = m.mean(func(r *run) float64 { return float64(r.tokens) }, tokens(total.Tokens()))
	c.InputTokens = byTask(tokens(total.InputTokens), useInput, whole)
	output := m.sums(func(r *run) float64 { return float64(r.tokens) })
	for i, input := range m.perTask(use, useInput, whole) {
		output[i] -= input
	}
	c.OutputTokens = m.about(tokens(total.OutputTokens), output, counts, m.draws)
	if c.CachedInput = page.Ratio(total.CachedTokens, total.InputTokens); !total.TokensTold() {
		c.CachedInput = page.Missing(page.Unknown)
	}
	c.TotalCalls, c.TotalToolCalls, c.TotalTokens = totalOf(total.Calls, c.Calls), totalOf(total.ToolCalls, c.ToolCalls), totalOf(total.Tokens(), c.Tokens)
	c.Cost.Mean, c.Cost.Total = m.mean(func(r *run) float64 { return r.cost.Dollars() }, meanCost(total, runs)), totalCost(total, runs)
	for i, part := range [...]record.Usage{u.judging, u.user} {
		column := useJudging + 3*i
		*[...]*Judging{&c.Judging, &c.User}[i] = Judging{
			Calls: byTask(page.Ratio(part.Calls, runs), column, whole), Tokens: byTask(page.Ratio(part.Tokens(), runs), column+1, whole),
			Cost: byTask(meanCost(part, runs), column+2, func(n int64) float64 { return record.Money(n).Dollars() }),
		}
	}
}

// totalOf is a sum of which the mean is known; without runs it is 0.
func totalOf(sum int64, mean page.Estimate) page.Value {
	if mean.Missing == page.Unknown {
		return mean.Value
	}
	return page.Known(float64(sum))
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
