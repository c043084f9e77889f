// Package sweep replays many configurations on recorded runs at once. New makes a Sweep: Outcomes is what a
// configuration makes of every run, Totals and Sums are the sums over all runs or parts of
// them. Like package replay it makes no call and reads no file.
//
// The stages of the data, in order: a Recording is the runs of one recorded
// configuration with their scores; a Candidate is a loop to be tried on them;
// a Sweep tries candidates on recordings and answers with an Outcome for
// each run, or with Totals for parts of the runs. Totals of candidates that
// differ only in when they stop come from masks, of all others from Outcomes;
// they are the same numbers either way, and a test says so.
//
// It is no stable API.
package sweep

import (
	"cmp"
	"context"
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
	walked     []*family // their counters are kept
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
		f.chosen, f.counter, f.endless = false, nil, nil
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

// widest keeps one recording of each path: the one whose runs have the most iterations,
// then the most steps, the first by name among equals. The order in which recordings come changes nothing.
func widest(recordings []Recording) []Recording {
	var kept []Recording
	byName := slices.SortedStableFunc(slices.Values(recordings), func(a, b Recording) int { return cmp.Compare(a.Configuration, b.Configuration) })
	for _, r := range byName {
		same := slices.IndexFunc(kept, func(k Recording) bool {
			return replay.Apart(k.Loop, r.Loop) == "" && slices.Equal(k.Announced, r.Announced)
		})
		switch {
		case len(r.Runs) == 0:
		case same < 0:
			kept = append(kept, r)
		case cmp.Or(cmp.Compare(r.length(), kept[same].length()), cmp.Compare(r.steps(), kept[same].steps())) > 0:
			kept[same] = r
		}
	}
	if len(kept) == 0 {
		return recordings[:1]
	}
	slices.SortStableFunc(kept, func(a, b Recording) int { return placeOf(recordings, &a) - placeOf(recordings, &b) })
	return kept
}

func placeOf(recordings []Recording, r *Recording) int {
	return slices.IndexFunc(recordings, func(o Recording) bool { return o.Configuration == r.Configuration })
}

// slot is what runs are paired by.
type slot struct {
	task  string
	trial int
}

func (r *Run) slot() slot { return slot{r.Run.Task, r.Run.Trial} }

// paired keeps the runs that every recording has, in the order of the first.
func paired(recordings []Recording) (kept []Recording, left int) {
	has := map[slot]int{}
	for i := range recordings {
		for k := range recordings[i].Runs {
			has[recordings[i].Runs[k].slot()]++
		}
	}
	place := map[slot]int{}
	for k := range recordings[0].Runs {
		if at := recordings[0].Runs[k].slot(); has[at] == len(recordings) {
			place[at] = len(place)
		}
	}
	for _, r := range recordings {
		left += len(r.Runs) - len(place)
		runs := make([]Run, len(place))
		for k := range r.Runs {
			if at, ok := place[r.Runs[k].slot()]; ok {
				runs[at] = r.Runs[k]
			}
		}
		r.Runs = runs
		kept = append(kept, r)
	}
	return kept, left
}

// names are the scores of all recordings, in the order in which they occur.
func names(recordings []Recording) []string {
	var all []string
	for i := range recordings {
		for _, name := range recordings[i].Scores {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Unscored are the iterations, by the ids of recorded runs, that some candidate
// returns and of which one of the scores is not known, though it would be if the
// iteration was judged. What a run is worth as it was recorded is not among them.
// The error is that of the context.
func (s *Sweep) Unscored(ctx context.Context, scores []string) (map[string][]int, error) {
	var which []int
	for i, name := range s.scores {
		if slices.Contains(scores, name) {
			which = append(which, i)
		}
	}
	missing := map[string][]int{}
	if len(which) == 0 {
		return missing, nil
	}
	all := make([]int, len(s.candidates))
	for i := range all {
		all[i] = i
	}
	var one sync.Mutex
	return missing, s.Visit(ctx, all, func() func(int, int, *Outcome) {
		return func(candidate, run int, o *Outcome) {
			r := &s.recordings[s.of[candidate].recording]
			one.Lock()
			defer one.Unlock()
			r.unscored(&r.Runs[run], &o.Result, which, missing)
		}
	})
}

// unscored adds the iteration that a run returns where it wants a score.
func (r *Recording) unscored(run *Run, result *replay.Result, which []int, missing map[string][]int) {
	by := endingOf(result)
	if result.Verdict != replay.Exact || !result.Outcome.Counts() {
		return
	}
	for _, score := range which {
		if n := r.wanted(run, score, &by); n > 0 && !slices.Contains(missing[run.Run.ID], n) {
			missing[run.Run.ID] = append(missing[run.Run.ID], n)
		}
	}
}

// wanted is the iteration, from 1, that would have to be judged to know what a run
// is worth that ends so; 0: none, or that would not tell.
func (r *Recording) wanted(run *Run, score int, by *ending) int {
	if r.scoredAsRecorded(run, score, by) {
		return 0
	}
	switch _, why := r.worthOf(run, score, by); {
	case why != NotJudged:
		return 0
	case r.Reads[score] == ReadsCourse:
		return by.made
	}
	return by.returned
}
