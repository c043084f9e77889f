package model

import (
	"context"
	"sync"
	"time"
)

// WithWorkingTime gives a context that ends, with the cause, once so much time
// was worked in it. What was only waited (see Waiting) does not count.
func WithWorkingTime(ctx context.Context, most time.Duration, cause error) (context.Context, context.CancelFunc) {
	outer, _ := ctx.Value(watchKey{}).(*watch)
	ending, cancel := context.WithCancelCause(ctx)
	w := &watch{outer: outer, left: most}
	w.ends = time.AfterFunc(most, func() { cancel(cause) })
	w.since = time.Now()
	return context.WithValue(ending, watchKey{}, w), func() {
		w.ends.Stop()
		cancel(nil)
	}
}

// Waiting says that from now on nothing is worked, until resume is called.
func Waiting(ctx context.Context) (resume func()) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	for inner := w; inner != nil; inner = inner.outer {
		inner.pause()
	}
	return func() {
		for inner := w; inner != nil; inner = inner.outer {
			inner.resume()
		}
	}
}

// Forgive gives back time that was worked in vain, so that it counts as waited.
func Forgive(ctx context.Context, worked time.Duration) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	for ; w != nil; w = w.outer {
		w.pause()
		w.give(worked)
		w.resume()
	}
}

type watchKey struct{}

// watch stops while anybody waits.
type watch struct {
	outer *watch

	mu      sync.Mutex
	ends    *time.Timer
	left    time.Duration
	since   time.Time
	waiting int
}

func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 && w.ends.Stop() {
		w.left -= time.Since(w.since)
	}
}

func (w *watch) give(worked time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left += worked
}

func (w *watch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.since = time.Now()
		w.ends.Reset(max(0, w.left))
	}
}
