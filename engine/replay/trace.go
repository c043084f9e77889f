package replay

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// Tracer evaluates all conditions and guards of points on paths. It serves any
// number of them at once. Points that are added later are not in it.
type Tracer struct {
	points *Points
	rules  *stop.Rules
	states sync.Pool // of histories that are over
	// conditions are the first of the leaves, guards the rest.
	conditions, leaves int
	plain              []int   // leaves that are asked one by one
	gauges             [][]int // leaves that differ in one number, the smallest first
}

// Tracer is that of the points so far.
func (p *Points) Tracer() *Tracer {
	rules, watched := stop.Compile(Endless(p.loop)).Watch(p.conditions, p.guards)
	t := &Tracer{points: p, rules: rules, conditions: len(p.conditions), leaves: len(watched)}
	at, numbers := map[string]int{}, make([]float64, len(watched))
	for leaf := range watched {
		key, number, ok := p.gauge(leaf)
		if !ok {
			t.plain = append(t.plain, leaf)
			continue
		}
		if _, known := at[key]; !known {
			at[key] = len(t.gauges)
			t.gauges = append(t.gauges, nil)
		}
		numbers[leaf], t.gauges[at[key]] = number, append(t.gauges[at[key]], leaf)
	}
	for _, leaves := range t.gauges {
		slices.SortFunc(leaves, func(a, b int) int { return cmp.Compare(numbers[a], numbers[b]) })
	}
	return t
}

// Trace is what a path tells at each iteration.
type Trace struct {
	length   int
	words    int      // of the bits of an iteration
	held     []uint64 // by iteration: bits of the plain leaves
	failed   []uint64 // they could not be evaluated; nil where that never happens
	reached  []int32  // by iteration and gauge: how many of its leaves hold
	returned []int
	// believed is the highest threshold at which the loop would believe in the run, if
	// it stopped here; NaN: at none.
	believed []float64
	ends     bool // it ends by itself at the last iteration, other than by a timeout, which all configurations have
	stages   bool // and it is that all stages are over, which comes after the conditions in the order of decision
	until    bool // and it is that the end of a phase could not be evaluated
	dry      bool // the agent has nothing more to give
	branches bool // it goes on otherwise than recorded, not only further
}

// Trace folds a path.
func (t *Tracer) Trace(p *Path) Trace {
	n := len(p.Made)
	run := Trace{
		words: (len(t.plain) + 63) / 64, reached: make([]int32, 0, n*len(t.gauges)), returned: make([]int, 0, n), believed: make([]float64, 0, n),
		dry: p.dry(), branches: p.End.Verdict == Branches,
	}
	run.held = make([]uint64, n*run.words)
	state := t.start(p)
	defer t.states.Put(state)
	for i, it := range p.Made {
		d := state.Fold(it)
		t.leavesAt(&run, i, state)
		run.returned, run.believed = append(run.returned, state.Returned()), append(run.believed, state.Believed())
		run.length++
		if d.Stop {
			run.ends, run.until = d.Outcome.Reason != record.ReasonTimeout, p.untilFails()
			run.stages = d.Outcome.Reason == record.ReasonPhasesComplete || d.Outcome.Reason == record.ReasonStrategiesExhausted
			run.returned[i] = d.Outcome.Returned
			if d.Outcome.Status != record.Completed && !run.until {
				run.believed[i] = math.NaN()
			}
			break
		}
	}
	return run
}

// After is which iteration a run returns that stops after so many, and the highest
// threshold at which the loop then believes in it; NaN: at none.
func (t *Trace) After(n int) (returned int, believed float64) {
	return t.returned[n-1], t.believed[n-1]
}

// Iterations are how many a run may stop after.
func (t *Trace) Iterations() int { return t.length }

// start begins a history.
func (t *Tracer) start(p *Path) *stop.State {
	param := paramOf(t.points.loop)
	if state, ok := t.states.Get().(*stop.State); ok {
		state.Restart(p.Task, param)
		return state
	}
	return t.rules.Start(p.Task, param)
}

// leavesAt notes the leaves that hold after an iteration.
func (t *Tracer) leavesAt(run *Trace, i int, state *stop.State) {
	for k, leaf := range t.plain {
		holds, err := state.Held(leaf)
		at, bit := i*run.words+k/64, uint64(1)<<(k%64)
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
	for _, leaves := range t.gauges {
		n := sort.Search(len(leaves), func(k int) bool {
			holds, _ := state.Held(leaves[k]) // a comparison of numbers has no error
			return !holds
		})
		run.reached = append(run.reached, int32(n))
	}
}
