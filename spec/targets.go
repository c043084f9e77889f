package spec

import (
	"slices"
	"strings"
)

// needsTarget names a scorer that cannot do without a target of each task; "" where there is none, or where tasks may
// be without one.
func (s *Suite) needsTarget() string {
	if s.Tasks.Targets == TargetsOptional {
		return ""
	}
	for scorer := range s.AllScorers() {
		if scorer.NeedsTarget() {
			return scorer.Name
		}
	}
	return ""
}

// NeedsTarget says that the scorer compares with the target of the task, and that nothing else takes its place.
func (s *Scorer) NeedsTarget() bool {
	switch s.Type {
	case "judge", "pairwise":
		return s.Target == nil && (s.Reference || s.asksByTarget())
	case "json_path":
		return s.Target == nil && s.Expr != nil && s.Expr.Program != nil && !s.Expr.Program.IsBool()
	case "tools_called", "tools_not_called", "tool_order":
		return s.Tools == nil && s.Target == nil
	}
	for of := range strings.FieldsSeq(targetScorers) {
		if of == s.Type {
			return s.Options == nil && s.Target == nil
		}
	}
	return false
}

// asksByTarget says that what is asked for holds the target.
func (s *Scorer) asksByTarget() bool {
	rubrics := []*Prompt{s.Rubric}
	for i := range s.Criteria {
		rubrics = append(rubrics, s.Criteria[i].Rubric)
	}
	return slices.ContainsFunc(rubrics, func(p *Prompt) bool { return p.reads("target", "task.target") })
}
