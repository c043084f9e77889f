package command

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// asked reads which parameters are tuned: those of the flags, else of the suite,
// else the limits that the loop has. A suite that was recorded to be tuned knows
// them already.
func (t *tuning) asked() (err error) {
	if t.set = assigned(t.flags.set); len(t.axes) > 0 {
		return nil
	}
	if t.axes = namedAxes(t.flags, t.declared()); len(t.axes) == 0 {
		t.axes = limitsOf(t.today().Loop, t.all(), true)
	}
	if len(t.axes) == 0 && t.folder.Imported { // a log under limits that nobody told
		iterations := sweep.Ends{From: 1, To: mostIterations, Node: source.New(nil, "")}
		t.axes = []sweep.Axis{{Path: "terminate.max_iterations", Between: []sweep.Ends{iterations}}}
	}
	if len(t.axes) == 0 && !t.noToday {
		return usage("--parameter path=values names one", "the loop of %s has no limit that could be tuned on recorded runs", printable(t.today().Name))
	}
	return nil
}

// namedAxes are the parameters that somebody names: those of the flags, else of the
// suite.
func namedAxes(f *tuneFlags, declared *spec.Tune) []sweep.Axis {
	axes := slices.Clone(f.parameters)
	if len(axes) > 0 || declared == nil {
		return axes
	}
	for i := range declared.Parameters {
		axes = append(axes, sweep.AxisOf(&declared.Parameters[i]))
	}
	return axes
}

// fromSpec makes wrong usage a wrong spec, where the parameters stand in a suite.
func (t *tuning) fromSpec(err error) error {
	var f *failure
	if !errors.As(err, &f) || f.Code != wrongUsage || len(t.flags.parameters) > 0 || t.declared() == nil {
		return err
	}
	wrong := *f
	wrong.Code = wrongSpec
	return &wrong
}

// grid reads the runs and makes the configurations: every combination of the
// values, and today's.
func (t *tuning) grid() error {
	loops, err := t.probes(t.set, t.axes)
	if err != nil {
		return t.fromSpec(err)
	}
	if err := t.read(loops); err != nil {
		return err
	}
	if err := firstOf(t.told(loops), t.agentFailed()); err != nil {
		return err
	}
	stays := map[*source.Node]bool{}
	for i := range t.axes {
		for _, value := range t.axes[i].Values {
			stays[value] = true
		}
		if err := t.observe(t.set, t.axes, i); err != nil {
			return t.fromSpec(err)
		}
		if t.byDefault() {
			possible(&t.axes[i], t.bases, t.set)
		}
	}
	if t.byDefault() && len(t.axes) > 0 {
		thin(t.axes, stays)
		t.tellTried()
	}
	t.keepToday()
	if t.candidates, err = sweep.Grid(t.bases, t.set, t.axes); err != nil {
		return t.fromSpec(t.unusable(err))
	}
	t.addToday()
	return nil
}

// byDefault says that nobody named parameters.
func (t *tuning) byDefault() bool { return len(t.flags.parameters) == 0 && t.declared() == nil }

// keepToday adds today's value to each parameter that replay answers for, so that
// one whose change changes no run can stay as it is.
func (t *tuning) keepToday() {
	today, faults := t.today().Loop.With(t.set...)
	if faults.Err() != nil || t.noToday {
		return
	}
	for i := range t.axes {
		a := &t.axes[i]
		if needsCalls(today, a) || len(a.Values) < 2 {
			continue
		}
		value := todaysValue(today, spec.FullPath(a.Path))
		switch value.(type) {
		case nil:
			value = "off"
		case []any, map[string]any:
			continue
		}
		kept := spec.Assignment{Path: a.Path, At: a.At, Value: source.New(source.New(nil, a.Path), value)}
		same := func(one spec.Assignment) bool {
			l, _ := today.With(one)
			return l != nil && l.Hash() == today.Hash()
		}
		among := slices.ContainsFunc(a.Values, func(v *source.Node) bool { return same(spec.Assignment{Path: a.Path, At: a.At, Value: v}) })
		if !among && same(kept) {
			before := a.Values
			if a.Values = append(slices.Clip(before), kept.Value); sweep.Affords(len(t.bases), t.axes) != nil {
				a.Values = before
			}
		}
	}
}

// addToday finds today's configuration among the candidates, or adds it.
func (t *tuning) addToday() {
	t.options.Today = -1
	if t.noToday {
		return
	}
	today := t.today().Loop.Hash()
	t.options.Today = slices.IndexFunc(t.candidates, func(c sweep.Candidate) bool { return c.Hash() == today })
	if t.options.Today >= 0 {
		return
	}
	c := sweep.Candidate{Name: t.today().Name, Loop: t.today().Loop}
	for _, p := range t.candidates[0].Params {
		c.Params = append(c.Params, spec.Param{Path: p.Path, Value: todaysValue(c.Loop, p.Path)})
	}
	t.options.Today = len(t.candidates)
	t.candidates = append(t.candidates, c)
}

// assignments are the values of a candidate as they were asked for.
func (t *tuning) assignments(c *sweep.Candidate) []spec.Assignment {
	all := slices.Clone(t.set)
	for i := range t.axes {
		a := &t.axes[i]
		for _, value := range a.Values {
			one := spec.Assignment{Path: a.Path, At: a.At, Value: value}
			if params := spec.ParamsOf([]spec.Assignment{one}); slices.ContainsFunc(c.Params, func(p spec.Param) bool { return reflect.DeepEqual(p, params[0]) }) {
				all = append(all, one)
				break
			}
		}
	}
	return all
}

// mostByDefault is how many configurations are tried where nobody says which.
const mostByDefault = 4000

// thin leaves out every second value of the longest axis until there are few
// enough combinations. The first and the last value stay, and those that are named.
func thin(axes []sweep.Axis, stays map[*source.Node]bool) {
	for {
		product, longest := 1, 0
		for i := range axes {
			product *= len(axes[i].Values)
			if len(axes[i].Values) > len(axes[longest].Values) {
				longest = i
			}
		}
		a := &axes[longest]
		if product <= mostByDefault || len(a.Values) < 4 {
			return
		}
		a.Observed = max(a.Observed, len(a.Values))
		last := len(a.Values) - 1
		var kept []*source.Node
		for i := range a.Values {
			if i%2 == 0 || i == last || stays[a.Values[i]] {
				kept = append(kept, a.Values[i])
			}
		}
		if len(kept) == len(a.Values) {
			return
		}
		a.Values = kept
	}
}

// tellTried says what was tried where nobody named parameters.
func (t *tuning) tellTried() {
	var parts []string
	for i := range t.axes {
		a := &t.axes[i]
		part := fmt.Sprintf("%s %s to %s (%d", a.Path, a.Values[0].Text, a.Values[len(a.Values)-1].Text, len(a.Values))
		if a.Observed > 0 {
			part += fmt.Sprintf(" of %d observed", a.Observed)
		}
		parts = append(parts, part+")")
	}
	fmt.Fprintf(t.err, "tried: the limits of %s, at the values that its runs tell apart: %s\n", printable(t.today().Name), strings.Join(parts, ", "))
}

// limitsOf are the axes of the limits of a loop and of those that take its path,
// as far as recorded runs answer for them: what decides when it stops. The values
// that the loops have are tried, and all below them. Runs that are recorded may
// have gone on longer: then those above are tried, too.
func limitsOf(today *spec.Loop, others []sweep.Base, recorded bool) (axes []sweep.Axis) {
	loops := []*spec.Loop{today}
	for i := range others {
		if replay.Apart(today, others[i].Loop) == "" {
			loops = append(loops, others[i].Loop)
		}
	}
	for _, path := range replayedPaths(loops) {
		a := sweep.Axis{Path: path, Values: valuesOf(loops, path)}
		ends, ok := limitEnds(path, a.Values, recorded)
		possible(&a, []sweep.Base{{Loop: today}}, nil)
		a.Between = []sweep.Ends{ends}
		if _, err := sweep.Probes(today, nil, []sweep.Axis{a}); ok && err == nil {
			axes = append(axes, a)
		}
	}
	return axes
}

// possible leaves out the values that one of the loops cannot have, with
// parameters set before: other configurations may go beyond its absolute limit.
func possible(a *sweep.Axis, loops []sweep.Base, set []spec.Assignment) {
	a.Values = slices.DeleteFunc(a.Values, func(value *source.Node) bool {
		all := append(slices.Clone(set), spec.Assignment{Path: a.Path, At: a.At, Value: value})
		return slices.ContainsFunc(loops, func(l sweep.Base) bool {
			made, _ := l.Loop.With(all...)
			return made == nil
		})
	})
}

// replayedPaths are the parameters that one of the loops has, and for which
// recorded runs answer in all of them.
func replayedPaths(loops []*spec.Loop) (paths []string) {
	for _, l := range loops {
		for _, parameter := range replay.Analyse(l) {
			path := parameter.Path
			calls := func(l *spec.Loop) bool { return replay.AnalysePath(l, path).Class != replay.Replayed }
			if todaysValue(l, path) != nil && !slices.Contains(paths, path) && !slices.ContainsFunc(loops, calls) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// valuesOf are the different values that a parameter has in the loops.
func valuesOf(loops []*spec.Loop, path string) (values []*source.Node) {
	at := source.New(nil, path)
	for _, l := range loops {
		value := todaysValue(l, path)
		if value == nil {
			value = "off"
		}
		node := source.New(at, value)
		if !slices.ContainsFunc(values, func(known *source.Node) bool { return known.Text == node.Text }) {
			values = append(values, node)
		}
	}
	return values
}

// limitEnds are the ends between which a limit is tried that has such values.
func limitEnds(path string, values []*source.Node, recorded bool) (sweep.Ends, bool) {
	field := path[strings.LastIndexByte(path, '.')+1:]
	ends := sweep.Ends{To: largest(values), Node: source.New(nil, path)}
	budget := strings.HasPrefix(path, "guards.budget.")
	switch kind := kindOf(values); {
	case budget && kind == source.Int:
		ends.From = 1
	case budget:
	case kind == source.Int && field != "absolute_max_iterations" && field != "min_iterations":
		ends.From = leastOf(field)
		if recorded {
			ends.To = mostIterations
		}
	case field == "threshold":
		if recorded {
			ends.To = 1
		}
	case field == "after" || field == "timeout":
	default:
		return ends, false
	}
	return ends, ends.From <= ends.To
}

// kindOf is what values are that are not off.
func kindOf(values []*source.Node) source.Kind {
	for _, v := range values {
		if v.Text != "off" {
			return v.Kind
		}
	}
	return source.String
}

// largest is the largest number or time among values.
func largest(values []*source.Node) float64 {
	most := math.Inf(-1)
	for _, v := range values {
		if n, ok := sweep.Number(v.Text); ok {
			most = max(most, n)
		}
	}
	return most
}

// mostIterations is more than any loop makes.
const mostIterations = 1e6

// leastOf is the least value of a limit that counts iterations: fewer than two are
// no repetition.
func leastOf(field string) float64 {
	if field == "times" || field == "window" {
		return 2
	}
	return 1
}

// todaysValue is the value of a parameter of a loop, nil where it is off.
func todaysValue(l *spec.Loop, path string) any {
	for _, v := range l.Values() {
		if v.Path == path && v.Parameter {
			if d, ok := v.Value.(time.Duration); ok {
				return d.String()
			}
			return v.Value
		}
	}
	return nil
}

// tellLoosest says what a suite records in order to be tuned, where nobody named
// parameters.
func (p *program) tellLoosest(o *opened, today *spec.Resolved, axes []sweep.Axis) {
	var loosest, apart []string
	for i := range axes {
		value := fmt.Sprint(todaysValue(today.Loop, axes[i].Path))
		if set := axes[i].Loosest(today.Loop); len(set) > 0 {
			value = set[0].Text()
		}
		loosest = append(loosest, axes[i].Path+" "+value)
	}
	for i := range o.Suite.Resolved {
		if c := &o.Suite.Resolved[i]; replay.Apart(today.Loop, c.Loop) != "" {
			apart = append(apart, printable(c.Name))
		}
	}
	fmt.Fprintf(p.err, "no parameters are named: %s is recorded under the loosest limits that the configurations of its path have: %s\n", printable(today.Name), strings.Join(loosest, ", "))
	if len(apart) > 0 {
		fmt.Fprintf(p.err, "not tried, because it would take calls of its own: %s; --parameter names what differs\n", some(apart))
	}
}
