package pace

import (
	"context"
	"testing"
)

func TestABudgetTellsThatItRefusedACall(t *testing.T) {
	b := NewBudget(Suite, Limits{Tokens: 100})
	r, err := b.Reserve(context.Background(), exactly(tokens(100)))
	if err != nil || b.Refused() {
		t.Fatalf("refused %v, %v", b.Refused(), err)
	}
	r.Settle(paid(tokens(100)))
	if b.Refused() {
		t.Error("it refused a call that it made room for")
	}
	if _, err := b.Reserve(context.Background(), exactly(tokens(1))); err == nil || !b.Refused() {
		t.Errorf("refused %v, %v", b.Refused(), err)
	}
}
