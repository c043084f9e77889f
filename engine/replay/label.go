package replay

import "fmt"

// Label says how far what is known of a configuration can be trusted.
type Label int

// The labels, from the best to the worst.
const (
	PointExact     Label = iota // every run is exact
	Bounded                     // some were cut by the recording's own limits
	NeedsCalls                  // some branch: new calls would tell
	Counterfactual              // the agent was told its limits, and the record cannot show what it would have done
)

// String is the word for people.
func (l Label) String() string {
	switch l {
	case PointExact:
		return "exact"
	case Bounded:
		return "bounded"
	case NeedsCalls:
		return "needs calls"
	case Counterfactual:
		return "counterfactual"
	}
	return fmt.Sprintf("Label(%d)", int(l))
}

// Label is that of one run.
func (r *Result) Label() Label {
	switch {
	case r.Told:
		return Counterfactual
	case r.Verdict == Branches:
		return NeedsCalls
	case r.Verdict == Censored:
		return Bounded
	}
	return PointExact
}

// Tally counts the runs of a configuration by what is known of them. The zero
// Tally is that of no runs.
type Tally struct {
	Runs                      int
	Exact, Censored, Branches int
	Told                      int // of those that branch

	worst       Label
	least, most float64
}

// Add counts a run, and what it is worth: its score or its cost. Where that is
// not known it lies between least and most, in [0, 1] for a share; else they are
// the same.
func (t *Tally) Add(r *Result, least, most float64) {
	t.Runs++
	t.worst = max(t.worst, r.Label())
	switch r.Verdict {
	case Exact:
		t.Exact++
	case Censored:
		t.Censored++
	case Branches:
		t.Branches++
		if r.Told {
			t.Told++
		}
	}
	t.least += least
	t.most += most
}

// Label is the worst of the runs.
func (t *Tally) Label() Label { return t.worst }

// Mean is between which values the mean of the runs lies. It is a point only
// where both are the same; of no runs it is 0.
func (t *Tally) Mean() (least, most float64) {
	if t.Runs == 0 {
		return 0, 0
	}
	return t.least / float64(t.Runs), t.most / float64(t.Runs)
}
