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
	for live, want := range map[uint64]int{0: most, 1 << 20: most, 8 << 20: 175, 11 << 20: 100, 14 << 20: usual, 16 << 20: usual, 1 << 40: usual} {
		if got := growth(live, 0, 0); got != want {
			t.Errorf("%d bytes in use: %d%%, want %d%%", live, got, want)
		}
	}
	for _, c := range []struct {
		roots, stacks uint64
		want          int
	}{{0, 6 << 20, 100}, {2 << 20, 6 << 20, 80}, {8 << 20, 6 << 20, 50}, {0, 1 << 30, usual}, {1 << 30, 1 << 30, lean}} {
		if got := growth(8<<20, c.roots, c.stacks); got != c.want {
			t.Errorf("8 MiB in use, %d bytes of roots and %d of stacks: %d%%, want %d%%", c.roots, c.stacks, got, c.want)
		}
	}
	defer Leanly()()
	for live, want := range map[uint64]int{1 << 20: most, 8 << 20: 100, 16 << 20: lean, 1 << 40: lean} {
		if got := growth(live, 0, 0); got != want {
			t.Errorf("%d bytes in use, leanly: %d%%, want %d%%", live, got, want)
		}
	}
}

func percent() int {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return int(now[0].Value.Uint64())
}

// Each collection decides about the next, unless somebody wants less garbage.
func TestKeep(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(lean - 1))
	kept := make([]byte, 64<<20)
	defer runtime.KeepAlive(kept)
	runtime.GC()
	if adjust(); percent() != lean-1 {
		t.Errorf("somebody wants %d%%, and it grows by %d%%", lean-1, percent())
	}
	if !ours {
		t.Skip("GOGC or GOMEMLIMIT is set")
	}
	debug.SetGCPercent(most)
	Keep()
	for deadline := time.Now().Add(10 * time.Second); percent() > usual; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("64 MiB are in use, and it grows by %d%%", percent())
		}
	}
}
