package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
)

// drawn says which of the tasks are taken where that is drawn by lot, and in which order. It keeps where they stand,
// not what they say: 32 bytes of each.
type drawn struct {
	lots  []lot
	files []*dataFile
	shelf shelf
}

// lastDrawn is what was drawn last. Whoever reads tasks goes on with what was drawn when it began.
type lastDrawn struct {
	mu  sync.Mutex
	now *drawn // nil: nothing was drawn yet
}

func (l *lastDrawn) get() *drawn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *lastDrawn) set(d *drawn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = d
}

// lot is a task that may be taken.
type lot struct {
	key     uint64 // of its id
	at      int64  // the byte that its row begins at, in a file that is streamed
	n       int32  // the number of its row; of an inline task its own
	file    int32  // -1: it is inline
	number  int32  // among all that where lets pass
	stratum int32
}

// keyOf stands for an id, on every platform the same.
func keyOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:8])
}

// What lots are drawn for: one does not tell of the other.
const (
	forSample = iota + 1
	forShuffle
)

// lottery puts lots in an order.
type lottery struct{ salt uint64 }

func newLottery(seed int64, purpose uint64) lottery { return lottery{mix(uint64(seed) ^ mix(purpose))} }

func (l lottery) compare(a, b *lot) int {
	return cmp.Or(cmp.Compare(mix(a.key^l.salt), mix(b.key^l.salt)), cmp.Compare(a.number, b.number))
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// byLot says that which tasks are taken, or their order, is drawn.
func (t *Tasks) byLot() bool { return t.Sample != nil || t.isShuffled() }

func (t *Tasks) isShuffled() bool { return t.Shuffle != nil && t.Shuffle.On }

// draw is what is drawn from the tasks of a suite while they are read.
type draw struct {
	tasks   *Tasks
	seed    int64 // the suite's
	lots    []lot
	files   []*dataFile
	strata  map[string]*stratum
	size    int // tasks so far
	nextCut int
}

// stratum is a part of the tasks that a sample is drawn from.
type stratum struct {
	name                string
	number, size, taken int
}

func newDraw(s *Suite) *draw {
	return &draw{tasks: &s.Tasks, seed: s.Seed, strata: map[string]*stratum{}, nextCut: 4096}
}

// put takes up a task.
func (d *draw) put(placed placedTask) error {
	of, err := d.stratumOf(placed)
	if err != nil {
		return err
	}
	l := lot{key: keyOf(placed.task.ID), at: placed.row.at, n: int32(placed.row.n), number: int32(d.size), file: -1, stratum: int32(of.number)}
	if file := placed.row.dataFile; file != nil {
		if len(d.files) == 0 || d.files[len(d.files)-1] != file {
			d.files = append(d.files, file)
		}
		l.file = int32(len(d.files) - 1)
	}
	of.size++
	d.size++
	d.lots = append(d.lots, l)
	if d.prunes() && len(d.lots) >= d.nextCut {
		d.cut(false)
		d.nextCut = max(4096, 2*len(d.lots))
	}
	return nil
}

func (d *draw) stratumOf(placed placedTask) (*stratum, error) {
	name := ""
	if d.tasks.Sample != nil {
		var err error
		if name, err = d.tasks.Sample.stratum(placed); err != nil {
			return nil, err
		}
	}
	of := d.strata[name]
	if of == nil {
		of = &stratum{name: name, number: len(d.strata)}
		d.strata[name] = of
	}
	return of, nil
}

// prunes says that lots can be left away before the end.
func (d *draw) prunes() bool {
	if d.tasks.Sample != nil {
		return d.tasks.Sample.N > 0
	}
	return d.tasks.Limit > 0
}

// keys are those of all lots.
func (d *draw) keys() []uint64 {
	keys := make([]uint64, len(d.lots))
	for i := range d.lots {
		keys[i] = d.lots[i].key
	}
	return keys
}

// cut leaves the lots away that are not taken whatever comes after them; in the end, all that are not taken.
func (d *draw) cut(end bool) {
	if d.tasks.Sample != nil {
		d.cutSample(end)
	}
	if end || d.tasks.Sample == nil {
		d.order()
	}
}

// order puts the lots in the order in which they are run, and cuts them to the limit.
func (d *draw) order() {
	shuffled := newLottery(d.shuffleSeed(), forShuffle)
	slices.SortFunc(d.lots, func(a, b lot) int {
		if d.tasks.isShuffled() {
			return shuffled.compare(&a, &b)
		}
		return cmp.Compare(a.number, b.number)
	})
	if limit := d.tasks.Limit; limit > 0 && len(d.lots) > limit {
		d.lots = slices.Clip(d.lots[:limit])
	}
}

func (d *draw) shuffleSeed() int64 {
	if s := d.tasks.Shuffle; s != nil && s.Seed != nil {
		return *s.Seed
	}
	return d.seed
}
