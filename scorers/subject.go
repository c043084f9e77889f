package scorers

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// subject is a run as scorers see it from one place: the output of iteration n, after so many iterations were seen.
type subject struct {
	task      *spec.Task // may be nil
	run       *record.Run
	checklist bool // the pattern of its loop
	outputs   []output

	n    int // the iteration that is judged, from 1; 0: none
	seen int

	target any
	value  any // what is judged, once it is known

	beside     func(configuration string) *record.Run // of the same task and trial
	checklists map[string]bool                        // as checklist, of each configuration

	known   map[standing]record.Score // of scorers that are parts of sets, or ask others
	nothing map[standing]bool         // where there was no answer
	told    []*scorer                 // whose own scores are told
	counted map[standing]bool         // where what a part took is in the score of a set
}

// standing is where a scorer judged; seen is 0 for one to which it makes no difference.
type standing struct {
	*scorer
	n, seen int
}

// counts says that what a part takes here is to be in the score of its set: it is in no other. It says so once.
func (s *subject) counts(p part) bool {
	if !p.asks || !p.own && slices.Contains(s.told, p.scorer) {
		return false
	}
	place := p.place(s)
	if s.counted[place] {
		return false
	}
	if s.counted == nil {
		s.counted = map[standing]bool{}
	}
	s.counted[place] = true
	return true
}

func (s *subject) keep(place standing, score record.Score) {
	if s.known == nil {
		s.known = map[standing]record.Score{}
	}
	s.known[place] = score
}

func (s *subject) keepNothing(place standing) {
	if s.nothing == nil {
		s.nothing = map[standing]bool{}
	}
	s.nothing[place] = true
}

// output is an iteration's, parsed when it is first looked at.
type output struct {
	value  any
	parsed bool
}

func newSubject(task *spec.Task, run *record.Run, checklist bool) *subject {
	return &subject{task: task, run: run, checklist: checklist, outputs: make([]output, len(run.Iterations))}
}

func (s *subject) stand(n, seen int) {
	if n > len(s.run.Iterations) {
		n = 0
	}
	s.n, s.seen = max(n, 0), seen
}

// standAtEnd is where the run is judged: the iteration that it returned, seen from the end.
func (s *subject) standAtEnd() { s.stand(s.run.Outcome.Returned, len(s.run.Iterations)) }

// begin forgets what another scorer found.
func (s *subject) begin() {
	s.target, s.value = nil, nil
	if s.task != nil {
		s.target = s.task.Target
	}
}

// output is the output of iteration n, nil where there is none. What is no JSON, which no record holds, is text.
func (s *subject) output(n int) any {
	if n < 1 {
		return nil
	}
	o := &s.outputs[n-1]
	if !o.parsed {
		o.parsed = true
		if raw := s.run.Iterations[n-1].Output; len(raw) > 0 {
			var err error
			if o.value, err = expr.ParseJSON(raw); err != nil {
				o.value = string(raw)
			}
		}
	}
	return o.value
}

// judged is the iteration that is judged, nil where there is none.
func (s *subject) judged() *record.Iteration {
	if s.n == 0 {
		return nil
	}
	return &s.run.Iterations[s.n-1]
}

// best is the best iteration seen, from 1; 0: none. It is the one of the highest confidence, the earliest among equals;
// under checklist the one of the largest weighted share of checks, the latest among equals.
func (s *subject) best() int {
	best, highest := 0, 0.0
	for n := 1; n <= s.seen; n++ {
		it := &s.run.Iterations[n-1]
		if !it.Evaluated() {
			continue
		}
		merit := it.Evaluation.Confidence
		if s.checklist {
			merit = record.Share(it.Evaluation.Checks)
		}
		if best == 0 || merit > highest || s.checklist && merit == highest {
			best, highest = n, merit
		}
	}
	return best
}

// used is what the iterations seen used, evaluations included.
func (s *subject) used() record.Usage {
	if s.seen == len(s.run.Iterations) {
		return s.run.Total()
	}
	var used record.Usage
	for i := range s.seen {
		used = used.Plus(s.run.Iterations[i].Total())
	}
	return used
}
