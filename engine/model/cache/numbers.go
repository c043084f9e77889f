package cache

import (
	"context"
	"slices"
	"sync"
)

type runKey struct{}

// WithRun begins a run: the calls under the context are numbered, so that the
// n-th equal request is a draw of its own. Without it every call is the first.
func WithRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, &numbers{taken: map[Key]*taken{}})
}

func numbersOf(ctx context.Context) *numbers {
	n, _ := ctx.Value(runKey{}).(*numbers)
	return n
}

// numbers counts the equal requests of one run. The nil one does not count.
type numbers struct {
	mu    sync.Mutex
	taken map[Key]*taken
}

// taken are the numbers of equal requests: all below next but the free ones.
type taken struct {
	next int
	free []int // ascending
}

// take gives the lowest number that no equal request has.
func (n *numbers) take(request Key) int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.taken[request]
	if t == nil {
		t = &taken{}
		n.taken[request] = t
	}
	if len(t.free) > 0 {
		lowest := t.free[0]
		t.free = t.free[1:]
		return lowest
	}
	t.next++
	return t.next - 1
}

// giveBack frees the number of a call that failed: made again, it is the same
// draw.
func (n *numbers) giveBack(request Key, number int) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.taken[request]
	at, _ := slices.BinarySearch(t.free, number)
	t.free = slices.Insert(t.free, at, number)
}
