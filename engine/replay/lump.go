package replay

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
)

// lump is what a log tells of a run as a whole only, and not of its iterations.
type lump struct {
	all        record.Usage // of the agent
	iterations int
	cost       bool // it tells the cost so, and not the tokens alone
}

// lumpOf is nil where the iterations tell as much as the run does.
func lumpOf(run *record.Run) *lump {
	priced, told := run.Usage.Priced(), run.Usage.TokensTold()
	if !priced && !told {
		return nil
	}
	var found *lump
	for i := range run.Iterations {
		calls := run.Iterations[i].Calls
		for k := range calls {
			agent := calls[k].Role != record.RoleJudge && calls[k].Role != record.RoleUser
			used := &calls[k].Usage
			switch {
			case !agent:
			case priced && !used.Priced():
				return &lump{run.Usage, len(run.Iterations), true}
			case told && !used.TokensTold():
				found = &lump{run.Usage, len(run.Iterations), false}
			}
		}
	}
	return found
}

// OnlyWholeCost reports whether the cost of a recorded run is known, and that of its
// iterations is not.
func OnlyWholeCost(run *record.Run) bool {
	l := lumpOf(run)
	return l != nil && l.cost
}

// span is what a run used that made so many iterations, which tell the sum of
// themselves. The whole run used all. One that stops earlier paid at least for what
// is known, and at most its even share: iterations grow with the conversation, and
// do not get cheaper.
func (l *lump) span(sum record.Usage, made int, unlike bool) Span {
	switch {
	case made == l.iterations && !unlike:
		return Span{l.all, l.all}
	case !l.cost:
		return Span{sum, sum}
	}
	sum.Uncounted, sum.Unreported, sum.Unpriced = sum.Uncounted+sum.Unreported, 0, 0
	s := Span{sum, sum}
	share := math.Ceil(float64(l.all.Cost) * float64(made) / float64(l.iterations))
	s.Most.Cost = max(sum.Cost, min(record.Money(share), l.all.Cost))
	return s
}

// Lumped reports whether only the whole run tells what it used.
func (p *Path) Lumped() bool { return p.lump != nil }
