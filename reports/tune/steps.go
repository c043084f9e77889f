package tune

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// A bound of one configuration does not hold for the one that was taken among many:
// the one whose losses happen to be few is the one that is taken. So max_loss tests
// configurations in a fixed order, which does not depend on any score: from the
// loosest limits to tighter ones, one step in one parameter at a time. A
// configuration is tested only after all that are one step looser have passed, and
// with the error rate divided by the number of configurations that are as many steps
// from the loosest. With one parameter that is the fixed-sequence test, which needs
// no correction (P. Westfall and A. Krishen, J. Stat. Plan. Inference 99, 2001). With
// several, where a tighter limit loses what a looser one loses, the first
// configurations that lose too much are an antichain of the grid, over which the
// rates add up to the whole at most (the inequality of Lubell, Yamamoto and Meshalkin
// in products of chains); that each waits for all looser ones is what makes the first
// the only ones that count (J. Goeman and A. Solari, Ann. Statist. 38, 2010). Grids
// with gaps, configurations that are one rung, and longer runs that answer worse are
// not proved by that: TestAudit measures how often the bound is exceeded there.
//
// Several recorded paths share the rate: nine tenths are for the path of the
// reference, which losses are counted against, the rest for all other paths together.
type steps struct {
	rung  []int // by candidate; -1: it cannot be chosen
	rungs []rung
}

// rung is candidates that make the same of every recorded run: they are one
// hypothesis.
type rung struct {
	candidates []int
	looser     []int   // rungs that are one step looser in one parameter
	alpha      float64 // the error rate it is tested with
	level      int     // steps from the loosest
	part       int
}

// stepsOf arranges the candidates that can be chosen.
func (t *chooser) stepsOf(ctx context.Context) (*steps, error) {
	s := &steps{rung: make([]int, len(t.candidates))}
	looserUp, unordered := t.looserUp(), make([]bool, len(t.paths))
	for path, values := range t.values {
		unordered[path] = len(values) > 2 && slices.ContainsFunc(values, func(v any) bool { _, kind := amountOf(v); return kind == 2 || kind == 3 })
	}
	parts := map[string]int{}
	partOf, onReference := make([]int, len(t.candidates)), []bool{}
	var members [][]int
	for i := range t.candidates {
		if s.rung[i] = -1; !t.can[i] {
			continue
		}
		on, err := t.Recording(ctx, i)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(on, t.unordered(i, unordered))
		at, known := parts[key]
		if !known {
			at = len(members)
			parts[key] = at
			members, onReference = append(members, nil), append(onReference, on == 0)
		}
		partOf[i], members[at] = at, append(members[at], i)
	}
	shares := sharesOf(onReference, 1-t.Level)
	for part := range members {
		t.addPart(s, members[part], part, looserUp)
	}
	alike := map[[2]int]int{}
	for r := range s.rungs {
		alike[[2]int{s.rungs[r].part, s.rungs[r].level}]++
	}
	for r := range s.rungs {
		g := &s.rungs[r]
		g.alpha = shares[g.part] / float64(alike[[2]int{g.part, g.level}])
	}
	return s, nil
}

// largest is the largest error rate that a candidate is tested with.
func (s *steps) largest() (alpha float64) {
	for r := range s.rungs {
		alpha = max(alpha, s.rungs[r].alpha)
	}
	return alpha
}

// ownShare is the part of the error rate that is for the path of the reference.
const ownShare = 0.9

// sharesOf divides an error rate among parts of the candidates.
func sharesOf(onReference []bool, alpha float64) []float64 {
	own := 0
	for _, is := range onReference {
		own += count(is)
	}
	others := len(onReference) - own
	shares := make([]float64, len(onReference))
	for i, is := range onReference {
		switch {
		case own == 0 || others == 0:
			shares[i] = alpha / float64(len(shares))
		case is:
			shares[i] = ownShare * alpha / float64(own)
		default:
			shares[i] = (1 - ownShare) * alpha / float64(others)
		}
	}
	return shares
}

// unordered are the places of a candidate on axes whose values have no order, as
// texts have none, and that of its base. Of two values one is the looser, whatever
// they are.
func (t *chooser) unordered(candidate int, unordered []bool) (places []int) {
	for path := range t.paths {
		if unordered[path] {
			places = append(places, t.at[candidate][path])
		}
	}
	return append(places, t.at[candidate][len(t.paths):]...)
}

// looserUp says of each parameter whether its larger values are the looser ones:
// those under which runs take more iterations.
func (t *chooser) looserUp() []bool {
	up, iterations := make([]int64, len(t.paths)), make([]float64, len(t.candidates))
	s := &sums{}
	for i := range t.candidates {
		s.clear()
		iterations[i] = t.over(s, i, 0).iterations
	}
	for i := range t.candidates {
		for path := range t.paths {
			if other, ok := t.beside(i, path, 1); ok && t.can[i] && t.can[other] {
				up[path] += int64(cmp.Compare(iterations[other], iterations[i]))
			}
		}
	}
	all := make([]bool, len(up))
	for path := range up {
		all[path] = up[path] >= 0
	}
	return all
}

// addPart makes rungs of candidates that are replayed on one recording.
func (t *chooser) addPart(s *steps, members []int, part int, looserUp []bool) {
	alike := map[uint64]int{}
	in := map[int]bool{}
	for _, i := range members {
		in[i] = true
	}
	step := make([][]int, len(t.paths)) // by path and place: steps from the loosest
	for path := range t.paths {
		step[path] = t.stepsOn(path, members, in, looserUp[path])
	}
	for _, i := range members {
		level := 0
		for path := range t.paths {
			level += step[path][t.at[i][path]]
		}
		key := t.print[i]
		r, known := alike[key]
		if !known {
			r = len(s.rungs)
			alike[key] = r
			s.rungs = append(s.rungs, rung{level: level, part: part})
		}
		g := &s.rungs[r]
		s.rung[i], g.candidates, g.level = r, append(g.candidates, i), min(g.level, level)
	}
	for _, i := range members {
		g := &s.rungs[s.rung[i]]
		for path := range t.paths {
			if other, ok := t.looser(i, path, in, looserUp[path]); ok && s.rungs[s.rung[other]].level < g.level && !slices.Contains(g.looser, s.rung[other]) {
				g.looser = append(g.looser, s.rung[other])
			}
		}
	}
}

// stepsOn counts the steps from the loosest value of a parameter, by the place of
// the value. Values that change nothing are one step.
func (t *chooser) stepsOn(path int, members []int, in map[int]bool, up bool) []int {
	of := make([]int, len(t.values[path])+1)
	byPlace := make([][]int, len(of))
	for _, i := range members {
		byPlace[t.at[i][path]] = append(byPlace[t.at[i][path]], i)
	}
	n, first := 0, true
	for k := range byPlace {
		place := k
		if up {
			place = len(byPlace) - 1 - k
		}
		differs, pairs := false, 0
		for _, i := range byPlace[place] {
			if other, ok := t.looser(i, path, in, up); ok {
				pairs++
				differs = differs || t.print[i] != t.print[other]
			}
		}
		if len(byPlace[place]) > 0 && !first && (differs || pairs == 0) {
			n++
		}
		of[place], first = n, first && len(byPlace[place]) == 0
	}
	return of
}

// looser is the candidate, among some, that differs only in one parameter and is the
// next looser one.
func (t *chooser) looser(candidate, path int, in map[int]bool, up bool) (other int, ok bool) {
	direction := -1
	if up {
		direction = 1
	}
	for n := 1; n <= len(t.values[path]); n++ {
		if other, ok = t.beside(candidate, path, n*direction); ok && in[other] {
			return other, true
		}
	}
	return 0, false
}

// printOf is the same for candidates with the same totals: those make the same of
// every run.
func printOf(seed maphash.Seed, totals []sweep.Totals) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for f := range totals {
		t := &totals[f]
		for _, score := range t.Scores {
			maphash.WriteComparable(&h, score)
		}
		maphash.WriteComparable(&h, [6]int64{int64(t.Runs), int64(t.Exact), int64(t.Faults), int64(t.Successes), t.Iterations, t.Elapsed})
		maphash.WriteComparable(&h, t.PerTask)
		maphash.WriteComparable(&h, t.Least)
		maphash.WriteComparable(&h, t.Most)
	}
	return h.Sum64()
}

// stepped allows what passes the tests on a subset. What makes of every run what was
// recorded loses nothing and lets tighter ones be tested; to be taken, it has to pass
// as well.
func (t *chooser) stepped(ctx context.Context, subset int, c *chosen) func(candidate int) (bool, error) {
	tests := map[int]*tested{}
	var test func(r int) (*tested, error)
	test = func(r int) (*tested, error) {
		if known := tests[r]; known != nil {
			return known, nil
		}
		g, result := &t.steps.rungs[r], &tested{}
		tests[r] = result
		var err error
		if result.loss, err = t.lossOf(ctx, g.candidates[0], subset, 1-g.alpha, false); err != nil {
			return nil, err
		}
		result.passed = result.loss.most <= t.Choose.Number
		result.opens = result.passed || t.print[g.candidates[0]] == t.recordedPrint
		for _, looser := range g.looser {
			if !result.opens {
				break
			}
			before, err := test(looser)
			if err != nil {
				return nil, err
			}
			result.opens, result.passed = before.opens, result.passed && before.opens
		}
		return result, nil
	}
	return func(i int) (bool, error) {
		result, err := test(t.steps.rung[i])
		if err != nil || !result.passed {
			return false, err
		}
		c.loss = result.loss
		return true, nil
	}
}

// tested is what the test of a rung gave.
type tested struct {
	loss   loss
	passed bool // it is shown to lose little
	opens  bool // what is one step tighter may be tested
}
