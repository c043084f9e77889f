package spec

import (
	"slices"
	"strings"
)

// checkThreshold finds the configurations and scores that a threshold names.
func (l *loader) checkThreshold(s *Suite, e *Expr) {
	if e.Program == nil || len(s.Resolved) == 0 {
		return
	}
	names := s.names()
	if e.reads("diff") && s.Baseline == "" {
		l.warn(e.Node, "declare baseline: in the suite, or give run --baseline NAME", "the threshold reads diff, and the suite has no baseline")
	}
	for _, read := range e.Program.Reads() {
		if score, ok := strings.CutPrefix(read, "diff.scores."); ok {
			l.checkScoreName(s, e, score)
		}
		rest, ok := strings.CutPrefix(read, "configurations.")
		if !ok {
			continue
		}
		known := slices.ContainsFunc(names, func(name string) bool { return rest == name || strings.HasPrefix(rest, name+".") })
		if !known {
			l.unknownIn(e, firstOf(rest), names, "configuration")
		}
		if _, score, ok := strings.Cut(rest, ".scores."); ok {
			l.checkScoreName(s, e, score)
		}
	}
}

func (l *loader) checkScoreName(s *Suite, e *Expr, path string) {
	var names []string
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
	}
	known := slices.ContainsFunc(names, func(name string) bool { return path == name || strings.HasPrefix(path, name+".") })
	if !known {
		l.unknownIn(e, firstOf(path), names, "scorer")
	}
}

func firstOf(path string) string {
	first, _, _ := strings.Cut(path, ".")
	return first
}

// unknownIn reports a name inside an expression.
func (l *loader) unknownIn(e *Expr, name string, known []string, what string) {
	at := max(0, strings.Index(e.Text, name))
	l.add(e.Node.FaultAt(len([]rune(e.Text[:at])), len([]rune(name)), didYouMean(name, known), "there is no %s %q", what, name))
}
