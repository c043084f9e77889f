package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// candidate is a task that may be drawn.
type candidate struct {
	task    *Task
	stratum string
	lot     uint64 // the lower, the earlier
}

// The draws for which candidates get a lot; one says nothing of the other.
const (
	forSample = iota + 1
	forShuffle
)

// byLot reports whether which tasks are taken, or their order, is drawn.
func (t *Tasks) byLot() bool { return t.Sample != nil || t.isShuffled() }

func (t *Tasks) isShuffled() bool { return t.Shuffle != nil && t.Shuffle.On }

// draw takes the tasks of a suite from all that there are: sample, shuffle and limit, in this order. The seed is the suite's.
func (t *Tasks) draw(all []candidate, seed int64) (tasks []*Task, warnings source.Faults) {
	if t.Sample != nil {
		all, warnings = t.Sample.draw(all, seed)
	}
	if t.isShuffled() {
		all = shuffled(all, forShuffle, orSeed(t.Shuffle.Seed, seed))
	}
	if t.Limit > 0 && len(all) > t.Limit {
		all = all[:t.Limit]
	}
	for _, c := range all {
		tasks = append(tasks, c.task)
	}
	return tasks, warnings
}

func orSeed(own *int64, seed int64) int64 {
	if own != nil {
		return *own
	}
	return seed
}

// shuffled are the candidates in an order that depends on their ids and the seed alone.
func shuffled(all []candidate, purpose uint64, seed int64) []candidate {
	salt := mix(uint64(seed) ^ mix(purpose))
	all = slices.Clone(all)
	for i := range all {
		sum := sha256.Sum256([]byte(all[i].task.ID))
		all[i].lot = mix(binary.BigEndian.Uint64(sum[:8]) ^ salt)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.lot, b.lot) })
	return all
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// stratum is the name of what the task is drawn from; "" for all tasks where nothing tells them apart.
func (s *Sample) stratum(scope selectionScope) (string, error) {
	if s == nil || s.By == nil || s.By.Program == nil {
		return "", nil
	}
	value, err := s.By.Value(background, scope)
	if err != nil {
		return "", mappingFault(s.By, err, scope.place())
	}
	name, ok := ClusterName(value)
	if !ok {
		return "", s.By.Node.Fault("for example task.metadata.topic", "this gives %s, not text, a number or a truth value (in %s)", listOrObject(value), scope.place())
	}
	return name, nil
}

// draw takes from each stratum those with the lowest lots, and keeps the order of all.
func (s *Sample) draw(all []candidate, seed int64) ([]candidate, source.Faults) {
	sizes := map[string]int{}
	for _, c := range all {
		sizes[c.stratum]++
	}
	quotas := s.quotas(sizes, len(all))
	left, taken := maps.Clone(quotas), map[*Task]bool{}
	for _, c := range shuffled(all, forSample, orSeed(s.Seed, seed)) {
		if left[c.stratum] > 0 {
			left[c.stratum]--
			taken[c.task] = true
		}
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !taken[c.task] }), s.warnings(sizes, quotas)
}

// quotas are how many tasks are drawn from each stratum: the same of each, or its share of all that are drawn, in which
// those with the largest remainders are rounded up.
func (s *Sample) quotas(sizes map[string]int, all int) map[string]int {
	names, quotas := slices.Sorted(maps.Keys(sizes)), map[string]int{}
	left := int(math.Round(s.Share * float64(all)))
	for _, name := range names {
		quotas[name] = s.N
		if s.N == 0 {
			quotas[name] = int(s.Share * float64(sizes[name]))
			left -= quotas[name]
		}
	}
	if s.N > 0 {
		return quotas
	}
	rest := func(name string) float64 { return s.Share*float64(sizes[name]) - float64(quotas[name]) }
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rest(b), rest(a)) })
	for _, name := range names[:max(0, min(left, len(names)))] {
		quotas[name]++
	}
	return quotas
}

// maxStrataTold are warned of; of many strata most are small.
const maxStrataTold = 5

// warnings tell of strata that are too small for what is drawn from them.
func (s *Sample) warnings(sizes, quotas map[string]int) (warnings source.Faults) {
	small := slices.DeleteFunc(slices.Sorted(maps.Keys(sizes)), func(name string) bool { return quotas[name] > 0 && sizes[name] >= s.N })
	for i, name := range small {
		if i == maxStrataTold {
			return append(warnings, s.Node.Fault("", "and so have %d other strata", len(small)-i).AsWarning())
		}
		of := "there are"
		if s.By != nil {
			of = fmt.Sprintf("the stratum %q has", shorten(name))
		}
		f := s.Node.Fault("", "%s too few tasks for a share of %v: %d, of which none is drawn", of, s.Share, sizes[name])
		if s.N > 0 {
			f = s.Node.Fault("", "%s %d of the %d tasks that are to be drawn", of, sizes[name], s.N)
		}
		warnings = append(warnings, f.AsWarning())
	}
	return warnings
}
