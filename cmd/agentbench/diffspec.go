package main

import (
	"slices"
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

// varied says whether a path, or one that it lies below, is declared.
func varied(path string, vary []string) bool {
	return slices.ContainsFunc(vary, func(declared string) bool {
		if declared == "max_iterations" {
			declared = "terminate.max_iterations"
		}
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
