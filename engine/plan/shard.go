package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Shard is one of the equal parts that the tasks of a plan are divided into.
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
		return Shard{}, fmt.Errorf("want 1 to %d shards, not %q", record.MostShards, of)
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("invalid shard %q: the shards of %d are numbered from 1 to %d", number, n, n)
	}
	return Shard{i, n}, nil
}

// Partition is how the tasks of a plan are assigned to shards: whole tasks,
// with all their configurations and trials. It is the same wherever it is made
// of the same tasks, whatever their order.
type Partition struct {
	Of int
	// Hash identifies the ids of the tasks.
	Hash  string
	Tasks []int // how many tasks each shard has, in the order of their numbers

	first []taskKey // the first task of each shard but the first
}

// Part is a shard of a partition.
type Part struct {
	*Partition
	Number int // from 1
}

// has reports whether a task belongs to the part.
func (p *Part) has(task string) bool {
	at, found := slices.BinarySearchFunc(p.first, keyOf(task), taskKey.compare)
	if found {
		at++
	}
	return at == p.Number-1
}

// FewTasksError means that there are fewer tasks than shards.
type FewTasksError struct{ Tasks, Shards int }

func (e *FewTasksError) Error() string {
	return fmt.Sprintf("%d tasks are too few for %d shards: each shard needs one", e.Tasks, e.Shards)
}

// Shard narrows a plan to one of its shards: the tasks are put in the order of a hash
// of their ids and cut into equal parts, so that a new task moves few others.
func (p *Plan) Shard(s Shard, tasks iter.Seq2[*spec.Task, error]) error {
	var keys []taskKey
	for task, err := range p.Selected(tasks) {
		if err != nil {
			return err
		}
		keys = append(keys, keyOf(task.ID))
	}
	if len(keys) < s.Of {
		return &FewTasksError{len(keys), s.Of}
	}
	slices.SortFunc(keys, taskKey.compare)
	h := sha256.New()
	for i := range keys {
		h.Write(keys[i][:])
	}
	all := &Partition{Of: s.Of, Hash: hex.EncodeToString(h.Sum(nil)[:16]), Tasks: make([]int, s.Of)}
	for i := range s.Of {
		from, to := len(keys)*i/s.Of, len(keys)*(i+1)/s.Of
		if i > 0 {
			all.first = append(all.first, keys[from])
		}
		all.Tasks[i] = to - from
	}
	p.Part, p.Tasks = &Part{all, s.Number}, all.Tasks[s.Number-1]
	return nil
}

// Whole is how many tasks all shards have.
func (p *Partition) Whole() (tasks int) {
	for _, n := range p.Tasks {
		tasks += n
	}
	return tasks
}

// taskKey is a hash of the id of a task.
type taskKey [16]byte

func keyOf(task string) taskKey {
	sum := sha256.Sum256([]byte(task))
	return taskKey(sum[:16])
}

func (k taskKey) compare(other taskKey) int { return bytes.Compare(k[:], other[:]) }

// TooSmallError means that a limit leaves nothing for some shard.
type TooSmallError struct {
	What   string
	Shards int
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s cannot be divided among %d shards", e.What, e.Shards)
}

// Budget is the part's share of what the suite may spend, by its share of the
// tasks. The shares of all parts are together the whole. Duration is not divided.
func (p *Part) Budget(whole spec.SuiteBudget) (share spec.SuiteBudget, err error) {
	share = whole
	loads := make([]int64, p.Of)
	for i, n := range p.Tasks {
		loads[i] = int64(n)
	}
	if share.Calls, err = p.share(whole.Calls, loads, fmt.Sprintf("the budget of %d calls", whole.Calls)); err != nil {
		return share, err
	}
	if share.Tokens, err = p.share(whole.Tokens, loads, fmt.Sprintf("the budget of %d tokens", whole.Tokens)); err != nil {
		return share, err
	}
	cost, err := p.share(picoDollars(whole.CostUSD), loads, fmt.Sprintf("the budget of %g USD", whole.CostUSD))
	share.CostUSD = dollarsAtMost(cost)
	return share, err
}

// Rates are a model's limits as one of the shards keeps them, which all call it
// at the same time. They are divided evenly.
func (p *Part) Rates(name string, m spec.Model) (share spec.Model, err error) {
	share = m
	even := slices.Repeat([]int64{1}, p.Of)
	of := func(limit string, whole int64) int64 {
		part, failed := p.share(whole, even, fmt.Sprintf("%s: %d of model %s", limit, whole, name))
		err = cmp.Or(err, failed)
		return part
	}
	share.RPM, share.TPM = of("rpm", m.RPM), of("tpm", m.TPM)
	share.MaxParallel = int(of("max_parallel", int64(m.MaxParallel)))
	return share, err
}

// share is the part's share of a limit, of which 0 means none.
func (p *Part) share(whole int64, loads []int64, what string) (int64, error) {
	if whole == 0 {
		return 0, nil
	}
	shares := divide(whole, loads)
	if slices.Min(shares) == 0 { // in whatever shard: all of them refuse
		return 0, &TooSmallError{what, p.Of}
	}
	return shares[p.Number-1], nil
}

// divide parts a whole in the proportion of loads, none of which is below zero
// and not all zero. What rounding leaves over goes to the largest remainders,
// among equals to the first.
func divide(whole int64, loads []int64) []int64 {
	var all uint64
	for _, load := range loads {
		all += uint64(load)
	}
	shares, remainders, left := make([]int64, len(loads)), make([]uint64, len(loads)), whole
	order := make([]int, len(loads))
	for i, load := range loads {
		high, low := bits.Mul64(uint64(whole), uint64(load))
		share, remainder := bits.Div64(high, low, all)
		shares[i], remainders[i], order[i] = int64(share), remainder, i
		left -= int64(share)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// picoDollars is an amount as the suite's budget keeps it.
func picoDollars(usd float64) int64 {
	if usd <= 0 {
		return 0
	}
	return max(1, int64(min(math.Round(usd*float64(record.USD)), math.MaxInt64/2)))
}

// dollarsAtMost is an amount in USD that is, as the budget reads it, no more.
func dollarsAtMost(pico int64) float64 {
	usd := record.Money(pico).Dollars()
	for picoDollars(usd) > pico {
		usd = math.Nextafter(usd, 0)
	}
	return usd
}
