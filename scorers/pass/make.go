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

// errSpent ends a pass.
var errSpent = errors.New("the budget is spent")

// Ended reports whether a pass ended before everything was done, because nothing might be
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
		m.Counts[m.judgeOf(scores[i].Name)].add(&scores[i])
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

func (m *maker) judge(ctx context.Context, task *spec.Task, run *record.Run, w *work) (scores []record.Score) {
	for _, t := range w.remove {
		scores = append(scores, record.Score{Run: run.ID, Name: m.judges[t.judge].Name, Iteration: t.iteration, Removed: true})
	}
	for i := range w.parts {
		part := &w.parts[i]
		if part.unasked {
			scores = append(scores, part.set.Score(ctx, task, run)...)
			continue
		}
		for _, s := range part.set.At(ctx, task, run, part.iterations) {
			// Votes and usage of the iteration that the run returned are in the run's own score,
			// where that stays.
			at := m.judgeOf(s.Name)
			_, runToo := w.of(at)
			if s.Iteration > 0 && s.Iteration == run.Outcome.Returned && !runToo && !m.judges[at].LooksAround && m.at(w.marks, 0, at) == scored {
				s.Votes, s.Usage = nil, record.Usage{}
			}
			scores = append(scores, s)
		}
	}
	for _, at := range w.pairs { // with the runs of the same task and trial of other configurations
		scores = append(scores, m.judges[at].alone.Pair(ctx, task, run, func(configuration string) *record.Run { return m.beside(run, configuration) })...)
	}
	return scores
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
		at := m.judgeOf(s.Name)
		cut := s.Unscored != "" && ended && m.judges[at].Asks
		if !cut && (s.Unscored == "" || m.at(w.marks, s.Iteration, at) != unscored) {
			return false
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if c := &m.Counts[at]; cut {
			c.Usage = c.Usage.Plus(s.Usage)
		} else {
			c.add(&s)
		}
		return true
	})
}

// judgeOf is the judge of a name: a set gives scores of its own scorers only.
func (m *maker) judgeOf(name string) int {
	return max(0, slices.IndexFunc(m.judges, func(j judge) bool { return j.Name == name }))
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
	at   record.Place
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
			return err
		}
		key := alike{s.marksOf(head.ID), head.Iterations}
		at, ok := known[key]
		if !ok || p.Wanted != nil {
			at = int32(len(p.works))
			p.works = append(p.works, p.plan(s.marks[key.marks], head))
			known[key] = at
		}
		w := &p.works[at]
		p.count(w)
		switch {
		case w.tasks()+len(w.remove) > 0:
			p.Runs++
			p.entries = append(p.entries, entry{maphash.String(taskSeed, head.Task), head.At, at})
		case p.Wanted != nil:
			p.works = p.works[:at]
		}
	}
	slices.SortFunc(p.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.task, b.task), a.at.Compare(b.at))
	})
	return nil
}

// taskSeed is one for all: who looks and who joins hash alike.
var taskSeed = maphash.MakeSeed()

// plan decides what is to be done with runs of such marks.
func (p *Pass) plan(marks string, head *record.RunHead) work {
	w := work{marks: marks}
	for at := range p.judges {
		j := &p.judges[at]
		if j.removed {
			for n := range head.Iterations + 1 {
				if p.at(marks, n, at) != none {
					w.remove = append(w.remove, thing{at, n})
				}
			}
			continue
		}
		list := p.needed(marks, at, head)
		if len(list) == 0 {
			continue
		}
		if j.Pairs {
			w.pairs = append(w.pairs, at)
			continue
		}
		unasked := slices.Equal(list, p.unasked(j, head))
		same := func(p part) bool { return p.unasked == unasked && slices.Equal(p.iterations, list) }
		if i := slices.IndexFunc(w.parts, same); i >= 0 {
			w.parts[i].judges = append(w.parts[i].judges, at)
		} else {
			w.parts = append(w.parts, part{judges: []int{at}, iterations: list, unasked: unasked})
		}
	}
	for i := range w.parts {
		w.parts[i].set = p.Set.Only(func(name string) bool {
			return slices.ContainsFunc(w.parts[i].judges, func(at int) bool { return p.judges[at].Name == name })
		})
	}
	return w
}

// needed are the iterations that a judge is to judge; 0 is the run. Those of which it is to
// have a score are the wanted ones, else what it judges unasked and what it was asked for before.
func (p *Pass) needed(marks string, at int, head *record.RunHead) (list []int) {
	j := &p.judges[at]
	if !j.wanted {
		return nil
	}
	if p.Wanted != nil {
		for _, n := range slices.Compact(slices.Sorted(slices.Values(p.Wanted[head.ID]))) {
			if n == 0 || n > 0 && n <= head.Iterations && !j.OfRun && !j.Pairs {
				list = append(list, n)
			}
		}
	} else {
		list = p.unasked(j, head)
		if p.Iterations && !j.OfRun && !j.Pairs {
			list = upTo(head.Iterations)
		}
		for n := len(list); n <= head.Iterations; n++ {
			if p.at(marks, n, at) != none && !j.OfRun {
				list = append(list, n)
			}
		}
	}
	return slices.DeleteFunc(list, func(n int) bool {
		mark := p.at(marks, n, at)
		return !p.Again && mark != none && mark != unscored && (p.Missing || mark == scored)
	})
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
