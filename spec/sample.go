package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// cutSample leaves in each stratum as many lots as are drawn from it; before the end, as many as may be.
func (d *draw) cutSample(end bool) {
	seed := d.seed
	if d.tasks.Sample.Seed != nil {
		seed = *d.tasks.Sample.Seed
	}
	drawn := newLottery(seed, forSample)
	slices.SortFunc(d.lots, func(a, b lot) int {
		return cmp.Or(cmp.Compare(a.stratum, b.stratum), drawn.compare(&a, &b))
	})
	quota := d.quotas()
	kept := d.lots[:0]
	for _, l := range d.lots {
		if quota[l.stratum] > 0 {
			quota[l.stratum]--
			kept = append(kept, l)
		}
	}
	d.lots = kept
	if !end {
		return
	}
	for _, s := range d.strata {
		s.taken = 0
	}
	sorted := d.byNumber()
	for i := range d.lots {
		sorted[d.lots[i].stratum].taken++
	}
}

func (d *draw) byNumber() []*stratum {
	all := make([]*stratum, len(d.strata))
	for _, s := range d.strata {
		all[s.number] = s
	}
	return all
}

// quotas are how many tasks are drawn from each stratum, by its number: the same of each, or its share of all that are
// drawn, in which those with the largest remainders are rounded up.
func (d *draw) quotas() []int {
	all := d.byNumber()
	quota := make([]int, len(all))
	if n := d.tasks.Sample.N; n > 0 {
		for i := range quota {
			quota[i] = n
		}
		return quota
	}
	share, left := d.tasks.Sample.Share, int(math.Round(d.tasks.Sample.Share*float64(d.size)))
	for i, s := range all {
		quota[i] = int(share * float64(s.size))
		left -= quota[i]
	}
	rest := func(s *stratum) float64 { return share*float64(s.size) - float64(quota[s.number]) }
	slices.SortFunc(all, func(a, b *stratum) int {
		return cmp.Or(cmp.Compare(rest(b), rest(a)), cmp.Compare(a.name, b.name))
	})
	for _, s := range all[:max(0, min(left, len(all)))] {
		quota[s.number]++
	}
	return quota
}

// maxStrataTold are warned of; of many strata most are small.
const maxStrataTold = 5

// warnings tell of strata that are too small for what is drawn from them.
func (d *draw) warnings() (warnings source.Faults) {
	sample := d.tasks.Sample
	if sample == nil {
		return nil
	}
	var small []*stratum
	for _, s := range d.byNumber() {
		if s.taken < sample.N || s.taken == 0 {
			small = append(small, s)
		}
	}
	slices.SortFunc(small, func(a, b *stratum) int { return cmp.Compare(a.name, b.name) })
	for i, s := range small {
		if i == maxStrataTold {
			warnings = append(warnings, sample.warning("and so have %d other strata", len(small)-i))
			break
		}
		warnings = append(warnings, sample.warning("%s", s.tooSmall(sample)))
	}
	return warnings
}

func (s *stratum) tooSmall(sample *Sample) string {
	of := "there are"
	if sample.By != nil {
		of = fmt.Sprintf("the stratum %q has", shorten(s.name))
	}
	if sample.N > 0 {
		return fmt.Sprintf("%s %d of the %d tasks that are to be drawn", of, s.size, sample.N)
	}
	return fmt.Sprintf("%s too few tasks for a share of %v: %d, of which none is drawn", of, sample.Share, s.size)
}

func (s *Sample) warning(format string, args ...any) source.Fault {
	f := s.Node.Fault("", format, args...)
	f.Warning = true
	return f
}
