package sweep

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Candidate is a configuration to be tried.
type Candidate struct {
	Name string
	// Aliases are the names of equal ones.
	Aliases []string
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
	// Unscored is why each score is unknown; nil: all are known. A run that goes as recorded, and that its scorer could not
	// judge, has neither a score nor a reason: a live run would have no score, too.
	Unscored []Why
}

// Outcomes are what candidates make of each run, in the order of Runs; of several it
// takes little longer than of one. The error is that of the context.
func (s *Sweep) Outcomes(ctx context.Context, candidates ...int) ([][]Outcome, error) {
	n, runs := len(s.scores), len(s.Runs())
	all, scores := make([][]Outcome, len(candidates)), make([]Range, n*runs*len(candidates))
	for k := range all {
		all[k] = make([]Outcome, runs)
	}
	err := s.Visit(ctx, candidates, func() func(int, int, *Outcome) {
		return func(k, run int, o *Outcome) {
			at := n * (k*runs + run)
			into := &all[k][run]
			*into = *o
			into.Scores = scores[at : at+n : at+n]
			copy(into.Scores, o.Scores)
		}
	})
	return all, err
}

// Visit tells what candidates make of each run: the outcomes of one run after the
// other, and of several runs at a time. It asks for a visitor for every worker,
// which is given the place among the candidates, the run, and an outcome that is
// valid until the next one. The error is that of the context.
func (s *Sweep) Visit(ctx context.Context, candidates []int, visitor func() func(k, run int, o *Outcome)) error {
	groups := make([][]*group, len(s.recordings))
	for k, candidate := range candidates {
		on, err := s.Recording(ctx, candidate)
		if err != nil {
			return err
		}
		groups[on] = s.join(groups[on], k, candidate, on)
	}
	return eachOn(ctx, len(s.Runs()), chunk, func() func(run int) {
		v := &visitorOf{visit: visitor(), paths: paths{ctx: ctx}, scores: make([]Range, len(s.scores))}
		return func(run int) {
			for on := range groups {
				if len(groups[on]) > 0 {
					v.run(&s.recordings[on], groups[on], run)
				}
			}
		}
	})
}

// group is candidates that a run is walked for together: those of a family, or one by itself.
type group struct {
	replay  *replay.Replay
	family  *family // nil: the path of the only member is its outcome
	members []member
}

// member is a candidate in a group.
type member struct {
	k      int
	stops  *replay.Stops // along the path
	hard   stop.Limits   // of its hard budget
	judged bool          // see [Recording.judges]
}

// join adds a candidate to the groups on a recording.
func (s *Sweep) join(groups []*group, k, candidate, on int) []*group {
	f, r, loop := s.of[candidate], &s.recordings[on], s.candidates[candidate].Declared()
	one := member{k: k, judged: r.judges(loop)}
	if f.limits == nil || s.told(candidate, on) {
		return append(groups, &group{replay: s.options.replay(r.Loop, loop, r.Announced...), members: []member{one}})
	}
	one.stops, one.hard = replay.NewStops(loop), hardLimits(loop)
	at := slices.IndexFunc(groups, func(g *group) bool { return g.family == f })
	if at < 0 {
		at, groups = len(groups), append(groups, &group{replay: s.endless(f, on), family: f})
	}
	groups[at].members = append(groups[at].members, one)
	return groups
}

// visitorOf visits the outcomes of one run after the other.
type visitorOf struct {
	visit   func(k, run int, o *Outcome)
	paths   paths
	scores  []Range
	outcome Outcome
}

// run visits what groups of candidates make of a run.
func (v *visitorOf) run(r *Recording, groups []*group, run int) {
	whole := r.Runs[run].Run
	for _, g := range groups {
		v.paths.begin(g.replay, whole, r.Runs[run].Task)
		for i := range g.members {
			m := &g.members[i]
			path := v.paths.under(&m.hard)
			if m.stops != nil {
				v.outcome.Result = m.stops.Along(path)
			} else {
				v.outcome.Result = path.End
			}
			var asIf func() *record.Run
			if m.judged {
				asIf = func() *record.Run { return path.AsIf(whole, &v.outcome.Result) }
			}
			v.outcome.Scores, v.outcome.Unscored = r.value(v.ctx(), v.scores, run, &v.outcome.Result, asIf)
			r.leaveOut(run, &v.outcome)
			v.visit(m.k, run, &v.outcome)
		}
	}
}

func (v *visitorOf) ctx() context.Context { return v.paths.ctx }

// chunk is how many runs a worker takes at a time.
const chunk = 64

// Each does something with each of n things, so many at a time, on all processors. The error is that
// of the context.
func Each(ctx context.Context, n, chunk int, do func(i int)) error {
	return eachOn(ctx, n, chunk, func() func(int) { return do })
}

// eachOn is Each with something of its own for every worker.
func eachOn(ctx context.Context, n, chunk int, worker func() func(i int)) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		do := worker()
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(chunk))) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// Recording is the index, among Recordings, of the one that a candidate is
// replayed on: the one whose path it takes, else the one that leaves most of its
// runs exact. The error is that of the context.
func (s *Sweep) Recording(ctx context.Context, candidate int) (int, error) {
	f := s.of[candidate]
	if f.chosen {
		return f.recording, nil
	}
	recording, err := s.choose(ctx, f.members[0])
	if err != nil {
		return 0, err
	}
	f.chosen, f.recording = true, recording
	return recording, nil
}

func (s *Sweep) choose(ctx context.Context, candidate int) (int, error) {
	if len(s.recordings) == 1 {
		return 0, nil
	}
	for i := range s.recordings {
		if replay.Apart(s.recordings[i].Loop, s.candidates[candidate].Declared()) == "" {
			return i, nil
		}
	}
	best, most := 0, -1
	for i := range s.recordings {
		r := &s.recordings[i]
		replayed, exact := s.options.replay(r.Loop, s.candidates[candidate].Declared(), r.Announced...), atomic.Int64{}
		err := eachOn(ctx, len(r.Runs), chunk, func() func(int) {
			return func(run int) {
				if result := replayed.Run(ctx, r.Runs[run].Run, r.Runs[run].Task); result.Verdict == replay.Exact {
					exact.Add(1)
				}
			}
		})
		if err != nil {
			return 0, err
		}
		if n := int(exact.Load()); n > most {
			best, most = i, n
		}
	}
	return best, nil
}
