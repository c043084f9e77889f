package browse

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/agentbench/agentbench/engine/record"
)

// mostPicked is how many runs may have their texts in a page.
const mostPicked = 5000

// picked are the runs whose texts a page has first: those with a flip, then those that
// went wrong, then a sample of the others. Within each the order is random, and the same
// for the same seed.
func (t *table) picked() []int {
	type ticket struct {
		rank, at int
		drawn    uint64
	}
	tickets := make([]ticket, 0, len(t.rows))
	for i := range t.rows {
		r := &t.rows[i]
		if t.sources.Sides[r.side].Baseline() {
			continue // it has no texts
		}
		tickets = append(tickets, ticket{t.rank(r), i, t.drawn(r)})
	}
	slices.SortFunc(tickets, func(a, b ticket) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.drawn, b.drawn), cmp.Compare(a.at, b.at))
	})
	picked := make([]int, 0, min(len(tickets), mostPicked))
	for _, ticket := range tickets[:min(len(tickets), mostPicked)] {
		picked = append(picked, ticket.at)
	}
	return picked
}

// rank is 0 for a run with a flip, 1 for one that went wrong, 2 for others.
func (t *table) rank(r *row) int {
	const success = 1
	switch {
	case t.flip(r) != "":
		return 0
	case r.status != string(record.Completed), len(t.scorers) > 0 && r.scored(0) < success:
		return 1
	}
	return 2
}

func (t *table) drawn(r *row) uint64 {
	seed := t.sources.Sides[r.side].Manifest.Seed
	sum := sha256.Sum256([]byte(strconv.FormatUint(uint64(seed), 10) + " " + strconv.Itoa(r.side) + " " + r.id))
	return binary.BigEndian.Uint64(sum[:])
}
