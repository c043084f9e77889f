package model

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// However deep it is wrapped, a failed call tells its class, its duration and
// its usage; a call that was not made used nothing.
func TestFailure(t *testing.T) {
	failed := fmt.Errorf("wrapped: %w", Fail(record.Server, "no", time.Second))
	var cause *record.Error
	if !errors.As(failed, &cause) || cause.Class != record.Server {
		t.Fatalf("errors.As gives %v", cause)
	}
	for _, c := range []struct {
		err   error
		after time.Duration
		calls int64
	}{
		{failed, time.Second, 1},
		{&record.Error{Class: record.Internal}, 0, 1},
		{fmt.Errorf("x: %w", ErrEnded), 0, 0},
		{fmt.Errorf("x: %w", ErrRefused), 0, 0},
		{nil, 0, 0},
	} {
		after, used := Failure(c.err)
		if after != c.after || used.Calls != c.calls {
			t.Errorf("Failure(%v) = %v, %d calls; want %v, %d", c.err, after, used.Calls, c.after, c.calls)
		}
	}
}
