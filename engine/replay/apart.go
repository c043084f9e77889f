package replay

import (
	"fmt"

	"github.com/agentbench/agentbench/spec"
)

// Apart says why two loops do not take the same path: in what they differ beyond
// when they stop. "" where they differ in nothing else. It goes by what is
// declared, and may be more cautious than a replay.
func Apart(recorded, target *spec.Loop) string {
	r := New(recorded, target, Options{})
	if r.differ.evaluation.why != "" {
		return r.differ.evaluation.why
	}
	before, after := recorded.Stages(), target.Stages()
	if len(before) != len(after) || len(recorded.Phases) != len(target.Phases) {
		return "the stages differ"
	}
	if why := evaluateApart(recorded.Evaluate, target.Evaluate); why != "" {
		return why
	}
	for i := range after {
		if why := r.differ.stages[i].apart(&before[i], &after[i], i < len(after)-1); why != "" {
			return why
		}
	}
	return ""
}

func evaluateApart(before, after *spec.Evaluate) string {
	switch {
	case before != nil && after == nil:
		return "nothing is evaluated"
	case before != nil && before.FromPhase != after.FromPhase:
		return "evaluate.from_phase differs"
	}
	return ""
}

// apart compares a stage with the one in its place. Followed says that another
// comes after it, so that its limits are part of the path.
func (s *stage) apart(before, after *spec.Stage, followed bool) string {
	p, ok := s.with[after.Name]
	switch {
	case !ok || before.Name != after.Name:
		return fmt.Sprintf("stage %q stands where %q was", after.Name, before.Name)
	case p.hidden != "":
		return p.hidden
	case p.shown != "":
		return p.shown
	case p.timeout != p.recordedTimeout:
		return "agent.timeout differs"
	case followed && before.Limit != after.Limit:
		return fmt.Sprintf("max_iterations of %q differs", after.Name)
	case followed && !sameExpr(before.Until, after.Until):
		return fmt.Sprintf("until of %q differs", after.Name)
	}
	return ""
}

func sameExpr(a, b *spec.Expr) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Text == b.Text)
}
