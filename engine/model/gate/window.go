package gate

import (
	"math"
	"time"
)

const (
	firstPlaces = 16 // of a server that is not known
	// A refusal leaves this share of what was in flight.
	keep = 0.95
	// What was cut is back after this time, and grows on, ever faster until the
	// next refusal: the server may bear far more by now.
	recovery = 20 * time.Second
	// A window of any size grows by one within this time.
	slowest = 10 * time.Second
)

// window is how many calls may be in flight. It doubles with every round of
// answers (slow start) up to the threshold, which is unknown before the first
// refusal; then it grows with time. A refusal cuts it to what the server bore.
type window struct {
	size      float64
	most      float64
	threshold float64
	slope     float64 // places a second beyond the threshold, at first
	cut       time.Time
	grew      time.Time
}

// newWindow is open from the start where it is known what the server allows.
func newWindow(parallel int, known bool) window {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	w := window{most: float64(parallel), threshold: math.Inf(1)}
	w.size = w.most
	if !known {
		w.size = min(firstPlaces, w.most)
	}
	return w
}

func (w *window) places() int { return int(w.size) }

// grow learns from an answer. A window that keeps nobody waiting is large enough.
func (w *window) grow(now time.Time, binds bool) {
	since := now.Sub(w.grew)
	w.grew = now
	switch {
	case !binds:
	case w.size < w.threshold:
		w.size = min(w.most, w.size+1)
	default:
		w.size = min(w.most, w.size+w.slope*since.Seconds()*haste(now.Sub(w.cut)))
	}
}

// haste is how much faster than at first something grows so long after a cut.
func haste(after time.Duration) float64 { return 1 + 2*after.Seconds()/recovery.Seconds() }

// shrink learns from the refusal of a call that began at that time, with so many
// still in flight. It says whether this is the first refusal of a burst. The
// others may only show that the server bore even less.
func (w *window) shrink(began, now time.Time, inFlight int) (first bool) {
	bore := float64(inFlight)
	first = w.cut.IsZero() || began.After(w.cut)
	if first {
		w.slope = max(bore*(1-keep)/recovery.Seconds(), 1/slowest.Seconds())
		w.threshold = max(1, bore*keep)
		w.size = min(w.size, w.threshold)
		w.cut, w.grew = now, now
	}
	w.size = max(1, min(w.size, bore))
	return first
}
