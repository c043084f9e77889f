package record

import "slices"

// Lasting is the run without what two equal runs may differ in: when it ran, how
// often requests were sent and how long they waited, what came from the cache
// and what was paid. Records are compared in this form, sorted by id.
func (r *Run) Lasting() *Run {
	same := *r
	same.Volatile = Volatile{}
	same.Iterations = slices.Clone(r.Iterations)
	for i := range same.Iterations {
		calls := slices.Clone(same.Iterations[i].Calls)
		for c := range calls {
			calls[c].Waited, calls[c].Attempts, calls[c].Cached = 0, 0, false
		}
		same.Iterations[i].Calls = calls
	}
	return &same
}
