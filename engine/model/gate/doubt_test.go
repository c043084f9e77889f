package gate

import "testing"

// said plays refusals to a doubt, as the numbers of the calls taken before each, and
// tells how many of them it believes.
func (d *doubt) said(gaps ...int) (believed int) {
	number := d.last
	for _, gap := range gaps {
		number += uint64(gap) + 1
		if d.believes(number, true, number) {
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
