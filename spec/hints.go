package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// Recommendation is a range of a phase's iterations that has served tasks of one kind.
type Recommendation struct {
	Phase    string
	Tasks    string // what the tasks are like
	From, To int
}

// Recommendations are the ranges that the source document of the phases gives.
var Recommendations = []Recommendation{
	{"planning", "most tasks", 1, 2},
	{"planning", "complex planning", 2, 3},
	{"execution", "simple data gathering", 2, 3},
	{"execution", "complex data gathering", 4, 5},
	{"execution", "very complex data gathering", 5, 10},
	{"refinement", "simple refinement", 1, 1},
	{"refinement", "complex refinement", 2, 3},
}

// Hints are notes on limits outside every recommended range. They are warnings that nobody need heed.
func (l *Loop) Hints() source.Faults {
	var hints source.Faults
	for i := range l.Phases {
		phase := &l.Phases[i]
		hint := phase.Unusual()
		if hint == "" {
			continue
		}
		note := phase.Node.Fault(hint, "the phase %s may take %d iterations, which is unusual", phase.Name, phase.MaxIterations)
		note.Warning = true
		hints = append(hints, note)
	}
	return append(hints, l.stepHints()...)
}

// stepHints are notes on agents whose steps are too few for anything to come of their calls.
func (l *Loop) stepHints() source.Faults {
	var hints source.Faults
	blind := slices.ContainsFunc(l.Stages(), func(s Stage) bool { return s.Agent.MaxSteps == 1 && s.Agent.callsTools() })
	for _, agent := range l.agents() {
		if blind && agent.MaxSteps == 1 {
			note := agent.Node.Get("max_steps").Fault("recommended: 2-3 for simple queries, 5 for tasks with tools, 10 and more for complex ones",
				"with one step the agent never sees what its tools give")
			note.Warning = true
			hints = append(hints, note)
		}
	}
	return hints
}

// Unusual tells the recommended ranges where the phase's limit is outside of all of
// them; "" where it is not.
func (p *Phase) Unusual() string {
	ranges := recommended(p.Name)
	if p.MaxIterations == 0 || len(ranges) == 0 || fits(ranges, p.MaxIterations) {
		return ""
	}
	return inWords(ranges)
}

func recommended(phase string) []Recommendation {
	var ranges []Recommendation
	for _, r := range Recommendations {
		if r.Phase == phase {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

func fits(ranges []Recommendation, n int) bool {
	for _, r := range ranges {
		if r.From <= n && n <= r.To {
			return true
		}
	}
	return false
}

func inWords(ranges []Recommendation) string {
	words := make([]string, len(ranges))
	for i, r := range ranges {
		words[i] = fmt.Sprintf("%d-%d for %s", r.From, r.To, r.Tasks)
		if r.From == r.To {
			words[i] = fmt.Sprintf("%d for %s", r.From, r.Tasks)
		}
	}
	return "recommended: " + strings.Join(words, ", ")
}
