package replay

import (
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// Tracer evaluates all conditions and guards of points on paths. It serves any
// number of them at once. Points that are added later are not in it.
type Tracer struct {
	points *Points
	rules  *stop.Rules
	leaves int
}

// Tracer is that of the points so far.
func (p *Points) Tracer() *Tracer {
	rules, watched := stop.Compile(Endless(p.loop)).Watch(p.conditions, p.guards)
	return &Tracer{p, rules, len(watched)}
}

// Trace is what a path tells at each iteration.
type Trace struct {
	length   int
	words    int      // of the bits of an iteration
	held     []uint64 // by iteration: bits of leaves
	failed   []uint64 // they could not be evaluated; nil where that never happens
	returned []int
	// believed is the highest threshold at which the loop would believe in the run, if
	// it stopped here; NaN: at none.
	believed []float64
	natural  Reason // in which it ends by itself at the last iteration
	ends     bool   // there is such a reason, other than a timeout, which all configurations have
	until    bool   // and it is that the end of a phase could not be evaluated
	dry      bool   // the agent has nothing more to give
	branches bool   // it goes on otherwise than recorded, not only further
}

// Trace folds a path.
func (t *Tracer) Trace(p *Path) Trace {
	n := len(p.Made)
	run := Trace{
		words: (t.leaves + 63) / 64, returned: make([]int, 0, n), believed: make([]float64, 0, n),
		dry: p.dry(), branches: p.End.Verdict == Branches,
	}
	run.held = make([]uint64, n*run.words)
	state := t.rules.Start(p.Task, paramOf(t.points.loop))
	for i, it := range p.Made {
		d := state.Fold(it)
		t.leavesAt(&run, i, state)
		run.returned, run.believed = append(run.returned, state.Returned()), append(run.believed, state.Believed())
		run.length++
		if d.Stop {
			run.ends, run.until, run.natural = d.Outcome.Reason != record.ReasonTimeout, p.untilFails(), Reason{d.Outcome.Reason, d.Outcome.Status}
			run.returned[i] = d.Outcome.Returned
			if d.Outcome.Status != record.Completed && !run.until {
				run.believed[i] = math.NaN()
			}
			break
		}
	}
	return run
}

// leavesAt notes the leaves that hold after an iteration.
func (t *Tracer) leavesAt(run *Trace, i int, state *stop.State) {
	for leaf := range t.leaves {
		holds, err := state.Held(leaf)
		at, bit := i*run.words+leaf/64, uint64(1)<<(leaf%64)
		if holds {
			run.held[at] |= bit
		}
		if err != nil {
			if run.failed == nil {
				run.failed = make([]uint64, len(run.held))
			}
			run.failed[at] |= bit
		}
	}
}
