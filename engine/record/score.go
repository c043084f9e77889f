package record

import "slices"

// Score is the judgement of one scorer on one run, or on one of its iterations.
type Score struct {
	Run       string `json:"-"` // stands once in a line
	Name      string `json:"name"`
	Iteration int    `json:"iteration,omitempty"` // 0: the run, as it was returned
	// Value is meaningless where Unscored is set.
	Value       float64 `json:"value"`
	Answer      string  `json:"answer,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	// Unscored is why the scorer could not judge. That is neither 0 nor NaN.
	Unscored string `json:"unscored,omitempty"`
	// Scorer is the hash of the scorer's spec.
	Scorer string `json:"scorer,omitempty"`
	// Votes are what was asked of others, one by one, where a scorer asks; Usage is
	// what that took, as if nothing were cached. It is in no run's usage.
	Votes []Vote `json:"votes,omitempty"`
	Usage Usage  `json:"usage,omitzero"`
	// Removed takes a score back that was made before.
	Removed bool `json:"removed,omitempty"`
}

// Vote is what one of those said who were asked for a score.
type Vote struct {
	Judge     string `json:"judge,omitempty"`     // the model; "": the only one there is
	Criterion string `json:"criterion,omitempty"` // that was asked for
	// Swapped means that the output stood second, beside another's.
	Swapped bool `json:"swapped,omitempty"`
	// Value is meaningless where Unscored is set.
	Value       float64 `json:"value"`
	Answer      string  `json:"answer,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	Unscored    string  `json:"unscored,omitempty"`
	Repaired    bool    `json:"repaired,omitempty"` // it answered in the form asked for at the second time
	Cached      bool    `json:"cached,omitempty"`
}

// Scored are the scores that were made of a run at one time, without what they
// say.
type Scored struct {
	Run    string      `json:"run"`
	Scores []ScoreHead `json:"scores"`
}

// ScoreHead says which scorer made a score, and of what.
type ScoreHead struct {
	Name      string `json:"name"`
	Iteration int    `json:"iteration,omitempty"` // 0: the run, as it was returned
	Scorer    string `json:"scorer,omitempty"`    // the hash of the scorer's spec
	Unscored  string `json:"unscored,omitempty"`  // why it could not judge
	Removed   bool   `json:"removed,omitempty"`
}

// Standing are the scores that count among those of one run, which come in the
// order in which they were made: of several by one scorer on the same thing the
// last one, unless it was taken back. They are in the order in which their things
// were first judged.
func Standing(scores []Score) []Score {
	type thing struct {
		name      string
		iteration int
	}
	at := make(map[thing]int, len(scores))
	var last []Score
	for _, s := range scores {
		key := thing{s.Name, s.Iteration}
		if i, judged := at[key]; judged {
			last[i] = s
		} else {
			at[key], last = len(last), append(last, s)
		}
	}
	return slices.DeleteFunc(last, func(s Score) bool { return s.Removed })
}
