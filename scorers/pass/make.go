package pass

import (
	"context"
	"errors"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Journal puts scores down.
type Journal interface {
	AppendScores(run string, scores []record.Score, done func(error)) error
}

// Make does what is to be done, and puts it down. It ends before that where the
// context ends, or where nobody can be asked any more; what was made until then is
// kept, and another pass goes on. An error means that it could not be put down, or
// that tasks or records cannot be read.
func (p *Pass) Make(ctx context.Context, journal Journal) error {
	if len(p.entries) == 0 {
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
				m.do(ctx, &t)
			}
		})
	}
	err = p.join(ctx, func(t turn) { turns <- t })
	close(turns)
	working.Wait()
	return errors.Join(err, m.err)
}

// errSpent ends a pass of which nobody is asked any more.
var errSpent = errors.New("nobody can be asked any more")

// Ended says that a pass ended before everything was done, because nobody could be
// asked any more.
func (p *Pass) Ended() bool { return p.spent }

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
func (m *maker) do(ctx context.Context, t *turn) {
	if ctx.Err() != nil {
		return
	}
	run, err := m.runs.Read(t.at)
	if bad := (*record.Problem)(nil); errors.As(err, &bad) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.Problems = append(m.Problems, bad)
		return
	}
	if err != nil {
		m.fail(err)
		return
	}
	scores := m.judge(ctx, t.task, run, t.work)
	if scores = m.fresh(ctx, scores, t.work); len(scores) == 0 {
		return
	}
	if err := m.journal.AppendScores(run.ID, scores, nil); err != nil {
		m.fail(err)
		return
	}
	m.tell(scores)
}

func (m *maker) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.stop(err)
}

// judge makes the scores of a run.
func (m *maker) judge(ctx context.Context, task *spec.Task, run *record.Run, w *work) (scores []record.Score) {
	for _, t := range w.remove {
		scores = append(scores, record.Score{Run: run.ID, Name: m.judges[t.judge].Name, Iteration: t.iteration, Removed: true})
	}
	for i := range w.parts {
		part := &w.parts[i]
		if part.unasked {
			scores = append(scores, part.set.Score(ctx, task, run)...)
		} else {
			scores = append(scores, m.askedOnce(part.set.At(ctx, task, run, part.iterations), run, w)...)
		}
	}
	for _, at := range w.pairs {
		scores = append(scores, m.pair(ctx, task, run, &m.judges[at])...)
	}
	return scores
}

// askedOnce leaves votes and usage out of the scores of the iteration that the run
// returned, where they stand in the run's own score, which stays as it is.
func (m *maker) askedOnce(scores []record.Score, run *record.Run, w *work) []record.Score {
	for i := range scores {
		s, at := &scores[i], m.judgeOf(scores[i].Name)
		_, runToo := w.of(at)
		if s.Iteration > 0 && s.Iteration == run.Outcome.Returned && !runToo && !m.judges[at].LooksAround && m.at(w.marks, 0, at) == scored {
			s.Votes, s.Usage = nil, record.Usage{}
		}
	}
	return scores
}

// fresh leaves out what says nothing new: that a scorer, asked again, still cannot
// judge; and that it could not because nobody can be asked any more, which another
// pass will know better. What asking for these took is counted all the same.
func (m *maker) fresh(ctx context.Context, scores []record.Score, w *work) []record.Score {
	spent := m.Spent != nil && m.Spent()
	if spent {
		m.mu.Lock()
		m.spent = true
		m.mu.Unlock()
		m.stop(errSpent)
	}
	ended := ctx.Err() != nil
	kept := scores[:0]
	for _, s := range scores {
		at := m.judgeOf(s.Name)
		cut := s.Unscored != "" && ended && m.judges[at].Asks
		if cut || s.Unscored != "" && m.at(w.marks, s.Iteration, at) == unscored {
			m.leaveOut(at, &s, !cut)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

func (m *maker) leaveOut(at int, s *record.Score, isUnscored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &m.Counts[at]
	c.Usage = c.Usage.Plus(s.Usage)
	if isUnscored {
		c.unscored(s.Unscored)
	}
}

func (m *maker) judgeOf(name string) int {
	for at := range m.judges {
		if m.judges[at].Name == name {
			return at
		}
	}
	return 0 // a set gives scores of its own scorers only
}

// tell counts scores that were put down.
func (m *maker) tell(scores []record.Score) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range scores {
		s := &scores[i]
		c := &m.Counts[m.judgeOf(s.Name)]
		c.Usage = c.Usage.Plus(s.Usage)
		switch {
		case s.Removed:
			c.TakenBack++
		case s.Unscored != "":
			c.unscored(s.Unscored)
		default:
			c.Made++
		}
	}
	if m.Made != nil {
		m.Made(scores)
	}
}
