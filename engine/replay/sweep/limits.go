package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Usable refuses parameters that get two values at once, and more combinations than
// are tried, without making one.
func Usable(bases int, set []spec.Assignment, axes []Axis) error {
	if what := conflict(set, axes); what != "" {
		return errors.New(what)
	}
	return Affords(bases, axes)
}

// NeedsCalls reports whether recorded runs do not answer for other values of a
// parameter.
func NeedsCalls(l *spec.Loop, path string) bool {
	switch replay.AnalysePath(l, spec.FullPath(path)).Class {
	case replay.Calls, replay.Partly:
		return true
	}
	return false
}

// LimitsOf are the axes of the limits of a loop and of those that take its path, as far
// as recorded runs answer for them: what decides when it stops. The values that the
// loops have are tried, and all below them. Runs that are recorded may have gone on
// longer: then those above are tried, too, and limits of steps that the loop does not have.
func LimitsOf(today *spec.Loop, others []Base, recorded bool) (axes []Axis) {
	loops := []*spec.Loop{today}
	for i := range others {
		if replay.Apart(today, others[i].Loop) == "" {
			loops = append(loops, others[i].Loop)
		}
	}
	paths := replayedPaths(loops)
	if path := stepLimit(today); recorded && path != "" && !slices.Contains(paths, path) {
		paths = append(paths, path)
	}
	for _, path := range paths {
		a := Axis{Path: path, Values: valuesOf(loops, path)}
		ends, ok := limitEnds(path, a.Values, recorded)
		a.KeepPossible([]Base{{Loop: today}}, nil)
		a.Between = []Ends{ends}
		if _, err := Probes(today, nil, []Axis{a}); ok && err == nil {
			axes = append(axes, a)
		}
	}
	return axes
}

// UnknownLimits is the axis of a log whose runs ended under limits that it does not have.
func UnknownLimits() []Axis {
	iterations := Ends{From: 1, To: mostIterations, Node: source.New(nil, "")}
	return []Axis{{Path: "terminate.max_iterations", Between: []Ends{iterations}}}
}

// stepLimit is the limit of the steps of a run that a loop can have: of a program whose state
// is known at every step that of its budget, of a model that uses tools its max_steps. It is
// "" where recorded runs answer for neither.
func stepLimit(l *spec.Loop) string {
	switch {
	case l.Workspace.BySteps():
		return "guards.budget.steps"
	case converses(l) && l.Agent.Command == nil && len(l.Stages()) == 1:
		return "agent.max_steps"
	}
	return ""
}

// replayedPaths are the parameters that one of the loops has, and for which recorded
// runs answer in all of them, or, where it limits the steps of an iteration, in those
// that end before it.
func replayedPaths(loops []*spec.Loop) (paths []string) {
	for _, l := range loops {
		for _, parameter := range replay.Analyse(l) {
			path := parameter.Path
			calls := func(l *spec.Loop) bool {
				class := replay.AnalysePath(l, path).Class
				return class != replay.Replayed && (class != replay.Partly || lastOf(path) != "max_steps")
			}
			if l.ValueAt(path) != nil && !slices.Contains(paths, path) && !slices.ContainsFunc(loops, calls) {
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
		value := l.ValueAt(path)
		value = cmp.Or(value, "off")
		node := source.New(at, value)
		if !slices.ContainsFunc(values, func(known *source.Node) bool { return known.Text == node.Text }) {
			values = append(values, node)
		}
	}
	return values
}

// mostIterations is more than any loop makes.
const mostIterations = 1e6

// limitEnds are the ends between which a limit is tried that has such values.
func limitEnds(path string, values []*source.Node, recorded bool) (Ends, bool) {
	field := lastOf(path)
	ends := Ends{To: math.Inf(-1), Node: source.New(nil, path)}
	kind := source.String
	if field == "max_steps" || field == "steps" {
		kind = source.Int
	}
	for _, v := range values {
		if n, ok := Number(v.Text); ok {
			ends.To = max(ends.To, n)
		}
		if v.Text == "off" && field == "steps" {
			ends.To = mostIterations
		}
		if kind == source.String && v.Text != "off" {
			kind = v.Kind
		}
	}
	budget := strings.HasPrefix(path, "guards.budget.")
	switch {
	case budget && kind == source.Int:
		ends.From = 1
	case budget, field == "after", field == "timeout":
	case kind == source.Int && field != "absolute_max_iterations" && field != "min_iterations":
		ends.From = 1
		if field == "times" || field == "window" { // fewer than two are no repetition
			ends.From = 2
		}
		if recorded {
			ends.To = mostIterations
		}
	case field == "threshold":
		if recorded {
			ends.To = 1
		}
	default:
		return ends, false
	}
	return ends, ends.From <= ends.To
}

// KeepPossible leaves out the values that one of the loops cannot have, with parameters
// set before: other configurations may go beyond its absolute limit.
func (a *Axis) KeepPossible(loops []Base, set []spec.Assignment) {
	a.Values = slices.DeleteFunc(a.Values, func(value *source.Node) bool {
		all := append(slices.Clone(set), a.assignment(value))
		return slices.ContainsFunc(loops, func(l Base) bool {
			made, _ := l.Loop.With(all...)
			return made == nil
		})
	})
}

// KeepToday adds a loop's own value to each parameter that replay answers for, so that
// one whose change changes no run can stay as it is. More combinations than are tried
// are not made by that.
func KeepToday(today *spec.Loop, bases int, axes []Axis) {
	for i := range axes {
		a := &axes[i]
		if NeedsCalls(today, a.Path) || len(a.Values) < 2 {
			continue
		}
		value := today.ValueAt(spec.FullPath(a.Path))
		switch value.(type) {
		case nil:
			value = "off"
		case []any, map[string]any:
			continue
		}
		kept := source.New(source.New(nil, a.Path), value)
		same := func(value *source.Node) bool {
			l, _ := today.With(a.assignment(value))
			return l != nil && l.Hash() == today.Hash()
		}
		if slices.ContainsFunc(a.Values, same) || !same(kept) {
			continue
		}
		before := a.Values
		if a.Values = append(slices.Clip(before), kept); Affords(bases, axes) != nil {
			a.Values = before
		}
	}
}

// mostListed is how many values are listed one by one.
const mostListed = 6

// mostByDefault is how many configurations are tried where nobody says which.
const mostByDefault = 4000

// Thin leaves out every second value of the longest axis until there are few enough
// combinations. The first and the last value stay, and those that are named.
func Thin(axes []Axis, named map[*source.Node]bool) {
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
			if i%2 == 0 || i == last || named[a.Values[i]] {
				kept = append(kept, a.Values[i])
			}
		}
		if len(kept) == len(a.Values) {
			return
		}
		a.Values = kept
	}
}

// Range is what of an axis is tried: "terminate.max_iterations 1 to 9 (9)", or its values
// where the suite names them.
func (a *Axis) Range() string {
	switch {
	case len(a.Between) == 0 && len(a.Values) <= mostListed:
		return a.List()
	case len(a.Between) == 0:
		return a.Words()
	}
	text := fmt.Sprintf("%s %s to %s (%d", a.Path, a.Values[0].Text, a.Values[len(a.Values)-1].Text, len(a.Values))
	if a.Observed > 0 {
		text += fmt.Sprintf(" of %d observed", a.Observed)
	}
	return text + ")"
}

// List is the path with the values that are tried, or the ends between which they lie.
// Counts that lie between ends are among those.
func (a *Axis) List() string {
	var values []string
	for i := range a.Between {
		values = append(values, fmt.Sprintf("from %v to %v", a.Between[i].From, a.Between[i].To))
	}
	for _, v := range a.Values {
		n, _ := Number(v.Text)
		among := func(e Ends) bool { return v.Kind == source.Int && n >= e.From && n <= e.To }
		if !slices.ContainsFunc(a.Between, among) {
			values = append(values, a.assignment(v).Text())
		}
	}
	return a.Path + " " + strings.Join(values, ", ")
}

// Assignments are the values of a candidate as they were asked for: those set in all,
// then its own value of each axis.
func (c *Candidate) Assignments(set []spec.Assignment, axes []Axis) []spec.Assignment {
	all := slices.Clone(set)
	for i := range axes {
		for _, value := range axes[i].Values {
			one := axes[i].assignment(value)
			param := spec.ParamsOf([]spec.Assignment{one})[0]
			if slices.ContainsFunc(c.Params, func(p spec.Param) bool { return reflect.DeepEqual(p, param) }) {
				all = append(all, one)
				break
			}
		}
	}
	return all
}

// WithToday finds among candidates the one that a loop is, or adds it, and gives its place.
func WithToday(candidates []Candidate, today Base) (all []Candidate, at int) {
	hash := today.Loop.Hash()
	if at = slices.IndexFunc(candidates, func(c Candidate) bool { return c.Hash() == hash }); at >= 0 {
		return candidates, at
	}
	c := Candidate{Name: today.Name, Loop: today.Loop}
	for _, p := range candidates[0].Params {
		c.Params = append(c.Params, spec.Param{Path: p.Path, Value: c.Loop.ValueAt(spec.FullPath(p.Path))})
	}
	return append(candidates, c), len(candidates)
}
