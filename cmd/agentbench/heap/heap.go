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
)

const (
	// room is the size that a small heap grows to.
	room = 16 << 20
	// A heap grows by at least that share of what is in use, and by at most, in percent.
	least, most = 60, 400
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

func adjust() {
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	percent, was := growth(now[0].Value.Uint64()), int(now[1].Value.Uint64())
	if was < least || percent > was*9/10 && percent < was*11/10 { // somebody wants less; or it is not worth stopping the world
		return
	}
	debug.SetGCPercent(percent)
}

// growth is by how many percent a heap grows of which so many bytes are in use.
func growth(live uint64) int {
	return min(most, max(least, 100*(room-int(live))/int(max(live, 1))))
}
