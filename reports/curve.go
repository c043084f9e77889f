package reports

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// CurvePoint is what a configuration would have given had every run stopped at
// an iteration at the latest. Runs that stopped before keep what they returned.
type CurvePoint struct {
	Iteration int           `json:"iteration" col:"stop\nat"`
	Reached   page.Estimate `json:"reached" col:"reached,percent"` // share of the runs that came so far
	// Score is the mean of the primary score; Gain is what this iteration adds.
	Score page.Estimate `json:"score" col:"score,score,about optional" warn:"curve_cut"`
	Gain  page.Estimate `json:"gain" col:"gain,gain,optional"`
	// Cost and Seconds are means per run up to here, the runs that stopped
	// before included; the others are what this iteration adds.
	Cost         page.Estimate `json:"cost_usd" col:"cost,dollars"`
	ExtraCost    page.Estimate `json:"extra_cost_usd" col:"+cost,extra dollars"`
	Seconds      page.Estimate `json:"latency_s" col:"latency,seconds,minor"`
	ExtraSeconds page.Estimate `json:"extra_latency_s" col:"+time,extra seconds,minor"`
}

// curve is empty where nothing ran.
func (c *collector) curve(configuration int, m *measure) []CurvePoint {
	points := []CurvePoint{}
	u, runs := &c.sums[configuration], int64(len(c.runs.ordered[configuration]))
	total := u.agent.Plus(u.judging)
	var spent record.Usage // by iterations, which a log of whole runs does not tell
	var elapsed time.Duration
	timed := true
	spending, scores := m.spending(), &curveScores{measure: m, known: DrawsCurve(int(runs)-c.outsideCurve(configuration), int(runs))}
	before := CurvePoint{Score: page.NoEstimate(page.Nothing)}
	for i, at := range u.reached {
		spent, elapsed, timed = spent.Plus(at.spent), elapsed+at.elapsed, timed && at.untimed == 0
		p := CurvePoint{Iteration: i + 1, Reached: page.Estimate{Value: page.Ratio(at.runs, runs), Range: m.share(func(r *run) bool { return int(r.iterations) > i }, anyRun)}}
		p.Cost.Value = costOr(spent.Cost, spent.Unpriced+total.Unpriced > 0, spent.Unreported+total.Unreported > 0).Over(float64(runs))
		if p.Seconds.Value = page.Missing(page.Unknown); timed {
			p.Seconds.Value = page.Known(elapsed.Seconds() / float64(runs))
		}
		scores.bound(&p)
		p.Gain.Value = p.Score.Minus(before.Score.Value)
		p.ExtraCost.Value, p.ExtraSeconds.Value = p.Cost.Minus(before.Cost.Value), p.Seconds.Minus(before.Seconds.Value)
		spending.bound(&p)
		points = append(points, p)
		before = p
	}
	return points
}

// bound finds the score of a point, which is the mean over tasks, its interval and
// that of the gain.
func (s *curveScores) bound(p *CurvePoint) {
	p.Score, p.Gain = page.NoEstimate(page.Nothing), page.NoEstimate(page.Nothing)
	if !s.known {
		return
	}
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
	p.Score = means.Estimate()
	if p.Iteration > 1 {
		p.Gain.Range = RangeOf(s.changes.Interval())
	}
}

// curveScores are made of the scores of a configuration at one point of its curve
// after the other.
type curveScores struct {
	*measure
	known          bool // of enough runs
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

// outsideCurve counts the runs that the curve leaves out.
func (c *collector) outsideCurve(configuration int) (n int) {
	for _, run := range c.runs.ordered[configuration] {
		if !c.runs.inCurve(run) {
			n++
		}
	}
	return n
}

// DrawsCurve reports whether the score is known at every iteration of enough runs for a curve: of at least half of
// them. Those of fewer are mostly runs that ended early.
func DrawsCurve(known, runs int) bool { return known > 0 && 2*known >= runs }

func curveCut(w Warning) string {
	text := fmt.Sprintf("%d of %d runs have an iteration without a score and are not in the curve", w.Count, w.Of)
	if !DrawsCurve(w.Of-w.Count, w.Of) {
		text += ": too many for a score"
	}
	return text
}

// curveTable tells what each further iteration brought and cost, of the
// configurations whose runs came further than one.
func curveTable(r *Report) page.Table {
	fields := partFields[CurvePoint](r)
	return page.Filled(page.Table{Keys: 2, Name: "curve", Title: "If every run stopped at this iteration (means per run)"}, fields,
		rowsOf(r, func(c *Configuration) []CurvePoint {
			if len(c.Curve) < 2 {
				return nil
			}
			return c.Curve
		}))
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
	p.ExtraCost = s.about(p.ExtraCost.Value, s.dollars.extra, s.counts, s.curveDraws)
	p.ExtraSeconds = s.about(p.ExtraSeconds.Value, s.seconds.extra, s.counts, s.curveDraws)
	p.Cost.Range, p.Seconds.Range = p.ExtraCost.Range, p.ExtraSeconds.Range
	if p.Iteration > 1 {
		p.Cost = s.about(p.Cost.Value, s.dollars.all, s.counts, s.curveDraws)
		p.Seconds = s.about(p.Seconds.Value, s.seconds.all, s.counts, s.curveDraws)
	}
}

func (a *stepwise) settle() {
	for i, extra := range a.extra {
		a.all[i] += extra
	}
}
