package expr

var simulatedPlace place

// Simulated is the environment of a simulated model's reply. It is the one place inside the loop that sees the target,
// as truth: a simulated model stands in for one that knows.
func Simulated() *Env {
	return simulatedPlace.get(Any, func(Type) []Var {
		return []Var{
			{"quality", Double},    // 0 to 1
			{"confidence", Double}, // quality as the model itself would estimate it
			{"correct", Bool},      // true with a probability of quality
			{"truth", Any},         // the task's target
			{"answer", Any},        // truth where correct, else something near it
			{"draw", Int},          // 0 to 999999, for chance of the reply's own
			{"task", task()},
			{"iteration", Int}, // from 1
			{"prompt", String}, // the last message sent
		}
	}, Options{})
}
