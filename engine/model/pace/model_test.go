package pace

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

func cents(n float64) *float64 { return &n }

// F24, F41: what tokens cost. What a server says of them and a slip in a price never make a cost below zero.
func TestF41_Prices(t *testing.T) {
	used := record.Usage{Calls: 1, InputTokens: 1000, CachedTokens: 400, OutputTokens: 100}
	rates := func(input, output float64) spec.Rates { return spec.Rates{Input: input, Output: output} }
	cached := func(input, output float64) spec.Rates {
		return spec.Rates{Input: input, CachedInput: cents(0.5), Output: output}
	}
	for name, c := range map[string]struct {
		rates spec.Rates
		used  record.Usage
		cost  record.Money
	}{
		"no discount":                        {rates(0.15, 0.60), used, 210_000_000},
		"cached input":                       {cached(1, 2), used, 1_000_000_000},
		"fractions":                          {rates(0.000001, 0), used, 1000},
		"never nothing":                      {rates(1e-9, 0), used, 1000},
		"cached tokens cost their own price": {cached(1, 2), record.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 1}, 10_000_000},
		"a price beyond all money":           {rates(1e30, 1), record.Usage{InputTokens: 2}, math.MaxInt64},
		"tokens beyond all money":            {rates(1, 1000), record.Usage{InputTokens: 1, OutputTokens: math.MaxInt64}, math.MaxInt64},
		"tokens below zero":                  {rates(1, 1), record.Usage{InputTokens: -5, OutputTokens: -5}, 0},
		"more cached tokens than input":      {cached(1, 1), record.Usage{InputTokens: 10, CachedTokens: 100}, 5_000_000},
	} {
		price := PriceOf(&spec.Price{Rates: c.rates})
		if got := price.tokens(c.used); got.Cost != c.cost || got.Unpriced != 0 {
			t.Errorf("%s: cost %d, unpriced %d; want %d", name, got.Cost, got.Unpriced, c.cost)
		}
	}
	for price, unpriced := range map[*spec.Price]int64{nil: 1, {Free: true}: 0} {
		p := PriceOf(price)
		if got := p.tokens(used); got.Cost != 0 || got.Unpriced != unpriced {
			t.Errorf("%+v: %+v", price, got)
		}
	}
}

// F45: a million additions drift by nothing, whatever the prices and the order.
func TestF45_CostDoesNotDrift(t *testing.T) {
	chance := rand.New(rand.NewPCG(0, 45))
	price := PriceOf(&spec.Price{Rates: spec.Rates{Input: 0.1 + chance.Float64(), Output: 10 * chance.Float64()}})
	costs, input, output := make([]record.Usage, 1_000_000), int64(0), int64(0)
	for i := range costs {
		used := record.Usage{Calls: 1, InputTokens: chance.Int64N(5000), OutputTokens: chance.Int64N(2000)}
		costs[i], input, output = price.tokens(used), input+used.InputTokens, output+used.OutputTokens
	}
	var forth, back record.Usage
	for i := range costs {
		forth, back = forth.Plus(costs[i]), back.Plus(costs[len(costs)-1-i])
	}
	exact := func(tokens int64, rate record.Money) *big.Int {
		return new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(rate)))
	}
	if want := new(big.Int).Add(exact(input, price.Input), exact(output, price.Output)); forth != back || big.NewInt(int64(forth.Cost)).Cmp(want) != 0 {
		t.Errorf("summed up to %d and backwards to %d, want %d", forth.Cost, back.Cost, want)
	}
}

var request = &model.Request{Messages: []model.Message{{Role: "user", Text: "12345678"}}, MaxOutputTokens: 50}

func TestCallsAreReservedAtTheirWorstAndSettled(t *testing.T) {
	worst := record.Usage{Calls: 1, InputTokens: 18, OutputTokens: 50}
	used := record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 5}
	one := record.Usage{Calls: 1}
	for name, c := range map[string]struct {
		err         error
		paid, doubt record.Usage
	}{
		"a reply":                     {nil, used, record.Usage{}},
		"the server failed":           {model.Fail(record.Server, "500", 0), one, record.Usage{}},
		"nobody knows what it used":   {model.Fail(record.CallTimeout, "late", 0), record.Usage{}, worst},
		"the answer was cut":          {model.Fail(record.Incomplete, "cut", 0), record.Usage{}, worst},
		"cancelled in flight":         {context.Canceled, record.Usage{}, worst},
		"cancelled before it is sent": {&model.Unsent{Err: context.Canceled}, record.Usage{}, record.Usage{}},
		"refused by the server":       {unsent(1, 0), record.Usage{}, record.Usage{}},
		"refused in all attempts":     {unsent(4, 4), record.Usage{}, record.Usage{}},
		"refused in the last one":     {unsent(1, 2), record.Usage{}, worst},
		"ended":                       {model.ErrEnded, record.Usage{}, record.Usage{}},
		"refused further down":        {&Refused{Budget: NewBudget(Suite, Limits{})}, record.Usage{}, record.Usage{}},
	} {
		b := NewBudget(Suite, Limits{Tokens: 68})
		_, err := Limit(answers{used, c.err}, b, LimitOptions{}).Call(t.Context(), request)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if b.Spent() != c.paid.Plus(c.doubt) || doubtOf(b) != c.doubt || reservedOf(b) != (record.Usage{}) {
			t.Errorf("%s: spent %+v, in doubt %+v, reserved %+v; want %+v and %+v", name, b.Spent(), doubtOf(b), reservedOf(b), c.paid, c.doubt)
		}
	}
}

// What was never sent does not fill the budget; what is in doubt does, and says so.
func TestABudgetThatIsFullOfDoubtIsStarved(t *testing.T) {
	b := NewBudget(Suite, Limits{Tokens: 120})
	refused := Limit(answers{err: unsent(1, 0)}, b, LimitOptions{})
	for range 10 {
		if _, err := refused.Call(t.Context(), request); errors.Is(err, ErrBudget) {
			t.Fatal("calls that were never sent have filled the budget")
		}
	}
	late := Limit(answers{err: model.Fail(record.CallTimeout, "late", 0)}, b, LimitOptions{})
	var err error
	for range 3 {
		_, err = late.Call(t.Context(), request)
	}
	if !errors.Is(err, ErrBudget) || !b.Refusal().InDoubt {
		t.Errorf("%v, starved %v", err, b.Refusal().InDoubt)
	}
	b = NewBudget(Suite, Limits{Calls: 1})
	for range 2 {
		_, err = Limit(answers{used: record.Usage{Calls: 1}}, b, LimitOptions{}).Call(t.Context(), request)
	}
	if !errors.Is(err, ErrBudget) || b.Refusal().InDoubt {
		t.Errorf("%v, starved %v of what was paid", err, b.Refusal().InDoubt)
	}
}

// The budget of a run comes with its context, and its reservation is recorded.
func TestS1_11_HardBudgetOfARun(t *testing.T) {
	used := record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 5}
	m := LimitRun(answers{used: used}, LimitOptions{})
	reply, err := m.Call(t.Context(), request)
	if err != nil || reply.Reserved != nil {
		t.Fatalf("without a budget: %+v, %v", reply, err)
	}
	ctx := WithRun(t.Context(), OfRun(&spec.RunBudget{Calls: 1, Hard: true}))
	reply, err = m.Call(ctx, request)
	if err != nil || reply.Reserved == nil || reply.Reserved.OutputTokens != 50 {
		t.Fatalf("with one: %+v, %v", reply, err)
	}
	var refused *Refused
	if _, err = m.Call(ctx, request); !errors.As(err, &refused) || refused.StopReason() != record.ReasonBudgetCalls {
		t.Errorf("the second call: %v", err)
	}
}

// F24: an answer whose usage is not known is charged to the suite as it was reserved,
// at least; a run's own budget goes by the estimate, as replays do.
func TestF24_UnknownUsageIsChargedAsReserved(t *testing.T) {
	request := &model.Request{Messages: []model.Message{{Role: "user", Text: "hello"}}, MaxOutputTokens: 1000}
	price := PriceOf(&spec.Price{Rates: spec.Rates{Input: 1, Output: 1}})
	for name, c := range map[string]struct {
		used record.Usage
		out  int64
	}{
		"reported":          {record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3}, 3},
		"not known":         {record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Estimated: 1}, 1000},
		"estimated at more": {record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3000, Estimated: 1}, 3000},
	} {
		suite, run := OfSuite(spec.SuiteBudget{CostUSD: 1}), OfSuite(spec.SuiteBudget{CostUSD: 1})
		m := LimitRun(Limit(answers{used: c.used}, suite, LimitOptions{Price: price}), LimitOptions{Price: price})
		reply, err := m.Call(WithRun(t.Context(), run), request)
		if err != nil || reply.Usage.OutputTokens != c.used.OutputTokens {
			t.Fatalf("%s: %+v, %v", name, reply, err)
		}
		if got := suite.Spent(); got.OutputTokens != c.out || got.Calls != 1 || got.Cost < record.Money(c.out)*1_000_000 {
			t.Errorf("%s: the suite is charged %+v", name, got)
		}
		if got := run.Spent(); got.OutputTokens != c.used.OutputTokens {
			t.Errorf("%s: the run is charged %+v", name, got)
		}
	}
}
