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
	// room is the size that a small heap grows to.
	room = 16 << 20
	// A heap grows by at most that share of what is in use, in percent, and by at least
	// one of the others.
	most, usual, lean = 400, 60, 25
)

// The first part of it happens before the libraries fill their tables. A program that
// never calls Keep collects a little less often.
var ours = begin()

func begin() bool {
	least.Store(usual)
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return false
	}
	debug.SetGCPercent(most)
	return true
}

var least atomic.Int32

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

// Leanly keeps the garbage of a large heap small until the function that it returns is
// called: lines that are read leave much more behind than their numbers.
func Leanly() (end func()) {
	before := least.Swap(lean)
	return func() { least.Store(before) }
}

func adjust() {
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	percent := growth(now[0].Value.Uint64(), now[1].Value.Uint64()+now[2].Value.Uint64())
	was := int(now[3].Value.Uint64())
	if was < lean || percent > was*9/10 && percent < was*11/10 { // somebody wants less; or it is not worth stopping the world
		return
	}
	debug.SetGCPercent(percent)
}

// growth is by how many percent a heap grows of which so many bytes are in use. Go lets
// it grow by as large a share of its roots, the stacks and globals, as well, which are
// megabytes where hundreds of runs wait for their calls.
func growth(live, roots uint64) int {
	garbage := max(live*uint64(least.Load())/100, room-min(live, room))
	all := max(live+roots, 1)
	return int(max(lean, min(most, (100*garbage+all-1)/all)))
}
