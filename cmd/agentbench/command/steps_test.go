package command

import (
	"errors"
	"testing"
)

func TestNoStepIsTakenAfterOneThatFails(t *testing.T) {
	taken, wrong := 0, errors.New("wrong")
	step := func() error { taken++; return nil }
	if err := firstError(step, func() error { return wrong }, step); !errors.Is(err, wrong) || taken != 1 {
		t.Errorf("got %v after %d steps", err, taken)
	}
	if err := firstError(step, step); err != nil || taken != 3 {
		t.Errorf("got %v after %d steps", err, taken)
	}
}
