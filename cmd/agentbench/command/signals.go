package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
)

// interruption is what signals do to a suite. The first one closes Draining: no
// run is started any more, and those in flight have a grace to end. After it,
// or at the second signal, Context ends. Whoever does not look at it, because they
// compute, are left behind after a while. A third one kills the program.
type interruption struct {
	Context  context.Context
	Draining <-chan struct{}

	signals chan os.Signal
	second  chan struct{} // closed at the second signal
	stopped chan struct{} // closed by stop
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// patience is how long a second signal lets computations end that cannot be cancelled.
const patience = time.Second

// interrupts watches for signals until stop is called. Where that is not soon after a
// second signal, the program ends as if it were killed, which loses nothing that was
// finished; the hint says what to do then.
func (p *program) interrupts(ctx context.Context, grace time.Duration, hint func() string) *interruption {
	ctx, cancel := context.WithCancel(ctx)
	draining := make(chan struct{})
	i := &interruption{Context: ctx, Draining: draining, signals: make(chan os.Signal, 2), second: make(chan struct{}), stopped: make(chan struct{}), cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	i.ended.Go(func() {
		defer cancel()
		if !i.awaitFirst() {
			return
		}
		close(draining)
		fmt.Fprintf(p.err, "\nagentbench: stopping; runs in flight have %v to end, a second signal cancels them\n", grace)
		i.awaitSecond(grace)
		cancel()
		if i.cancelled() && !i.ends(patience) {
			err := exit.With(exit.Stopped, hint(), "interrupted, without waiting for running computations")
			os.Exit(p.leave(nil, p.tell(err)))
		}
	})
	return i
}

// awaitFirst says whether a signal came before the end.
func (i *interruption) awaitFirst() bool {
	select {
	case <-i.signals:
		return true
	case <-i.Context.Done():
		return false
	}
}

// awaitSecond waits for the grace to end, for another signal, or for the end.
func (i *interruption) awaitSecond(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-i.signals:
		signal.Stop(i.signals) // a third one has its usual effect
		close(i.second)
	case <-timer.C:
	case <-i.Context.Done():
	}
}

// ends reports whether the suite comes to its end within a time.
func (i *interruption) ends(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-i.stopped:
		return true
	case <-timer.C:
		return false
	}
}

// stop gives signals their usual effect back.
func (i *interruption) stop() {
	signal.Stop(i.signals)
	close(i.stopped)
	i.cancel()
	i.ended.Wait()
}

// interrupted says whether a signal came.
func (i *interruption) interrupted() bool { return closed(i.Draining) }

// cancelled says whether a second one came.
func (i *interruption) cancelled() bool { return closed(i.second) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// keepPipes makes a closed pipe an error of the one who writes to it: it no
// longer kills the program. Unlike an ignored signal, one that is caught has its
// usual effect in the programs that are started.
func keepPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// untilSignal is a context that ends at the first interrupt; a second one ends the
// program at once.
func untilSignal(ctx context.Context, also ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, append(also, os.Interrupt, syscall.SIGTERM)...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
