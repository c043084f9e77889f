package reports

import (
	"hash/maphash"
	"math/bits"
)

// index numbers ids as they come and finds the numbers again, by hashes of the
// ids. It takes half the memory of a map, which is a tenth of a report of a
// million runs. At a million ids the chance that any two share a hash is 3 in 100
// million.
type index struct {
	seed   maphash.Seed
	hashes []uint64 // of the ids, by number
	// slots hold numbers + 1, 0 where they are free. An id is in the slot that its
	// hash says, or in the first that was free behind it, the last slot's next
	// being the first. There are a power of two of them.
	slots []int32
}

func newIndex(expected int) *index {
	x := &index{seed: maphash.MakeSeed(), hashes: make([]uint64, 0, expected)}
	x.resize(1 << bits.Len(uint(max(8, expected*4/3))))
	return x
}

// find is the number of an id, -1 where it has none.
func (x *index) find(id string) int32 {
	return x.slots[x.slot(maphash.String(x.seed, id))] - 1
}

// add numbers an id that has no number.
func (x *index) add(id string) {
	if 4*(len(x.hashes)+1) > 3*len(x.slots) {
		x.resize(2 * len(x.slots))
	}
	hash := maphash.String(x.seed, id)
	x.hashes = append(x.hashes, hash)
	x.slots[x.slot(hash)] = int32(len(x.hashes))
}

// slot is the one that holds a hash's number, else the free one for it. A quarter
// of the slots are free, so that it ends.
func (x *index) slot(hash uint64) int {
	last := uint64(len(x.slots) - 1)
	at := hash & last
	for ; x.slots[at] != 0 && x.hashes[x.slots[at]-1] != hash; at = (at + 1) & last {
	}
	return int(at)
}

func (x *index) resize(slots int) {
	x.slots = make([]int32, slots)
	for number, hash := range x.hashes {
		x.slots[x.slot(hash)] = int32(number + 1)
	}
}
