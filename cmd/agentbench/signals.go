package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interruption is what signals do to a suite. The first one closes Draining: no
// run is started any more, and those in flight have a grace to end. After it,
// or at the second signal, Context ends. A third one kills the program.
type interruption struct {
	Context  context.Context
	Draining <-chan struct{}

	signals chan os.Signal
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// interrupts watches for signals until stop is called. Until then a closed pipe
// is an error of the one who writes to it, and does not kill the program.
func (p *program) interrupts(ctx context.Context, grace time.Duration) *interruption {
	ctx, cancel := context.WithCancel(ctx)
	draining := make(chan struct{})
	i := &interruption{Context: ctx, Draining: draining, signals: make(chan os.Signal, 2), cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
	i.ended.Go(func() {
		defer cancel()
		if !i.awaitFirst() {
			return
		}
		close(draining)
		fmt.Fprintf(p.err, "\nagentbench: stopping; runs in flight have %v to end, a second signal cancels them\n", grace)
		i.awaitSecond(grace)
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
	case <-timer.C:
	case <-i.Context.Done():
	}
}

// stop gives signals their usual effect back.
func (i *interruption) stop() {
	signal.Stop(i.signals)
	signal.Reset(syscall.SIGPIPE)
	i.cancel()
	i.ended.Wait()
}

// interrupted says whether a signal came.
func (i *interruption) interrupted() bool {
	select {
	case <-i.Draining:
		return true
	default:
		return false
	}
}
