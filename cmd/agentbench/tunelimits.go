package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

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
