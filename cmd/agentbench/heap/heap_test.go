package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// A small heap grows to one size, a larger one by a share.
func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: most, 1 << 20: most, 8 << 20: 175, 11 << 20: 100, 14 << 20: 60, 16 << 20: 60, 1 << 40: 60} {
		if got := growth(live, 0, 0); got != want {
			t.Errorf("%d bytes in use: %d%%, want %d%%", live, got, want)
		}
	}
	for _, c := range []struct {
		roots, stacks uint64
		want          int
	}{{0, 6 << 20, 100}, {2 << 20, 6 << 20, 80}, {8 << 20, 6 << 20, 50}, {0, 1 << 30, 60}, {1 << 30, 1 << 30, fewest}} {
		if got := growth(8<<20, c.roots, c.stacks); got != c.want {
			t.Errorf("8 MiB in use, %d bytes of roots and %d of stacks: %d%%, want %d%%", c.roots, c.stacks, got, c.want)
		}
	}
	for garbage, wants := range map[*Garbage]map[uint64]int{
		&Reading:   {1 << 20: most, 8 << 20: 100, 16 << 20: 5, 1 << 40: 5},
		&Replaying: {1 << 20: most, 8 << 20: 100, 16 << 20: 100, 56 << 20: 100, 112 << 20: 50, 720 << 20: 10, 1 << 40: 10},
	} {
		end := Leanly(*garbage)
		for live, want := range wants {
			if got := growth(live, 0, 0); got != want {
				t.Errorf("%d bytes in use, of which %v may be garbage: %d%%, want %d%%", live, *garbage, got, want)
			}
		}
		end()
	}
	if got := growth(1<<40, 0, 0); got != 60 {
		t.Errorf("afterwards it grows by %d%%", got)
	}
}

func percent() int {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return int(now[0].Value.Uint64())
}

// Each collection decides about the next, unless somebody wants less garbage.
func TestKeep(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(fewest - 1))
	kept := make([]byte, 64<<20)
	defer runtime.KeepAlive(kept)
	runtime.GC()
	if adjust(); percent() != fewest-1 {
		t.Errorf("somebody wants %d%%, and it grows by %d%%", fewest-1, percent())
	}
	if !ours {
		t.Skip("GOGC or GOMEMLIMIT is set")
	}
	debug.SetGCPercent(most)
	if !keeping.Load() {
		if Leanly(Reading)(); percent() != most {
			t.Errorf("nothing decides about the next collection, and it grows by %d%%", percent())
		}
	}
	Keep()
	for deadline := time.Now().Add(10 * time.Second); percent() > 60; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("64 MiB are in use, and it grows by %d%%", percent())
		}
	}
}
