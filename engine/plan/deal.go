package plan

import (
	"bytes"
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/agentbench/agentbench/spec"
)

// How tasks are dealt to shards.
const (
	ByHash    = "hash"
	ByWeights = "weights"
)

// Deal is how the tasks of a plan are spread over shards. Whole tasks are dealt,
// with all their configurations and trials. It is the same wherever it is made
// of the same tasks and weights, whatever their order.
type Deal struct {
	Of int
	By string
	// Hash identifies what was dealt: the ids of the tasks and the weights used.
	Hash  string
	Tasks []int // how many tasks each shard has, in the order of their numbers
	// Known is how many of the tasks have a weight of their own.
	Known int

	loads []int64
	cuts  []taskKey         // by hash: the first task of each shard but the first
	place map[taskKey]int32 // by weights: from 0
}

// Part is a shard of a deal.
type Part struct {
	*Deal
	Number int // from 1
}

// has says whether a task belongs to the part.
func (p *Part) has(task string) bool { return p.of(keyOf(task)) == p.Number-1 }

// ErrNoWeight says that weights are known of none of the tasks.
var ErrNoWeight = errors.New("none of the tasks is known there")

// FewTasksError says that there are fewer tasks than shards.
type FewTasksError struct{ Tasks, Shards int }

func (e *FewTasksError) Error() string {
	return fmt.Sprintf("%d tasks cannot be dealt to %d shards: each needs one", e.Tasks, e.Shards)
}

// Shard narrows a plan to one of its shards. Weights are the known durations of
// tasks: the longest task goes first, each to the shard with the least so far,
// and a task that is not known counts as the median of those that are. Without
// weights the tasks are put in the order of a hash of their ids and cut into
// equal parts, so that a new task moves few others.
func (p *Plan) Shard(s Shard, tasks iter.Seq2[*spec.Task, error], weights map[string]time.Duration) error {
	all, known, err := p.weighed(tasks, weights)
	switch {
	case err != nil:
		return err
	case len(all) < s.Of:
		return &FewTasksError{len(all), s.Of}
	case weights != nil && known == 0:
		return ErrNoWeight
	}
	d := &Deal{Of: s.Of, By: ByHash, Known: known, Hash: hashOf(all), Tasks: make([]int, s.Of), loads: make([]int64, s.Of)}
	if weights == nil {
		d.cut(all)
	} else {
		d.By = ByWeights
		d.spread(all)
	}
	p.Part, p.Tasks = &Part{d, s.Number}, d.Tasks[s.Number-1]
	return nil
}

// Whole is how many tasks all shards have.
func (d *Deal) Whole() (tasks int) {
	for _, n := range d.Tasks {
		tasks += n
	}
	return tasks
}

// taskKey stands for the id of a task.
type taskKey [16]byte

func keyOf(task string) taskKey {
	sum := sha256.Sum256([]byte(task))
	return taskKey(sum[:16])
}

func (k taskKey) compare(other taskKey) int { return bytes.Compare(k[:], other[:]) }

// weighed is a task that is to be dealt.
type weighed struct {
	key    taskKey
	weight int64 // in microseconds where weights are known
}

const unknownWeight = 0

// weighed are the tasks of the plan in the order of their keys. Without weights
// each weighs 1.
func (p *Plan) weighed(tasks iter.Seq2[*spec.Task, error], weights map[string]time.Duration) (all []weighed, known int, err error) {
	for task, err := range p.selected(tasks) {
		if err != nil {
			return nil, 0, err
		}
		w := weighed{key: keyOf(task.ID), weight: 1}
		if weights != nil {
			w.weight = unknownWeight
			if weight, ok := weights[task.ID]; ok {
				w.weight = max(1, weight.Microseconds())
				known++
			}
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b weighed) int { return a.key.compare(b.key) })
	fillIn(all, known)
	return all, known, nil
}

// fillIn gives tasks without a weight the median of the others.
func fillIn(all []weighed, known int) {
	if known == 0 {
		return
	}
	weights := make([]int64, 0, known)
	for i := range all {
		if all[i].weight != unknownWeight {
			weights = append(weights, all[i].weight)
		}
	}
	slices.Sort(weights)
	low, high := weights[(known-1)/2], weights[known/2]
	for i := range all {
		if all[i].weight == unknownWeight {
			all[i].weight = low + (high-low)/2
		}
	}
}

func hashOf(all []weighed) string {
	h := sha256.New()
	for i := range all {
		h.Write(all[i].key[:])
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(all[i].weight)))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// cut gives each shard the next of the tasks in the order of their keys.
func (d *Deal) cut(all []weighed) {
	for i := range d.Of {
		from, to := len(all)*i/d.Of, len(all)*(i+1)/d.Of
		if i > 0 {
			d.cuts = append(d.cuts, all[from].key)
		}
		d.Tasks[i], d.loads[i] = to-from, int64(to-from)
	}
}

// spread gives each task, the longest first, to the shard that has the least.
func (d *Deal) spread(all []weighed) {
	d.place = make(map[taskKey]int32, len(all))
	slices.SortStableFunc(all, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	least := &leastLoaded{d, make([]int32, d.Of)}
	for s := range least.shards {
		least.shards[s] = int32(s)
	}
	for i := range all {
		s := least.shards[0]
		d.place[all[i].key] = s
		d.loads[s] += all[i].weight
		d.Tasks[s]++
		heap.Fix(least, 0)
	}
}

// leastLoaded is a heap of the shards, the one with the least to do on top.
type leastLoaded struct {
	*Deal
	shards []int32
}

func (h *leastLoaded) Len() int      { return len(h.shards) }
func (h *leastLoaded) Swap(i, j int) { h.shards[i], h.shards[j] = h.shards[j], h.shards[i] }
func (h *leastLoaded) Push(any)      {} // no shard comes or goes
func (h *leastLoaded) Pop() any      { return nil }
func (h *leastLoaded) Less(i, j int) bool {
	a, b := h.shards[i], h.shards[j]
	return cmp.Or(cmp.Compare(h.loads[a], h.loads[b]), cmp.Compare(h.Tasks[a], h.Tasks[b]), cmp.Compare(a, b)) < 0
}

// of is the shard of a task, from 0.
func (d *Deal) of(key taskKey) int {
	if d.By == ByWeights {
		return int(d.place[key])
	}
	at, found := slices.BinarySearchFunc(d.cuts, key, taskKey.compare)
	if found {
		at++
	}
	return at
}
