package reports

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// CurvePoint is what a configuration would have given had every run stopped at
// an iteration at the latest. Runs that stopped before keep what they returned.
type CurvePoint struct {
	Iteration       int        `json:"iteration"`
	Reached         page.Value `json:"reached"` // share of the runs that came so far
	ReachedInterval page.Range `json:"reached_interval"`
	// Score is the mean of the primary score; Gain is what this iteration adds.
	Score         page.Value `json:"score"`
	ScoreInterval page.Range `json:"score_interval"`
	Gain          page.Value `json:"gain"`
	GainInterval  page.Range `json:"gain_interval"`
	// Cost and Seconds are means per run up to here, the runs that stopped
	// before included; the others are what this iteration adds.
	Cost                 page.Value `json:"cost_usd"`
	CostInterval         page.Range `json:"cost_usd_interval"`
	ExtraCost            page.Value `json:"extra_cost_usd"`
	ExtraCostInterval    page.Range `json:"extra_cost_usd_interval"`
	Seconds              page.Value `json:"latency_s"`
	SecondsInterval      page.Range `json:"latency_s_interval"`
	ExtraSeconds         page.Value `json:"extra_latency_s"`
	ExtraSecondsInterval page.Range `json:"extra_latency_s_interval"`
}

// curve is empty where nothing ran.
func (c *collector) curve(configuration int, m *measure) []CurvePoint {
	points := []CurvePoint{}
	u, runs := &c.sums[configuration], int64(len(c.runs.ordered[configuration]))
	total := u.agent.Plus(u.judging)
	var spent record.Usage // by iterations, which a log of whole runs does not tell
	var elapsed time.Duration
	timed := true
	spending, scores := m.spending(), &curveScores{measure: m}
	before := CurvePoint{Score: page.Missing(page.Nothing), Cost: page.Known(0), Seconds: page.Known(0)}
	for i, at := range u.reached {
		spent, elapsed, timed = spent.Plus(at.spent), elapsed+at.elapsed, timed && at.untimed == 0
		p := CurvePoint{
			Iteration: i + 1, Reached: page.Ratio(at.runs, runs),
			Cost: costOr(spent.Cost, spent.Unpriced+total.Unpriced > 0, spent.Unreported+total.Unreported > 0).Over(float64(runs)), Seconds: page.Missing(page.Unknown),
		}
		if timed {
			p.Seconds = page.Known(elapsed.Seconds() / float64(runs))
		}
		scores.bound(&p)
		p.ReachedInterval = m.share(func(r *run) bool { return int(r.iterations) > i }, anyRun)
		p.Gain = p.Score.Minus(before.Score)
		p.ExtraCost, p.ExtraSeconds = p.Cost.Minus(before.Cost), p.Seconds.Minus(before.Seconds)
		spending.bound(&p)
		points = append(points, p)
		before = p
	}
	return points
}

// bound finds the score of a point, which is the mean over tasks, its interval and
// that of the gain.
func (s *curveScores) bound(p *CurvePoint) {
	s.changes.Clear()
	means := Means{}
	for place, group := range s.runs.inCurveByTask(s.ordered) {
		s.before, s.scored = s.before[:0], s.scored[:0]
		for _, run := range group {
			score, _ := s.runs.scoreAt(run, p.Iteration)
			s.scored = append(s.scored, score)
			score, _ = s.runs.scoreAt(run, p.Iteration-1)
			s.before = append(s.before, score)
		}
		means.Add(s.runs.clusterOfRun(group[0]), s.scored)
		s.changes.Add(s.clusters[place], s.before, s.scored)
	}
	p.Score, p.ScoreInterval = page.ValueOf(stats.Mean(means.All)), means.Interval()
	p.GainInterval = page.NoRange(page.Nothing)
	if p.Iteration > 1 {
		p.GainInterval = RangeOf(s.changes.Interval())
	}
}

// curveScores are made of the scores of a configuration at one point of its curve
// after the other.
type curveScores struct {
	*measure
	changes        compare.Changes
	before, scored []float64 // of a task
}

// inCurveByTask gives the runs of each task that have a known score at every
// iteration, so that all points of a curve speak of the same runs, and the place
// of the task's first run.
func (r *runs) inCurveByTask(ordered []int32) iter.Seq2[int, []int32] {
	return func(yield func(int, []int32) bool) {
		var kept []int32
		place := 0
		for group := range r.grouped(ordered) {
			kept = kept[:0]
			for _, run := range group {
				if r.inCurve(run) {
					kept = append(kept, run)
				}
			}
			if len(kept) > 0 && !yield(place, kept) {
				return
			}
			place += len(group)
		}
	}
}

// inCurve reports whether the run has a score wherever it might have stopped.
func (r *runs) inCurve(run int32) bool {
	for i := range r.all[run].iterations {
		if _, ok := r.scoreAt(run, int(i)+1); !ok {
			return false
		}
	}
	return r.all[run].iterations > 0
}

// scoreAt is the score of what a run would have returned had it stopped there.
// A run that would have returned nothing, as before its first iteration, has the
// score 0.
func (r *runs) scoreAt(at int32, iteration int) (score float64, ok bool) {
	run := &r.all[at]
	if iteration >= int(run.iterations) {
		return r.primary(at)
	}
	if iteration == 0 {
		return 0, true
	}
	if int(run.steps) >= len(r.stepReturned) {
		return 0, false
	}
	returned := r.stepReturned[int(run.steps)+iteration-1]
	if returned == 0 {
		return 0, true
	}
	score = r.stepScores[int(run.steps)+int(returned)-1]
	if math.IsNaN(score) && returned == run.returned {
		return r.primary(at)
	}
	return score, !math.IsNaN(score)
}

// outsideCurve counts the scored runs that the curve leaves out.
func (c *collector) outsideCurve(configuration int) (n int) {
	for _, run := range c.runs.ordered[configuration] {
		if _, scored := c.runs.primary(run); scored && !c.runs.inCurve(run) {
			n++
		}
	}
	return n
}

// curveTable tells what each further iteration brought and cost, of the
// configurations whose runs came further than one.
func curveTable(r *Report) page.Table {
	digits, score := r.scoreDigits(), r.shownScore()
	gain := func(v page.Value) string { return page.Gain(v, digits) }
	type at = row[CurvePoint]
	number := func(head, key string, form func(page.Value) string, of func(*CurvePoint) (page.Value, page.Range)) page.Fields[at] {
		return page.Measured(head, key, form, func(row at) (page.Value, page.Range) { return of(row.of) })
	}
	fields := slices.Concat(nameFields(r, configurationOf[CurvePoint]),
		page.Counted("stop\nat", "iteration", func(row at) int { return row.of.Iteration }),
		number("reached", "reached", page.Percent, func(p *CurvePoint) (page.Value, page.Range) { return p.Reached, p.ReachedInterval }),
		page.Of(page.Column{Head: scoreHead(r), Key: "score", Right: true}, func(row at) page.Cell {
			return page.Number(row.of.Score, score, row.notesOf("", CurveCut)...)
		}).About(r.Primary()).Optional(),
		page.Interval("95%", "score", score, func(row at) page.Range { return row.of.ScoreInterval }),
		number("gain", "gain", gain, func(p *CurvePoint) (page.Value, page.Range) { return p.Gain, p.GainInterval }).Optional(),
		number("cost", "cost_usd", r.dollars, func(p *CurvePoint) (page.Value, page.Range) { return p.Cost, p.CostInterval }),
		number("+cost", "extra_cost_usd", r.extraDollars, func(p *CurvePoint) (page.Value, page.Range) { return p.ExtraCost, p.ExtraCostInterval }),
		number("latency", "latency_s", page.Seconds, func(p *CurvePoint) (page.Value, page.Range) { return p.Seconds, p.SecondsInterval }).Minor(),
		number("+time", "extra_latency_s", page.ExtraSeconds, func(p *CurvePoint) (page.Value, page.Range) { return p.ExtraSeconds, p.ExtraSecondsInterval }).Minor())
	return page.Filled(page.Table{Keys: 2, Name: "curve", Title: "If every run stopped at this iteration (means per run)"}, fields,
		rowsOf(r, func(c *Configuration) []CurvePoint {
			if len(c.Curve) < 2 {
				return nil
			}
			return c.Curve
		}))
}

// scoreHead heads a column of primary scores that have no name.
func scoreHead(r *Report) string {
	if r.Primary() == "" {
		return "score"
	}
	return ""
}

// spending adds up what the runs of each cluster spent, iteration by iteration.
type spending struct {
	*measure
	counts           []float64
	dollars, seconds stepwise
}

// stepwise is an amount of each cluster: in an iteration, and up to it.
type stepwise struct{ extra, all []float64 }

func (m *measure) spending() *spending {
	column := func() stepwise { return stepwise{make([]float64, m.groups), make([]float64, m.groups)} }
	return &spending{measure: m, counts: m.counts(), dollars: column(), seconds: column()}
}

// bound finds the intervals of what runs spent up to a point of the curve, which
// is the one behind that of the call before.
func (s *spending) bound(p *CurvePoint) {
	clear(s.dollars.extra)
	clear(s.seconds.extra)
	for i, at := range s.ordered {
		if run := &s.runs.all[at]; p.Iteration <= int(run.iterations) {
			step, cluster := int(run.steps)+p.Iteration-1, s.clusters[i]
			s.dollars.extra[cluster] += float64(s.runs.stepDollars[step])
			s.seconds.extra[cluster] += float64(s.runs.stepSeconds[step])
		}
	}
	s.dollars.settle()
	s.seconds.settle()
	p.ExtraCostInterval = s.about(p.ExtraCost, s.dollars.extra, s.counts, s.curveDraws)
	p.ExtraSecondsInterval = s.about(p.ExtraSeconds, s.seconds.extra, s.counts, s.curveDraws)
	p.CostInterval, p.SecondsInterval = p.ExtraCostInterval, p.ExtraSecondsInterval
	if p.Iteration > 1 {
		p.CostInterval = s.about(p.Cost, s.dollars.all, s.counts, s.curveDraws)
		p.SecondsInterval = s.about(p.Seconds, s.seconds.all, s.counts, s.curveDraws)
	}
}

func (a *stepwise) settle() {
	for i, extra := range a.extra {
		a.all[i] += extra
	}
}

// StepPoint is what a configuration would have given had a limit of steps ended every
// run: what it had when the first call beyond the limit arrived, without an evaluation
// after that. Runs that made no such call keep what they have. All are means per run.
type StepPoint struct {
	Step            int        `json:"step"`
	Reached         page.Value `json:"reached"` // share of the runs that made so many steps
	ReachedInterval page.Range `json:"reached_interval"`
	// Cost and Tokens are those of the calls that had begun, to their end.
	Cost            page.Value `json:"cost_usd"`
	CostInterval    page.Range `json:"cost_usd_interval"`
	Tokens          page.Value `json:"tokens"`
	TokensInterval  page.Range `json:"tokens_interval"`
	Seconds         page.Value `json:"latency_s"`
	SecondsInterval page.Range `json:"latency_s_interval"`
}

// spentUntil is what a run had spent when a step of its program arrived.
type spentUntil struct {
	cost    record.Money
	tokens  int64
	elapsed time.Duration
}

// keepProgram keeps what the run added last had spent at each step of its program: at
// index 0 when the second one arrived, at the end in all.
func (r *runs) keepProgram(s *record.Signals) {
	var arrived []time.Duration
	for i := range s.Iterations {
		for _, c := range s.Iterations[i].Calls {
			if c.Step > 0 {
				arrived = append(arrived, c.Arrived)
			}
		}
	}
	if len(arrived) == 0 {
		return
	}
	slices.Sort(arrived)
	at, last := int32(len(r.all)-1), &r.all[len(r.all)-1]
	points := make([]spentUntil, 0, len(arrived))
	for _, until := range arrived[1:] {
		points = append(points, spentBy(s, until))
	}
	points = append(points, spentUntil{last.cost, last.tokens, last.elapsed})
	if r.programs == nil {
		r.programs = map[int32][]spentUntil{}
	}
	r.programs[at] = points
}

// spentBy adds up the calls that had begun at a time.
func spentBy(s *record.Signals, until time.Duration) spentUntil {
	var spent record.Usage
	for i := range s.Iterations {
		for _, c := range s.Iterations[i].Calls {
			begun := c.Start
			if c.Step > 0 {
				begun = c.Arrived
			}
			if begun < until {
				spent = spent.Plus(c.Usage)
			}
		}
	}
	return spentUntil{spent.Cost, spent.Tokens(), until}
}

// spentAt is what a run had spent when the step after one arrived; where it made none, in
// all.
func (r *runs) spentAt(at int32, step int) spentUntil {
	if points := r.programs[at]; step <= len(points) {
		return points[step-1]
	}
	run := &r.all[at]
	return spentUntil{run.cost, run.tokens, run.elapsed}
}

// stepCurve is empty where no program called models.
func (c *collector) stepCurve(configuration int, m *measure) (points []StepPoint) {
	most := 0
	for _, at := range m.ordered {
		most = max(most, len(c.runs.programs[at]))
	}
	for step := range most {
		points = append(points, c.stepPoint(&c.sums[configuration], m, step+1))
	}
	return points
}

func (c *collector) stepPoint(u *sums, m *measure, step int) StepPoint {
	column := func() []float64 { return make([]float64, m.groups) } // by cluster
	reached, dollars, tokens, seconds, counts := column(), column(), column(), column(), m.counts()
	var cost record.Money
	for i, at := range m.ordered {
		spent, cluster := c.runs.spentAt(at, step), m.clusters[i]
		cost = cost.Plus(spent.cost)
		dollars[cluster] += spent.cost.Dollars()
		tokens[cluster] += float64(spent.tokens)
		seconds[cluster] += spent.elapsed.Seconds()
		reached[cluster] += numberOf(step <= len(c.runs.programs[at]))
	}
	runs, all := float64(len(m.ordered)), u.agent.Plus(u.judging)
	p := StepPoint{Step: step, Reached: page.Known(stats.Sum(reached) / runs), ReachedInterval: proportion(reached, counts)}
	p.Cost = costOr(cost, all.Unpriced > 0, all.Unreported > 0).Over(runs)
	p.Tokens, p.Seconds = page.Missing(page.Unknown), page.Missing(page.Unknown)
	if all.TokensTold() {
		p.Tokens = page.Known(stats.Sum(tokens) / runs)
	}
	if u.untimed == 0 {
		p.Seconds = page.Known(stats.Sum(seconds) / runs)
	}
	p.CostInterval = m.about(p.Cost, dollars, counts, m.curveDraws)
	p.TokensInterval = m.about(p.Tokens, tokens, counts, m.curveDraws)
	p.SecondsInterval = m.about(p.Seconds, seconds, counts, m.curveDraws)
	return p
}

// stepsTable tells what each further step of a program cost, of the configurations whose
// programs made more than one.
func stepsTable(r *Report) page.Table {
	fields := ofEach(r,
		page.Counted("stop\nat", "step", func(p *StepPoint) int { return p.Step }),
		page.Measured("reached", "reached", page.Percent, func(p *StepPoint) (page.Value, page.Range) { return p.Reached, p.ReachedInterval }),
		page.Measured("cost", "cost_usd", r.dollars, func(p *StepPoint) (page.Value, page.Range) { return p.Cost, p.CostInterval }),
		page.Measured("tokens", "tokens", page.Whole, func(p *StepPoint) (page.Value, page.Range) { return p.Tokens, p.TokensInterval }),
		page.Measured("latency", "latency_s", page.Seconds, func(p *StepPoint) (page.Value, page.Range) { return p.Seconds, p.SecondsInterval }))
	return page.Filled(page.Table{Keys: 2, Name: "steps", Title: "If a limit of steps ended every run (means per run, when the next call arrived)"}, fields,
		rowsOf(r, func(c *Configuration) []StepPoint {
			if len(c.Steps) < 2 {
				return nil
			}
			return c.Steps
		}))
}
