package plan

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// TooSmallError says that a limit leaves nothing for some shard.
type TooSmallError struct {
	What   string
	Shards int
}

func (e *TooSmallError) Error() string {
	return fmt.Sprintf("%s cannot be divided among %d shards", e.What, e.Shards)
}

// Budget is the part's share of what the suite may spend, by how much there is
// to do. The shares of all parts are together the whole. Duration is not divided.
func (p *Part) Budget(whole spec.SuiteBudget) (share spec.SuiteBudget, err error) {
	share = whole
	if share.Calls, err = p.share(whole.Calls, p.loads, fmt.Sprintf("the budget of %d calls", whole.Calls)); err != nil {
		return share, err
	}
	if share.Tokens, err = p.share(whole.Tokens, p.loads, fmt.Sprintf("the budget of %d tokens", whole.Tokens)); err != nil {
		return share, err
	}
	cost, err := p.share(picoDollars(whole.CostUSD), p.loads, fmt.Sprintf("the budget of %g USD", whole.CostUSD))
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
