package command

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
)

// racing is an executor that runs tasks in one seeded order, in blocks, and after
// each block only those paths that are still in the race. Tasks of one cluster
// count as one: they are run together, and their scores are one score.
//
// What is decided after a block depends on the records alone, so that a recording
// that goes on where it was stopped decides the same.
type racing struct {
	*live
	dir   string
	inner engine.Executor
	settled

	order  []string       // of units: clusters, or tasks that stand for themselves
	unit   map[string]int // of a task, its place in the order
	best   int            // the path that led at the last look
	failed error
}

// racing prepares a job for a race.
func (l *live) racing(j *job) (*racing, error) {
	r := &racing{live: l, dir: j.dir, unit: map[string]int{}}
	if err := r.arrange(j.plan); err != nil {
		return nil, fail(wrongSpec, "", "%w", err)
	}
	l.race = tune.NewRace(len(r.paths), len(r.order), tune.RaceOptions{Margin: r.terms.margin, Stays: r.today})
	r.settled.Watcher, j.engine.Watch = j.engine.Watch, &r.settled
	j.around, j.raced = r.around, r.tell
	return r, nil
}

// tell notes in the manifest which paths left the race.
func (r *racing) tell(m *record.Manifest) {
	for path, out := range r.race.Outs() {
		for i := range m.Configurations {
			if m.Configurations[i].Name == r.paths[path].Name {
				m.Configurations[i].LeftRace = out.After
			}
		}
	}
}

// around runs what an executor would, in the order of the race.
func (r *racing) around(inner engine.Executor) engine.Executor {
	r.inner = inner
	return r
}

// left are the paths that are in, the one that led first: the others are held
// against what is recorded of it.
func (r *racing) left() (names []string) {
	for _, path := range r.race.Left() {
		names = append(names, r.paths[path].Name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		best := r.paths[r.best].Name
		return cmp.Compare(count01(b == best), count01(a == best))
	})
	return names
}

func count01(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Execute implements engine.Executor.
func (r *racing) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	byUnit, err := r.gather(items)
	if err != nil {
		return err
	}
	for done := 0; done < len(r.order); {
		next := r.race.Next()
		ended, err := r.block(ctx, slices.Concat(byUnit[done:next]...), run, deliver)
		if err != nil || ended {
			return err
		}
		if r.failed = r.look(ctx, next); r.failed != nil {
			return nil
		}
		done = next
	}
	return nil
}

// arrange fixes the order of all tasks, also of those whose runs earlier sessions
// made.
func (r *racing) arrange(planned *plan.Plan) error {
	unitsOf := map[string]string{}
	for item, err := range planned.Once().Items(r.Tasks()) {
		if err != nil {
			return err
		}
		unitsOf[item.Task.ID] = unitOf(item.Task)
	}
	r.order = tune.RaceOrder(slices.Compact(slices.Sorted(maps.Values(unitsOf))), r.Suite.Seed)
	place := map[string]int{}
	for i, unit := range r.order {
		place[unit] = i
	}
	for task, unit := range unitsOf {
		r.unit[task] = place[unit]
	}
	return nil
}

// gather puts the runs that are to be made by unit, in the order of the race.
func (r *racing) gather(items iter.Seq2[plan.Item, error]) ([][]plan.Item, error) {
	byUnit := make([][]plan.Item, len(r.order))
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		at := r.unit[item.Task.ID]
		byUnit[at] = append(byUnit[at], item)
	}
	return byUnit, nil
}

// unitOf is what a task counts as: its cluster, or itself.
func unitOf(task *spec.Task) string {
	if task.Cluster != "" {
		return "cluster " + task.Cluster
	}
	return "task " + task.ID
}

// block runs the items of a block whose paths are in. It has ended where not all of
// them were run, or the budget is spent.
func (r *racing) block(ctx context.Context, items []plan.Item, run engine.RunFunc, deliver engine.DeliverFunc) (ended bool, err error) {
	var spent sync.Once
	items = slices.DeleteFunc(slices.Clone(items), func(item plan.Item) bool { return !slices.Contains(r.race.Left(), item.Configuration) })
	over, end := context.WithCancel(ctx) // only the taking of items ends with it
	defer end()
	taken := 0
	take := func(yield func(plan.Item, error) bool) {
		for _, item := range items {
			if over.Err() != nil || !yield(item, nil) {
				return
			}
			taken++
		}
	}
	err = r.inner.Execute(ctx, take, run, func(ctx context.Context, item plan.Item, run *record.Run) {
		if run.Outcome.Reason == record.ReasonSuiteBudget {
			spent.Do(end)
		}
		r.settled.delivered()
		deliver(ctx, item, run)
	})
	return taken < len(items) || over.Err() != nil, cmp.Or(err, r.settled.wait(ctx))
}

// settled watches until all runs that were delivered are safe.
type settled struct {
	engine.Watcher
	mu      sync.Mutex
	open    int
	nothing chan struct{} // closed once nothing is open; nil: nobody waits
}

// Finished implements engine.Watcher.
func (s *settled) Finished(run *record.Run, scores []record.Score) {
	s.Watcher.Finished(run, scores)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.nothing != nil {
		close(s.nothing)
		s.nothing = nil
	}
}

func (s *settled) delivered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// wait waits until all is safe, or the context ends, as it does where nothing can
// be written any more.
func (s *settled) wait(ctx context.Context) error {
	s.mu.Lock()
	if s.open == 0 {
		s.mu.Unlock()
		return nil
	}
	nothing := make(chan struct{})
	s.nothing = nothing
	s.mu.Unlock()
	select {
	case <-nothing:
	case <-ctx.Done():
	}
	return nil
}

// look holds the paths that are in against one another by what is recorded of the
// first so many units.
func (r *racing) look(ctx context.Context, done int) error {
	arms, err := r.arms(ctx, done)
	if err != nil {
		return fmt.Errorf("looking at the race: %w", err)
	}
	r.race.Look(arms, done)
	if lead := r.race.Leader(); lead >= 0 {
		r.best = lead
	}
	return nil
}

// arms are what is known of the paths.
func (r *racing) arms(ctx context.Context, done int) ([]tune.Arm, error) {
	arms := make([]tune.Arm, len(r.paths))
	if r.terms.score == "" || len(r.race.Left()) == 1 {
		return unknownArms(arms), nil
	}
	folder, err := results.Open(r.dir, results.Options{Suite: r.Document})
	if err != nil {
		return nil, err
	}
	selection := results.Selection{Texts: true}
	for _, path := range r.race.Left() {
		selection.Configurations = append(selection.Configurations, r.paths[path].Name)
	}
	recordings, _, err := folder.Read(selection)
	if err != nil {
		return nil, err
	}
	unknownArms(arms)
	for i := range recordings {
		path := slices.IndexFunc(r.paths, func(c sweep.Candidate) bool { return c.Name == recordings[i].Configuration })
		if arms[path], err = r.arm(ctx, &recordings[i], path, done); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

func unknownArms(arms []tune.Arm) []tune.Arm {
	for i := range arms {
		arms[i].Scores = [][]float64{nil}
	}
	return arms
}

// arm is a path with what each of its candidates makes of what is recorded of it;
// the recorded one is the first.
func (r *racing) arm(ctx context.Context, recording *sweep.Recording, path, done int) (tune.Arm, error) {
	recording.Runs = slices.DeleteFunc(recording.Runs, func(run sweep.Run) bool { return r.unit[run.Run.Task] >= done })
	if len(recording.Runs) == 0 {
		return tune.Arm{Scores: [][]float64{nil}}, nil
	}
	candidates, err := r.candidates(recording, path)
	if err != nil {
		return tune.Arm{}, err
	}
	s, err := sweep.New([]sweep.Recording{*recording}, candidates, sweep.Options{Replay: engine.Replay})
	if err != nil {
		return tune.Arm{}, err
	}
	parts := make([]int, len(s.Runs()))
	for i, run := range s.Runs() {
		parts[i] = r.unit[run.Run.Task]
	}
	arm, score := tune.Arm{Scores: make([][]float64, len(candidates))}, slices.Index(s.Scores(), r.terms.score)
	err = s.Totals(ctx, parts, done, func(c int, totals []sweep.Totals) { arm.Scores[c] = r.scores(totals, score) })
	return arm, err
}

// candidates are the recorded path itself and what replay answers on it.
func (r *racing) candidates(recording *sweep.Recording, path int) ([]sweep.Candidate, error) {
	own := r.paths[path]
	axes := slices.Clone(r.replayed)
	for i := range axes {
		if err := axes[i].Observe(sweep.Beside(own.Loop, axes, i), []sweep.Recording{*recording}); err != nil {
			return nil, err
		}
	}
	all := []sweep.Candidate{{Name: own.Name, Loop: recording.Loop}}
	if len(axes) == 0 {
		return all, nil
	}
	grid, err := sweep.Grid([]sweep.Base{{Name: own.Name, Loop: own.Loop}}, nil, axes)
	return append(all, grid...), err
}

// scores are those of each unit, the most that they can be: NaN where not all are
// known.
func (r *racing) scores(byUnit []sweep.Totals, score int) []float64 {
	all := make([]float64, len(byUnit))
	for u := range byUnit {
		all[u] = math.NaN()
		if t := &byUnit[u]; score >= 0 && score < len(t.Scores) && t.Scores[score].Known == t.Runs && t.Runs > 0 {
			s := &t.Scores[score]
			all[u] = s.Most / float64(s.Known)
			if r.terms.minimize {
				all[u] = 1 - s.Least/float64(s.Known)
			}
		}
	}
	return all
}
