package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shards say which shards of a suite a result folder holds. They are volatile:
// results are the same whatever the partition.
type Shards struct {
	Of int `json:"of"` // how many parts the tasks were divided into
	// Partition identifies the tasks that were divided. Only shards of one partition belong together.
	Partition string `json:"partition"`
	// Tasks are those of all shards.
	Tasks int     `json:"tasks"`
	Held  []Shard `json:"held"` // by number
}

// Shard is what was expected of a shard, and what was done.
type Shard struct {
	Number int   `json:"number"` // from 1
	Tasks  int   `json:"tasks"`
	Runs   int   `json:"runs"`
	Done   int   `json:"done"` // runs that count, or had a fault
	Status State `json:"status"`
}

// MostShards bounds how many parts a suite may be divided into.
const MostShards = 10_000

// valid reports whether shards are numbered in their order, and there is one.
func (s *Shards) valid() bool {
	last := 0
	for i := range s.Held {
		if s.Held[i].Number <= last {
			return false
		}
		last = s.Held[i].Number
	}
	return last > 0 && last <= s.Of && s.Of <= MostShards
}

// Unfinished reports whether some of the shard's runs are left to do.
func (s *Shard) Unfinished() bool { return s.Status != StateComplete }

// Missing are the numbers of the shards that the folder does not hold.
func (s *Shards) Missing() (numbers []int) {
	for number := 1; number <= s.Of; number++ {
		if !slices.ContainsFunc(s.Held, func(h Shard) bool { return h.Number == number }) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Whole reports whether all shards are there and done; nil is a suite without shards.
func (s *Shards) Whole() bool {
	return s == nil || len(s.Held) == s.Of && !slices.ContainsFunc(s.Held, func(h Shard) bool { return h.Unfinished() })
}

// Joined are both, which hold different shards of one partition.
func (s *Shards) Joined(other *Shards) *Shards {
	joined := *s
	joined.Held = slices.Concat(s.Held, other.Held)
	slices.SortFunc(joined.Held, func(a, b Shard) int { return cmp.Compare(a.Number, b.Number) })
	return &joined
}

// Incomplete says in words what of the suite is not there; "" where all is.
func (s *Shards) Incomplete() string {
	if s.Whole() {
		return ""
	}
	var parts []string
	if len(s.Held) < s.Of {
		numbers, tasks := make([]int, len(s.Held)), 0
		for i := range s.Held {
			numbers[i] = s.Held[i].Number
			tasks += s.Held[i].Tasks
		}
		parts = append(parts, fmt.Sprintf("only %s of %d, with %d of %d tasks", ShardNumbers(numbers), s.Of, tasks, s.Tasks))
	}
	for i := range s.Held {
		if h := &s.Held[i]; h.Unfinished() {
			parts = append(parts, fmt.Sprintf("shard %d did %d of %d runs", h.Number, h.Done, h.Runs))
		}
	}
	return strings.Join(parts, "; ")
}

// ShardNumbers names shards: shard 2, shards 1, 3 and 4, shards 1, 2, 3 and 96 more.
func ShardNumbers(numbers []int) string {
	const most = 8
	if len(numbers) == 1 {
		return fmt.Sprintf("shard %d", numbers[0])
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most], fmt.Sprintf("%d more", more))
	}
	last := len(texts) - 1
	return "shards " + strings.Join(texts[:last], ", ") + " and " + texts[last]
}
