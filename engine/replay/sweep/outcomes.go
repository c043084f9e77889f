package sweep

import (
	"cmp"
	"context"
	"fmt"
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
	// Unscored says of each score why it is not known, though it is of the recorded
	// run; nil where there is none of which to say it.
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
	err := s.Visit(ctx, candidates, func() func(int, int, *Outcome, bool) {
		return func(k, run int, o *Outcome, _ bool) {
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
// valid until the next one; again says that it is the one before, but for the limit
// that decided. The error is that of the context.
func (s *Sweep) Visit(ctx context.Context, candidates []int, visitor func() func(k, run int, o *Outcome, again bool)) error {
	groups := make([][]*group, len(s.recordings))
	for k, candidate := range candidates {
		on, err := s.Recording(ctx, candidate)
		if err != nil {
			return err
		}
		groups[on] = s.join(groups[on], k, candidate, on)
	}
	for _, g := range slices.Concat(groups...) {
		g.sort()
	}
	return eachOn(ctx, len(s.Runs()), chunk, func() func(run int) {
		v := &visitorOf{ctx: ctx, visit: visitor(), scores: make([]Range, len(s.scores))}
		return func(run int) {
			for on := range groups {
				if len(groups[on]) > 0 {
					v.run(&s.recordings[on], groups[on], run)
				}
			}
		}
	})
}

// group is candidates that a run is walked for together: those of a family, which take one path; or those that differ in a
// limit of a hard budget, and, where limits serve them without that budget, in when else they stop.
type group struct {
	family  *family
	endless *replay.Replay // which walks the path of the family; nil: there is a path for each value of the budget's limit
	budget  hardLimit
	limits  *replay.Limits // that serve all members without the hard budget; nil: none do
	values  []budgetValue  // the smallest first
	members []member       // those with the same other parameters together, the smallest limit first
}

// budgetValue is a value of the limit of a hard budget.
type budgetValue struct {
	limit  float64
	limits stop.Limits    // all of the budget
	replay *replay.Replay // which walks the path
}

// member is a candidate in a group.
type member struct {
	k      int
	stops  *replay.Stops // along the path; nil: it ends as the path does
	limit  float64       // of the hard budget
	value  int           // its place among the values
	rest   string        // the other parameters
	judged bool          // see [Recording.judges]
}

// sort puts the members of a budget into their order, and finds the places of their limits.
func (g *group) sort() {
	slices.SortStableFunc(g.members, func(a, b member) int { return cmp.Or(cmp.Compare(a.rest, b.rest), cmp.Compare(a.limit, b.limit)) })
	for i := range g.members {
		g.members[i].value, _ = g.valueOf(g.members[i].limit)
	}
}

func (g *group) valueOf(limit float64) (at int, known bool) {
	return slices.BinarySearchFunc(g.values, limit, func(v budgetValue, limit float64) int { return cmp.Compare(v.limit, limit) })
}

// join adds a candidate to the groups on a recording.
func (s *Sweep) join(groups []*group, k, candidate, on int) []*group {
	f, r, loop := s.of[candidate], &s.recordings[on], s.candidates[candidate].Declared()
	one := member{k: k, judged: r.judges(loop)}
	if f.limits == nil || s.told(candidate, on) {
		return s.joinBudget(groups, candidate, on, loop, one)
	}
	one.stops = replay.NewStops(loop)
	at := slices.IndexFunc(groups, func(g *group) bool { return g.family == f })
	if at < 0 {
		at, groups = len(groups), append(groups, &group{family: f, endless: s.endless(f, on)})
	}
	groups[at].members = append(groups[at].members, one)
	return groups
}

// joinBudget adds a candidate that takes the path of no family.
func (s *Sweep) joinBudget(groups []*group, candidate, on int, loop *spec.Loop, one member) []*group {
	r, walked, at := &s.recordings[on], loop, -1
	var value budgetValue
	joined := &group{}
	if len(r.Announced) == 0 {
		joined.budget, one.limit = s.candidates[candidate].hardLimit(loop)
	}
	if joined.budget.path != "" {
		hard, soft := *loop.Guards.Budget, *loop
		soft.Guards.Budget = nil
		if limits := replay.NewLimits(&soft); limits.Serves(&soft) == "" {
			joined.limits, one.rest, one.stops, joined.budget.rest = limits, joined.budget.rest, replay.NewStops(loop), ""
			walked = replay.Endless(loop)
			walked.Guards.Budget = &hard
		}
		value.limit, value.limits = one.limit, stop.LimitsOf(&hard)
		at = slices.IndexFunc(groups, func(g *group) bool {
			return g.budget == joined.budget && (g.limits == nil) == (joined.limits == nil) && (g.limits == nil || g.limits.Serves(&soft) == "")
		})
	}
	if at >= 0 {
		joined = groups[at]
	} else {
		groups = append(groups, joined)
	}
	if place, known := joined.valueOf(one.limit); !known {
		value.replay = s.options.replay(r.Loop, walked, r.Announced...)
		joined.values = slices.Insert(joined.values, place, value)
	}
	joined.members = append(joined.members, one)
	return groups
}

func (s *Sweep) endless(f *family, on int) *replay.Replay {
	return s.options.replay(s.recordings[on].Loop, replay.Endless(s.candidates[f.members[0]].Declared()))
}

// hardLimit is what candidates have in common that differ in one limit of a hard budget,
// which nothing reads that is sent, judged or decided. The path is "" where there is no such limit.
type hardLimit struct {
	of     *gridding
	path   string        // of the limit
	reason record.Reason // why a run ends that reaches it
	others spec.RunBudget
	rest   string // the other parameters
}

// hardLimit is that of a candidate of a grid, and its value as outcomes tell it.
func (c *Candidate) hardLimit(loop *spec.Loop) (in hardLimit, limit float64) {
	budget := loop.Guards.Budget
	callsModels := func(s spec.Stage) bool { return len(s.Agent.Models) > 0 } // limits decide about each of its calls
	if c.of == nil || budget == nil || !budget.Hard || replay.ReadsParameters(loop) || slices.ContainsFunc(loop.Stages(), callsModels) {
		return hardLimit{}, 0
	}
	limits, most := stop.LimitsOf(budget), 0
	for i := range c.of.axes {
		one, at := hardLimit{of: c.of, path: c.of.axes[i].Path, others: *budget}, 0.0
		switch spec.FullPath(one.path) {
		case "guards.budget.calls":
			at, one.reason, one.others.Calls = float64(limits.Calls), record.ReasonBudgetCalls, 0
		case "guards.budget.tokens":
			at, one.reason, one.others.Tokens = float64(limits.Tokens), record.ReasonBudgetTokens, 0
		case "guards.budget.cost_usd":
			at, one.reason, one.others.CostUSD = float64(limits.Cost)/float64(record.USD), record.ReasonBudgetCost, 0
		}
		if n := len(c.of.axes[i].Values); at > 0 && n > most {
			in, limit, most = one, at, n
		}
	}
	for _, p := range c.Params {
		if most > 0 && p.Path != in.path {
			in.rest += fmt.Sprintf("%s=%v,", p.Path, p.Value)
		}
	}
	return in, limit
}

// visitorOf visits the outcomes of one run after the other.
type visitorOf struct {
	ctx     context.Context
	visit   func(k, run int, o *Outcome, again bool)
	room    replay.Room
	scores  []Range
	outcome Outcome

	paths []*pathRoom // of the values of a budget
	of    []int       // by value: its path
}

// pathRoom is a path that is kept beside others.
type pathRoom struct {
	replay.Room
	path replay.Path
}

// run visits what groups of candidates make of a run.
func (v *visitorOf) run(r *Recording, groups []*group, run int) {
	whole, task := r.Runs[run].Run, r.Runs[run].Task
	for _, g := range groups {
		if g.endless != nil {
			path := g.endless.Path(v.ctx, &v.room, whole, task)
			for i := range g.members {
				v.outcome.Result = g.members[i].stops.Along(&path)
				v.tell(r, run, whole, &g.members[i], &path, false)
			}
			continue
		}
		v.walk(g, whole, task)
		for i := range g.members {
			m := &g.members[i]
			path := &v.paths[v.of[m.value]].path
			again := i > 0 && m.rest == g.members[i-1].rest && v.of[m.value] == v.of[g.members[i-1].value]
			switch {
			case again:
			case m.stops != nil:
				v.outcome.Result = m.stops.Along(path)
			default:
				v.outcome.Result = path.End
			}
			if g.budget.reason != "" && v.outcome.Outcome.Reason == g.budget.reason {
				v.outcome.Outcome.Limit = m.limit
			}
			v.tell(r, run, whole, m, path, again)
		}
	}
}

// walk walks a run under each value of a budget's limit, the smallest first, unless the path before holds under it.
func (v *visitorOf) walk(g *group, run *record.Run, task *spec.Task) {
	paths := 0
	v.of = v.of[:0]
	for i := range g.values {
		if paths == 0 || !v.paths[paths-1].path.HoldsUnder(g.values[i].limits) {
			if paths == len(v.paths) {
				v.paths = append(v.paths, &pathRoom{})
			}
			room := v.paths[paths]
			room.path = g.values[i].replay.Path(v.ctx, &room.Room, run, task)
			paths++
		}
		v.of = append(v.of, paths-1)
	}
}

// tell visits the outcome of a member, of which the result is known.
func (v *visitorOf) tell(r *Recording, run int, whole *record.Run, m *member, path *replay.Path, again bool) {
	var asIf func() *record.Run
	if m.judged {
		asIf = func() *record.Run { return path.AsIf(whole, &v.outcome.Result) }
	}
	if !again || asIf != nil && slices.Contains(r.Reads, ReadsStop) { // which may go by the limit
		v.outcome.Scores, v.outcome.Unscored = r.value(v.ctx, v.scores, run, &v.outcome.Result, asIf)
		r.leaveOut(run, &v.outcome)
		again = false
	}
	v.visit(m.k, run, &v.outcome, again)
}

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
