package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

var errSilent = errors.New("it has not answered")

// mostStuck is how many calls may hang in a store for longer than its patience. Each holds a
// goroutine, and where the store is a folder, a thread.
const mostStuck = 16

// watch waits for the calls of a store as long as they make progress. A call that is given up
// may hang for ever: a folder whose server is away knows no contexts. While mostStuck of
// them hang, others are refused at once.
type watch struct {
	patience time.Duration

	mu   sync.Mutex
	open map[*call]struct{}
}

// call is one that has not returned.
type call struct {
	began time.Time
	moved atomic.Int64 // when bytes moved last, as a duration since it began
}

// silence is how long no byte has moved.
func (c *call) silence() time.Duration { return time.Since(c.began) - time.Duration(c.moved.Load()) }

type callKey struct{}

// moved says that bytes of the call of this context were read or written.
func moved(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.moved.Store(int64(time.Since(c.began)))
	}
}

// begin is a new call, unless too many hang.
func (w *watch) begin() (*call, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stuck := 0
	for c := range w.open {
		if c.silence() >= w.patience {
			stuck++
		}
	}
	if stuck >= mostStuck {
		return nil, w.silent()
	}
	if w.open == nil {
		w.open = map[*call]struct{}{}
	}
	c := &call{began: time.Now()}
	w.open[c] = struct{}{}
	return c, nil
}

func (w *watch) end(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

func (w *watch) silent() error { return fmt.Errorf("%w for %v", errSilent, w.patience) }

// answer is what do gives. Warn is called if no byte moves for half of the patience, and after
// all of it the call has failed.
func answer[T any](ctx context.Context, w *watch, warn func(), do func(context.Context) (T, error)) (T, error) {
	type answered struct {
		value T
		err   error
	}
	var none T
	c, err := w.begin()
	if err != nil {
		return none, err
	}
	asked, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, c))
	defer cancel()
	came := make(chan answered, 1)
	go func() {
		value, err := do(asked)
		w.end(c)
		came <- answered{value, err}
	}()
	timer := time.NewTimer(w.patience / 2)
	defer timer.Stop()
	for warned := false; ; {
		select {
		case a := <-came:
			return a.value, a.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-timer.C:
		}
		silence := c.silence()
		if silence >= w.patience {
			return none, w.silent()
		}
		next := w.patience
		if silence < w.patience/2 {
			next = w.patience / 2
		} else if !warned {
			warned = true
			warn()
		}
		timer.Reset(next - silence)
	}
}

// mostAtOnce is how many bytes are read or written before that counts as progress.
const mostAtOnce = 1 << 20

// moving is a reader whose call makes progress with each part, and ends with its context.
type moving struct {
	ctx context.Context
	io.Reader
}

func (m moving) Read(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		return 0, context.Cause(m.ctx)
	}
	n, err := m.Reader.Read(p[:min(len(p), mostAtOnce)])
	if n > 0 {
		moved(m.ctx)
	}
	return n, err
}

// watched is a store whose silence is reported, and is a failure in the end.
type watched struct {
	Store
	watch
	warn func(ctx context.Context, text string)
}

// watching is a store that may be silent for so long.
func watching(store Store, patience time.Duration, warn func(context.Context, string)) *watched {
	return &watched{Store: store, watch: watch{patience: patience}, warn: warn}
}

// warning warns of a call.
func (s *watched) warning(ctx context.Context, doing, name string) func() {
	return func() {
		s.warn(ctx, fmt.Sprintf("the store %v has not answered for %v: %s %s", s.Store, s.patience/2, doing, name))
	}
}

func (s *watched) Create(ctx context.Context, name string, content []byte) (bool, error) {
	return answer(ctx, &s.watch, s.warning(ctx, "writing", name), func(ctx context.Context) (bool, error) { return s.Store.Create(ctx, name, content) })
}

func (s *watched) Read(ctx context.Context, name string) ([]byte, error) {
	return answer(ctx, &s.watch, s.warning(ctx, "reading", name), func(ctx context.Context) ([]byte, error) { return s.Store.Read(ctx, name) })
}

func (s *watched) Remove(ctx context.Context, name string) error {
	return s.done(ctx, "removing", name, func(ctx context.Context) error { return s.Store.Remove(ctx, name) })
}

func (s *watched) Send(ctx context.Context, name, file string) error {
	return s.done(ctx, "sending", name, func(ctx context.Context) error { return s.Store.Send(ctx, name, file) })
}

func (s *watched) Fetch(ctx context.Context, name, file string) error {
	return s.done(ctx, "fetching", name, func(ctx context.Context) error { return s.Store.Fetch(ctx, name, file) })
}

func (s *watched) done(ctx context.Context, doing, name string, do func(context.Context) error) error {
	_, err := answer(ctx, &s.watch, s.warning(ctx, doing, name), func(ctx context.Context) (any, error) { return nil, do(ctx) })
	return err
}
