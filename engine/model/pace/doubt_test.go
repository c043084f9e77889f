package pace

import "testing"

// said plays refusals to a doubt, as the numbers of the calls taken before each, and
// tells how many of them it believes.
func (d *doubt) said(gaps ...int) (believed int) {
	number := d.last
	for _, gap := range gaps {
		number += uint64(gap) + 1
		if d.believes(number, number, true, false, number) {
			believed++
		}
	}
	return believed
}

func repeat(gap, times int) []int {
	gaps := make([]int, times)
	for i := range gaps {
		gaps[i] = gap
	}
	return gaps
}

func TestDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		gaps     []int
		believed int
		on       bool
	}{
		"every fifth call, whatever the pace":       {repeat(4, 50), 1, true},
		"a server that takes many between":          {repeat(few, 50), 50, false},
		"a server that takes as many as it refuses": {repeat(1, 50), 50, false},
		"a server that takes nothing":               {repeat(0, 50), 50, false},
		"seldom now":                                {[]int{4, 4, 4, calmAgain, few}, 3, false},
	} {
		var d doubt
		if got := d.said(c.gaps...); got != c.believed || d.on != c.on {
			t.Errorf("%s: %d of %d refusals are believed, in doubt: %v", name, got, len(c.gaps), d.on)
		}
	}
}

// A server that takes fewer and fewer the more it is asked is soon believed again,
// and not doubted as easily.
func TestADoubtThatIsWrongEnds(t *testing.T) {
	var d doubt
	d.said(4, 4)
	flood := repeat(0, 20)
	if doubted := len(flood) - d.said(flood...); doubted > 8 || d.on {
		t.Errorf("%d of 20 refusals in a row are doubted", doubted)
	}
	if d.said(4, 4); d.on {
		t.Error("the same is doubted again")
	}
}

// The first call after a pause that the server asked for is proof where others were
// taken before it, and that is not soon forgotten: half of the calls may be refused.
func TestTheFirstCallAfterAPauseIsProof(t *testing.T) {
	for name, c := range map[string]struct {
		numbers []uint64 // of the calls refused
		rested  bool
		proven  bool
	}{
		"the server had its pause":    {[]uint64{1, 3, 4}, true, true},
		"it had less or more to do":   {[]uint64{1, 3, 4}, false, false},
		"it took one after the pause": {[]uint64{1, 3, 5}, true, false},
		"it took nothing before":      {[]uint64{1, 2, 3}, true, false},
	} {
		var d doubt
		for _, number := range c.numbers {
			d.believes(number, number, true, c.rested, number)
		}
		if d.on != c.proven {
			t.Errorf("%s: in doubt: %v", name, d.on)
		}
		if !c.proven {
			continue
		}
		if believed := d.said(repeat(1, 1000)...); believed > 0 {
			t.Errorf("%s: %d of 1,000 refusals of every other call are believed", name, believed)
		}
		if doubted := 40 - d.said(repeat(0, 40)...); doubted > 18 || d.on {
			t.Errorf("%s: %d of 40 refusals in a row are doubted", name, doubted)
		}
	}
}

// Calls taken among those that are refused count, too: three of a burst of four.
func TestCallsTakenInABurstCount(t *testing.T) {
	var d doubt
	d.believes(1, 1, true, false, 8)
	d.believes(3, 1, false, false, 8)
	if d.believes(10, 10, true, false, 10) {
		t.Error("3 of 10 calls are refused, 1 of 2 after the pause, and that is about load")
	}
}
