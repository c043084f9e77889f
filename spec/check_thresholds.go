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
	if e.reads("diff") && s.Baseline == "" {
		l.warn(e.Node, "declare baseline: in the suite, or give run --baseline NAME", "the threshold reads diff, and the suite has no baseline")
	}
	for _, m := range s.Misreads(e.Program.Reads()) {
		if m.What != "metric" || s.namesMetrics() {
			l.unknownIn(e, m.Name, m.Known, m.What)
		}
	}
}

// Misreads finds what a threshold reads and the suite does not have.
func (s *Suite) Misreads(reads []string) []Misread {
	known := Readable{Configurations: s.names(), Scorers: s.scoreNames()}
	for _, m := range s.SingleMetrics() {
		known.Metrics = append(known.Metrics, m.Name)
	}
	return Misreads(reads, known)
}

// namesMetrics says whether all metrics have what their names are made of. Where one has not, nobody knows which are missing.
func (s *Suite) namesMetrics() bool {
	return !slices.ContainsFunc(s.Metrics, func(m Metric) bool {
		counts := slices.ContainsFunc(m.Reduce, func(reduce string) bool { return slices.Contains(takesK, reduce) })
		return m.Name == "" && (len(m.Reduce) == 0 || slices.Contains(m.Reduce, "") || counts && (len(m.K) == 0 || slices.Contains(m.K, 0)))
	})
}

// Readable are the names by which thresholds read numbers.
type Readable struct{ Configurations, Scorers, Metrics []string }

// Misread is a name that a threshold reads and that the suite does not have.
type Misread struct {
	What  string // configuration, scorer or metric
	Name  string
	Known []string
}

// Misreads finds what a threshold reads of names that are not there.
func Misreads(reads []string, of Readable) []Misread {
	var found []Misread
	find := func(what, path string, known []string) {
		if !has(known, path) {
			found = append(found, Misread{what, firstOf(path), known})
		}
	}
	for _, read := range reads {
		if score, ok := strings.CutPrefix(read, "diff.scores."); ok {
			find("scorer", score, of.Scorers)
		}
		rest, ok := strings.CutPrefix(read, "configurations.")
		if !ok {
			continue
		}
		find("configuration", rest, of.Configurations)
		if _, score, ok := strings.Cut(rest, ".scores."); ok {
			find("scorer", score, of.Scorers)
		}
		if _, metric, ok := strings.Cut(rest, ".metrics."); ok {
			find("metric", metric, of.Metrics)
		}
	}
	return found
}

func (s *Suite) scoreNames() (names []string) {
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
	}
	return names
}

// has says whether a path begins with one of the names, which may hold dots.
func has(names []string, path string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return path == name || strings.HasPrefix(path, name+".") })
}

func (l *loader) checkScoreName(s *Suite, e *Expr, path string) {
	if known := s.scoreNames(); !has(known, path) {
		l.unknownIn(e, firstOf(path), known, "scorer")
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
