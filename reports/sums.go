package reports

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// sums are what is added up over the runs of a configuration that count. All
// are integers, so that the order of the runs makes no difference.
type sums struct {
	agent, judging, user record.Usage
	failed               map[record.ErrorClass]int // runs in which the agent failed
	replies              int64                     // iterations with an evaluation
	notJSON              int64                     // of which the reply was to be JSON and was not
	evaluated            int64                     // runs with an evaluation
	believed             int64                     // of which the loop believed to have succeeded
	simulated            bool
	untimed              int64                 // runs without a time
	answered             map[string]*answered  // by models of the suite
	versions             map[string]bool       // hashes of the loop
	phases               map[string]*histogram // iterations of each run, by phase
	reached              []reach               // by iteration, from 1 at index 0
	steps                []histogram           // of each run's longest iteration, one for each limit of steps
}

// reach is what the runs that reached an iteration spent in it.
type reach struct {
	runs    int64
	spent   record.Usage
	elapsed time.Duration // since the end of the iteration before
	untimed int64         // runs that do not tell it
}

func newSums() sums {
	return sums{failed: map[record.ErrorClass]int{}, versions: map[string]bool{}, phases: map[string]*histogram{}, answered: map[string]*answered{}}
}

func (u *sums) add(s *record.Signals, head *record.ConfigurationHead) {
	u.agent, u.judging, u.user = u.agent.Plus(s.Usage), u.judging.Plus(s.Judging), u.user.Plus(s.User)
	u.simulated = u.simulated || s.Simulated
	if s.Untimed {
		u.untimed++
	}
	if s.Loop != "" {
		u.versions[s.Loop] = true
	}
	if assessed(s, head) {
		u.evaluated++
		if s.Outcome.Success {
			u.believed++
		}
	}
	if class := failedBy(s); class != "" {
		u.failed[class]++
	}
	u.addReplies(s.Iterations)
	u.addAnswered(s.Iterations)
	u.addPhases(s.Iterations)
	u.addReached(s.Iterations)
	for i := range head.Steps {
		if len(u.steps) == 0 {
			u.steps = make([]histogram, len(head.Steps))
		}
		u.steps[i].add(longestIn(s, head.Steps[i].Stage))
	}
}

// assessed says that the loop believes or does not: an iteration was evaluated, or
// its agent could have said that the task is done.
func assessed(s *record.Signals, head *record.ConfigurationHead) bool {
	return head.Completes || slices.ContainsFunc(s.Iterations, func(it record.IterationSignals) bool { return it.Evaluated })
}

// failedBy is the class of the error by which the agent failed in a run: the one
// that ended it, or the last one where no iteration went well. It is "" where the
// agent did not fail.
func failedBy(s *record.Signals) record.ErrorClass {
	if e := s.Outcome.Error; s.Outcome.Status == record.Failed && e != nil {
		return e.Class
	}
	class := record.ErrorClass("")
	for i := range s.Iterations {
		if class = s.Iterations[i].Error; class == "" {
			return ""
		}
	}
	return class
}

func (u *sums) addReplies(iterations []record.IterationSignals) {
	for i := range iterations {
		if iterations[i].Evaluated {
			u.replies++
		}
		if iterations[i].Fault {
			u.notJSON++
		}
	}
}

func (u *sums) addPhases(iterations []record.IterationSignals) {
	for i := range iterations {
		phase := iterations[i].Phase
		if slices.ContainsFunc(iterations[:i], func(it record.IterationSignals) bool { return it.Phase == phase }) {
			continue // counted at its first iteration
		}
		n := 0
		for _, it := range iterations[i:] {
			if it.Phase == phase {
				n++
			}
		}
		if u.phases[phase] == nil {
			u.phases[phase] = &histogram{}
		}
		u.phases[phase].add(n)
	}
}

func (u *sums) addReached(iterations []record.IterationSignals) {
	var before time.Duration
	for i := range iterations {
		if i == len(u.reached) {
			u.reached = append(u.reached, reach{})
		}
		at := &u.reached[i]
		at.runs++
		at.elapsed += iterations[i].End - before
		before = iterations[i].End
		if iterations[i].Untimed {
			at.untimed++
		}
		at.spent = at.spent.Plus(iterations[i].Total())
	}
}

// histogram counts how many runs have each number of iterations, or of steps.
type histogram struct{ runs []int64 }

func (h *histogram) add(iterations int) {
	for iterations >= len(h.runs) {
		h.runs = append(h.runs, 0)
	}
	h.runs[iterations]++
}

// total is the number of iterations of all runs together.
func (h *histogram) total() (iterations int64) {
	for n, runs := range h.runs {
		iterations += int64(n) * runs
	}
	return iterations
}

// atLeast is the number of runs with so many iterations or more.
func (h *histogram) atLeast(iterations int) (runs int64) {
	for n := iterations; n < len(h.runs); n++ {
		runs += h.runs[n]
	}
	return runs
}

// covering is the least number of iterations that is enough for all but
// `without` of the runs.
func (h *histogram) covering(without int64) int {
	n := len(h.runs) - 1
	for ; n > 0 && h.atLeast(n) <= without; n-- {
	}
	return max(n, 0)
}
