package sweep

import (
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// Recording is the runs that were recorded under one configuration.
type Recording struct {
	Configuration string
	Loop          *spec.Loop
	// Announced are the paths of parameters that the agent was told other than in
	// its requests.
	Announced []string
	// Scores are the names of the scores, in the order of Run.Scores.
	Scores []string
	// Reads say what each score depends on, in that order; nil: nobody knows.
	Reads []Reads
	// Bounds are the ends between which each score lies, in that order; nil: from 0
	// to 1, and unbounded where a recorded value lies outside.
	Bounds []Range
	Runs   []Run // that count, ordered by task and trial
	// Judge makes scores that no recorded one tells; nil: they are not known. Runs
	// have their texts then, and tasks their targets.
	Judge Judge

	judged *sync.Map // by standing: scores that were made
}

// Reads says what a score depends on, so that it can be known of a run that
// stops earlier than the recorded one.
type Reads int

// The ways. The score of an iteration is that of a run that stops there.
const (
	// ReadsUnknown: the score of an iteration also holds for a run that returns it
	// and stops later; the score of a run holds for no other.
	ReadsUnknown Reads = iota
	// ReadsOutput: nothing but the output that is returned matters, so that the
	// score of a run also holds for one that returns the same iteration.
	ReadsOutput
	// ReadsAround: it matters what is returned and what was done until the run stops,
	// so that the score of an iteration holds only for a run that also stops there.
	ReadsAround
	// ReadsCourse: it matters what was done until the run stops, and not what is
	// returned, so that the score of an iteration holds for every run that stops there.
	ReadsCourse
	// ReadsStop: it matters why the run stops as well, so that only the score of a run
	// tells it, of those that stop there for the same reason.
	ReadsStop
)

// Run is a recorded run with what it was worth.
type Run struct {
	replay.Recorded
	// Scores are those of each name: that of the run as it was returned, then
	// those of its iterations; NaN where there is none.
	Scores [][]float64
}

// Candidate is a configuration to be tried.
type Candidate struct {
	Name string
	// Loop is what is tried; nil: Declared makes it. Candidates of a grid keep none:
	// together they would be the most that a tuning has in memory.
	Loop *spec.Loop
	// Params are the parameters that were set to get it, in the order declared;
	// none: the recorded configuration itself.
	Params []spec.Param
	// Base is the configuration that they were set in, where there are several.
	Base string

	of   *gridding // of a candidate without a loop
	at   int       // in the grid
	hash string
	when timing
}

// Declared is the loop that is tried.
func (c *Candidate) Declared() *spec.Loop {
	if c.Loop != nil {
		return c.Loop
	}
	loop, _ := c.of.loop(c.at) // it was made before, without a fault
	return loop
}

// Hash is that of the loop.
func (c *Candidate) Hash() string {
	if c.Loop != nil {
		return c.Loop.Hash()
	}
	return c.hash
}

// Outcome is what a candidate makes of a recorded run.
type Outcome struct {
	replay.Result
	// Scores are those of the iteration returned, by name; see Range.
	Scores []Range
	// Unscored says of each score why it is not known, though it is of the recorded
	// run; nil where there is none of which to say it.
	Unscored []Why
}

// Range is a number of which the ends are known. Both are NaN where nothing is
// known, for example of a run that is unscored; they are the same where it is a
// point. Where a run is censored or branches, the number may be anything that
// the score may be.
type Range struct{ Least, Most float64 }

// Known says that it has ends.
func (r Range) Known() bool { return !math.IsNaN(r.Least) }

// Point says that both ends are known and the same.
func (r Range) Point() bool { return r.Least == r.Most }

// Hit says that it is a point of 1 or more.
func (r Range) Hit() bool { return r.Point() && r.Least >= 1 }

func point(v float64) Range { return Range{v, v} }

var unknown = point(math.NaN())
