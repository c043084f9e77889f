// Package pass scores the runs of a result folder: it makes the scores that are
// missing, and no agent is called again.
//
// The stages of a pass, in order: Look reads which scores there are, by which
// versions of their scorers (standing.go), and decides for every run that counts
// what is to be made of it (work.go); Make goes through the tasks once, in
// their order, reads the records of each beside it (join.go), has them judged by
// many workers at a time (make.go), alone or beside another run (pair.go), and
// puts down what is new.
//
// Memory grows by some 60 bytes a run, not with trajectories or tasks: a record is
// read when it is its turn, wherever in the file it stands, so that the order in
// which runs finished, or folders were merged, makes no difference.
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
	// Missing leaves scores alone that are there, whatever they say and whoever
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
	// Spent says that nobody can be asked any more.
	Spent func() bool
	// Made is told of every run that was scored, one at a time; nil: nobody is.
	Made func(scores []record.Score)
}

// Pass is what is to be done in a folder.
type Pass struct {
	Options
	// Counts are of the scorers of the set, then of those removed.
	Counts []Count
	// Runs is how many runs there is something to do with.
	Runs int
	// Problems are lines that cannot be read.
	Problems []*record.Problem
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
	// unscored again, which is not put down, are among them.
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
