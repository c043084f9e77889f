// Package heap decides how large the heap grows before garbage is collected. Go lets it
// double, from 4 MiB on: a start collects what the libraries make of their tables, and a
// command that needs little collects dozens of times. Here a small heap grows to one
// size whatever is in use, and a larger one by a share. GOGC or GOMEMLIMIT in the
// environment switch that off.
//
// It is no stable API.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// most is the largest share of what is in use that a heap grows by, in percent, and fewest the smallest.
const most, fewest = 400, 5

// Garbage is how much of it there may be: the largest of three amounts.
type Garbage struct {
	share uint64 // of what is in use, in percent
	room  uint64 // what a small heap and the stacks grow to together
	bytes uint64 // of a heap that has as much in use
}

var (
	usual = Garbage{share: 60, room: 22 << 20}
	// Reading leaves hardly any garbage: lines are read into memory that is used again.
	Reading = Garbage{share: fewest, room: 16 << 20}
	// Replaying leaves much: with less room, most of the time would go into collecting it.
	Replaying = Garbage{share: 10, room: 16 << 20, bytes: 56 << 20}
)

// The first part of it happens before the libraries fill their tables. A program that
// never calls Keep collects a little less often.
var ours = begin()

func begin() bool {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return false
	}
	debug.SetGCPercent(most)
	return true
}

// keeping is set once Keep was called. Without it nothing would raise the limit again that Leanly lowers.
var keeping atomic.Bool

// lean is what there may be instead of the usual.
var lean atomic.Pointer[Garbage]

// Keep decides after each collection, which knows what is in use, when the next one is
// to come.
func Keep() {
	if ours {
		keeping.Store(true)
		runtime.AddCleanup(new([64]byte), func(struct{}) {
			adjust()
			Keep()
		}, struct{}{})
	}
}

// Leanly keeps the garbage small until the function that it returns is called, in a program that calls Keep.
func Leanly(garbage Garbage) (end func()) {
	before := lean.Swap(&garbage)
	if keeping.Load() {
		adjust()
	}
	return func() { lean.Store(before) }
}

func adjust() {
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	percent := growth(now[0].Value.Uint64(), now[1].Value.Uint64()+now[2].Value.Uint64(), now[3].Value.Uint64())
	was := int(now[4].Value.Uint64())
	if was < fewest || percent > was*9/10 && percent < was*11/10 { // somebody wants less; or it is not worth stopping the world
		return
	}
	debug.SetGCPercent(percent)
}

// growth is by how many percent a heap grows of which so many bytes are in use, beside
// stacks of that size: they are megabytes where hundreds of runs wait for their calls. Go lets
// it grow by as large a share of its roots, what is in use of stacks and globals, as well.
func growth(live, roots, stacks uint64) int {
	may := usual
	if leanly := lean.Load(); leanly != nil {
		may = *leanly
	}
	garbage := max(live*may.share/100, may.room-min(live+stacks, may.room), min(live, may.bytes))
	all := max(live+roots, 1)
	return int(max(fewest, min(most, (100*garbage+all-1)/all)))
}
