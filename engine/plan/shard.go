package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// Shard is one of the equal parts that the tasks of a plan are dealt into.
type Shard struct{ Number, Of int } // from 1

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// ParseShard reads "2/3".
func ParseShard(text string) (Shard, error) {
	number, of, parted := strings.Cut(text, "/")
	if !parted {
		return Shard{}, errors.New("want i/n, for example 1/3")
	}
	return ShardOf(number, of)
}

// ShardOf reads a number from 1 and a count.
func ShardOf(number, of string) (Shard, error) {
	n, err := strconv.Atoi(of)
	if err != nil || n < 1 || n > record.MostShards {
		return Shard{}, fmt.Errorf("there can be 1 to %d shards, not %q", record.MostShards, of)
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("the shards of %d are numbered from 1 to %d, and %q is none", n, n, number)
	}
	return Shard{i, n}, nil
}
