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
}
