package results

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// reads reports whether one of the names that an expression reads is of a configuration.
func reads(names []string, configuration string) bool {
	path := "configurations." + configuration
	return slices.ContainsFunc(names, func(read string) bool { return read == path || strings.HasPrefix(read, path+".") })
}

// LeftOut names a configuration of the suite that a threshold reads and that is not in the
// plan; "": there is none.
func LeftOut(names []string, s *spec.Suite, planned *plan.Plan) string {
	for i := range s.Resolved {
		c := &s.Resolved[i]
		if slices.ContainsFunc(planned.Configurations, func(p spec.Resolved) bool { return p.Called(c.Name) }) {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if reads(names, name) {
				return name
			}
		}
	}
	return ""
}

// LeftOutOfDiff says what of a comparison with the suite's baseline is not in the plan, ""
// where everything is.
func LeftOutOfDiff(s *spec.Suite, planned *plan.Plan) string {
	switch {
	case PlannedBaseline(s, planned) == "":
		return s.Baseline
	case len(planned.Configurations) == 1 && len(s.Resolved) > 1:
		return "what is compared with " + s.Baseline
	}
	return ""
}

// AbsentIn names a configuration that a threshold reads and that is not in the results, as
// where no shard ran it; "": there is none.
func AbsentIn(m *record.Manifest, names []string) string {
	known := Names(m)
	for _, read := range names {
		path, ok := strings.CutPrefix(read, "configurations.")
		if ok && !slices.ContainsFunc(known, func(name string) bool { return reads([]string{read}, name) }) {
			name, _, _ := strings.Cut(path, ".")
			return name
		}
	}
	return ""
}
