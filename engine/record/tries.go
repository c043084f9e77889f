package record

import "iter"

// tries counts the records of the runs that have one which does not count: only
// those are tried again, so that this takes no memory for the others.
type tries map[string]int

func countTries(signals iter.Seq2[placed, error]) tries {
	t := tries{}
	for s, err := range signals {
		if err != nil {
			continue // the caller meets it too
		}
		if _, known := t[s.ID]; known || !s.Outcome.Counts() {
			t[s.ID]++
		}
	}
	return t
}

// last takes one try off and says whether it was the last one.
func (t tries) last(run string) bool {
	if _, known := t[run]; !known {
		return true
	}
	t[run]--
	return t[run] == 0
}
