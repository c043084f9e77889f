package stats

import (
	"cmp"
	"slices"
)

// Ending is when something was last seen, and why: a Cause above 0 ended it, 0
// says that it was cut off and might have gone on.
type Ending struct {
	Time  float64
	Cause int
}

// Incidence is the chance to have ended by a cause up to a time, of how many
// that were still going on just before it.
type Incidence struct {
	Time, Chance float64
	AtRisk       int
}

// CumulativeIncidence is the chance of ending by the cause while other causes end
// things as well, at each time at which anything ended or was cut off (O. O.
// Aalen and S. Johansen, Scandinavian Journal of Statistics 5, 1978). One minus
// Kaplan and Meier's estimate, which takes the other causes for cuts, is too
// large. Cuts must not depend on what would have come.
func CumulativeIncidence(endings []Ending, cause int) (incidence []Incidence, ok bool) {
	sorted := slices.Clone(endings)
	for _, e := range sorted {
		if !isFinite(e.Time) || e.Cause < 0 || cause < 1 {
			return nil, false
		}
	}
	slices.SortFunc(sorted, func(a, b Ending) int { return cmp.Compare(a.Time, b.Time) })
	going, chance := 1.0, 0.0
	for len(sorted) > 0 {
		now := Incidence{Time: sorted[0].Time, AtRisk: len(sorted)}
		ofCause, ofAny, next := 0, 0, 0
		for ; next < len(sorted) && sorted[next].Time == now.Time; next++ {
			ofCause += zeroOrOne(sorted[next].Cause == cause)
			ofAny += zeroOrOne(sorted[next].Cause != 0)
		}
		chance += going * float64(ofCause) / float64(now.AtRisk)
		going *= 1 - float64(ofAny)/float64(now.AtRisk)
		now.Chance = chance
		incidence = append(incidence, now)
		sorted = sorted[next:]
	}
	return incidence, len(endings) > 0
}
