// Package pass makes scores of recorded runs: call Look, then Pass.Make. It makes those
// that are missing or out of date, and calls no agent.
//
// Look reads which scores there are, by which versions of their scorers. Make goes
// through the tasks once, in their order, reads the records of each beside it, has them
// judged by many workers at a time (make.go), alone or beside another run, and
// writes what is new. Memory holds the scores that there are as numbers, but
// neither trajectories nor tasks.
//
// It is no stable API.
package pass

import (
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// Options say what is scored, by whom.
type Options struct {
	Dir   string
	Set   *scorers.Set
	Tasks iter.Seq2[*spec.Task, error] // nil: none is at hand
	// Scorers are the names of those that judge; nil: all of the set.
	Scorers []string
	// Missing leaves values alone that are there, whatever they are and whichever version
	// made them. Again makes also those that are up to date.
	Missing, Again bool
	// Iterations has every iteration judged also by scorers that ask others.
	Iterations bool
	// Wanted are the iterations that are judged of each run, by its id; 0 is the
	// run itself. nil: what the scorers judge unasked, and what they have judged.
	Wanted map[string][]int
	// Remove are the names of scorers whose scores are taken back.
	Remove []string
	// Workers judge at the same time; default 1.
	Workers int
	// Spent reports whether nothing may be asked any more.
	Spent func() bool
	// Made gets the scores of every run that was scored, one at a time.
	Made func(scores []record.Score)
}

// Pass is what is to be done in a folder.
type Pass struct {
	Options
	// Counts are of the scorers of the set, then of those removed.
	Counts []Count
	// Runs is how many runs there is something to do with.
	Runs int
	// Taskless are runs whose task is not at hand; FirstTaskless is the task of one
	// of them.
	Taskless      int
	FirstTaskless string

	versions []string // of scorers that made scores
	works    []work   // in the order of the records
	spent    bool
}

// Count is what a pass finds and does of one scorer.
type Count struct {
	scorers.Version
	Removed bool // its scores are taken back
	judges  bool // it is to judge
	// Found are the scores of runs there were, by the version that made them.
	Found map[string]int
	// Kept are scores of runs that stay as they are; Wanted is how many scores are
	// to be made, those of iterations among them, and WantedOfRuns those of runs.
	Kept, Wanted, WantedOfRuns int
	// Made, Unscored, TakenBack are scores of runs and of iterations. Those that are
	// unscored again, which is not written, are among them.
	Made, Unscored, TakenBack int
	Reason                    string       // why one is unscored: the first in the order of texts, whoever was done first
	Usage                     record.Usage // as if nothing were cached
}

// Others is how many of the scores of runs were made by other versions of the
// scorer, and how many versions these are.
func (c *Count) Others() (scores, versions int) {
	for hash, n := range c.Found {
		if hash != c.Hash {
			scores, versions = scores+n, versions+1
		}
	}
	return scores, versions
}

// add counts a score that was made.
func (c *Count) add(s *record.Score) {
	c.Usage = c.Usage.Plus(s.Usage)
	switch {
	case s.Removed:
		c.TakenBack++
	case s.Unscored != "":
		if c.Unscored == 0 || s.Unscored < c.Reason {
			c.Reason = s.Unscored
		}
		c.Unscored++
	default:
		c.Made++
	}
}

// work is a run with which there is something to do.
type work struct {
	task       string
	at         record.Place
	iterations int
	wanted     []int // of Options.Wanted
	marks      []mark
	judged     bool // there are scores to be made, for which the task is needed
}

// mark says which score there is of one scorer on one thing: 0 none, n one by the version of that number, from 1, and
// -n one by which that version could not judge. The marks of a run are of itself by each scorer, then of its first
// iteration, and so on, as far as there are scores.
type mark int32

// mark is that of a scorer on an iteration; 0 is the run.
func (p *Pass) mark(marks []mark, iteration, scorer int) mark {
	if place := iteration*len(p.Counts) + scorer; place < len(marks) {
		return marks[place]
	}
	return 0
}

// version is the one by which a score was made, and whether that could judge; "" where there is no score.
func (p *Pass) version(m mark) (version string, judged bool) {
	if m == 0 {
		return "", false
	}
	return p.versions[max(m, -m)-1], m > 0
}

// Look finds what is to be done.
func Look(o Options) (*Pass, error) {
	p := &Pass{Options: o}
	for _, v := range o.Set.Versions() {
		removed := slices.Contains(o.Remove, v.Name)
		p.Counts = append(p.Counts, Count{
			Version: v, Removed: removed, judges: !removed && (o.Scorers == nil || slices.Contains(o.Scorers, v.Name)), Found: map[string]int{},
		})
	}
	for _, name := range o.Remove {
		if p.counted(name) < 0 {
			p.Counts = append(p.Counts, Count{Version: scorers.Version{Name: name}, Removed: true, Found: map[string]int{}})
		}
	}
	marks, err := p.readScores()
	if err != nil {
		return nil, err
	}
	return p, p.readHeads(marks)
}

// counted is the place of a scorer in the counts; -1: it is not among them. It reads names
// alone: workers ask while others count.
func (p *Pass) counted(name string) int {
	for at := range p.Counts {
		if p.Counts[at].Name == name {
			return at
		}
	}
	return -1
}

// readScores finds the last score of each scorer on each thing, by run.
func (p *Pass) readScores() (map[string][]mark, error) {
	marks, numbers := map[string][]mark{}, map[string]mark{}
	for line, err := range record.ReadScored(p.Dir) {
		if err != nil {
			return nil, err
		}
		of := marks[line.Run]
		for i := range line.Scores {
			s := &line.Scores[i]
			at := p.counted(s.Name)
			if at < 0 || s.Iteration < 0 {
				continue
			}
			place := s.Iteration*len(p.Counts) + at
			if more := place + 1 - len(of); more > 0 {
				of = append(of, make([]mark, more)...)
			}
			number := numbers[s.Scorer]
			if number == 0 {
				p.versions = append(p.versions, s.Scorer)
				number = mark(len(p.versions))
				numbers[s.Scorer] = number
			}
			switch {
			case s.Removed:
				number = 0
			case s.Unscored != "":
				number = -number
			}
			of[place] = number
		}
		marks[line.Run] = of
	}
	return marks, nil
}

// readHeads decides what is to be done with each run that counts.
func (p *Pass) readHeads(marks map[string][]mark) error {
	runs, err := record.OpenRuns(p.Dir)
	if err != nil {
		return err
	}
	defer runs.Close()
	for head, err := range runs.Heads() {
		if err != nil {
			return err
		}
		w := work{task: head.Task, at: head.At, iterations: head.Iterations, wanted: p.Wanted[head.ID], marks: marks[head.ID]}
		removed := p.count(&w)
		if w.judged || removed {
			p.works = append(p.works, w)
		}
	}
	p.Runs = len(p.works)
	return nil
}

// count adds a run to what is found and wanted, and reports whether scores of it are taken back.
func (p *Pass) count(w *work) (removed bool) {
	for at := range p.Counts {
		c := &p.Counts[at]
		there := p.mark(w.marks, 0, at)
		if there != 0 {
			version, _ := p.version(there)
			c.Found[version]++
		}
		for n := range w.iterations + 1 {
			removed = removed || c.Removed && p.mark(w.marks, n, at) != 0
			if p.needs(w, at, n) {
				c.Wanted, w.judged = c.Wanted+1, true
			}
		}
		switch {
		case p.needs(w, at, 0):
			c.WantedOfRuns++
		case there != 0 && !c.Removed:
			c.Kept++
		}
	}
	return removed
}

// needs reports whether a scorer is to judge an iteration of a run; 0 is the run itself. There is to be a score of
// what is wanted, or else of what the scorer judges unasked, or was asked for before.
func (p *Pass) needs(w *work, at, n int) bool {
	c, there := &p.Counts[at], p.mark(w.marks, n, at)
	switch {
	case !c.judges || n > 0 && (c.OfRun || c.Pairs):
		return false
	case p.Wanted != nil && !slices.Contains(w.wanted, n):
		return false
	case p.Wanted == nil && n > 0 && c.Judges != spec.ScoreEveryIteration && !p.Iterations && there == 0:
		return false
	case p.Again || there == 0:
		return true
	}
	version, judged := p.version(there)
	if version == c.Hash {
		return !judged
	}
	return !p.Missing
}

// None reports whether no run could be scored, for want of its task.
func (p *Pass) None() bool { return p.Runs > 0 && p.Taskless == p.Runs }

// Ended reports whether a pass ended before everything was done, because nothing might be
// asked any more.
func (p *Pass) Ended() bool { return p.spent }

// CallsAtMost is how many calls one score takes, each answer asked for twice.
// Scorers of the suite that are parts of another one count for themselves.
func CallsAtMost(s *spec.Scorer) int {
	asked := max(1, len(s.Models)) * max(1, s.Votes) * max(1, len(s.Criteria))
	switch s.Type {
	case "command", "http", "test":
		return 1
	case "judge":
		return 2 * asked
	case "pairwise":
		return 4 * asked // in both orders
	}
	calls := 0
	for _, part := range s.Parts {
		if part.Scorer != nil {
			calls += CallsAtMost(part.Scorer)
		}
	}
	return calls
}

// StartsPrograms reports whether a scorer of a suite, or a part of it, is a program.
func StartsPrograms(s *spec.Suite, scorer *spec.Scorer) bool {
	return slices.ContainsFunc(slices.Collect(scorer.MadeOf(s.Scorers)), func(part *spec.Scorer) bool { return part.Type == "command" })
}
