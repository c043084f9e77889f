package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// Steps is a pass over the states of workspaces that were kept when calls of programs arrived, and at the ends of iterations. Each state
// of a run is evaluated and scored once, as if a limit of steps had ended the run there; those at the ends are only scored.
type Steps struct {
	Dir   string
	Set   *scorers.Set
	Tasks iter.Seq2[*spec.Task, error] // nil: none is at hand
	// Loop is that of a run whose states are scored; nil: they are not.
	Loop func(run *record.Run) *spec.Loop
	// Cut is a run as a limit of steps would have left it, whose last state is evaluated and found; nil: it
	// is not known, and why.
	Cut func(ctx context.Context, l *spec.Loop, run *record.Run, task *spec.Task, limit int) (made *record.Run, why string)
	// Key is that of a state: states share it which differ in nothing that scores go by.
	Key   func(l *spec.Loop, tree string) (string, error)
	Found Found
	// Wanted are the keys of the states that are scored, by run; nil: all.
	Wanted map[string][]string
	Dry    bool // nothing is scored: it is only counted
	// Workers are how many score at the same time; default 1.
	Workers int
}

// Found is what is known of states.
type Found interface {
	Snapshot(run string, iteration int, key string) (known record.Snapshot, ok bool)
	Find(record.Snapshot)
	// Fresh takes what was found of a run and is not written.
	Fresh(run string) []record.Snapshot
}

// SnapshotJournal writes what is found.
type SnapshotJournal interface {
	AppendSnapshots(run string, snapshots []record.Snapshot, done func(error)) error
}

// StepCounts is what a pass over states finds and does.
type StepCounts struct {
	Runs     int // that have states
	States   int // that were kept
	Distinct int // of them, those that differ within their run
	Scorers  []StepCount
	// Unknown are distinct states of which it is not known how the run would have ended there; Why is the
	// reason of one of them.
	Unknown  int
	Why      string
	Taskless int // runs whose task is not at hand
}

// StepCount is that of one scorer, over distinct states.
type StepCount struct {
	scorers.Version
	Kept, Made, Unscored, Wanted int
	Reason                       string // why one is unscored
}

// Make scores the states. It ends before that where the context ends; what was found until then is
// kept, and another pass continues.
func (s *Steps) Make(ctx context.Context, journal SnapshotJournal) (*StepCounts, error) {
	m := &stepper{Steps: s, journal: journal}
	for _, v := range s.Set.Versions() {
		m.counts.Scorers = append(m.counts.Scorers, StepCount{Version: v})
	}
	if err := m.readTasks(); err != nil {
		return nil, err
	}
	runs := make(chan *record.Run)
	var working sync.WaitGroup
	for range max(1, s.Workers) {
		working.Go(func() {
			for run := range runs {
				m.run(ctx, run)
			}
		})
	}
	err := m.each(ctx, func(run *record.Run) { runs <- run })
	close(runs)
	working.Wait()
	return &m.counts, errors.Join(err, m.err)
}

// stepper is a pass over states that works.
type stepper struct {
	*Steps
	journal SnapshotJournal
	tasks   map[string]*spec.Task

	mu     sync.Mutex
	counts StepCounts
	err    error
}

// readTasks reads the tasks.
func (m *stepper) readTasks() error {
	m.tasks = map[string]*spec.Task{}
	if m.Tasks != nil {
		for task, err := range m.Tasks {
			if err != nil {
				return fmt.Errorf("reading the tasks: %w", err)
			}
			m.tasks[task.ID] = task
		}
	}
	return nil
}

// each visits the runs whose states are scored.
func (m *stepper) each(ctx context.Context, visit func(*record.Run)) error {
	for run, err := range record.ReadRuns(m.Dir) {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return nil
		case run.Outcome.Counts() && m.Loop(run) != nil && (m.Wanted == nil || m.Wanted[run.ID] != nil):
			visit(run)
		}
	}
	return nil
}

// keptState is a state of a run that was kept when calls arrived, or, without steps, at the end of an iteration that the run does not
// return.
type keptState struct {
	iteration int
	key       string
	steps     []int
}

// states are those of a run that differ, in their order.
func (m *stepper) states(l *spec.Loop, run *record.Run) (distinct []keptState, kept int, err error) {
	put := func(it *record.Iteration, tree string, step int) {
		kept++
		key, wrong := m.Key(l, tree)
		if wrong != nil {
			err = cmp.Or(err, fmt.Errorf("a state of iteration %d of run %s cannot be read: %w", it.N, run.ID, wrong))
			return
		}
		at := slices.IndexFunc(distinct, func(s keptState) bool { return s.iteration == it.N && s.key == key })
		if at < 0 {
			at, distinct = len(distinct), append(distinct, keptState{iteration: it.N, key: key})
		}
		if step > 0 {
			distinct[at].steps = append(distinct[at].steps, step)
		}
	}
	last, taken := 0, 0
	for i := range run.Iterations {
		it := &run.Iterations[i]
		for c := range it.Calls {
			call := &it.Calls[c]
			step := call.Step
			switch {
			case step > 0:
				last = step
			case call.Kind.IsStep(): // a limit refuses it, before its server does as too long
				step = last + 1
			}
			if step == 0 || step == taken {
				continue
			}
			if taken = step; step == 1 || call.Tree == "" { // no limit ends a run before its first step
				continue
			}
			put(it, call.Tree, step)
		}
		if it.Workspace != nil && it.N != run.Outcome.Returned && (kept > 0 || l.Workspace.BySteps()) {
			put(it, it.Workspace.Tree, 0)
		}
	}
	return distinct, kept, err
}

func (m *stepper) run(ctx context.Context, run *record.Run) {
	l := m.Loop(run)
	states, kept, err := m.states(l, run)
	if kept == 0 || m.note(run, states, kept, err) {
		return
	}
	cut := &cutting{stepper: m, loop: l, run: run, before: map[returned]record.Score{}}
	for i := range states {
		if (m.Wanted == nil || slices.Contains(m.Wanted[run.ID], states[i].key)) && ctx.Err() == nil {
			cut.state(ctx, &states[i])
		}
	}
	fresh := m.Found.Fresh(run.ID)
	if len(fresh) == 0 || m.Dry {
		return
	}
	if err := m.journal.AppendSnapshots(run.ID, fresh, nil); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.err = cmp.Or(m.err, err)
	}
}

// note counts a run with states, and reports whether its task is missing.
func (m *stepper) note(run *record.Run, states []keptState, kept int, err error) (taskless bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Runs++
	m.counts.States, m.counts.Distinct = m.counts.States+kept, m.counts.Distinct+len(states)
	if err != nil {
		m.counts.Unknown++
		m.counts.Why = cmp.Or(m.counts.Why, err.Error())
	}
	if taskless = m.tasks[run.Task] == nil; taskless {
		m.counts.Taskless++
	}
	return taskless
}

// cutting ends one run at its states.
type cutting struct {
	*stepper
	loop   *spec.Loop
	run    *record.Run
	before map[returned]record.Score
}

// returned is an iteration that was over before a state was kept, by the scorer that judges it where
// it is what the run returns.
type returned struct {
	scorer    string
	iteration int
}

// state evaluates and scores one state, as far as that was not done.
func (c *cutting) state(ctx context.Context, state *keptState) {
	known, _ := c.Found.Snapshot(c.run.ID, state.iteration, state.key)
	missing := c.missing(&known, state)
	if len(missing) == 0 || c.Dry {
		return
	}
	made, why := c.run, ""
	if len(state.steps) > 0 {
		made, why = c.Cut(ctx, c.loop, c.run, c.tasks[c.run.Task], state.steps[len(state.steps)-1]-1)
	}
	if made != nil && len(state.steps) > 0 && made.Outcome.Reason != record.ReasonBudgetSteps && !cutAt(made, state) {
		made, why = nil, fmt.Sprintf("something else would have ended the run: %s", made.Outcome.Reason)
	}
	if made == nil {
		c.unknown(ctx, why)
		return
	}
	found, _ := c.Found.Snapshot(c.run.ID, state.iteration, state.key) // it was evaluated
	others := slices.Clone(found.Scores)
	found.Run, found.Iteration, found.Key, found.Steps, found.Scores = c.run.ID, state.iteration, state.key, state.steps, nil
	for _, v := range c.Set.Versions() {
		var of []record.Score
		others = slices.DeleteFunc(others, func(s record.Score) bool {
			if s.Name == v.Name {
				of = append(of, s)
			}
			return s.Name == v.Name
		})
		if slices.Contains(missing, v.Name) {
			of = c.scores(ctx, made, state, &v, of)
		}
		found.Scores = append(found.Scores, of...)
	}
	found.Scores = append(found.Scores, others...) // of scorers that are not asked now
	if ctx.Err() != nil {
		return
	}
	c.made(&found, missing)
	if !reflect.DeepEqual(found, known) {
		c.Found.Find(found)
	}
}

// scores are those that a scorer makes of a run that ends with a state. Some of its own may be there.
func (c *cutting) scores(ctx context.Context, made *record.Run, state *keptState, v *scorers.Version, there []record.Score) []record.Score {
	around := v.LooksAround || v.OfRun
	unscored := func(format string, args ...any) record.Score {
		return record.Score{Run: made.ID, Name: v.Name, Scorer: v.Hash, Unscored: fmt.Sprintf(format, args...)}
	}
	best, last := made.Outcome.Returned, len(made.Iterations)
	switch {
	case len(state.steps) == 0: // the end of an iteration
		return c.at(ctx, made, v, state.iteration)
	case len(state.steps) > 1 && v.LooksAround:
		return []record.Score{unscored("the scorer reads more than the workspace, which was the same at several steps")}
	case !cutAt(made, state): // the call was to be the first one of an iteration, which is not begun
		return []record.Score{c.earlier(ctx, made, v)}
	case c.loop.Evaluate.Elsewhere() == "" || made.Iterations[last-1].Skipped:
		return c.ending(ctx, made, v, there)
	case around:
		return []record.Score{unscored("%s, and the scorer reads how that went", c.loop.Evaluate.Elsewhere())}
	}
	// The last iteration cannot be evaluated: the run returns this one or the best one before it. Where both are worth
	// the same, so is the run.
	ends := record.Snapshot{Scores: c.ending(ctx, returning(made, last), v, there)}
	if best == 0 || best == last {
		return ends.Scores
	}
	earlier := c.earlier(ctx, made, v)
	if s := scoreBy(&ends, v); s == nil || earlier.Unscored != "" || s.Value != earlier.Value {
		ends.Scores = append(ends.Scores, unscored("%s, which decides whether iteration %d or %d is returned", c.loop.Evaluate.Elsewhere(), best, last))
	}
	return ends.Scores
}

// returning is a run that returns another iteration.
func returning(run *record.Run, iteration int) *record.Run {
	other := *run
	other.Outcome.Returned = iteration
	return &other
}

// ending are the scores of a run whose last iteration ends with a state: that of the iteration, which a replay may have
// asked for before, and that of the run where it may be another one.
func (c *cutting) ending(ctx context.Context, made *record.Run, v *scorers.Version, there []record.Score) []record.Score {
	last := len(made.Iterations)
	scores := slices.DeleteFunc(there, func(s record.Score) bool { return s.Iteration == 0 || s.Scorer != v.Hash || s.Unscored != "" })
	if len(scores) == 0 {
		scores = c.at(ctx, made, v, last)
	}
	if made.Outcome.Returned != last || v.LooksAround || v.OfRun {
		scores = append(scores, c.earlier(ctx, made, v))
	}
	return scores
}

// earlier is the score of a run that returns an iteration which was over before the state was kept.
func (c *cutting) earlier(ctx context.Context, made *record.Run, v *scorers.Version) (score record.Score) {
	place := returned{v.Name, made.Outcome.Returned}
	if score, judged := c.before[place]; judged {
		return score
	}
	for _, score = range c.at(ctx, made, v, 0) {
		if !v.LooksAround && !v.OfRun {
			c.before[place] = score
		}
	}
	return score
}

// at is the score by a scorer of an iteration; 0 is the run.
func (c *cutting) at(ctx context.Context, run *record.Run, v *scorers.Version, iteration int) []record.Score {
	return c.Set.Make(ctx, c.tasks[run.Task], run, func(by *scorers.Version, n int) bool { return by.Name == v.Name && n == iteration })
}

// cutAt reports whether a limit of steps ends the run within the iteration in which a state was kept.
func cutAt(made *record.Run, state *keptState) bool {
	return len(made.Iterations) == state.iteration && made.Iterations[state.iteration-1].Cut == string(record.ReasonBudgetSteps)
}

// missing are the names of the scorers that have not scored a state, and counts those that have. At the end of an iteration only those
// judge that need no more than that.
func (m *stepper) missing(known *record.Snapshot, state *keptState) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ends := len(state.steps) == 0
	for i := range m.counts.Scorers {
		c := &m.counts.Scorers[i]
		switch {
		case ends && (c.LooksAround || c.OfRun):
		case (ends || len(known.Steps) > 0) && scoreBy(known, &c.Version) != nil:
			c.Kept++
		default:
			c.Wanted++
			names = append(names, c.Name)
		}
	}
	return names
}

// scoreBy is the score of the run that ends with a state by this version of a scorer; nil where there is none.
func scoreBy(known *record.Snapshot, v *scorers.Version) *record.Score {
	if s := known.Score(v.Name); s != nil && s.Scorer == v.Hash && s.Unscored == "" {
		return s
	}
	return nil
}

func (m *stepper) unknown(ctx context.Context, why string) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Unknown++
	m.counts.Why = cmp.Or(m.counts.Why, why)
}

func (m *stepper) made(found *record.Snapshot, names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.counts.Scorers {
		c := &m.counts.Scorers[i]
		s := found.Score(c.Name)
		switch {
		case s == nil || !slices.Contains(names, c.Name):
		case s.Unscored != "":
			if c.Unscored == 0 || s.Unscored < c.Reason {
				c.Reason = s.Unscored
			}
			c.Unscored++
		default:
			c.Made++
		}
	}
}
