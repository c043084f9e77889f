package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Stop is one way in which runs of a configuration stopped.
type Stop struct {
	Reason record.Reason `json:"reason"`
	Class  record.Class  `json:"class" col:"class,,minor"`
	// Fired is the name of the condition or guard.
	Fired      string        `json:"fired,omitempty" col:",,machines"`
	Runs       int           `json:"runs" col:"runs"`
	Share      page.Estimate `json:"share" col:"share,percent"`                               // of the runs that count
	Iterations page.Estimate `json:"iterations" key:"iterations_mean" col:"iterations,whole"` // mean of these runs
	// Steps is the mean number of steps of these runs; missing where no agent of the
	// configuration makes several in an iteration.
	Steps page.Estimate `json:"steps" key:"steps_mean" col:"steps,whole,optional"`
	// Score is the mean of the primary score over these runs.
	Score page.Estimate `json:"score" key:"score_mean" col:"score,score,about optional"`
}

// Name is the reason, and what fired where that says more.
func (s *Stop) Name() string { return StopName(s.Reason, s.Fired) }

// StopName is a reason, with the name of what fired where that says more.
func StopName(reason record.Reason, fired string) string {
	text := string(reason)
	if fired == "" || fired == text || strings.HasSuffix(text, ":"+fired) {
		return text
	}
	return text + " (" + fired + ")"
}

// stops are the ways in which a configuration's runs stopped, the most frequent
// first.
func (c *collector) stops(configuration int, m *measure) []Stop {
	runs := make([]int, len(c.runs.stops))
	for _, at := range c.runs.ordered[configuration] {
		runs[c.runs.all[at].stop]++
	}
	stops, graded := []Stop{}, slices.ContainsFunc(m.ordered, func(at int32) bool { score, ok := m.runs.primary(at); return ok && score != 0 && score != 1 })
	for i, n := range runs {
		if n > 0 {
			stops = append(stops, m.stop(int32(i), graded, !c.manifest.Brief && len(c.manifest.Configurations[configuration].Steps) > 0))
		}
	}
	slices.SortFunc(stops, func(a, b Stop) int {
		return cmp.Or(mostFirst(a.Runs, b.Runs, a.Name(), b.Name()), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Fired, b.Fired))
	})
	return stops
}

// stop measures the runs that stopped in one way. The means of these runs vary
// with the tasks that have any.
func (m *measure) stop(way int32, graded, countsSteps bool) Stop {
	stopped := m.among(func(at int32) bool { return m.runs.all[at].stop == way })
	scored := stopped.among(func(at int32) bool { _, ok := m.runs.primary(at); return ok })
	var iterations, steps int64
	for _, at := range stopped.ordered {
		iterations += int64(m.runs.all[at].iterations)
		steps += int64(m.runs.all[at].agentSteps)
	}
	key, runs := m.runs.stops[way], len(stopped.ordered)
	mean := func(total int64, of func(*run) float64) page.Estimate {
		return page.Estimate{Value: page.Ratio(total, int64(runs)), Range: stopped.ratio(stopped.sums(of), stopped.counts(), m.curveDraws)}
	}
	s := Stop{
		Reason: key.Reason, Class: key.Class, Fired: key.Fired, Runs: runs,
		Share:      page.Estimate{Value: page.Ratio(int64(runs), int64(len(m.ordered))), Range: m.share(func(r *run) bool { return r.stop == way }, anyRun)},
		Iterations: mean(iterations, func(r *run) float64 { return float64(r.iterations) }),
		Score:      page.Estimate{Value: page.ValueOf(stats.Mean(m.runs.primaries(scored.ordered))), Range: scored.meanScore(graded)},
		Steps:      page.NoEstimate(page.Nothing),
	}
	if countsSteps {
		s.Steps = mean(steps, func(r *run) float64 { return float64(r.agentSteps) })
	}
	return s
}

func mostFirst(a, b int, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b, a), cmp.Compare(nameA, nameB))
}

// stopsTable tells which conditions, guards and limits ended the runs.
func stopsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, configurationOf[Stop]),
		page.Of(page.Column{Head: "stopped by", Key: "reason"}, func(row row[Stop]) page.Cell {
			return page.Cell{Text: row.of.Name(), Raw: string(row.of.Reason), Foreign: true}
		}), taggedFields[Stop](r, "Fired", "Runs", "Share", "Iterations", "Steps", "Score", "Class"))
	return page.Filled(page.Table{Keys: 2, Name: "stops", Title: "What stopped the runs (means of the runs it stopped)"}, fields,
		rowsOf(r, func(c *Configuration) []Stop { return c.Stops }))
}

// Limit tells how much of one limit of a configuration was used: of iterations, or
// of the steps within one, of which that iteration of a run counts that made most.
type Limit struct {
	Name  string `json:"name"`                       // its parameter path
	Limit int    `json:"limit" key:"value" col:"is"` // iterations, or steps
	// Derived says that the configuration has no such limit of its own: it
	// follows from those of the phases.
	Derived bool `json:"derived,omitempty"`
	// Used is the mean number of what the limit counts, per run;
	// Share is Used divided by the limit.
	Used  page.Estimate `json:"used" key:"used_mean" col:"used,whole"`
	Share page.Estimate `json:"share" col:"share,percent"`
	// Reached is the share of the runs that came up to the limit.
	Reached page.Estimate `json:"reached" col:"reached,percent"`
	// Enough is the least limit that 95 % of the runs would not have noticed.
	Enough int `json:"enough" col:",,machines"`
	// Hint is what the numbers suggest, "" where they suggest nothing.
	Hint string `json:"hint,omitempty" col:"hint,,own prose optional"`
}

// When a hint is given. Fewer runs than hintRuns suggest nothing.
const (
	hintRuns   = 5
	often      = 0.8      // a limit that so many runs reach is consistently hit
	rarely     = 0.05     // one that at most so many reach is consistently missed
	dominating = 2.0 / 3  // share of all iterations that one phase takes
	beyondPlan = 1.0 / 10 // how far that is above the share that the limits give it
)

// limits measures the phase limits of a configuration, its maximum and its limits
// of steps.
func (m *measure) limits(head *record.ConfigurationHead, u *sums, use *taskUse, s *Configuration) []Limit {
	limits := []Limit{}
	for i, phase := range head.Phases {
		if phase.Limit > 0 {
			limit := measureLimit("phases."+phase.Name+".max_iterations", phase.Limit, u.inPhase(phase.Name), s.Runs)
			limit.suggest(s.Runs)
			m.bound(&limit, m.perTask(use, usePhases+2*i, whole), m.perTask(use, usePhases+2*i+1, whole))
			limits = append(limits, limit)
		}
	}
	balance(limits, s)
	if limit := head.EffectiveMax; limit > 0 {
		maximum := measureLimit("max_iterations", limit, u.lengths(), s.Runs)
		if maximum.Derived = head.MaxIterations == 0; !maximum.Derived {
			maximum.suggest(s.Runs)
			maximum.weigh(s.Curve)
		}
		m.bound(&maximum, m.sums(func(r *run) float64 { return float64(r.iterations) }), m.sums(func(r *run) float64 { return numberOf(int(r.iterations) >= limit) }))
		limits = append(limits, maximum)
	}
	for i, of := range head.Steps {
		used := &histogram{}
		if i < len(u.steps) {
			used = &u.steps[i]
		}
		limit := measureLimit(of.Path, of.Limit, used, s.Runs)
		limit.suggest(s.Runs)
		m.bound(&limit, m.perTask(use, useSteps(head, i), whole), m.perTask(use, useSteps(head, i)+1, whole))
		limits = append(limits, limit)
	}
	return limits
}

// bound finds the intervals of a limit, from the iterations of each cluster and
// how many of its runs came up to it.
func (m *measure) bound(l *Limit, used, reached []float64) {
	l.Used.Range = m.ratio(used, m.counts(), m.curveDraws)
	l.Share.Range = l.Used.Range.Over(float64(l.Limit))
	l.Reached.Range = proportion(reached, m.counts())
}

func measureLimit(name string, limit int, used *histogram, runs int) Limit {
	l := Limit{Name: name, Limit: limit, Enough: used.covering(int64(rarely * float64(runs)))}
	l.Used.Value, l.Reached.Value = page.Ratio(used.total(), int64(runs)), page.Ratio(used.atLeast(limit), int64(runs))
	l.Share.Value = page.Ratio(used.total(), int64(runs)*int64(limit))
	return l
}

// suggest hints at a limit that is consistently hit or missed. One that only
// follows from those of the phases cannot be changed: nothing is said of it.
func (l *Limit) suggest(runs int) {
	smaller := max(l.Enough, 1)
	switch {
	case runs < hintRuns:
	case l.Reached.Number >= often:
		l.Hint = reachedByMost
	case l.Reached.Number <= rarely && smaller < l.Limit:
		l.Hint = fmt.Sprintf("hardly any run reaches it: %d would do", smaller)
	}
}

// reachedByMost is the hint where nothing is known of what more iterations would bring.
const reachedByMost = "most runs reach it"

// weigh adds to the hint of a limit that most runs reach what its last iteration brings, where the curve tells it.
func (l *Limit) weigh(curve []CurvePoint) {
	const nothing = 1e-9 // what is left of a difference of equal means
	if l.Hint != reachedByMost || l.Limit < 2 || len(curve) < l.Limit {
		return
	}
	last := &curve[l.Limit-1]
	switch {
	case !last.Gain.Known():
	case last.Gain.Number > nothing:
		l.Hint += ": try a larger limit"
	case last.ExtraCost.Known() && last.ExtraCost.Number > 0:
		l.Hint = "the last iteration adds nothing: try a smaller limit"
	}
}

// balance hints at the phase that takes most of the iterations, unless the
// limits mean it to.
func balance(phases []Limit, s *Configuration) {
	var used, planned float64
	for _, phase := range phases {
		used += phase.Used.Number
		planned += float64(phase.Limit)
	}
	if len(phases) < 2 || s.Runs < hintRuns || used == 0 {
		return
	}
	for i := range phases {
		share := phases[i].Used.Number / used
		if share > dominating && share > float64(phases[i].Limit)/planned+beyondPlan {
			hint := fmt.Sprintf("takes %.0f%% of all iterations: check the balance of the phases", share*100)
			phases[i].Hint = strings.TrimPrefix(phases[i].Hint+"; "+hint, "; ")
		}
	}
}

// phase is the name of the phase that the limit is of.
func (l *Limit) phase() (name string, ok bool) {
	name, ok = strings.CutPrefix(l.Name, "phases.")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ".max_iterations")
}

// limitsTable tells how much of each iteration limit was used.
func limitsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, configurationOf[Limit]),
		page.Of(page.Column{Head: "limit", Key: "limit"}, func(row row[Limit]) page.Cell { return row.of.cell() }), taggedFields[Limit](r))
	rows := rowsOf(r, func(c *Configuration) []Limit {
		if c.Runs == 0 {
			return nil
		}
		return c.Limits
	})
	counted := "iterations"
	for row := range rows {
		if strings.HasSuffix(row.of.Name, "agent.max_steps") {
			counted = "iterations; of max_steps the steps of a run's longest iteration"
		}
	}
	return page.Filled(page.Table{Keys: 2, Name: "limits", Title: "How much of each limit was used (" + counted + ", means per run)"}, fields, rows)
}

// cell is brief for people: "phase execution" is phases.execution.max_iterations.
func (l *Limit) cell() page.Cell {
	c := page.Name(l.Name)
	if phase, ok := l.phase(); ok {
		c.Text = "phase " + phase
	} else if l.Derived {
		c.Text += " (derived)"
	}
	return c
}
