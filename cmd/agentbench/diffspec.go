package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// specOf are the differences between the specs of both sides, of the
// configurations that are compared. They are declared by --vary, and where the
// user named two configurations, by that.
func specOf(s *sides, vary []string) ([]reports.SpecDifference, error) {
	for _, side := range []*place{s.base, s.new} {
		if len(side.Manifest.Spec) == 0 {
			return []reports.SpecDifference{{Path: "suite", New: "the spec of " + side.text + " is not known"}}, nil
		}
	}
	old, err := bindingOf(&s.base.Manifest)
	if err != nil {
		return nil, fail(notMeasured, "", "comparing the specs: %s: %w", s.base.text, err)
	}
	current, err := bindingOf(&s.new.Manifest)
	if err != nil {
		return nil, fail(notMeasured, "", "comparing the specs: %s: %w", s.new.text, err)
	}
	var d differences
	d.around(old, current)
	spec := d.declared(func(path string) bool { return varied(path, vary) })
	for _, c := range couples(s) {
		d = nil
		d.loops(old, current, c.base, c.new)
		spec = append(spec, d.declared(func(path string) bool {
			return c.base != c.new || varied(path, vary) || varied(strings.TrimPrefix(path, "configurations."+c.new+"."), vary)
		})...)
	}
	return spec, nil
}

// unknownVary are the declared paths that neither spec has, and those that both
// have to choose from.
func unknownVary(s *sides, vary []string) (unknown, known []string, err error) {
	paths := map[string]bool{}
	for _, side := range []*place{s.base, s.new} {
		if len(side.Manifest.Spec) == 0 {
			return nil, nil, nil // nobody knows what it has
		}
		b, err := bindingOf(&side.Manifest)
		if err != nil {
			return nil, nil, err
		}
		b.paths(func(path string) { paths[path] = true })
	}
	for _, path := range vary {
		if !paths[aliasOf(path)] {
			unknown = append(unknown, path)
		}
	}
	if paths[aliasOf(shortMaximum)] {
		paths[shortMaximum] = true
	}
	return unknown, slices.Sorted(maps.Keys(paths)), nil
}

// paths yields all paths that a spec has: those of its loops also as they stand
// in the loop.
func (b *binding) paths(yield func(path string)) {
	eachPath("", b.Suite, yield)
	eachPath("configurations", b.Configurations, yield)
	for _, loop := range b.Configurations {
		eachPath("", loop, yield)
	}
	for name := range b.Data {
		yield(name)
	}
	yield("seed")
}

// eachPath yields the path of a value and of all within it, as compare does.
func eachPath(path string, value any, yield func(path string)) {
	if path != "" {
		yield(path)
	}
	fields, _ := value.(map[string]any)
	list, isList := value.([]any)
	if named, ok := byName(list); isList && ok {
		fields = named
	} else {
		for i := range list {
			eachPath(path+"."+strconv.Itoa(i+1), list[i], yield)
		}
	}
	for key, field := range fields {
		eachPath(strings.TrimPrefix(path+"."+key, "."), field, yield)
	}
}

// shortMaximum is the short form of a path, the only one.
const shortMaximum = "max_iterations"

// aliasOf is the path that a short form stands for.
func aliasOf(path string) string {
	if path == shortMaximum {
		return "terminate.max_iterations"
	}
	return path
}

// varied says whether a path, or one that it lies below, is declared.
func varied(path string, vary []string) bool {
	return slices.ContainsFunc(vary, func(declared string) bool {
		declared = aliasOf(declared)
		return path == declared || strings.HasPrefix(path, declared+".")
	})
}

func (d differences) declared(declared func(path string) bool) (spec []reports.SpecDifference) {
	for i := range d {
		was, is := d[i].values()
		if d[i].what != "" {
			is = d[i].what
		}
		spec = append(spec, reports.SpecDifference{Path: d[i].path, Base: was, New: is, Declared: declared(d[i].path)})
	}
	return spec
}

// coupleNames are two configurations that are compared.
type coupleNames struct{ base, new string }

// couples are the configurations that are compared, as [reports.Diff] finds
// them.
func couples(s *sides) (all []coupleNames) {
	base, newest := s.base.heads(), s.new.heads()
	if s.base.configuration != "" && s.new.configuration != "" || len(base) == 1 && len(newest) == 1 {
		return []coupleNames{{base[0].Name, newest[0].Name}}
	}
	for _, n := range newest {
		at := slices.IndexFunc(base, func(b *record.ConfigurationHead) bool {
			return slices.ContainsFunc(append([]string{n.Name}, n.Aliases...), b.Called)
		})
		if at >= 0 {
			all = append(all, coupleNames{base[at].Name, n.Name})
		}
	}
	return all
}

// heads are the configurations that a place names.
func (p *place) heads() (heads []*record.ConfigurationHead) {
	for i := range p.Manifest.Configurations {
		if c := &p.Manifest.Configurations[i]; p.configuration == "" || c.Called(p.configuration) {
			heads = append(heads, c)
		}
	}
	return heads
}
