package pace

const (
	// A burst of refusals comes soon where fewer calls than few were taken since
	// the last one. One makes a guess, if at least twice as many calls were taken as
	// refused.
	few    = 12
	enough = 1
	// A proof counts as so many, and a doubt that turned out to be wrong takes so many
	// times as many the next time.
	stubborn = 3
	// A doubt ends where more of the calls are refused than this share: two of five for
	// a guess, seven of ten for a proof.
	guessShare, proofShare = 0.4, 0.7
	// That is known after so many refusals that no call outweighs that is taken.
	guessEvidence, proofEvidence = 6, 16
	// So many calls taken in a row leave nothing to doubt.
	calmAgain = 100
)

// doubt asks whether refusals have to do with how much is asked of the server. One
// that bears so many calls a second takes many once it is asked for fewer. One
// that refuses as often as before refuses single calls for reasons of its own, and
// to hold back all the others would cost time and help nobody.
//
// That refusals come soon again is a guess. It is proven by the first call after a
// pause: a server that has had the pause that it asked for, and has less to do than
// before, takes it if it takes calls at all.
//
// It goes by the numbers of calls alone: what was started between two that were
// refused, and was not refused itself, counts as taken, for refusals come at once and
// answers late. What starts in a wave arrives in any order: it is not known to have
// been taken before another one of the wave was refused.
type doubt struct {
	on   bool
	need int    // soon bursts; 0: enough
	last uint64 // the last call that may belong to the refusals so far

	// Before it is on: the soon bursts in a row, and the calls refused in them and in the
	// burst before them, which began with the wave from.
	soon    int
	proven  bool
	from    uint64
	refused float64
	// While it is on: what speaks against it and ends it, and what a call that is taken
	// takes from that; one that is refused adds 1.
	against, evidence, relief float64
}

// believes reports whether the refusal of a call says that the server has too much to
// do, and learns from it. The call is the first of a burst or one of the others; so
// many have started by now. Rested is a server that was to take the next call.
func (d *doubt) believes(number, wave uint64, first, rested bool, started uint64) bool {
	if !first {
		if wave >= d.from {
			d.refused++
		}
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
	if d.last == 0 || gap >= few {
		d.soon, d.proven, d.from, d.refused = 0, false, wave, 0
	} else if wave > d.last+1 {
		d.soon++
	}
	taken := float64(wave) - float64(d.from) - d.refused
	if gap == 0 && rested && taken > 0 {
		d.soon, d.proven = d.soon+stubborn, true
	}
	d.refused++
	d.last = started
	if d.soon < max(d.need, enough) || !d.proven && taken < 2*d.refused {
		return true
	}
	share, evidence := guessShare, float64(guessEvidence)
	if d.proven {
		share, evidence = proofShare, proofEvidence
	}
	*d = doubt{on: true, need: d.need, last: number, evidence: evidence, relief: share / (1 - share)}
	return false
}

// lasts reports whether the doubt outlasts a refusal behind so many calls that were
// taken.
func (d *doubt) lasts(gap float64) bool {
	d.against = max(0, d.against-gap*d.relief) + 1
	switch {
	case d.against > d.evidence:
		*d = doubt{need: stubborn * max(d.need, enough)}
	case gap >= calmAgain:
		*d = doubt{need: d.need}
	}
	return d.on
}
