package tool

import (
	"context"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// Source has tools that are only known when a run has begun: those of a server.
type Source interface {
	// Name is how records call the source.
	Name() string
	// Server is all that the server tells of itself to the run in the context. It
	// is asked at every iteration; what it said first holds for the run.
	Server(ctx context.Context) (record.ToolServer, error)
	// Tools are those that are used of a server that told this of itself, be it now
	// or in a record. Nothing is asked. An error is a *record.Error: the server has
	// not got what is asked for.
	Tools(told record.ToolServer) ([]Tool, error)
}

// Run keeps what tools need for as long as one run takes, such as a server of its
// own. The zero Run has begun; it is safe for concurrent use.
type Run struct {
	mu   sync.Mutex
	kept map[any]*kept
	last []func() // in the order opened
}

// kept is opened once.
type kept struct {
	once  sync.Once
	value any
	err   error
}

type runKey struct{}

// WithRun begins a run within a context. Who begins it closes it. A run within a
// run, as that of a delegate is, keeps what it needs for itself.
func WithRun(ctx context.Context) (context.Context, *Run) {
	r := &Run{}
	return context.WithValue(ctx, runKey{}, r), r
}

// RunOf is the run of a context, nil where there is none.
func RunOf(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// Keep gives what open opened when the key was asked for first. Release, where it
// is not nil, is called when the run is closed.
func (r *Run) Keep(key any, open func() (value any, release func(), err error)) (any, error) {
	r.mu.Lock()
	k, known := r.kept[key]
	if !known {
		if r.kept == nil {
			r.kept = map[any]*kept{}
		}
		k = &kept{}
		r.kept[key] = k
	}
	r.mu.Unlock()
	k.once.Do(func() {
		var release func()
		if k.value, release, k.err = open(); release != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = append(r.last, release)
		}
	})
	return k.value, k.err
}

// Close releases what was kept, the newest first.
func (r *Run) Close() {
	r.mu.Lock()
	last := r.last
	r.last = nil
	r.mu.Unlock()
	for _, release := range slices.Backward(last) {
		release()
	}
}
