package choose

// Rule says which of the candidates is chosen.
type Rule string

// The rules. Each takes the cheapest candidate that it allows; of equally cheap
// ones the better, then the one with the smaller parameters.
const (
	// MaxLoss allows what loses hardly a success that the recording has: the upper
	// bound of the share of runs that do is at most a number.
	MaxLoss Rule = "max_loss"
	// Indistinguishable allows what is not shown to be worse than the best.
	Indistinguishable Rule = "indistinguishable"
	// WithinOneSE allows what is at most one standard error of the best below it.
	WithinOneSE Rule = "within_one_se"
	// AtLeast allows what reaches a share of the best objective.
	AtLeast Rule = "at_least"
)

// DefaultMaxLoss is the number of MaxLoss unless one is told.
const DefaultMaxLoss = 0.02

var rules = []Rule{MaxLoss, Indistinguishable, WithinOneSE, AtLeast}
