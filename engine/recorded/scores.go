package recorded

import (
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// score keeps a score; of several on the same thing the last one stands, unless it
// was taken back.
func (c *collection) score(s *record.Score) {
	at, ok := c.places[s.Run]
	if !ok {
		return
	}
	run := &c.all[at.at]
	if s.Iteration < 0 || s.Iteration > len(run.Run.Iterations) {
		return
	}
	values := c.values(run, c.name(s.Name))
	values[s.Iteration] = s.Value
	if s.Unscored != "" || s.Removed {
		values[s.Iteration] = math.NaN()
	}
}

// forgetRemoved drops the scores that the manifest does not name and of which all
// were taken back.
func (c *collection) forgetRemoved() {
	for at := len(c.scores) - 1; at >= len(c.folder.Manifest.Scorers); at-- {
		if slices.ContainsFunc(c.all, func(r sweep.Run) bool { return at < len(r.Scores) && anyNumber(r.Scores[at]) }) {
			continue
		}
		c.scores = slices.Delete(c.scores, at, at+1)
		for i := range c.all {
			if r := &c.all[i]; at < len(r.Scores) {
				r.Scores = slices.Delete(r.Scores, at, at+1)
			}
		}
	}
}

func anyNumber(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

// name is the number of a score.
func (c *collection) name(name string) int {
	if len(c.scores) == 0 {
		c.scores = slices.Clone(c.folder.Manifest.Scorers)
	}
	at := slices.Index(c.scores, name)
	if at < 0 {
		at = len(c.scores)
		c.scores = append(c.scores, name)
	}
	return at
}

// values are those of a score of a run: of the run, then of its iterations.
func (c *collection) values(run *sweep.Run, name int) []float64 {
	for len(run.Scores) <= name {
		run.Scores = append(run.Scores, nil)
	}
	if run.Scores[name] == nil {
		run.Scores[name] = slices.Repeat([]float64{math.NaN()}, 1+len(run.Run.Iterations))
	}
	return run.Scores[name]
}

// reads say what scores depend on, by what their scorers read.
func (f *Folder) reads(names []string) []sweep.Reads {
	all := make([]sweep.Reads, len(names))
	for i, name := range names {
		if s := f.scorer(name); s != nil {
			all[i] = f.readsOf(s, 0)
		}
	}
	return all
}

func (f *Folder) scorer(name string) *spec.Scorer {
	scorers := f.Document.Suite.Scorers
	at := slices.IndexFunc(scorers, func(s spec.Scorer) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	return &scorers[at]
}

// around are the variables of scorers that change with where a run stops, and
// byCourse the types that go by all that was done until then.
var (
	around   = []string{"best", "iterations", "usage", "stop"}
	byCourse = []string{
		"latency", "cost", "tokens", "iterations", "calls",
		"tools_called", "tools_not_called", "tool_order", "tool_args", "tool_call_count", "steps", "no_repeated_calls",
	}
)

// deepest is how deep sets stand in sets; who loads a suite refuses those that are
// part of themselves.
const deepest = 100

// readsOf says what the score of a scorer depends on. Those who are asked, models,
// programs and endpoints, are told of an iteration no more than its output. A scorer
// of checks goes by the evaluation of the iteration, one of how it ended by its last
// call. A set reads what its parts read.
func (f *Folder) readsOf(s *spec.Scorer, depth int) sweep.Reads {
	switch {
	case slices.Contains(byCourse, s.Type) || readsAround(s):
		return sweep.ReadsAround
	case s.Type == "checks" || s.Type == "finish_reason" || depth > deepest:
		return sweep.ReadsUnknown
	}
	reads := sweep.ReadsOutput
	for i := range s.Parts {
		part := s.Parts[i].Scorer
		if part == nil {
			part = f.scorer(s.Parts[i].Named)
		}
		if part == nil {
			return sweep.ReadsUnknown
		}
		switch f.readsOf(part, depth+1) {
		case sweep.ReadsAround:
			return sweep.ReadsAround
		case sweep.ReadsUnknown:
			reads = sweep.ReadsUnknown
		}
	}
	return reads
}

func readsAround(s *spec.Scorer) bool {
	expressions := []*spec.Expr{s.Value, s.Target, s.Expr}
	if s.Extract != nil {
		expressions = append(expressions, s.Extract.Expr)
	}
	for _, e := range expressions {
		if e == nil || e.Program == nil {
			continue
		}
		for _, path := range e.Reads() {
			if variable, _, _ := strings.Cut(path, "."); slices.Contains(around, variable) {
				return true
			}
		}
	}
	return false
}
