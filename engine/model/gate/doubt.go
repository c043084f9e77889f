package gate

const (
	// A burst of refusals comes soon where fewer calls than few were taken since
	// the last one. So many soon ones make doubt, if at least twice as many calls were
	// taken as refused.
	few    = 12
	enough = 1
	// A doubt that turned out to be wrong is so many times as hard to raise again.
	stubborn = 3
	// evidence is what it takes to end a doubt: refusals are evidence against it,
	// calls that are taken are evidence for it.
	evidence = 6
	// So many calls taken in a row leave nothing to doubt.
	calmAgain = 100
)

// doubt asks whether refusals have to do with how much is asked of the server. One
// that bears so many calls a second takes many once it is asked for fewer. One
// that refuses as often as before refuses single calls for reasons of its own, and
// to hold back all the others would cost time and help nobody.
//
// It goes by the numbers of calls alone: what was started between two that
// were refused counts as taken, for refusals come at once and answers late.
type doubt struct {
	on   bool
	need int    // soon bursts; 0: enough
	last uint64 // the last call that may belong to the refusals so far

	// Before it is on: the soon bursts in a row, and the calls in them.
	soon, taken, refused float64
	// While it is on: what speaks against it, and what a call that is taken takes
	// from that; one that is refused adds 1.
	against, relief float64
}

// believes reports whether the refusal of a call says that the server has too much to
// do, and learns from it. The call is the first of a burst or one of the others; so
// many have started by now.
func (d *doubt) believes(number uint64, first bool, started uint64) bool {
	if !first {
		d.refused++
		return true
	}
	gap := 0.0
	if number > d.last {
		gap = float64(number - d.last - 1)
	}
	if d.on && d.lasts(gap) {
		d.last = max(d.last, number)
		return false
	}
	if d.refused++; gap >= few || d.last == 0 {
		d.soon, d.taken, d.refused = 0, 0, 0
	} else if gap > 0 {
		d.soon, d.taken = d.soon+1, d.taken+gap
	}
	d.last = started
	if d.soon < float64(max(d.need, enough)) || d.taken < 2*d.refused {
		return true
	}
	share := (d.refused + 1) / (d.refused + d.taken + 2)
	most := min(1.5*share+0.1, 0.45) // of the calls refused, or the doubt ends
	*d = doubt{on: true, need: d.need, last: number, relief: most / (1 - most)}
	return false
}

// lasts reports whether the doubt outlasts a refusal behind so many calls that were
// taken.
func (d *doubt) lasts(gap float64) bool {
	d.against = max(0, d.against-gap*d.relief) + 1
	switch {
	case d.against > evidence:
		*d = doubt{need: stubborn * max(d.need, enough)}
	case gap >= calmAgain:
		*d = doubt{need: d.need}
	}
	return d.on
}
