package record

import (
	"errors"
	"slices"
	"time"
)

// Snapshot is what was found of a state of a run's workspace that was kept when a model call of its program
// arrived: how a loop that a limit ends there evaluates it, and what it is worth.
//
// Of several of one state the last one counts.
type Snapshot struct {
	Run       string `json:"-"`         // stands once in a line
	Iteration int    `json:"iteration"` // in which it was kept
	// Key is that of the state. States share it that differ in nothing that scores go by.
	Key string `json:"key"`
	// Steps are the steps whose calls found this state, in their order: a limit of one less ends
	// the run with it.
	Steps []int `json:"steps,omitempty"`
	// Evaluator is the hash of what the loop evaluates by; "" where it evaluates nothing.
	Evaluator  string        `json:"evaluator,omitempty"`
	Evaluation *Evaluation   `json:"evaluation,omitempty"`
	Error      *Error        `json:"error,omitempty"` // with which the evaluation failed
	Took       time.Duration `json:"took_ns,omitempty"`
	// Scores are those of the state, with its iteration, and those of the run that a limit of steps
	// ends there, with iteration 0, where they may be others.
	Scores []Score `json:"scores,omitempty"`
}

// Score is the score by a scorer of the run that a limit of steps ends here; nil where there
// is none.
func (s *Snapshot) Score(name string) *Score {
	var found *Score
	for i := range s.Scores {
		if score := &s.Scores[i]; score.Name == name && (found == nil || score.Iteration == 0) {
			found = score
		}
	}
	return found
}

// Scorers are the names of those that scored it.
func (s *Snapshot) Scorers() (names []string) {
	for i := range s.Scores {
		if name := s.Scores[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (s *Snapshot) of(run string) {
	s.Run = run
	for i := range s.Scores {
		s.Scores[i].Run = run
	}
}

func (s *Snapshot) impossible() error {
	if s.Iteration < 1 || s.Key == "" {
		return errors.New("a snapshot without its iteration or key")
	}
	for i := range s.Scores {
		if n := s.Scores[i].Iteration; n != 0 && n != s.Iteration {
			return errors.New("a snapshot with the score of another iteration")
		}
	}
	return noIteration(s.Iteration)
}

// StandingSnapshots are the snapshots that count among those of one run, which come in the order
// in which they were made.
func StandingSnapshots(all []Snapshot) (standing []Snapshot) {
	for _, s := range all {
		at := slices.IndexFunc(standing, func(o Snapshot) bool { return o.Iteration == s.Iteration && o.Key == s.Key })
		if at < 0 {
			at, standing = len(standing), append(standing, Snapshot{})
		}
		standing[at] = s
	}
	return standing
}
