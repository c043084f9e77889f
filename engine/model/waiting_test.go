package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errLate = errors.New("late")

// lasts is after how long, from its making, the context ends.
func lasts(ctx context.Context, begin time.Time) time.Duration {
	<-ctx.Done()
	return time.Since(begin)
}

func TestOnlyWorkUsesUpTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(ctx context.Context)
		want time.Duration
	}{
		"nothing but work": {func(context.Context) {}, 10 * time.Second},
		"waiting between": {func(ctx context.Context) {
			time.Sleep(4 * time.Second)
			resume := Waiting(ctx)
			time.Sleep(time.Minute)
			resume()
		}, 70 * time.Second},
		"waiting within waiting": {func(ctx context.Context) {
			outer := Waiting(ctx)
			inner := Waiting(ctx)
			time.Sleep(time.Minute)
			inner()
			time.Sleep(time.Minute)
			outer()
		}, 130 * time.Second},
		"work in vain": {func(ctx context.Context) {
			time.Sleep(9 * time.Second)
			Forgive(ctx, 5*time.Second)
		}, 15 * time.Second},
		"forgiven while waiting": {func(ctx context.Context) {
			resume := Waiting(ctx)
			Forgive(ctx, 5*time.Second)
			resume()
		}, 15 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			ctx, cancel := WithWorkingTime(t.Context(), 10*time.Second, errLate)
			defer cancel()
			c.act(ctx)
			if got := lasts(ctx, begin); got != c.want || context.Cause(ctx) != errLate {
				t.Errorf("%s: ended after %v with %v, want %v", name, got, context.Cause(ctx), c.want)
			}
		})
	}
}

// A limit within a limit: both stand still, and the shorter one ends.
func TestWaitingStopsAllWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		outer, cancelOuter := WithWorkingTime(t.Context(), 10*time.Second, errLate)
		defer cancelOuter()
		inner, cancelInner := WithWorkingTime(outer, time.Hour, errors.New("the inner one"))
		defer cancelInner()
		resume := Waiting(inner)
		time.Sleep(time.Minute)
		resume()
		if got := lasts(inner, begin); got != 70*time.Second || context.Cause(inner) != errLate {
			t.Errorf("ended after %v with %v", got, context.Cause(inner))
		}
	})
}

func TestWaitingWithoutALimit(t *testing.T) {
	Waiting(t.Context())()
	Forgive(t.Context(), time.Second)
}
