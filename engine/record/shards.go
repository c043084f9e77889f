package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Shards say which shards of a suite a result folder holds. They are volatile:
// results are the same however their runs were dealt.
type Shards struct {
	Of int `json:"of"` // how many the tasks were dealt into
	// By is hash or weights; Deal identifies the tasks that were dealt, and the
	// weights. Only shards of one deal belong together.
	By   string `json:"by"`
	Deal string `json:"deal"`
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

// MostShards bounds how many a suite may be dealt into.
const MostShards = 10_000

// valid says that shards are numbered in their order, and that there is one.
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

// Unfinished says that the shard is not done to its end.
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

// Whole says that all shards are there and done; nil is a suite that was not
// dealt.
func (s *Shards) Whole() bool {
	return s == nil || len(s.Held) == s.Of && !slices.ContainsFunc(s.Held, func(h Shard) bool { return h.Unfinished() })
}

// Joined are both, which hold different shards of one deal.
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
		texts[i] = fmt.Sprint(n)
	}
	last := len(texts) - 1
	if len(texts) > most {
		texts, last = append(texts[:most:most], fmt.Sprintf("%d more", len(texts)-most)), most
	}
	return "shards " + strings.Join(texts[:last], ", ") + " and " + texts[last]
}
