package pace

import "math"

const (
	firstPlaces = 16 // of a server that is not known
	// Beyond what was refused before, a window grows by one with so many
	// successes, and the faster the longer no refusal came: then the server bears
	// far more by now. A single refusal takes one away, so that a server that
	// refuses now and then for other reasons does not shrink it.
	calm  = 50
	haste = 500 // successes without a refusal after which it grows twice as fast
)

// window is how many calls may be in flight. It doubles with every round of
// answers (slow start) up to the threshold, which is unknown before the first
// refusal; then it grows slowly. A refusal cuts it to what the server bore.
type window struct {
	size      float64
	most      float64
	threshold float64
	bound     bool    // it was what bound when the last burst of refusals began
	successes float64 // since the cut
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

// grow learns from a success. A window that keeps nobody waiting is large enough.
func (w *window) grow(binds bool) {
	w.successes++
	switch {
	case !binds:
	case w.size < w.threshold:
		w.size = min(w.most, w.size+1)
	default:
		w.size = min(w.most, w.size+(1+w.successes/haste)/calm)
	}
}

// shrink learns from a refusal, with so many other calls still in flight. All but
// the first of a burst show that the server bore even less. Where there were places
// left, it was not their number that the server refused.
func (w *window) shrink(first bool, others int) {
	if first {
		w.successes, w.bound = 0, others+1 >= w.places()
	}
	if !w.bound {
		return
	}
	w.size = max(1, min(w.size, float64(others)))
	if first {
		w.threshold = w.size
	}
}

// cut leaves no place beyond those that are taken; from there it grows slowly.
func (w *window) cut(taken int) {
	w.size, w.successes = min(w.size, float64(taken)), 0
	w.threshold = w.size
}
