package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// asked reads which parameters are tuned: those of the flags, else of the suite,
// else the limits that the loop has. A suite that was recorded to be tuned knows
// them already.
func (t *tuning) asked() (err error) {
	if t.set, err = t.program.assignments(t.flags.set); err != nil || len(t.axes) > 0 {
		return err
	}
	if t.axes, err = t.program.named(t.flags, t.declared()); err != nil {
		return err
	}
	if len(t.axes) == 0 {
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

// named are the parameters that somebody names: those of the flags, else of the
// suite.
func (p *program) named(f *tuneFlags, declared *spec.Tune) ([]sweep.Axis, error) {
	axes, err := p.axes("--parameter", f.parameters)
	if err != nil || len(axes) > 0 || declared == nil {
		return axes, err
	}
	for i := range declared.Parameters {
		axes = append(axes, sweep.AxisOf(&declared.Parameters[i]))
	}
	return axes, nil
}

// fromSpec makes wrong usage a wrong spec, where the parameters stand in a suite.
func (t *tuning) fromSpec(err error) error {
	var f *failure
	if !errors.As(err, &f) || f.code != wrongUsage || len(t.flags.parameters) > 0 || t.declared() == nil {
		return err
	}
	wrong := *f
	wrong.code = wrongSpec
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
