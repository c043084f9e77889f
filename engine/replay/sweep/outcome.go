package sweep

import (
	"github.com/agentbench/agentbench/engine/record"
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
	Runs   []Run // that count, ordered by task and trial
}

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
	Loop *spec.Loop
	// Params are the parameters that were set to get it, in the order declared;
	// none: the recorded configuration itself.
	Params []spec.Param
}

// Outcome is what a candidate makes of a recorded run.
type Outcome struct {
	replay.Result
	// Scores are those of the iteration returned, by name; see Range.
	Scores []Range
}

// Range is a number of which the ends are known. Both are NaN where nothing is
// known, for example of a run that is unscored; they are the same where it is a
// point. Where a run is censored or branches, the number may be anything that
// the score may be.
type Range struct{ Least, Most float64 }

// Totals are sums over a part of the runs. Usage and time are of what is known:
// all of a run that is exact, else the part of it that is recorded.
type Totals struct {
	Runs                            int
	Exact, Censored, Branches, Told int // Told are some of those that branch
	Successes                       int // runs that the loop believed in, of the exact ones
	Iterations                      int64
	Least, Most                     record.Usage // agent and evaluations together
	Elapsed                         int64        // nanoseconds
	Scores                          []ScoreTotals
}

// ScoreTotals are sums of one score over a part of the runs.
type ScoreTotals struct {
	// Known is how many runs have a Range; Least and Most are the sums of its ends.
	Known       int
	Least, Most float64
	// Hits are the exact runs with a score of 1 or more. Lost are those that are
	// none though the recorded run was, Gained the other way round.
	Hits, Lost, Gained int
}

// Label is the worst of the runs.
func (t *Totals) Label() replay.Label {
	switch {
	case t.Told > 0:
		return replay.Counterfactual
	case t.Branches > 0:
		return replay.NeedsCalls
	case t.Censored > 0:
		return replay.Bounded
	}
	return replay.PointExact
}
