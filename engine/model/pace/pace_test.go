package pace

import (
	"testing"
	"time"
)

// The pace is what the server bore: starts that were refused do not count, not
// in the burst in which they were, nor in the next.
func TestThePaceIsWhatWasBorne(t *testing.T) {
	var p pace
	now := time.Now()
	starts := func(n int) { // a second's worth, half of them refused later
		for range n {
			now = now.Add(time.Second / time.Duration(n))
			p.start(now)
		}
	}
	starts(40)
	for i := range 20 {
		p.refuse(now, i == 0)
	}
	if got := p.starts.rate; got < 14 || got > 20 {
		t.Errorf("20 of 40 starts in a second were borne, the pace is %.1f", got)
	}
	p.refuse(now, true)
	if got := p.starts.rate; got > 20 {
		t.Errorf("the next burst finds a pace of %.1f", got)
	}
	if borne, _ := p.meter.perSecond(now); borne < 15 || borne > 23 {
		t.Errorf("the meter counts %.1f starts a second", borne)
	}
}
