package sweep

import (
	"errors"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// Options are what recordings and candidates do not say.
type Options struct {
	// Replay makes the replays; nil: requests are compared as they are declared, and
	// nothing is judged again.
	Replay func(recorded, target *spec.Loop, announced ...string) *replay.Replay
}

func (o *Options) replay(recorded, target *spec.Loop, announced ...string) *replay.Replay {
	if o.Replay != nil {
		return o.Replay(recorded, target, announced...)
	}
	return replay.New(recorded, target, replay.Options{Announced: announced})
}

// Sweep is candidates held against recorded runs. It is not safe for concurrent
// use; it uses all processors itself.
type Sweep struct {
	recordings []Recording // those that answer: their runs are paired
	unpaired   int
	candidates []Candidate
	scores     []string
	options    Options
	families   []*family
	of         []*family // by candidate
	walked     []*family // their walks are kept
	tasks      []int     // by run: the trials of its task
}

// New holds candidates against recordings. Of recordings that differ only in when
// they stop, the one whose runs went on longest answers. Where several answer,
// runs are paired by task and trial, and those that one of them does not have are
// left out: see Unpaired. The error is that there is nothing to replay.
func New(recordings []Recording, candidates []Candidate, o Options) (*Sweep, error) {
	switch {
	case len(recordings) == 0:
		return nil, errors.New("there are no recorded runs")
	case len(candidates) == 0:
		return nil, errors.New("there is no configuration to replay")
	}
	s := &Sweep{candidates: candidates, options: o, scores: names(recordings)}
	s.recordings, s.unpaired = paired(widest(recordings))
	if len(s.recordings[0].Runs) == 0 {
		return nil, errors.New("the recordings have no task and trial in common")
	}
	for i := range s.recordings {
		s.recordings[i].align(s.scores)
		s.recordings[i].judged = &sync.Map{}
	}
	s.tasks = trials(s.recordings[0].Runs)
	s.families, s.of = families(candidates)
	return s, nil
}

// Candidates are those that were given, in their order.
func (s *Sweep) Candidates() []Candidate { return s.candidates }

// Scores are the names of the scores, in the order of Outcome.Scores.
func (s *Sweep) Scores() []string { return s.scores }

// Runs are those of the first recording, in the order of outcomes.
func (s *Sweep) Runs() []Run { return s.recordings[0].Runs }

// Recordings are those that answer: one of each path, their runs in one order.
func (s *Sweep) Recordings() []Recording { return s.recordings }

// Unpaired is how many recorded runs are left out because another recording has
// no run of that task and trial.
func (s *Sweep) Unpaired() int { return s.unpaired }

// Lead puts one of the recordings first, so that losses are counted against it.
// What was answered before is of another order.
func (s *Sweep) Lead(recording int) {
	if recording == 0 {
		return
	}
	r := s.recordings[recording]
	s.recordings = slices.Insert(slices.Delete(slices.Clone(s.recordings), recording, recording+1), 0, r)
	for _, f := range s.families {
		f.chosen, f.walked = false, walked{}
	}
	s.walked = nil
}

// trials are, for each run, those of its task.
func trials(runs []Run) []int {
	of := map[string]int{}
	for i := range runs {
		of[runs[i].Run.Task]++
	}
	all := make([]int, len(runs))
	for i := range runs {
		all[i] = of[runs[i].Run.Task]
	}
	return all
}
