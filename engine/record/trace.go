package record

import "encoding/json"

// Trace is what an agent that converses would do with the replies, the results
// and the user's answers of a recorded iteration.
type Trace struct {
	// Requests are the hashes of what its model would be sent, one for each step.
	// They may be fewer than the recorded steps: it would have made no more. There
	// is one more where it would go on, or would ask once more whoever had nothing
	// more to give.
	Requests []string
	// Over says that it would make no step after these.
	Over bool
	// Output is what it would give in place of an answer because it used up its steps,
	// nil: it did not. Fault says why that is not the JSON that it was to be.
	Output json.RawMessage
	Fault  string
	// Why says what else would differ after the last of Requests, "": nothing.
	Why string
}
