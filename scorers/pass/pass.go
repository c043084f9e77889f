// Package pass decides which scores of recorded runs are made, and makes them: those
// that are missing or out of date. No agent is called again.
//
// The stages of a pass, in order: Look reads which scores there are, by which
// versions of their scorers, and decides for every run that counts
// what is to be made of it; Make goes through the tasks once, in
// their order, reads the records of each beside it, has them judged by
// many workers at a time (make.go), alone or beside another run, and
// writes what is new.
//
// Memory grows by some 60 bytes a run, not with trajectories or tasks: a record is
// read when it is its turn, wherever in the file it stands, so that the order in
// which runs finished, or folders were merged, makes no difference.
//
// It is no stable API.
package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

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

	judges  []judge
	works   []work
	entries []entry
	spent   bool
}

// Count is what a pass finds and does of one scorer.
type Count struct {
	scorers.Version
	Removed bool // its scores are taken back
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

// judge is a scorer as its place in marks: an index of Counts.
type judge struct {
	scorers.Version
	wanted  bool // it is to judge
	removed bool
	others  []string     // hashes of other versions that were found
	alone   *scorers.Set // with nobody else, to judge beside another run
}

// Look finds what is to be done.
func Look(o Options) (*Pass, error) {
	p := &Pass{Options: o}
	for _, v := range o.Set.Versions() {
		wanted := o.Scorers == nil || slices.Contains(o.Scorers, v.Name)
		p.add(judge{Version: v, wanted: wanted && !slices.Contains(o.Remove, v.Name), removed: slices.Contains(o.Remove, v.Name)})
	}
	for _, name := range o.Remove {
		if !slices.ContainsFunc(p.judges, func(j judge) bool { return j.Name == name }) {
			p.add(judge{Version: scorers.Version{Name: name}, removed: true})
		}
	}
	standing, err := p.readScores()
	if err != nil {
		return nil, err
	}
	return p, p.readHeads(standing)
}

func (p *Pass) add(j judge) {
	if j.Pairs {
		j.alone = p.Set.Only(func(name string) bool { return name == j.Name })
	}
	p.judges = append(p.judges, j)
	p.Counts = append(p.Counts, Count{Version: j.Version, Removed: j.removed, Found: map[string]int{}})
}

// count adds a run to what is found and wanted.
func (p *Pass) count(w *work) {
	for at := range p.judges {
		c := &p.Counts[at]
		mark := p.at(w.marks, 0, at)
		if mark != none {
			version := c.Hash
			if mark >= other {
				version = p.judges[at].others[mark-other]
			}
			c.Found[version]++
		}
		n, run := w.of(at)
		c.Wanted += n
		if run {
			c.WantedOfRuns++
		} else if mark != none && !c.Removed {
			c.Kept++
		}
	}
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

// of is how many scores a judge makes of a run, and whether that of the run itself
// is among them.
func (w *work) of(at int) (n int, run bool) {
	if slices.Contains(w.pairs, at) {
		return 1, true
	}
	for i := range w.parts {
		if part := &w.parts[i]; slices.Contains(part.judges, at) {
			return len(part.iterations), part.iterations[0] == 0
		}
	}
	return 0, false
}

// turn is a run whose turn it is, with its task; nil where that is not needed.
type turn struct {
	task *spec.Task
	at   record.Place
	work *work
}

// join goes through the tasks once and gives those to judge the runs of each, in
// the order of the tasks; first those of which only scores are removed. It
// ends when all is done, or when the context ends.
func (p *Pass) join(ctx context.Context, give func(turn)) error {
	left := len(p.entries)
	take := func(task *spec.Task, e *entry) {
		w := &p.works[e.work]
		e.work = -1
		give(turn{task, e.at, w})
		left--
	}
	for i := range p.entries {
		if e := &p.entries[i]; p.works[e.work].tasks() == 0 {
			take(nil, e)
		}
	}
	if left == 0 || ctx.Err() != nil {
		return nil
	}
	tasks := p.Tasks
	if tasks == nil {
		tasks = func(func(*spec.Task, error) bool) {}
	}
	for task, err := range tasks {
		if err != nil {
			return fmt.Errorf("reading the tasks: %w", err)
		}
		hash := maphash.String(taskSeed, task.ID)
		at, _ := slices.BinarySearchFunc(p.entries, hash, func(e entry, hash uint64) int { return cmp.Compare(e.task, hash) })
		for ; at < len(p.entries) && p.entries[at].task == hash; at++ {
			if p.entries[at].work < 0 {
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			take(task, &p.entries[at])
		}
		if left == 0 {
			return nil
		}
	}
	return p.without(left)
}

// None reports whether no run could be scored, for want of its task.
func (p *Pass) None() bool { return p.Runs > 0 && p.Taskless == p.Runs }

// tasks is how much of the work needs the task.
func (w *work) tasks() int { return len(w.parts) + len(w.pairs) }

// without notes the runs whose task did not come.
func (p *Pass) without(left int) error {
	p.Taskless = left
	runs, err := record.OpenRuns(p.Dir)
	if err != nil {
		return err
	}
	defer runs.Close()
	first := slices.IndexFunc(p.entries, func(e entry) bool { return e.work >= 0 })
	run, err := runs.Read(p.entries[first].at)
	if err == nil {
		p.FirstTaskless = run.Task
	}
	return nil
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

// A mark says which score there is of one scorer on one thing. Those from other
// on are of scores that other versions of the scorer made.
const (
	none     byte = '-'
	scored   byte = 's' // by this version
	unscored byte = 'u' // by this version, which could not judge
	other    byte = 128
)

// mostOthers are the versions that are distinguished; the last one is also that of those
// beyond.
const mostOthers = 100

// mark is that of a version of the judge.
func (j *judge) mark(version string, isUnscored bool) byte {
	switch {
	case version == j.Hash && isUnscored:
		return unscored
	case version == j.Hash:
		return scored
	}
	at := slices.Index(j.others, version)
	if at < 0 && len(j.others) < mostOthers {
		at, j.others = len(j.others), append(j.others, strings.Clone(version))
	} else if at < 0 {
		at = mostOthers - 1
	}
	return other + byte(at)
}

// standing are the marks of all runs. Those of a run are of itself by each scorer,
// then of its first iteration, and so on, as far as there are scores; runs that
// are alike share them, so that a run takes some 20 bytes.
type standing struct {
	seed  maphash.Seed
	of    map[uint64]int32 // by the hash of a run's id: an index of marks
	marks []string
	at    map[string]int32
}

// marksOf are those of a run, by their number; 0 has none.
func (s *standing) marksOf(run string) int32 { return s.of[maphash.String(s.seed, run)] }

func (s *standing) put(run string, marks []byte) {
	n, known := s.at[string(marks)]
	if !known {
		n = int32(len(s.marks))
		s.marks = append(s.marks, string(marks))
		s.at[s.marks[n]] = n
	}
	s.of[maphash.String(s.seed, run)] = n
}

// readScores finds the last score of each scorer on each thing.
func (p *Pass) readScores() (*standing, error) {
	s := &standing{seed: maphash.MakeSeed(), of: map[uint64]int32{}, marks: []string{""}, at: map[string]int32{"": 0}}
	var marks []byte
	for line, err := range record.ReadScored(p.Dir) {
		if err != nil {
			return nil, err
		}
		marks = append(marks[:0], s.marks[s.marksOf(line.Run)]...)
		for i := range line.Scores {
			marks = p.mark(marks, &line.Scores[i])
		}
		s.put(line.Run, marks)
	}
	return s, nil
}

// mark notes a score where one of the judges made it.
func (p *Pass) mark(marks []byte, s *record.ScoreHead) []byte {
	at := slices.IndexFunc(p.judges, func(j judge) bool { return j.Name == s.Name })
	if at < 0 || s.Iteration < 0 {
		return marks
	}
	place := s.Iteration*len(p.judges) + at
	for len(marks) <= place {
		marks = append(marks, none)
	}
	marks[place] = none
	if !s.Removed {
		marks[place] = p.judges[at].mark(s.Scorer, s.Unscored != "")
	}
	return marks
}

// at is the mark of a scorer on an iteration; 0 is the run.
func (p *Pass) at(marks string, iteration, judge int) byte {
	place := iteration*len(p.judges) + judge
	if place >= len(marks) {
		return none
	}
	return marks[place]
}

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
