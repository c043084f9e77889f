package record

import "slices"

// Lasting is the run without what two equal runs may differ in: when it ran, how
// often requests were sent and how long they waited, what came from the cache
// and what was paid, and so for the runs of delegates. Records are compared in this form, sorted by id.
func (r *Run) Lasting() *Run {
	same := *r
	same.Volatile = Volatile{}
	same.Iterations = slices.Clone(r.Iterations)
	for i := range same.Iterations {
		calls := slices.Clone(same.Iterations[i].Calls)
		for c := range calls {
			calls[c].Waited, calls[c].Attempts, calls[c].Unsent, calls[c].Cached = 0, 0, 0, false
		}
		same.Iterations[i].Calls = calls
		same.Iterations[i].ToolCalls = lastingTools(same.Iterations[i].ToolCalls)
	}
	return &same
}

// lastingTools are the tool calls without whether a tool was asked, and how often.
func lastingTools(used []ToolCall) []ToolCall {
	same := slices.Clone(used)
	for i := range same {
		same[i].Attempts, same[i].Cached = 0, false
		if same[i].Delegated != nil {
			same[i].Delegated = same[i].Delegated.Lasting()
		}
	}
	return same
}
