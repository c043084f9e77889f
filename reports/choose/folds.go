package choose

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// DefaultFolds is into how many parts the tasks are put unless one is told.
const DefaultFolds = 5

// group is what tasks share a fold by.
type group struct {
	key    string
	number int64 // the fold, before it is taken mod k
	whole  bool  // there is a number
}

// foldsOf are the folds of the runs, from 0. Groups without a number are dealt out
// in the order of their hashes with the seed, so that folds are alike in size.
// Fewer than two folds are none.
func foldsOf(ctx context.Context, runs []sweep.Run, k int, by *Term, seed uint64) (fold []int, folds int, err error) {
	groups, err := groupsOf(ctx, runs, by)
	if err != nil {
		return nil, 0, err
	}
	dealt := deal(groups, k, seed)
	fold = make([]int, len(runs))
	for i, g := range groups {
		fold[i] = dealt[g.key]
		if g.whole {
			fold[i] = int(((g.number % int64(k)) + int64(k)) % int64(k))
		}
	}
	folds = renumber(fold)
	return fold, folds, nil
}

// groupsOf are the groups of the runs' tasks.
func groupsOf(ctx context.Context, runs []sweep.Run, by *Term) (groups []group, err error) {
	groups = make([]group, len(runs))
	known := map[string]group{}
	for i := range runs {
		task := runs[i].Run.Task
		g, ok := known[task]
		if !ok {
			if g, err = groupOf(ctx, &runs[i], by); err != nil {
				return nil, err
			}
			known[task] = g
		}
		groups[i] = g
	}
	return groups, nil
}

// groupOf is the group of a run's task.
func groupOf(ctx context.Context, run *sweep.Run, by *Term) (group, error) {
	alone := group{key: "task " + run.Run.Task}
	if by == nil {
		if run.Run.Cluster != "" {
			return group{key: "cluster " + run.Run.Cluster}, nil
		}
		return alone, nil
	}
	if run.Task == nil {
		return group{}, fmt.Errorf("the folds read the task, and the recording does not have task %q", run.Run.Task)
	}
	value, err := by.Value(ctx, ofTask{run.Task})
	if err != nil {
		return group{}, fmt.Errorf("the fold of task %q: %w", run.Run.Task, err)
	}
	switch v := value.(type) {
	case nil:
		return alone, nil
	case int64:
		return numbered(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return numbered(int64(v)), nil
		}
	}
	text, err := expr.AppendJSON([]byte("value "), value)
	return group{key: string(text)}, err
}

// numbered is the group of a whole number.
func numbered(number int64) group {
	return group{key: fmt.Sprintf("number %d", number), number: number, whole: true}
}

// ofTask is what expressions over a task alone see.
type ofTask struct{ *spec.Task }

// Lookup implements [expr.Scope].
func (t ofTask) Lookup(name string) (any, bool) {
	if name != "task" {
		return nil, false
	}
	return spec.TaskFields{Task: t.Task}, true
}

// deal gives each group without a number its fold.
func deal(groups []group, k int, seed uint64) map[string]int {
	dealt := map[string]int{}
	for _, g := range groups {
		if !g.whole {
			dealt[g.key] = 0
		}
	}
	for i, key := range shuffled(dealt, seed) {
		dealt[key] = i % k
	}
	return dealt
}

// shuffled are the keys in an order that only they and the seed decide.
func shuffled[T any](keys map[string]T, seed uint64) []string {
	type hashed struct {
		key string
		sum [sha256.Size]byte
	}
	var all []hashed
	for key := range keys {
		all = append(all, hashed{key, sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), key...))})
	}
	slices.SortFunc(all, func(a, b hashed) int {
		return cmp.Or(bytes.Compare(a.sum[:], b.sum[:]), cmp.Compare(a.key, b.key))
	})
	order := make([]string, len(all))
	for i := range all {
		order[i] = all[i].key
	}
	return order
}

// renumber leaves out folds without runs, and counts those that are left.
func renumber(fold []int) (folds int) {
	used := slices.Compact(slices.Sorted(slices.Values(fold)))
	for i, f := range fold {
		fold[i], _ = slices.BinarySearch(used, f)
	}
	return len(used)
}
