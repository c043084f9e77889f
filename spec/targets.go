package spec

import "strings"

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
		return s.Reference && s.Target == nil
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
