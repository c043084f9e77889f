package record

// Score is the judgement of one scorer on one run, or on one of its iterations.
type Score struct {
	Run       string `json:"run"`
	Name      string `json:"name"`
	Iteration int    `json:"iteration,omitempty"` // 0: the run, as it was returned
	// Value is meaningless where Unscored is set.
	Value       float64 `json:"value"`
	Answer      string  `json:"answer,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	// Unscored says why the scorer could not judge. That is neither 0 nor NaN.
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
	// Swapped says that the output stood second, beside another's.
	Swapped bool `json:"swapped,omitempty"`
	// Value is meaningless where Unscored is set.
	Value       float64 `json:"value"`
	Answer      string  `json:"answer,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	Unscored    string  `json:"unscored,omitempty"`
	Repaired    bool    `json:"repaired,omitempty"` // it answered in the form asked for at the second time
	Cached      bool    `json:"cached,omitempty"`
}
