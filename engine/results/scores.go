package results

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

// Reads says what a score depends on, by what its scorer reads.
func (f *Folder) Reads(name string) sweep.Reads {
	if s := f.scorer(name); s != nil {
		return f.readsOf(s)
	}
	return sweep.ReadsUnknown
}

// reads say what scores depend on, by what their scorers read.
func (f *Folder) reads(names []string) []sweep.Reads {
	all := make([]sweep.Reads, len(names))
	for i, name := range names {
		all[i] = f.Reads(name)
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
// byCourse the types that go by all that was done until then. Those of ofOthers are
// asked about an output, whatever else they read.
var (
	around   = []string{"best", "iterations", "usage"}
	byCourse = []string{
		"latency", "cost", "tokens", "iterations", "calls",
		"tools_called", "tools_not_called", "tool_order", "tool_args", "tool_call_count", "steps", "no_repeated_calls",
	}
	ofOthers = []string{"judge", "pairwise", "command", "http"}
)

// deepest is how deep sets stand in sets; who loads a suite refuses those that are
// part of themselves.
const deepest = 100

// depends says what a score depends on: the output that is returned, how that
// iteration was judged or ended, what was done until the run stopped, why it did.
type depends struct{ output, iteration, course, stop bool }

func (d *depends) add(o depends) {
	d.output, d.iteration = d.output || o.output, d.iteration || o.iteration
	d.course, d.stop = d.course || o.course, d.stop || o.stop
}

// readsOf says what the score of a scorer depends on.
func (f *Folder) readsOf(s *spec.Scorer) sweep.Reads {
	switch d := f.dependsOf(s, 0); {
	case d.stop:
		return sweep.ReadsStop
	case d.course && (d.output || d.iteration):
		return sweep.ReadsAround
	case d.course:
		return sweep.ReadsCourse
	case d.iteration:
		return sweep.ReadsUnknown
	}
	return sweep.ReadsOutput
}

// dependsOf goes by the type of a scorer and by what its expressions read. A set
// depends on what its parts do.
func (f *Folder) dependsOf(s *spec.Scorer, depth int) (d depends) {
	variables := variablesOf(s)
	reads := func(name string) bool { return slices.Contains(variables, name) }
	d.course = slices.Contains(byCourse, s.Type) || slices.ContainsFunc(around, reads)
	d.stop = reads("stop")
	d.iteration = s.Type == "checks" || s.Type == "finish_reason"
	d.output = reads("output")
	switch {
	case len(s.Parts) > 0, d.iteration, s.Type == "cel", slices.Contains(byCourse, s.Type):
	case s.Value == nil, slices.Contains(ofOthers, s.Type):
		d.output = true
	}
	for i := range s.Parts {
		part := s.Parts[i].Scorer
		if part == nil {
			part = f.scorer(s.Parts[i].Named)
		}
		if part == nil || depth == deepest {
			d.iteration = true // nobody knows
			continue
		}
		d.add(f.dependsOf(part, depth+1))
	}
	return d
}

// variablesOf are those that the expressions of a scorer read.
func variablesOf(s *spec.Scorer) (all []string) {
	expressions := []*spec.Expr{s.Value, s.Target, s.Expr}
	if s.Extract != nil {
		expressions = append(expressions, s.Extract.Expr)
	}
	for _, e := range expressions {
		if e == nil || e.Program == nil {
			continue
		}
		for _, path := range e.Reads() {
			variable, _, _ := strings.Cut(path, ".")
			all = append(all, variable)
		}
	}
	return all
}
