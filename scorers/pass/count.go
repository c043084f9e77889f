package pass

import "slices"

// count adds a run to what is found and wanted.
func (p *Pass) count(w *work) {
	for at := range p.judges {
		c := &p.Counts[at]
		mark := p.at(w.marks, 0, at)
		if mark != none {
			c.Found[p.judges[at].version(mark)]++
		}
		n, run := w.of(at)
		c.Wanted += n
		if run {
			c.WantedOfRuns++
		} else if mark != none && !c.Removed {
			c.Kept++
		}
	}
}

func (c *Count) unscored(reason string) {
	if c.Unscored == 0 || reason < c.Reason {
		c.Reason = reason
	}
	c.Unscored++
}

// of is how many scores a judge makes of a run, and whether that of the run itself
// is among them.
func (w *work) of(at int) (n int, run bool) {
	if slices.Contains(w.pairs, at) {
		return 1, true
	}
	for i := range w.parts {
		if part := &w.parts[i]; slices.Contains(part.judges, at) {
			return len(part.iterations), part.iterations[0] == 0
		}
	}
	return 0, false
}
