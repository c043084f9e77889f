package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// Journal writes scores.
type Journal interface {
	AppendScores(run string, scores []record.Score, done func(error)) error
	SnapshotJournal
}

// Make does what is to be done, and writes it. It ends before that where the
// context ends, or where nothing may be asked any more; what was made until then is
// kept, and another pass continues. An error means that it could not be written, or
// that tasks or records cannot be read.
func (p *Pass) Make(ctx context.Context, journal Journal) error {
	if err := p.removeAtSteps(journal); err != nil {
		return err
	}
	if len(p.works) == 0 {
		return nil
	}
	runs, err := record.OpenRuns(p.Dir)
	if err != nil {
		return err
	}
	defer runs.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	m := &maker{Pass: p, runs: runs, journal: journal, stop: stop}
	turns := make(chan turn, 2*max(1, p.Workers))
	var working sync.WaitGroup
	for range max(1, p.Workers) {
		working.Go(func() {
			for t := range turns {
				m.do(ctx, t)
			}
		})
	}
	err = p.join(ctx, func(t turn) { turns <- t })
	close(turns)
	working.Wait()
	return errors.Join(err, m.err)
}

// turn is a run whose turn it is, with its task; nil where that is not needed.
type turn struct {
	task *spec.Task
	*work
}

// join gives the runs of which scores are only removed, then goes through the tasks once and gives the runs of each. It
// ends when all is done, or when the context ends.
func (p *Pass) join(ctx context.Context, give func(turn)) error {
	of := map[string][]*work{} // by task
	for i := range p.works {
		if w := &p.works[i]; w.judged {
			of[w.task] = append(of[w.task], w)
		} else {
			give(turn{nil, w})
		}
	}
	tasks := p.Tasks
	if tasks == nil || len(of) == 0 {
		tasks = func(func(*spec.Task, error) bool) {}
	}
	for task, err := range tasks {
		if err != nil {
			return fmt.Errorf("reading the tasks: %w", err)
		}
		for _, w := range of[task.ID] {
			if ctx.Err() != nil {
				return nil
			}
			give(turn{task, w})
		}
		if delete(of, task.ID); len(of) == 0 {
			break
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	for i := range p.works {
		if w := &p.works[i]; of[w.task] != nil && w.judged {
			p.Taskless, p.FirstTaskless = p.Taskless+1, cmp.Or(p.FirstTaskless, w.task)
		}
	}
	return nil
}

// errSpent ends a pass.
var errSpent = errors.New("the budget is spent")

// maker is a pass that works.
type maker struct {
	*Pass
	runs    *record.Runs
	journal Journal
	stop    context.CancelCauseFunc

	mu  sync.Mutex
	err error
}

// do does what is to be done with a run, unless the context has ended.
func (m *maker) do(ctx context.Context, t turn) {
	if ctx.Err() != nil {
		return
	}
	run, err := m.runs.Read(t.work.at)
	if err != nil {
		m.fail(err)
		return
	}
	scores := m.fresh(ctx, m.judge(ctx, t.task, run, t.work), t.work)
	if len(scores) == 0 {
		return
	}
	if err := m.journal.AppendScores(run.ID, scores, nil); err != nil {
		m.fail(err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range scores {
		m.Counts[m.counted(scores[i].Name)].add(&scores[i])
	}
	if m.Made != nil {
		m.Made(scores)
	}
}

func (m *maker) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.stop(err)
}

// judge makes the scores of a run, and those that take others back.
func (m *maker) judge(ctx context.Context, task *spec.Task, run *record.Run, w *work) (scores []record.Score) {
	for at := range m.Counts {
		for n := range w.iterations + 1 {
			if m.Counts[at].Removed && m.mark(w.marks, n, at) != 0 {
				scores = append(scores, record.Score{Run: run.ID, Name: m.Counts[at].Name, Iteration: n, Removed: true})
			}
		}
	}
	if !w.judged {
		return scores
	}
	wanted := func(v *scorers.Version, n int) bool { return m.needs(w, m.counted(v.Name), n) }
	made := m.Set.Make(ctx, task, run, wanted)
	for i := range made {
		s := &made[i]
		at := m.counted(s.Name)
		version, judged := m.version(m.mark(w.marks, 0, at))
		stays := judged && version == m.Counts[at].Hash && !m.needs(w, at, 0)
		if s.Iteration > 0 && s.Iteration == run.Outcome.Returned && stays && !m.Counts[at].LooksAround {
			s.Votes, s.Usage = nil, record.Usage{} // they are in the run's own score
		}
	}
	return append(append(made, scores...), m.Set.Pair(ctx, task, run, wanted, func(configuration string) *record.Run { return m.beside(run, configuration) })...)
}

// beside is the run of a configuration for the task and trial of another one; nil without one
// that can be read. Whether it counts the scorer sees.
func (m *maker) beside(run *record.Run, configuration string) *record.Run {
	if configuration == run.Configuration {
		return run
	}
	other, err := m.runs.Run(record.RunID(configuration, run.Task, run.Trial))
	if err != nil && !errors.Is(err, record.ErrNoRun) {
		m.fail(err)
	}
	return other
}

// fresh leaves out what is not new: that a scorer, asked again, still cannot
// judge; and that it could not because nothing may be asked any more, which another
// pass will know better. What asking for these took is counted all the same.
func (m *maker) fresh(ctx context.Context, scores []record.Score, w *work) []record.Score {
	if m.Spent != nil && m.Spent() {
		m.mu.Lock()
		m.spent = true
		m.mu.Unlock()
		m.stop(errSpent)
	}
	ended := ctx.Err() != nil
	return slices.DeleteFunc(scores, func(s record.Score) bool {
		at := m.counted(s.Name)
		c := &m.Counts[at]
		version, judged := m.version(m.mark(w.marks, s.Iteration, at))
		cut := s.Unscored != "" && ended && c.Asks
		if !cut && (s.Unscored == "" || judged || version != c.Hash) {
			return false
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if cut {
			c.Usage = c.Usage.Plus(s.Usage)
		} else {
			c.add(&s)
		}
		return true
	})
}

// removeAtSteps takes the scores of states back that removed scorers made.
func (p *Pass) removeAtSteps(journal Journal) error {
	if len(p.Remove) == 0 {
		return nil
	}
	all := map[string][]record.Snapshot{}
	for s, err := range record.ReadSnapshots(p.Dir) {
		if err != nil {
			return err
		}
		all[s.Run] = append(all[s.Run], s)
	}
	for _, run := range slices.Sorted(maps.Keys(all)) {
		var changed []record.Snapshot
		for _, s := range record.StandingSnapshots(all[run]) {
			if left := p.withoutRemoved(s.Scores); len(left) < len(s.Scores) {
				s.Scores = left
				changed = append(changed, s)
			}
		}
		if len(changed) == 0 {
			continue
		}
		if err := journal.AppendSnapshots(run, changed, nil); err != nil {
			return err
		}
	}
	return nil
}

// withoutRemoved leaves out the scores of removed scorers, and counts them.
func (p *Pass) withoutRemoved(scores []record.Score) (left []record.Score) {
	for _, s := range scores {
		if !slices.Contains(p.Remove, s.Name) {
			left = append(left, s)
			continue
		}
		p.Counts[p.counted(s.Name)].TakenBack++
	}
	return left
}
