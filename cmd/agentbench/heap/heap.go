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

const (
	// room and leanRoom are the sizes that a small heap and the stacks grow to together.
	room, leanRoom = 22 << 20, 16 << 20
	// A heap grows by at most that share of what is in use, in percent, and by at least
	// one of the others.
	most, usual, lean = 400, 60, 5
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

var leanly atomic.Bool

// Keep decides after each collection, which knows what is in use, when the next one is
// to come.
func Keep() {
	if ours {
		runtime.AddCleanup(new([64]byte), func(struct{}) {
			adjust()
			Keep()
		}, struct{}{})
	}
}

// Leanly keeps the garbage small until the function that it returns is called: lines that
// are read leave much more behind than their numbers.
func Leanly() (end func()) {
	before := leanly.Swap(true)
	if ours {
		adjust()
	}
	return func() { leanly.Store(before) }
}

func adjust() {
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	percent := growth(now[0].Value.Uint64(), now[1].Value.Uint64()+now[2].Value.Uint64(), now[3].Value.Uint64())
	was := int(now[4].Value.Uint64())
	if was < lean || percent > was*9/10 && percent < was*11/10 { // somebody wants less; or it is not worth stopping the world
		return
	}
	debug.SetGCPercent(percent)
}

// growth is by how many percent a heap grows of which so many bytes are in use, beside
// stacks of that size: they are megabytes where hundreds of runs wait for their calls. Go lets
// it grow by as large a share of its roots, what is in use of stacks and globals, as well.
func growth(live, roots, stacks uint64) int {
	least, room := uint64(usual), uint64(room)
	if leanly.Load() {
		least, room = lean, leanRoom
	}
	garbage := max(live*least/100, room-min(live+stacks, room))
	all := max(live+roots, 1)
	return int(max(lean, min(most, (100*garbage+all-1)/all)))
}
