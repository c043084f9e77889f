package record

import "cmp"

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
	Iterations    int     `json:"-"` // how many there are
	At            Place   `json:"-"`
}

// headOf reads the head of a record.
func headOf(object []byte) (RunHead, error) {
	var line struct {
		RunHead
		Iterations []struct{} `json:"iterations"`
	}
	err := decode(object, &line)
	head := line.RunHead
	head.Iterations = len(line.Iterations)
	return head, cmp.Or(err, knownVersion(head.Version), validTrial(head.Trial), noneReturned(head.Outcome.Returned, head.Iterations),
		negative(0, head.Usage, head.Judging, head.User))
}
