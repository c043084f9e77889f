package record

import (
	"cmp"
	"time"
)

// RunHead is what a run is of, what became of it, and where its record stands.
type RunHead struct {
	Version       int     `json:"v"`
	ID            string  `json:"run"`
	Configuration string  `json:"configuration"`
	Task          string  `json:"task"`
	Trial         int     `json:"trial"`
	Outcome       Outcome `json:"outcome"`
	Usage         Usage   `json:"usage"`
	Judging       Usage   `json:"judging"`
	User          Usage   `json:"user"`
	// Volatile has what the run really took.
	Volatile struct {
		Waited time.Duration `json:"waited_ns"`
		Cached int64         `json:"cached"`
	} `json:"volatile"`
	Iterations int   `json:"-"` // how many there are
	At         Place `json:"-"`
}

// headOf reads the head of a record.
func headOf(object []byte) (RunHead, error) {
	var line struct {
		RunHead
		Iterations []skipped `json:"iterations"`
	}
	err := decode(object, &line)
	head := line.RunHead
	head.Iterations = len(line.Iterations)
	return head, cmp.Or(err, knownVersion(head.Version), validTrial(head.Trial), noneReturned(head.Outcome.Returned, head.Iterations),
		negative(0, head.Usage, head.Judging, head.User))
}

// effort is what the run really took.
func (h *RunHead) effort() Effort {
	v := &h.Volatile
	return Effort{Cached: v.Cached, Made: h.Usage.Plus(h.Judging).Plus(h.User).Calls - v.Cached, Waited: v.Waited}
}
