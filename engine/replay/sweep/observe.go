package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// mostObserved is how many observed values of one parameter are tried. Where
// there are more, they are thinned evenly by rank.
const mostObserved = 200

// Observe finds the values of an axis with ends: those that recorded runs tell
// apart. Between two of them every value decides alike, so that nothing is
// missed; where there are too many they are thinned, and Observed says of how
// many. Values that are named stay, in the order of size, off behind all numbers.
// A loop is one that the parameter is set in. The error is a source.Faults.
func (a *Axis) Observe(loop *spec.Loop, recordings []Recording) error {
	if len(a.Between) == 0 {
		return nil
	}
	var values []float64
	var write func(float64) any
	for i := range a.Between {
		ends := &a.Between[i]
		probed, faults := a.probed(loop, ends)
		if probed == nil {
			return faults
		}
		seen, ok := observe(probed[0], changed(loop, probed[0], spec.FullPath(a.Path)), recordings)
		if !ok {
			return source.Faults{ends.Node.Fault("name the values: "+a.Path+"=a,b,c", "nothing that is recorded tells values of %s apart", a.Path)}
		}
		values, write = append(values, seen.between(ends.From, ends.To)...), seen.write
	}
	slices.Sort(values)
	values = slices.Compact(values)
	if len(values) > mostObserved {
		a.Observed = len(values)
		values = thinned(values, mostObserved)
	}
	a.join(values, write)
	return nil
}

// Beyond lists the values of max_iterations that cannot be judged: those above the recorded limit, where runs of
// the loop reached it. It is "" if no run did, or no value is above it.
func (a *Axis) Beyond(loop *spec.Loop, recordings []Recording) string {
	if spec.FullPath(a.Path) != "terminate.max_iterations" {
		return ""
	}
	loosest, ended, of := 0, int64(0), 0
	for i := range recordings {
		limit, _, _ := recordings[i].Loop.EffectiveMax()
		switch {
		case replay.Apart(recordings[i].Loop, loop) != "":
			continue
		case limit == 0:
			return ""
		case limit < loosest:
			continue
		case limit > loosest:
			loosest, ended, of = limit, 0, 0
		}
		of += len(recordings[i].Runs)
		for k := range recordings[i].Runs {
			run := recordings[i].Runs[k].Run
			ended += count(len(run.Iterations) == limit && run.Outcome.Reason == record.ReasonMaxIterations)
		}
	}
	from, to := math.MaxInt, 0
	for i := range a.Between {
		if b := &a.Between[i]; b.To > float64(loosest) && b.To < mostIterations {
			from, to = min(from, max(int(math.Ceil(b.From)), loosest+1)), max(to, int(b.To))
		}
	}
	if ended == 0 || to < from {
		return ""
	}
	values := strconv.Itoa(from)
	if to > from {
		values += " to " + strconv.Itoa(to)
	}
	return fmt.Sprintf("%s %s cannot be judged: the recording ended at %d in %d of %d runs", spec.FullPath(a.Path), values, loosest, ended, of)
}

// join puts values between ends among those that are named.
func (a *Axis) join(values []float64, write func(float64) any) {
	a.Values = slices.Clone(a.Values) // those of a copy of the axis stay
	for _, v := range values {
		same := func(named *source.Node) bool { is, ok := Number(named.Text); return ok && is == v }
		if !slices.ContainsFunc(a.Values, same) {
			a.Values = append(a.Values, source.New(a.Between[0].Node, write(v)))
		}
	}
	size := func(n *source.Node) float64 {
		if v, ok := Number(n.Text); ok {
			return v
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(a.Values, func(x, y *source.Node) int { return cmp.Compare(size(x), size(y)) })
}

// probed has the parameter set to each of the ends, as a number or as a duration:
// one of them must be allowed.
func (a *Axis) probed(loop *spec.Loop, ends *Ends) (all []*spec.Loop, faults source.Faults) {
	for _, v := range []float64{ends.To, ends.From} {
		for _, value := range []any{seconds(v), plainNumber(v)} {
			one, wrong := loop.With(a.assignment(source.New(ends.Node, value)))
			if one != nil {
				all = append(all, one)
				break
			}
			faults = wrong
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, faults
}

// changed is the path of the one parameter in which two loops differ: a path may
// lead to a condition whose own name is another. Where they do not differ in one,
// it is the path itself.
func changed(before, after *spec.Loop, path string) string {
	known := map[spec.Value]bool{}
	for _, v := range before.Values() {
		known[v] = true
	}
	var others []string
	for _, v := range after.Values() {
		if v.Parameter && !known[v] {
			others = append(others, v.Path)
		}
	}
	if len(others) == 1 {
		return others[0]
	}
	return path
}

// observed are the values that runs tell apart.
type observed struct {
	values []float64
	// strictly says that a rule holds above its value, and not at it.
	strictly bool
	write    func(float64) any
}

// between are the values in [from, to] that decide differently, in their order.
// Where a rule holds at its value, all between two of them decide as the upper
// one, so that to stands for the next one after it; else as the lower one.
func (o *observed) between(from, to float64) []float64 {
	end := to
	if o.strictly {
		end = from
	}
	values := []float64{end}
	for _, v := range o.values {
		if v >= from && v <= to {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// thinned are so many of the values, the first and the last among them.
func thinned(values []float64, most int) []float64 {
	kept := make([]float64, most)
	for i := range kept {
		kept[i] = values[i*(len(values)-1)/(most-1)]
	}
	return kept
}

// observe decides by the parameter what is observed. It is not ok where nothing
// is recorded that the parameter is compared with.
func observe(l *spec.Loop, path string, recordings []Recording) (o observed, ok bool) {
	o.write = plainNumber
	kind, field := kindOf(l, path)
	switch {
	case kind == spec.KindConfidence && field == "threshold":
		o.values = fromIterations(recordings, confidences)
	case kind == spec.KindNoImprovement && field == "min_delta":
		o.values, o.strictly = fromRuns(recordings, differences), true
	case kind == spec.KindTimeout && field == "after":
		ends := func(it *record.Iteration) (float64, bool) { return it.End.Seconds(), it.End > 0 }
		o.values, o.write = fromIterations(recordings, ends), func(v float64) any { return seconds(v) }
	case path == "guards.budget.tokens":
		o.values = fromRuns(recordings, spent(func(u record.Usage) float64 { return float64(u.Tokens()) }))
	case path == "guards.budget.calls":
		o.values = fromRuns(recordings, spent(func(u record.Usage) float64 { return float64(u.Calls) }))
	case path == "guards.budget.cost_usd":
		o.values = fromRuns(recordings, spent(dollars))
	case path == "guards.budget.steps":
		o.values, o.strictly = fromRuns(recordings, steps), true
	case counts(l, path):
		o.values = upTo(recordings, counted(l, path))
		o.strictly = true // no run is longer, so that what lies above the last decides alike
	default:
		return o, false
	}
	return o, true
}

// kindOf is the kind of condition that a path leads into, and the field there.
func kindOf(l *spec.Loop, path string) (spec.Kind, string) {
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return "", path
	}
	for _, v := range l.Values() {
		if kind, isText := v.Value.(string); isText && v.Path == path[:at] {
			return spec.Kind(kind), path[at+1:]
		}
	}
	if path == "terminate.timeout" {
		return spec.KindTimeout, "after"
	}
	return "", path[at+1:]
}

func fromIterations(recordings []Recording, of func(*record.Iteration) (float64, bool)) []float64 {
	return fromRuns(recordings, func(run *record.Run) []float64 {
		var all []float64
		for i := range run.Iterations {
			if v, ok := of(&run.Iterations[i]); ok {
				all = append(all, v)
			}
		}
		return all
	})
}

// fromRuns gathers numbers of every run, each once.
func fromRuns(recordings []Recording, of func(*record.Run) []float64) []float64 {
	seen := map[float64]bool{}
	for i := range recordings {
		for k := range recordings[i].Runs {
			for _, v := range of(recordings[i].Runs[k].Run) {
				seen[v] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func confidences(it *record.Iteration) (float64, bool) {
	if !it.Evaluated() {
		return 0, false
	}
	return it.Evaluation.Confidence, true
}

// differences are by how much an iteration is above one before it.
func differences(run *record.Run) []float64 {
	var before, all []float64
	for i := range run.Iterations {
		v, ok := confidences(&run.Iterations[i])
		if !ok {
			continue
		}
		for _, reference := range before {
			if v > reference {
				all = append(all, v-reference)
			}
		}
		if !slices.Contains(before, v) {
			before = append(before, v)
		}
	}
	return all
}

// steps are the limits of steps that end a run at its calls, and the least one that does not.
func steps(run *record.Run) (limits []float64) {
	n := 0
	for i := range run.Iterations {
		n += run.Iterations[i].StepCount()
	}
	for limit := 1; limit <= n+1; limit++ {
		limits = append(limits, float64(limit))
	}
	return limits
}

// needed is how much a budget has to hold so that each of the calls is admitted that programs made.
func needed(run *record.Run, of func(record.Usage) float64) (limits []float64) {
	var before []record.Call
	for i := range run.Iterations {
		calls := run.Iterations[i].Calls
		for k := range calls {
			if calls[k].Conversation != "" {
				limits = append(limits, of(stop.NeededFor(before, &calls[k])))
				before = append(before, calls[k])
			}
		}
	}
	return limits
}

// spent is what was used up to the end of each iteration, and what calls of programs need.
func spent(of func(record.Usage) float64) func(*record.Run) []float64 {
	return func(run *record.Run) []float64 {
		var sum record.Usage
		var all []float64
		for i := range run.Iterations {
			sum = sum.Plus(run.Iterations[i].Total())
			if v := of(sum); v > 0 {
				all = append(all, v)
			}
		}
		return append(all, needed(run, of)...)
	}
}

// dollars are rounded as they are written.
func dollars(u record.Usage) float64 {
	v, err := strconv.ParseFloat(fmt.Sprintf("%d.%012d", u.Cost/1e12, u.Cost%1e12), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// seconds writes a number of them as a duration.
func seconds(v float64) string { return (time.Duration(math.Round(v * 1e9))).String() }

// ofIterations are the names of parameters that count iterations, or steps where
// a guard looks at these.
var ofIterations = []string{"max_iterations", "absolute_max_iterations", "min_iterations", "patience", "times", "window", "threshold"}

// counts reports whether a parameter is a number of iterations, of steps or of turns.
func counts(l *spec.Loop, path string) bool {
	// A max_iterations may have a name of its own.
	isMaximum := slices.ContainsFunc(l.Values(), func(v spec.Value) bool { return v.Path == path && v.Value == string(spec.KindMaxIterations) })
	if !slices.Contains(ofIterations, lastOf(path)) && !isMaximum && !limitsSteps(l, path) && path != "user.max_turns" {
		return false
	}
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool {
		_, whole := v.Value.(int64)
		return v.Path == path && whole
	})
}

func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// limitsSteps knows how many steps an agent, or a program, makes at most: that of the loop, of a
// phase or of a strategy.
func limitsSteps(l *spec.Loop, path string) bool {
	return lastOf(path) == "max_steps" && (path == "agent.max_steps" || strings.HasSuffix(path, ".agent.max_steps")) && (converses(l) || l.LimitsPrograms())
}

func converses(l *spec.Loop) bool {
	return slices.ContainsFunc(l.Stages(), func(s spec.Stage) bool { return l.Converses(s.Agent) })
}

// counted is what a parameter counts of a run.
func counted(l *spec.Loop, path string) func(*record.Run) int {
	switch {
	case limitsSteps(l, path):
		return mostSteps(l, path)
	case path == "user.max_turns":
		return mostTurns
	case looksAtSteps(l, path):
		return allSteps
	}
	return func(run *record.Run) int { return len(run.Iterations) }
}

// looksAtSteps reports whether a parameter is of a guard that looks at the steps of a
// run. Iterations without any count, too: as failures, of circuit_breaker.
func looksAtSteps(l *spec.Loop, path string) bool {
	guard, inside := strings.CutPrefix(path, "guards.")
	if !inside {
		return false
	}
	if guard == "circuit_breaker.threshold" {
		return converses(l)
	}
	scope := "guards." + strings.TrimSuffix(guard, "."+lastOf(guard)) + ".scope"
	return slices.ContainsFunc(l.Values(), func(v spec.Value) bool { return v.Path == scope && v.Value == spec.ScopeStep })
}

// mostSteps are those of the longest iteration, as far as the limit counts them. A call that the recorded limit refused is one more.
func mostSteps(l *spec.Loop, path string) func(*record.Run) int {
	steps := (*record.Iteration).StepCount
	if slices.ContainsFunc(l.StepLimits(), func(of spec.StepLimit) bool { return of.Path == path && of.Main }) {
		steps = (*record.Iteration).MainStepCount
	}
	return func(run *record.Run) (most int) {
		for i := range run.Iterations {
			n := steps(&run.Iterations[i])
			if run.Iterations[i].Cut == string(record.ReasonMaxSteps) {
				n++
			}
			most = max(most, n)
		}
		return most
	}
}

// mostTurns are those of a user.
func mostTurns(run *record.Run) (most int) {
	for i := range run.Iterations {
		turns := 0
		for _, step := range run.Iterations[i].Steps {
			if step.User != "" {
				turns++
			}
		}
		most = max(most, turns)
	}
	return most
}

func allSteps(run *record.Run) (all int) {
	for i := range run.Iterations {
		all += max(1, len(run.Iterations[i].Steps))
	}
	return all
}

// upTo are the whole numbers up to the most that a run has of something.
func upTo(recordings []Recording, of func(*record.Run) int) []float64 {
	most := 0
	for i := range recordings {
		for k := range recordings[i].Runs {
			most = max(most, of(recordings[i].Runs[k].Run))
		}
	}
	values := make([]float64, most)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}
