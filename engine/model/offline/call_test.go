package offline

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

var must = wiretest.Must

var request = &model.Request{Messages: []model.Message{{Role: "user", Text: "12345678"}}}

func TestDurationIsLognormal(t *testing.T) {
	c := Call{Latency: spec.Latency{Median: time.Second, Sigma: 0.5}}
	chance := Draws(1, []string{"test"})
	logs := make([]float64, 20_000)
	for i := range logs {
		logs[i] = math.Log(c.Duration(chance).Seconds())
	}
	slices.Sort(logs)
	if median := logs[len(logs)/2]; math.Abs(median) > 0.02 {
		t.Errorf("the median of the logarithms is %.3f, want 0", median)
	}
	if upper := logs[len(logs)*84134/100000]; math.Abs(upper-0.5) > 0.03 {
		t.Errorf("one standard deviation above it is %.3f, want 0.5", upper)
	}
	if constant := (&Call{Latency: spec.Latency{Median: time.Second}}).Duration(nil); constant != time.Second {
		t.Errorf("without sigma it takes %v", constant)
	}
}

// F44: whatever a suite declares, times and counts are not below zero, and thousands of them have a sum.
func TestF44_AbsurdNumbersDoNotWrap(t *testing.T) {
	chance := Draws(1, []string{"test"})
	for _, spread := range []float64{0, 1} {
		c := Call{
			Latency: spec.Latency{Median: math.MaxInt64, Sigma: 3 * spread},
			Tokens:  spec.TokenCounts{Input: math.MaxInt, Output: math.MaxInt, Spread: spread},
		}
		for range 100 {
			if d := c.Duration(chance); d <= 0 || d > longest {
				t.Fatalf("a call takes %v", d)
			}
			u := c.Usage(request, &model.Reply{}, chance)
			if u.InputTokens < 1 || u.OutputTokens < 1 || u.Tokens() > 2_000_000_000 {
				t.Fatalf("a call uses %+v", u)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		tokens spec.TokenCounts
		want   record.Usage
	}{
		"estimated": {spec.TokenCounts{}, record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 1, Estimated: 1}},
		"declared":  {spec.TokenCounts{Input: 100, Output: 50}, record.Usage{Calls: 1, InputTokens: 100, OutputTokens: 50}},
		"half":      {spec.TokenCounts{Output: 50}, record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 50, Estimated: 1}},
	} {
		call := Call{Tokens: c.tokens}
		if got := call.Usage(request, &model.Reply{Text: "abc"}, nil); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestUsageSpreadsAroundItsMean(t *testing.T) {
	c := Call{Tokens: spec.TokenCounts{Input: 1000, Output: 100, Spread: 0.2}}
	chance := Draws(1, []string{"test"})
	var sum, squares float64
	const n = 10_000
	for range n {
		tokens := float64(c.Usage(request, &model.Reply{}, chance).InputTokens)
		sum, squares = sum+tokens, squares+tokens*tokens
	}
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean-1000) > 10 || math.Abs(deviation-200) > 10 {
		t.Errorf("mean %.0f, deviation %.0f; want 1000 and 200", mean, deviation)
	}
}

func TestPass(t *testing.T) {
	for name, c := range map[string]struct {
		call Call
		want time.Duration // that really passes
		late bool
	}{
		"as-if":            {Call{}, 0, false},
		"slept":            {Call{Sleep: true}, time.Minute, false},
		"late, as-if":      {Call{Timeout: time.Second}, 0, true},
		"late, slept":      {Call{Timeout: time.Second, Sleep: true}, time.Second, true},
		"in time, as-if":   {Call{Timeout: time.Minute}, 0, false},
		"in time, waiting": {Call{Timeout: time.Hour, Sleep: true}, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				err := c.call.Pass(t.Context(), time.Minute)
				if got := time.Since(begin); got != c.want {
					t.Errorf("%v passed, want %v", got, c.want)
				}
				var failed *record.Error
				if late := errors.As(err, &failed) && failed.Class == record.CallTimeout; late != c.late {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestPassEndsWithTheContext(t *testing.T) {
	cause := errors.New("enough")
	for _, sleep := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			if sleep {
				time.AfterFunc(time.Second, func() { cancel(cause) })
			} else {
				cancel(cause)
			}
			begin := time.Now()
			c := Call{Sleep: sleep}
			if err := c.Pass(ctx, time.Hour); err != cause || time.Since(begin) > time.Second {
				t.Errorf("sleep %v: %v after %v", sleep, err, time.Since(begin))
			}
		})
	}
}

// F40: what a call uses stays within what budgets reserve for it.
func TestF40_UsageStaysWithinItsReservation(t *testing.T) {
	c := Call{Tokens: spec.TokenCounts{Input: 100, Output: 50, Spread: 1}}
	chance := Draws(1, []string{"test"})
	limited := *request
	limited.MaxOutputTokens = 60
	for range 100_000 {
		if u := c.Usage(request, &model.Reply{}, chance); u.InputTokens > 500 || u.OutputTokens > 250 {
			t.Fatalf("a call uses %+v", u)
		}
		if u := c.Usage(&limited, &model.Reply{}, chance); u.OutputTokens > 60 {
			t.Fatalf("a call of at most 60 tokens of output uses %+v", u)
		}
	}
}
