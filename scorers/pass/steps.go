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
	before := map[returned]record.Score{}
	for i := range states {
		if (m.Wanted == nil || slices.Contains(m.Wanted[run.ID], states[i].key)) && ctx.Err() == nil {
			m.state(ctx, l, run, &states[i], before)
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

// state evaluates and scores one state, as far as that was not done.
func (m *stepper) state(ctx context.Context, l *spec.Loop, run *record.Run, state *keptState, before map[returned]record.Score) {
	known, _ := m.Found.Snapshot(run.ID, state.iteration, state.key)
	missing := m.missing(&known, state)
	if len(missing) == 0 || m.Dry {
		return
	}
	if len(state.steps) == 0 {
		m.end(ctx, run, state, missing)
		return
	}
	made, why := m.Cut(ctx, l, run, m.tasks[run.Task], state.steps[len(state.steps)-1]-1)
	if made != nil && made.Outcome.Reason != record.ReasonBudgetSteps && !cutAt(made, state) {
		made, why = nil, fmt.Sprintf("something else would have ended the run: %s", made.Outcome.Reason)
	}
	if made == nil {
		m.unknown(ctx, why)
		return
	}
	found, _ := m.Found.Snapshot(run.ID, state.iteration, state.key) // it was evaluated
	found.Run, found.Iteration, found.Key, found.Steps = run.ID, state.iteration, state.key, state.steps
	switch {
	case !cutAt(made, state): // the call was to be the first one of an iteration, which is not begun
		found.Scores = m.judgeEnded(ctx, made, missing, found.Scores, before)
	case l.Evaluate.Elsewhere() != "" && !made.Iterations[state.iteration-1].Skipped:
		found.Scores = m.judgeEither(ctx, l, made, missing, found.Scores, before)
	default:
		found.Scores = m.judge(ctx, made, missing, found.Scores, before)
	}
	if ctx.Err() != nil {
		return
	}
	m.onlyOnce(&found, missing)
	m.made(&found, missing)
	if !reflect.DeepEqual(found, known) {
		m.Found.Find(found)
	}
}

// end scores the state at the end of an iteration.
func (m *stepper) end(ctx context.Context, run *record.Run, state *keptState, names []string) {
	set := m.Set.Only(func(name string) bool { return slices.Contains(names, name) })
	scores := set.At(ctx, m.tasks[run.Task], run, state.iteration)
	if ctx.Err() != nil {
		return
	}
	found, _ := m.Found.Snapshot(run.ID, state.iteration, state.key)
	found.Run, found.Iteration, found.Key = run.ID, state.iteration, state.key
	found.Scores = append(slices.DeleteFunc(found.Scores, func(s record.Score) bool { return slices.Contains(names, s.Name) }), scores...)
	m.made(&found, names)
	m.Found.Find(found)
}

// onlyOnce leaves those scorers out that read more than the workspace, such as the tools that were used, where it was the same at several
// steps.
func (m *stepper) onlyOnce(found *record.Snapshot, names []string) {
	if len(found.Steps) == 1 {
		return
	}
	for _, v := range m.Set.Versions() {
		for i := range found.Scores {
			if s := &found.Scores[i]; s.Name == v.Name && v.LooksAround && slices.Contains(names, v.Name) {
				*s = record.Score{Run: s.Run, Iteration: s.Iteration, Name: s.Name, Scorer: s.Scorer, Unscored: "the scorer reads more than the workspace, which was the same at several steps"}
			}
		}
	}
}

// cutAt reports whether a limit of steps ends the run within the iteration in which a state was kept.
func cutAt(made *record.Run, state *keptState) bool {
	return len(made.Iterations) == state.iteration && made.Iterations[state.iteration-1].Cut == string(record.ReasonBudgetSteps)
}

// judgeEnded makes the scores of a run that ends between two iterations.
func (m *stepper) judgeEnded(ctx context.Context, made *record.Run, names []string, there []record.Score, before map[returned]record.Score) []record.Score {
	scores := slices.DeleteFunc(there, func(s record.Score) bool { return slices.Contains(names, s.Name) })
	for _, v := range m.Set.Versions() {
		if slices.Contains(names, v.Name) {
			scores = append(scores, m.earlier(ctx, made, v, before))
		}
	}
	return scores
}

// missing are the names of the scorers that have not scored a state, and counts those that have. At the end of an iteration only those
// judge that need no more than that.
func (m *stepper) missing(known *record.Snapshot, state *keptState) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(state.steps) == 0 {
		known.Steps = []int{0}
	}
	for i := range m.counts.Scorers {
		c := &m.counts.Scorers[i]
		if len(state.steps) == 0 && (c.LooksAround || c.OfRun) {
			continue
		}
		if s := scoreBy(known, c.Version); s != nil {
			c.Kept++
			continue
		}
		c.Wanted++
		names = append(names, c.Name)
	}
	return names
}

// scoreBy is the score of the run that ends with a state by this version of a scorer; nil where there is none.
func scoreBy(known *record.Snapshot, v scorers.Version) *record.Score {
	if s := known.Score(v.Name); s != nil && len(known.Steps) > 0 && s.Scorer == v.Hash && s.Unscored == "" {
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

// judgeEither makes the scores of a run whose last iteration, which ends with a state, cannot be evaluated: the run returns this one
// or the best one before it. Where both are worth the same, so is the run.
func (m *stepper) judgeEither(ctx context.Context, l *spec.Loop, made *record.Run, names []string, there []record.Score, before map[returned]record.Score) (scores []record.Score) {
	last, best := len(made.Iterations), made.Outcome.Returned
	returning := func(n int) *record.Run {
		run := *made
		run.Outcome.Returned = n
		return &run
	}
	var some []string // that read nothing of the evaluation
	unscored := func(v scorers.Version, why string) {
		scores = append(scores, record.Score{Run: made.ID, Name: v.Name, Scorer: v.Hash, Unscored: l.Evaluate.Elsewhere() + ", " + why})
	}
	for _, v := range m.Set.Versions() {
		switch {
		case !slices.Contains(names, v.Name):
		case v.LooksAround || v.OfRun:
			unscored(v, "and the scorer reads how that went")
		default:
			some = append(some, v.Name)
		}
	}
	scores = append(scores, m.judge(ctx, returning(last), some, there, before)...)
	if best == 0 || best == last {
		return scores
	}
	ends := record.Snapshot{Steps: []int{last}, Scores: slices.Clone(scores)}
	for _, v := range m.Set.Versions() {
		if !slices.Contains(some, v.Name) {
			continue
		}
		earlier := m.earlier(ctx, returning(best), v, before)
		if s := scoreBy(&ends, v); s == nil || earlier.Unscored != "" || s.Value != earlier.Value {
			unscored(v, fmt.Sprintf("which decides whether iteration %d or %d is returned", best, last))
		}
	}
	return scores
}

// earlier is the score of a run that returns an iteration which was over before the state was kept.
func (m *stepper) earlier(ctx context.Context, made *record.Run, v scorers.Version, before map[returned]record.Score) (score record.Score) {
	at, around := returned{v.Name, made.Outcome.Returned}, v.LooksAround || v.OfRun
	if score, judged := before[at]; judged && !around {
		return score
	}
	set := m.Set.Only(func(name string) bool { return name == v.Name })
	for _, score = range set.At(ctx, m.tasks[made.Task], made, 0) {
		if !around {
			before[at] = score
		}
	}
	return score
}

// returned is an iteration that was over before a state was kept, by the scorer that judges it where
// it is what the run returns.
type returned struct {
	scorer    string
	iteration int
}

// judge makes the scores of a run that ends with a state: those of its last iteration, and those of the
// run where they may be others. Some are there: those that others than the named scorers made, and those of
// the iteration that a replay asked for.
func (m *stepper) judge(ctx context.Context, made *record.Run, names []string, there []record.Score, before map[returned]record.Score) (scores []record.Score) {
	last, task := len(made.Iterations), m.tasks[made.Task]
	var judging []string
	for _, v := range m.Set.Versions() {
		of := slices.DeleteFunc(slices.Clone(there), func(s record.Score) bool {
			return s.Name != v.Name || slices.Contains(names, v.Name) && (s.Iteration == 0 || s.Scorer != v.Hash || s.Unscored != "")
		})
		if scores = append(scores, of...); len(of) == 0 && slices.Contains(names, v.Name) {
			judging = append(judging, v.Name)
		}
	}
	only := func(names ...string) *scorers.Set {
		return m.Set.Only(func(name string) bool { return slices.Contains(names, name) })
	}
	scores = append(scores, only(judging...).At(ctx, task, made, last)...)
	for _, v := range only(names...).Versions() {
		if made.Outcome.Returned == last && !v.LooksAround && !v.OfRun {
			continue
		}
		scores = append(scores, m.earlier(ctx, made, v, before))
	}
	return scores
}
