package pass

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
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

// Ended reports whether a pass ended before everything was done, because nobody could be
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

// work is what is to be done with a run. Runs with the same marks and as many
// iterations have the same.
type work struct {
	marks  string
	parts  []part
	pairs  []int // judges that judge the run beside another one
	remove []thing
}

// part is what some judges make of a run.
type part struct {
	judges     []int
	set        *scorers.Set // of these judges
	iterations []int        // 0 is the run
	unasked    bool         // these are the iterations that they judge unasked
}

// thing is what one score is of.
type thing struct{ judge, iteration int }

// entry is a run with which there is something to do, and where it stands.
type entry struct {
	task uint64 // the hash of its id
	at   record.RecordPlace
	work int32 // index of works; -1: done
}

// alike are runs of which the same is to be done.
type alike struct {
	marks      int32
	iterations int
}

// readHeads decides what is to be done with each run that counts.
func (p *Pass) readHeads(s *standing) error {
	runs, err := record.OpenRuns(p.Dir)
	if err != nil {
		return err
	}
	defer runs.Close()
	known := map[alike]int32{}
	for head, err := range runs.Heads() {
		if err != nil {
			if err := p.unread(err); err != nil {
				return err
			}
			continue
		}
		p.enter(head, p.workOf(head, s, known))
	}
	slices.SortFunc(p.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.task, b.task), a.at.Compare(b.at))
	})
	return nil
}

// workOf is the index of what is to be done with a run.
func (p *Pass) workOf(head *record.RunHead, s *standing, known map[alike]int32) int32 {
	marks := s.marksOf(head.ID)
	if p.Wanted != nil {
		p.works = append(p.works, p.plan(s.marks[marks], head))
		return int32(len(p.works) - 1)
	}
	key := alike{marks, head.Iterations}
	at, ok := known[key]
	if !ok {
		at = int32(len(p.works))
		p.works = append(p.works, p.plan(s.marks[marks], head))
		known[key] = at
	}
	return at
}

// enter counts a run, and notes it where there is something to do.
func (p *Pass) enter(head *record.RunHead, at int32) {
	w := &p.works[at]
	p.count(w)
	if len(w.parts)+len(w.pairs)+len(w.remove) == 0 {
		if p.Wanted != nil {
			p.works = p.works[:at]
		}
		return
	}
	p.Runs++
	p.entries = append(p.entries, entry{maphash.String(taskSeed, head.Task), head.At, at})
}

// taskSeed is one for all: who looks and who joins hash alike.
var taskSeed = maphash.MakeSeed()

// plan decides what is to be done with runs of such marks.
func (p *Pass) plan(marks string, head *record.RunHead) work {
	w := work{marks: marks}
	for at := range p.judges {
		j := &p.judges[at]
		if j.removed {
			w.remove = append(w.remove, p.present(marks, at, head.Iterations)...)
			continue
		}
		list := p.needed(marks, at, head)
		switch {
		case len(list) == 0:
		case j.Pairs:
			w.pairs = append(w.pairs, at)
		default:
			w.judge(at, list, slices.Equal(list, p.unasked(j, head)))
		}
	}
	for i := range w.parts {
		w.parts[i].set = p.Set.Only(func(name string) bool {
			return slices.ContainsFunc(w.parts[i].judges, func(at int) bool { return p.judges[at].Name == name })
		})
	}
	return w
}

// judge has a judge judge some iterations, beside others who judge the same.
func (w *work) judge(at int, list []int, unasked bool) {
	same := func(p part) bool { return p.unasked == unasked && slices.Equal(p.iterations, list) }
	if i := slices.IndexFunc(w.parts, same); i >= 0 {
		w.parts[i].judges = append(w.parts[i].judges, at)
		return
	}
	w.parts = append(w.parts, part{judges: []int{at}, iterations: list, unasked: unasked})
}

// needed are the iterations that a judge is to judge; 0 is the run.
func (p *Pass) needed(marks string, at int, head *record.RunHead) (list []int) {
	j := &p.judges[at]
	if !j.wanted {
		return nil
	}
	for _, n := range p.expected(marks, at, head) {
		mark := p.at(marks, n, at)
		if p.Again || mark == none || !p.Missing && mark != scored {
			list = append(list, n)
		}
	}
	return list
}

// expected are the iterations of which a judge is to have a score.
func (p *Pass) expected(marks string, at int, head *record.RunHead) (list []int) {
	j := &p.judges[at]
	if p.Wanted != nil {
		for _, n := range slices.Compact(slices.Sorted(slices.Values(p.Wanted[head.ID]))) {
			if n == 0 || n > 0 && n <= head.Iterations && !j.OfRun && !j.Pairs {
				list = append(list, n)
			}
		}
		return list
	}
	list = p.unasked(j, head)
	if p.Iterations && !j.OfRun && !j.Pairs {
		list = upTo(head.Iterations)
	}
	for n := len(list); n <= head.Iterations; n++ { // what it was asked for before
		if p.at(marks, n, at) != none && !j.OfRun {
			list = append(list, n)
		}
	}
	return list
}

// unasked are the iterations that a judge judges unasked: the run alone, or all.
func (p *Pass) unasked(j *judge, head *record.RunHead) []int {
	if j.OfRun || j.Pairs || j.Judges != spec.ScoreEveryIteration {
		return []int{0}
	}
	return upTo(head.Iterations)
}

func upTo(n int) []int {
	list := make([]int, n+1)
	for i := range list {
		list[i] = i
	}
	return list
}

// present are the things of which there are scores.
func (p *Pass) present(marks string, at, iterations int) (all []thing) {
	for n := range iterations + 1 {
		if p.at(marks, n, at) != none {
			all = append(all, thing{at, n})
		}
	}
	return all
}
