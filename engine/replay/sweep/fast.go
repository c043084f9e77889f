package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
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

// count adds up what the members of a family make of the runs of each cell: by what
// changes from one member to the next.
func (s *Sweep) count(ctx context.Context, f *family, into *cells, visit func(candidate int, totals []Totals)) error {
	table, order := f.tracer.Table(f.traces, into.of), inOrder(f.configurations)
	stretch := max(64, len(order)/(4*runtime.GOMAXPROCS(0)))
	stretches := slices.Collect(slices.Chunk(order, stretch))
	return Each(ctx, len(stretches), 1, func(i int) {
		cursor, a := table.Cursor(), s.adding(f, into)
		for run, at := range into.of {
			if at >= 0 && f.traces[run].Iterations() > 0 {
				a.add(run, 0, 1)
			}
		}
		for _, k := range stretches[i] {
			for _, c := range cursor.Move(&f.configurations[k]) {
				a.add(c.Run, c.Before, -1)
				a.add(c.Run, c.After, 1)
			}
			cursor.Believed(&f.configurations[k], a.believed)
			visit(f.members[k], into.totals(a.cells()))
		}
	})
}

// inOrder are the places of configurations in an order in which one differs little
// from the one before: what has the most values changes fastest.
func inOrder(configurations []replay.Configuration) []int {
	nodes, values := make([][]replay.Node, len(configurations)), []map[replay.Node]bool{}
	for i := range configurations {
		c := &configurations[i]
		nodes[i] = slices.Concat(c.Tree, c.Maxima, c.Guards)
		for slot, node := range nodes[i] {
			if slot == len(values) {
				values = append(values, map[replay.Node]bool{})
			}
			values[slot][node] = true
		}
	}
	slots, order := make([]int, len(values)), make([]int, len(configurations))
	for slot := range slots {
		slots[slot] = slot
	}
	slices.SortStableFunc(slots, func(a, b int) int { return len(values[a]) - len(values[b]) })
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := cmp.Compare(len(nodes[a]), len(nodes[b])); c != 0 {
			return c
		}
		for _, slot := range slots {
			if slot < len(nodes[a]) && nodes[a][slot] != nodes[b][slot] {
				return cmp.Compare(nodes[a][slot], nodes[b][slot])
			}
		}
		return 0
	})
	return order
}

// Sums are what the outcomes of a candidate add up to, by part, as [Parts.Sum] has
// them. The error is that of the context.
func (s *Sweep) Sums(ctx context.Context, candidate int, p *Parts) ([]Totals, error) {
	ends, err := s.ends(ctx, candidate)
	if err != nil {
		return nil, err
	}
	if ends == nil {
		outcomes, err := s.Outcomes(ctx, candidate)
		return p.Sum(outcomes[0]), err
	}
	f := s.of[candidate]
	member, _ := slices.BinarySearch(f.members, candidate)
	threshold, a := f.configurations[member].Threshold, s.adding(f, p.cells)
	for run, end := range ends {
		if at := p.cells.of[run]; at >= 0 && f.traces[run].Iterations() > 0 {
			a.add(run, end, 1)
			a.believed[at] += count(end > 0 && f.ledger.believed[f.ledger.from[run]+int(end)] >= threshold)
		}
	}
	return p.cells.totals(a.cells()), nil
}

// ScoreSums are the sums of one score alone, as [Sweep.Sums] has them.
func (s *Sweep) ScoreSums(ctx context.Context, candidate, score int, p *Parts) ([]ScoreTotals, error) {
	ends, err := s.ends(ctx, candidate)
	if err != nil {
		return nil, err
	}
	all, f := make([]ScoreTotals, p.cells.parts), s.of[candidate]
	if ends == nil || len(f.ledger.empty) > 0 || f.ledger.inexact(ends) {
		totals, err := s.Sums(ctx, candidate, p)
		for part := range totals {
			if score < len(totals[part].Scores) {
				all[part] = totals[part].Scores[score]
			}
		}
		return all, err
	}
	cells := make([]ScoreTotals, len(p.cells.trials))
	steps, columns := make([]int64, len(cells)), f.ledger.columnsOf(score)
	for run, end := range ends {
		at := p.cells.of[run]
		if at < 0 || end < 0 { // an expression failed: what the run is worth is not known
			continue
		}
		row, c := f.ledger.row(run, end), &cells[at]
		value := func(of int) int64 {
			if columns[of] < 0 {
				return 0
			}
			return row[columns[of]]
		}
		steps[at] += value(ofValue)
		c.Known, c.Hits, c.Lost, c.Gained = c.Known+int(value(ofKnown)), c.Hits+int(value(ofHits)), c.Lost+int(value(ofLost)), c.Gained+int(value(ofGained))
	}
	for at := range cells {
		var sum fixed
		sum.carry(steps[at])
		c := &cells[at]
		c.Least = sum.sum()
		c.Most = c.Least
		c.weigh(float64(p.cells.trials[at]))
		all[p.cells.part[at]].add(c)
	}
	return all, nil
}

// ends are how the runs of the reference end under a candidate, by run; nil where the
// candidate cannot be counted on it: what runs of another recording lose is counted
// against those of the reference.
func (s *Sweep) ends(ctx context.Context, candidate int) ([]replay.End, error) {
	f := s.of[candidate]
	if quick, err := s.countable(ctx, f); !quick || f.recording != 0 || s.told(candidate, f.recording) {
		return nil, err
	}
	if f.cursor == nil {
		f.cursor = f.tracer.Table(f.traces, make([]int, len(f.traces))).Cursor()
	}
	member, _ := slices.BinarySearch(f.members, candidate)
	f.cursor.Move(&f.configurations[member])
	return f.cursor.Ends(), nil
}

// adding begins to add up the runs of a family that have an iteration; the others are
// the same for all members.
func (s *Sweep) adding(f *family, into *cells) *adding {
	a := f.ledger.adding(into)
	for run, o := range f.ledger.empty {
		if at := into.of[run]; at >= 0 {
			if a.empty == nil {
				a.empty = make([]cell, len(into.trials))
			}
			a.runs[at]--
			a.empty[at].add(o, &s.recordings[f.recording].Runs[run])
		}
	}
	return a
}

// countable walks the runs of a family, evaluates the conditions of all members on
// them, and reports whether its members can be counted.
func (s *Sweep) countable(ctx context.Context, f *family) (bool, error) {
	if f.points == nil {
		return false, nil
	}
	if _, err := s.Recording(ctx, f.members[0]); err != nil {
		return false, err
	}
	if f.ledger != nil {
		return f.ledger.whole, nil
	}
	r, endless, tracer := &s.recordings[f.recording], s.endless(f, f.recording), f.points.Tracer()
	eachPath := func(do func(run int, path *replay.Path)) error {
		return eachOn(ctx, len(r.Runs), chunk, func() func(int) {
			room := &replay.Room{}
			return func(run int) {
				do(run, new(endless.Path(ctx, room, r.Runs[run].Whole(room), r.Runs[run].Task)))
			}
		})
	}
	stops := replay.NewStops(s.candidates[f.members[0]].Declared())
	l, traces := newLedger(r), make([]*replay.Trace, len(r.Runs))
	if !l.whole {
		f.ledger = l
		return false, nil
	}
	err := eachPath(func(run int, path *replay.Path) {
		trace := tracer.Trace(path)
		traces[run] = &trace
		l.look(run, path, &trace)
		if trace.Iterations() == 0 {
			o := &Outcome{Result: stops.Along(path)}
			o.Scores, _ = r.value(ctx, make([]Range, len(r.Scores)), run, &o.Result, nil)
			r.leaveOut(run, o)
			l.leave(run, o)
		}
	})
	if err != nil {
		return false, err
	}
	if l.begin(traces); l.whole {
		err = eachPath(func(run int, path *replay.Path) { l.fill(run, path, traces[run]) })
	}
	if err == nil {
		f.ledger, f.tracer, f.traces = l, tracer, traces
		s.warm(f)
	}
	return l.whole, err
}

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
	loosest, ended, of := 0, 0, 0
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
			run := &recordings[i].Runs[k]
			ended += count(run.Iterations() == limit && run.Run.Outcome.Reason == record.ReasonMaxIterations)
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
		for run := range recordings[i].whole() {
			for _, v := range of(run) {
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
