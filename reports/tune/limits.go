package tune

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// When the use of a limit suggests something. Fewer runs than adviceRuns suggest
// nothing.
const (
	adviceRuns = 5
	// oftenReached is the share of runs from which a limit is consistently hit.
	oftenReached = 0.8
	// rarelyReached is the share of runs below which it is consistently missed, if
	// the runs use no more than littleUsed of it on average.
	rarelyReached = 0.05
	littleUsed    = 0.6
	// mostlyOne is the share of all iterations, or of all cost, from which one of
	// several phases takes more than its part.
	mostlyOne = 0.6
)

// limits measure how much of their limits the recommended and today's
// configuration use, and tells which phase limits are unusual for their kind.
func (t *chooser) limits(ctx context.Context, r *Tuning, choice *chosen) error {
	for _, of := range t.described(choice) {
		loop := t.candidates[of.candidate].Declared()
		if err := t.used(ctx, r, of, loop, choice); err != nil {
			return err
		}
		for phase := range page.EachOf(loop.Phases) {
			if hint := phase.Unusual(); hint != "" {
				r.Ranges = append(r.Ranges, RangeHint{Of: of.name, Path: "phases." + phase.Name + ".max_iterations", Limit: phase.MaxIterations, Hint: hint})
			}
		}
	}
	return nil
}

// used measures the limits of a configuration that is exact. Of another one only
// the runs that ended early are known, which never come near its limits.
func (t *chooser) used(ctx context.Context, r *Tuning, of described, loop *spec.Loop, choice *chosen) error {
	if t.standing[of.candidate] == notExact {
		return nil
	}
	used, err := t.use(ctx, of.candidate)
	if err != nil {
		return err
	}
	for _, l := range used.limits(loop) {
		l.Of = of.name
		t.advise(of.candidate, &l, used)
		t.agree(&l, choice.candidate)
		r.Limits = append(r.Limits, l)
	}
	return nil
}

// use is how many iterations the runs of a configuration make in each stage, and
// what these cost.
type use struct {
	runs   int
	length []int // of each run
	stages []stageUse
	all    float64 // cost
}

// stageUse is that of a stage. Runs at the end of the list that make none of its
// iterations may be missing.
type stageUse struct {
	name  string
	made  []int // by run
	steps []int // by run, of its longest iteration in the stage
	main  []int // likewise, of the main conversation alone
	spent float64
}

func (t *chooser) use(ctx context.Context, candidate int) (*use, error) {
	outcomes, err := t.Outcomes(ctx, candidate)
	if err != nil {
		return nil, err
	}
	on, err := t.Recording(ctx, candidate)
	if err != nil {
		return nil, err
	}
	runs, spent := t.Recordings()[on].Runs, t.ofIteration()
	u := &use{}
	for i := range outcomes {
		if outcomes[i].Verdict == replay.Exact {
			u.add(outcomes[i].Iterations, runs[i].Run, spent)
		}
	}
	return u, nil
}

func (u *use) add(iterations int, run *record.Run, spent func(it *record.Iteration) float64) {
	u.runs++
	u.length = append(u.length, iterations)
	for i := range min(iterations, len(run.Iterations)) {
		it := &run.Iterations[i]
		stage := u.stage(cmp.Or(it.Phase, it.Strategy))
		for len(stage.made) < u.runs {
			stage.made, stage.steps, stage.main = append(stage.made, 0), append(stage.steps, 0), append(stage.main, 0)
		}
		stage.made[u.runs-1]++
		stage.steps[u.runs-1] = max(stage.steps[u.runs-1], it.StepCount())
		stage.main[u.runs-1] = max(stage.main[u.runs-1], it.MainStepCount())
		cost := spent(it)
		stage.spent += cost
		u.all += cost
	}
}

// stage is that of a name. There are few.
func (u *use) stage(name string) *stageUse {
	for stage := range page.EachOf(u.stages) {
		if stage.name == name {
			return stage
		}
	}
	u.stages = append(u.stages, stageUse{name: name})
	return &u.stages[len(u.stages)-1]
}

// ofIteration tells what an iteration takes, in the unit of the choice's cost where
// that is an amount.
func (t *chooser) ofIteration() func(it *record.Iteration) float64 {
	unit := t.unitOfCost()
	switch unit {
	case &Iterations:
		return func(*record.Iteration) float64 { return 1 }
	case &Time:
		return func(it *record.Iteration) float64 { return (it.End - it.Start).Seconds() }
	}
	o := &sweep.Outcome{}
	return func(it *record.Iteration) float64 {
		o.Usage.Most, o.Judging.Most = it.Spent()
		o.User.Most = it.SpentByUser()
		used := o.Total()
		_, most := unit.Of(o, &used)
		return float64(most) / unit.Unit
	}
}

// limits are those of the phases or strategies, the one of the whole loop, and those of
// steps.
func (u *use) limits(loop *spec.Loop) (all []LimitUse) {
	kind := "phases."
	if len(loop.Strategies) > 0 {
		kind = "strategies."
	}
	for _, stage := range loop.Stages() {
		if stage.Name == "" || stage.Limit == 0 {
			continue
		}
		used := u.stage(stage.Name)
		l := u.limit(kind+stage.Name+".max_iterations", stage.Limit, used.made)
		l.fixed = stage.Until == nil
		if u.all > 0 {
			l.OfCost = page.Known(used.spent / u.all)
		}
		all = append(all, l)
	}
	if limit, derived, _ := loop.EffectiveMax(); limit > 0 {
		l := u.limit("terminate.max_iterations", limit, u.length)
		l.Derived = derived
		all = append(all, l)
	}
	for _, of := range loop.StepLimits() {
		l := u.limit(of.Path, of.Limit, u.steps(of))
		l.OfAll = page.Missing(page.Nothing) // steps are no iterations
		all = append(all, l)
	}
	return all
}

// steps are those of each run's longest iteration that a limit is of. A run of a
// lower limit than the recorded one ends its iterations there.
func (u *use) steps(of spec.StepLimit) []int {
	longest := make([]int, u.runs)
	for i := range u.stages {
		if stage := &u.stages[i]; of.Stage == "" || of.Stage == stage.name {
			steps := stage.steps
			if of.Main {
				steps = stage.main
			}
			for run, n := range steps {
				longest[run] = max(longest[run], min(n, of.Limit))
			}
		}
	}
	return longest
}

// limit measures one, by the iterations of each run that it counts.
func (u *use) limit(path string, limit int, used []int) LimitUse {
	l := LimitUse{Path: path, Limit: limit, OfCost: page.Missing(page.Nothing)}
	var sum, reached, all int64
	for _, n := range used {
		sum += int64(n)
		reached += int64(count(n >= limit))
		l.Largest = max(l.Largest, n)
	}
	for _, n := range u.length {
		all += int64(n)
	}
	l.Used, l.Share = page.Ratio(sum, int64(u.runs)), page.Ratio(sum, int64(u.runs)*int64(limit))
	l.Reached, l.OfAll = page.Ratio(reached, int64(u.runs)), page.Ratio(sum, all)
	return l
}

// advise says what the use of a limit suggests. A limit that follows from others
// suggests nothing.
func (t *chooser) advise(candidate int, l *LimitUse, u *use) {
	if u.runs < adviceRuns || l.Derived {
		return
	}
	switch {
	case l.Reached.Number >= oftenReached && t.gainsByMore(candidate, l) && !t.always(l):
		l.Advice, l.To = Raise, l.Limit+1
		if path, ok := t.axis(l.Path); ok {
			if more, ok := t.beside(candidate, path, 1); ok {
				l.Step = t.step(candidate, more, path)
			}
		}
	case l.Reached.Number < rarelyReached && l.Share.Number <= littleUsed:
		if l.To = t.lossless(candidate, l); l.To < l.Limit {
			l.Advice = Lower
		} else {
			l.To = 0
		}
	}
	several := len(u.stages) > 1 && strings.HasPrefix(l.Path, "phases.")
	if several && l.Advice == NoAdvice && (l.OfAll.Number >= mostlyOne || l.OfCost.Number >= mostlyOne) {
		l.Advice = Rebalance
	}
}

// always says that a phase or strategy makes as many iterations as it may because nothing
// else ends it: that all runs do says nothing, and no other value was tried.
func (t *chooser) always(l *LimitUse) bool {
	path, tried := t.axis(l.Path)
	return l.fixed && l.Reached.Number == 1 && !(tried && len(t.values[path]) > 1)
}

// agree makes the advice on today's limit one with the recommendation, which went by more
// than the use of one limit: the limit that it raises is raised to the same, and what it
// changes the other way is not advised on.
func (t *chooser) agree(l *LimitUse, recommended int) {
	path, ok := t.axis(l.Path)
	if recommended < 0 || !ok || l.Of != "today" || l.Advice != Raise && l.Advice != Lower {
		return
	}
	switch to, whole := t.param(recommended, path).(float64); {
	case !whole:
	case l.Advice == Raise && int(to) > l.Limit:
		l.To = int(to)
	case l.Advice == Raise, int(to) > l.Limit:
		l.Advice, l.To, l.Step = NoAdvice, 0, nil
	}
}

// gainsByMore says that a larger limit may be worth something: what is known of one
// step more and of one step less does not say otherwise.
func (t *chooser) gainsByMore(candidate int, l *LimitUse) bool {
	path, ok := t.axis(l.Path)
	if !ok {
		return true
	}
	if more, ok := t.beside(candidate, path, 1); ok && t.can[more] {
		return t.value[0][more] > t.value[0][candidate]
	}
	less, ok := t.beside(candidate, path, -1)
	return !ok || !t.can[less] || t.value[0][less] < t.value[0][candidate]
}

// axis is the parameter of that path, which candidates may write short.
func (t *chooser) axis(full string) (path int, ok bool) {
	path = slices.IndexFunc(t.paths, func(p string) bool { return spec.FullPath(p) == full })
	return path, path >= 0
}

// lossless is the smallest limit that loses nothing: of those that were tried one
// that is no worse in objective and successes; else what the longest run uses, which
// no run would notice.
func (t *chooser) lossless(candidate int, l *LimitUse) int {
	least := max(1, l.Largest)
	path, ok := t.axis(l.Path)
	if !ok || t.score < 0 {
		return least
	}
	for steps := -1; ; steps-- {
		other, ok := t.beside(candidate, path, steps)
		if !ok {
			return least
		}
		limit, whole := t.param(other, path).(float64)
		if !whole || !t.can[other] || t.value[0][other] < t.value[0][candidate] || t.flips(other, 0).lost > t.flips(candidate, 0).lost {
			return least
		}
		least = min(least, int(limit))
	}
}
