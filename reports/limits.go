package reports

import (
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Limit tells how much of one limit of a configuration was used: of iterations, or
// of the steps within one, of which that iteration of a run counts that made most.
type Limit struct {
	Name  string `json:"name"`  // its parameter path
	Limit int    `json:"limit"` // iterations, or steps
	// Derived says that the configuration has no such limit of its own: it
	// follows from those of the phases.
	Derived bool `json:"derived,omitempty"`
	// Used is the mean number of what the limit counts, per run;
	// Share is Used divided by the limit.
	Used          page.Value `json:"used"`
	UsedInterval  page.Range `json:"used_interval"`
	Share         page.Value `json:"share"`
	ShareInterval page.Range `json:"share_interval"`
	// Reached is the share of the runs that came up to the limit.
	Reached         page.Value `json:"reached"`
	ReachedInterval page.Range `json:"reached_interval"`
	// Enough is the least limit that 95 % of the runs would not have noticed.
	Enough int `json:"enough"`
	// Hint is what the numbers suggest, "" where they suggest nothing.
	Hint string `json:"hint,omitempty"`
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
			m.bound(&limit, m.perTask(usedOf(use.phases, i)), m.perTask(reachedOf(use.phases, i)))
			limits = append(limits, limit)
		}
	}
	balance(limits, s)
	if limit := head.EffectiveMax; limit > 0 {
		maximum := measureLimit("max_iterations", limit, u.lengths(), s.Runs)
		if maximum.Derived = head.MaxIterations == 0; !maximum.Derived {
			maximum.suggest(s.Runs)
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
		m.bound(&limit, m.perTask(usedOf(use.steps, i)), m.perTask(reachedOf(use.steps, i)))
		limits = append(limits, limit)
	}
	return limits
}

// bound finds the intervals of a limit, from the iterations of each cluster and
// how many of its runs came up to it.
func (m *measure) bound(l *Limit, used, reached []float64) {
	l.UsedInterval = m.ratio(used, m.counts(), m.curveDraws)
	l.ShareInterval = l.UsedInterval.Over(float64(l.Limit))
	l.ReachedInterval = proportion(reached, m.counts())
}

// inPhase counts the runs by their iterations in a phase, where they have any.
func (u *sums) inPhase(name string) *histogram {
	if used := u.phases[name]; used != nil {
		return used
	}
	return &histogram{}
}

// lengths counts the runs by their number of iterations.
func (u *sums) lengths() *histogram {
	h := &histogram{runs: make([]int64, len(u.reached)+1)}
	for i, at := range u.reached {
		h.runs[i+1] = at.runs
		if i+1 < len(u.reached) {
			h.runs[i+1] -= u.reached[i+1].runs
		}
	}
	return h
}

func measureLimit(name string, limit int, used *histogram, runs int) Limit {
	reached := used.atLeast(limit)
	l := Limit{
		Name: name, Limit: limit, Used: page.Ratio(used.total(), int64(runs)), Reached: page.Ratio(reached, int64(runs)),
		Enough: used.covering(int64(rarely * float64(runs))),
	}
	l.Share = page.Ratio(used.total(), int64(runs)*int64(limit))
	return l
}

// suggest hints at a limit that is consistently hit or missed. One that only
// follows from those of the phases cannot be changed: nothing is said of it.
func (l *Limit) suggest(runs int) {
	smaller := max(l.Enough, 1)
	switch {
	case runs < hintRuns:
	case l.Reached.Number >= often:
		l.Hint = "most runs reach it: try a larger limit"
	case l.Reached.Number <= rarely && smaller < l.Limit:
		l.Hint = fmt.Sprintf("hardly any run reaches it: %d would do", smaller)
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
			phases[i].Hint = joinHints(phases[i].Hint, hint)
		}
	}
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// phase is the name of the phase that the limit is of.
func (l *Limit) phase() (name string, ok bool) {
	name, ok = strings.CutPrefix(l.Name, "phases.")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, ".max_iterations")
}
