package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// paid is the settlement of an answered call.
func paid(u record.Usage) record.Settlement {
	return record.Settlement{Paid: u}
}

func tokens(n int64) record.Usage { return record.Usage{Calls: 1, OutputTokens: n} }

// exactly is a call whose worst is known.
func exactly(u record.Usage) Worst { return Worst{Expected: u, Bound: u} }

// reserving is a reservation that has to wait for calls in flight.
func reserving(t *testing.T, ctx context.Context, b *Budget, worst Worst) (reserved func() (*Reservation, error)) {
	t.Helper()
	var r *Reservation
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = b.Reserve(ctx, worst)
	}()
	synctest.Wait()
	select {
	case <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	return func() (*Reservation, error) { <-done; return r, err }
}

// A call waits for those in flight: there may be room when they have settled. One that fits only as expected is made when no other
// is in flight, so that no more than its own excess can be too much.
func TestF40_ACallThatMayExceedIsMadeAlone(t *testing.T) {
	for name, c := range map[string]struct {
		first     int64
		second    Worst
		used      int64        // by the first
		wantWorst record.Usage // reserved for the second
	}{
		"no room beside the first":    {80, exactly(tokens(80)), 20, tokens(80)},
		"its bound has none after it": {30, Worst{Expected: tokens(60), Bound: tokens(90)}, 30, tokens(60)},
		"its bound has some after it": {30, Worst{Expected: tokens(60), Bound: tokens(90)}, 10, tokens(90)},
	} {
		synced(t, name, func(t *testing.T) {
			b := NewBudget(Suite, Limits{Tokens: 100})
			first, err := b.Reserve(t.Context(), exactly(tokens(c.first)))
			must(t, err)
			second := reserving(t, t.Context(), b, c.second)
			first.Settle(paid(tokens(c.used)))
			if r, err := second(); err != nil || r.Worst() != c.wantWorst {
				t.Errorf("reserved %+v, %v", r, err)
			}
		})
	}
}

func TestReserveStopsWaitingWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Suite, Limits{Calls: 1})
		_, err := b.Reserve(t.Context(), exactly(tokens(1)))
		must(t, err)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		second := reserving(t, ctx, b, exactly(tokens(1)))
		cancel(cause)
		if _, err := second(); err != cause || reservedOf(b).Calls != 1 {
			t.Errorf("got %v, %d calls are reserved, want only the first", err, reservedOf(b).Calls)
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		owner  Owner
		limits Limits
		worst  record.Usage
		reason record.Reason
		what   string
	}{
		"calls":  {Run, Limits{Calls: 1}, record.Usage{Calls: 2}, record.ReasonBudgetCalls, "the budget of the run has no room for another call: calls"},
		"tokens": {Run, Limits{Tokens: 10}, tokens(11), record.ReasonBudgetTokens, "the budget of the run has no room for another call: tokens"},
		"cost":   {Run, Limits{Cost: 10}, record.Usage{Cost: 11}, record.ReasonBudgetCost, "the budget of the run has no room for another call: cost"},
		"suite":  {Suite, Limits{Cost: 10}, record.Usage{Cost: 11}, record.ReasonSuiteBudget, "the budget of the suite has no room for another call: cost"},
	} {
		_, err := NewBudget(c.owner, c.limits).Reserve(t.Context(), exactly(c.worst))
		var refused *Refused
		if !errors.As(err, &refused) || refused.StopReason() != c.reason || err.Error() != c.what {
			t.Errorf("%s: got %v", name, err)
		}
		if !errors.Is(err, ErrBudget) || !errors.Is(err, model.ErrRefused) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
}

func TestOnlyTheFirstSettlementCounts(t *testing.T) {
	b := NewBudget(Suite, Limits{Calls: 2})
	r, err := b.Reserve(t.Context(), exactly(tokens(1)))
	must(t, err)
	r.Settle(paid(tokens(1)))
	r.Settle(paid(tokens(100)))
	if reservedOf(b) != (record.Usage{}) || b.Spent() != tokens(1) {
		t.Errorf("spent %+v, reserved %+v", b.Spent(), reservedOf(b))
	}
}

func TestF40_AnOvershootIsTold(t *testing.T) {
	for limits, want := range map[Limits]record.Reason{
		{}:                               "",
		{Calls: 2, Tokens: 20, Cost: 50}: "",
		{Tokens: 19}:                     record.ReasonBudgetTokens,
		{Tokens: 20, Cost: 49}:           record.ReasonBudgetCost,
		{Calls: 1, Cost: 50}:             record.ReasonBudgetCalls,
	} {
		b := NewBudget(Suite, limits)
		b.Charge(record.Usage{Calls: 2, InputTokens: 8, OutputTokens: 12, Cost: 50}, record.Usage{})
		if got := b.Overshoot(); got != want {
			t.Errorf("of %+v: %q, want %q", limits, got, want)
		}
	}
}

// reservedOf and doubtOf are from the books of a budget.
func reservedOf(b *Budget) record.Usage {
	_, _, reserved := b.Books()
	return reserved
}

func doubtOf(b *Budget) record.Usage {
	_, doubt, _ := b.Books()
	return doubt
}

// P8: a budget of money and a call of unknown price do not go together. A call whose price turns out to be unknown, as tokens were of
// a kind that has none, may have cost any amount.
func TestF41_AfterAnUnpricedCallABudgetOfMoneyIsSpent(t *testing.T) {
	unpriced, priced := record.Usage{Calls: 1, Unpriced: 1}, exactly(record.Usage{Calls: 1, Cost: 1})
	if _, err := NewBudget(Suite, Limits{Cost: 1}).Reserve(t.Context(), exactly(unpriced)); !errors.Is(err, ErrUnpriced) {
		t.Errorf("got %v", err)
	}
	if _, err := NewBudget(Suite, Limits{Calls: 1}).Reserve(t.Context(), exactly(unpriced)); err != nil {
		t.Errorf("a budget of calls refuses: %v", err)
	}
	b := NewBudget(Suite, Limits{Cost: 100})
	r, err := b.Reserve(t.Context(), priced)
	must(t, err)
	r.Settle(paid(unpriced))
	var refused *Refused
	if _, err := b.Reserve(t.Context(), priced); !errors.As(err, &refused) || refused.Reason != record.ReasonBudgetCost || !refused.Unpriced {
		t.Errorf("got %v", err)
	}
	programs := NewBudget(Suite, Limits{Cost: 100})
	programs.Reported(record.Usage{Calls: 1, InputTokens: 5, Unpriced: 1})
	programs.Charge(unpriced, record.Usage{})
	if _, err := programs.Reserve(t.Context(), priced); err != nil {
		t.Errorf("what a program says without a price refuses a call of a model: %v", err)
	}
}

func TestF3_WhatEarlierSessionsSpentCounts(t *testing.T) {
	for earlier, left := range map[int64]int64{0: 3, 2: 1, 3: 0} {
		b := NewBudget(Suite, Limits{Calls: 3})
		b.Charge(record.Usage{Calls: earlier}, record.Usage{})
		if b.Exhausted() != (left == 0) || b.Spent() != (record.Usage{Calls: earlier}) {
			t.Errorf("%d of 3 calls: exhausted %v, spent %+v", earlier, b.Exhausted(), b.Spent())
		}
		if _, err := b.Reserve(t.Context(), exactly(record.Usage{Calls: left + 1})); !errors.Is(err, ErrBudget) {
			t.Errorf("%d of 3 calls: one too many: %v", earlier, err)
		}
		if _, err := b.Reserve(t.Context(), exactly(record.Usage{Calls: left})); err != nil {
			t.Errorf("%d of 3 calls: %v", earlier, err)
		}
	}
	if unlimited := NewBudget(Suite, Limits{}); unlimited.Exhausted() {
		t.Error("without limits it is exhausted")
	}
}

// openLedger opens the ledger of a folder, and tells what it had.
func openLedger(t *testing.T, dir string) (*record.Ledger, *record.Balance) {
	t.Helper()
	balance, err := record.ReadLedger(dir, &record.Manifest{})
	must(t, err)
	ledger, err := record.OpenLedger(dir, balance)
	must(t, err)
	return ledger, balance
}

// What is reserved is in the ledger before the call is made, and what became of the
// call once it is over: paid, in doubt, or released.
func TestF3_ALedgerKnowsOfACallBeforeItIsMade(t *testing.T) {
	dir := t.TempDir()
	ledger, _ := openLedger(t, dir)
	b := NewBudget(Suite, Limits{Calls: 10})
	b.Keep(ledger)
	call := record.Usage{Calls: 1, OutputTokens: 20}
	told := func() (paid, doubt int64) {
		now, err := record.ReadLedger(dir, &record.Manifest{})
		must(t, err)
		return now.Paid.OutputTokens, now.Doubt.OutputTokens
	}
	var all []int64
	for _, s := range []record.Settlement{paid(tokens(5)), {Doubt: call}, {}} {
		reservation, err := b.Reserve(t.Context(), Worst{Expected: call, Bound: call})
		must(t, err)
		before, reserved := told()
		reservation.Settle(s)
		after, doubt := told()
		all = append(all, before, reserved, after, doubt)
	}
	if want := []int64{0, 20, 5, 0, 5, 20, 5, 20, 5, 40, 5, 20}; !slices.Equal(all, want) {
		t.Errorf("told %v, want %v", all, want)
	}
	must(t, ledger.Close())
	if _, err := b.Reserve(t.Context(), Worst{Expected: call, Bound: call}); err == nil {
		t.Error("a call that no ledger can tell of is made")
	}
}

// F43: what a call may use, with and without limits of its own.
func TestF43_WhatACallMayUse(t *testing.T) {
	long := &model.Request{Messages: []model.Message{{Text: "12345678"}, {Text: "1234"}}} // 3 tokens, 12 bytes
	limited := *long
	limited.MaxOutputTokens = 7
	const framing = 3 * messageTokens
	tools := &model.Request{ // 3 bytes of tools and 5 of a call beside the 4 of text
		Messages:        []model.Message{{Text: "1234", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{ }"}}}},
		Tools:           []model.Tool{{Name: "f", Parameters: []byte("{}")}},
		MaxOutputTokens: 7,
	}
	const withTools = 2*messageTokens + toolsTokens + toolTokens + callTokens
	for name, c := range map[string]struct {
		request         *model.Request
		options         LimitOptions
		expected, bound record.Usage
	}{
		"a limit":           {&limited, LimitOptions{}, usage(3+framing, 7), usage(12+framing, 7)},
		"the default":       {long, LimitOptions{}, usage(3+framing, DefaultMaxOutput), usage(12+framing, DefaultMaxOutput)},
		"tools":             {tools, LimitOptions{}, usage(3+withTools, 7), usage(12+withTools, 7)},
		"declared tokens":   {long, LimitOptions{Input: 90, MaxOutput: 20}, usage(90, 20), usage(90, 20)},
		"declared, limited": {&limited, LimitOptions{Input: 90, MaxOutput: 20}, usage(90, 7), usage(90, 7)},
	} {
		c.options.Price = Price{}
		if got := newEstimate(c.options).of(c.request); got.Expected != c.expected || got.Bound != c.bound {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func usage(input, output int64) record.Usage {
	return record.Usage{Calls: 1, InputTokens: input, OutputTokens: output}
}

// What replies report corrects the estimates of the suite's budget upwards.
func TestF43_EstimatesLearn(t *testing.T) {
	unlimited := &model.Request{Messages: request.Messages} // 2 tokens and 10 of framing
	for name, c := range map[string]struct {
		reported, want record.Usage
	}{
		"as estimated":    {usage(12, 10), usage(12, DefaultMaxOutput)},
		"fewer tokens":    {usage(1, 10), usage(12, DefaultMaxOutput)},
		"a denser prompt": {usage(30, 10), usage(30, DefaultMaxOutput)},
		"a longer reply":  {usage(12, 9000), usage(12, 9000)},
	} {
		m := Limit(answers{used: c.reported}, NewBudget(Suite, Limits{Calls: 5}), LimitOptions{}).(*limited)
		if _, err := m.Call(t.Context(), unlimited); err != nil {
			t.Fatal(err)
		}
		got := m.worst.of(unlimited)
		if got.Expected != c.want || got.Bound.InputTokens < got.Expected.InputTokens {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The hard budget of a run decides by the request alone: what other runs used
// must not decide where this one ends.
func TestF84_ReservationsOfARunDependOnNothingElse(t *testing.T) {
	m := LimitRun(answers{used: usage(5000, 9000)}, LimitOptions{})
	var first record.Usage
	for i := range 3 {
		reply, err := m.Call(WithRun(t.Context(), OfRun(&spec.RunBudget{Tokens: 5000})), request)
		must(t, err)
		if i == 0 {
			first = *reply.Reserved
		} else if *reply.Reserved != first {
			t.Errorf("run %d reserved %+v, the first one %+v", i, *reply.Reserved, first)
		}
	}
}

// What a run's own budget made of a call without an answer can be recorded: it
// does not depend on what is left of the budget.
func TestARunsBudgetTellsOfFailedCalls(t *testing.T) {
	request := &model.Request{Messages: []model.Message{{Role: "user", Text: "a prompt of some length"}}, MaxOutputTokens: 10}
	known := record.Usage{Calls: 1, InputTokens: 3}
	for name, c := range map[string]struct {
		err     error
		tokens  int64 // of the budget; 0: no limit
		charged func(reserved record.Usage) record.Usage
	}{
		"a call that used something known": {&model.CallError{Cause: &record.Error{Class: record.ContextLength}, Usage: known}, 0, func(record.Usage) record.Usage { return known }},
		"a call nobody knows of":           {model.Fail(record.Network, "gone", 0), 0, func(reserved record.Usage) record.Usage { return reserved }},
		"one with little room":             {model.Fail(record.Network, "gone", 0), 32, func(reserved record.Usage) record.Usage { return reserved }},
		"an agent that ended":              {model.ErrEnded, 0, func(record.Usage) record.Usage { return record.Usage{} }},
		"a refusal":                        {model.ErrEnded, 1, func(record.Usage) record.Usage { return record.Usage{} }},
	} {
		budget := NewBudget(Run, Limits{Tokens: c.tokens})
		_, err := LimitRun(answers{err: c.err}, LimitOptions{}).Call(WithRun(t.Context(), budget), request)
		var told *model.Unanswered
		if !errors.As(err, &told) {
			t.Errorf("%s: the error %v does not tell", name, err)
			continue
		}
		if told.Reserved.OutputTokens != 10 || told.Reserved.InputTokens == 0 || told.Charged != c.charged(told.Reserved) || budget.Spent() != told.Charged {
			t.Errorf("%s: reserved %+v, charged %+v, spent %+v", name, told.Reserved, told.Charged, budget.Spent())
		}
		if refused := c.tokens == 1; errors.Is(err, model.ErrRefused) != refused {
			t.Errorf("%s: refused is %v", name, !refused)
		}
	}
}

// situation is a suite that meets its budget: what may be spent, what calls
// cost, and how many runs make them at once.
type situation struct {
	suite, run Limits // of the suite, and of each run under a hard budget
	price      Price
	runs       int
	calls      int  // that each run would make
	dense      bool // prompts have more tokens than expected, at most one a byte
}

// situationOf draws a situation in which a budget is often met.
func situationOf(chance *rand.Rand) situation {
	s := situation{runs: 1 << chance.IntN(9), calls: 1 + chance.IntN(4), dense: chance.IntN(4) == 0}
	declared := spec.Price{Rates: spec.Rates{Input: 10 * chance.Float64(), Output: 40 * chance.Float64()}}
	cached := declared.Input * 2 * chance.Float64()
	declared.CachedInput = &cached
	s.price = PriceOf(&declared)
	all := int64(s.runs * s.calls)
	s.suite = limitsOf(chance, s.price, all)
	s.run = limitsOf(chance, s.price, int64(s.calls))
	return s
}

// limitsOf are limits that so many calls may meet, or not. Some are absent.
func limitsOf(chance *rand.Rand, p Price, calls int64) (l Limits) {
	const usual = 300 // tokens of a call
	if chance.IntN(2) == 0 {
		l.Calls = 1 + chance.Int64N(2*calls)
	}
	if chance.IntN(2) == 0 {
		l.Tokens = 1 + chance.Int64N(2*usual*calls)
	}
	if chance.IntN(2) == 0 {
		l.Cost = 1 + record.Money(chance.Int64N(int64(p.Input.Plus(p.Output))*usual*calls+1))
	}
	return l
}

// F40, P7: however many calls run at once, no more is ever spent than the budget
// of the suite and the hard budgets of its runs, where replies stay within what
// was reserved. Prompts denser than expected exceed by what one call has too
// much.
func TestF40_NoBudgetIsExceeded(t *testing.T) {
	suites := 2000
	if testing.Short() || raceEnabled {
		suites = 300
	}
	met := 0
	for seed := range suites {
		s := situationOf(rand.New(rand.NewPCG(uint64(seed), 40)))
		budget, refused, err := s.play(t.Context(), uint64(seed))
		if err != nil {
			t.Fatalf("suite %d, %+v: %v", seed, s, err)
		}
		if reservedOf(budget) != (record.Usage{}) {
			t.Fatalf("suite %d: %+v stays reserved", seed, reservedOf(budget))
		}
		if refused {
			met++
		}
	}
	if met < suites/4 || met > suites*9/10 {
		t.Errorf("%d of %d suites met their budget: the property says little", met, suites)
	}
}

// play makes the calls of all runs, and says whether any was refused by the
// suite.
func (s *situation) play(ctx context.Context, seed uint64) (*Budget, bool, error) {
	budget := NewBudget(Suite, s.suite)
	inner := Limit(&within{situation: s, seed: seed, budget: budget}, budget, LimitOptions{Price: s.price})
	outer := LimitRun(inner, LimitOptions{Price: s.price})
	results := make([]error, s.runs)
	var runs sync.WaitGroup
	for i := range s.runs {
		runs.Go(func() { results[i] = s.oneRun(ctx, outer, i) })
	}
	runs.Wait()
	refused := false
	for _, err := range results {
		if err == errSuiteRefused {
			refused = true
		} else if err != nil {
			return budget, refused, err
		}
	}
	return budget, refused, s.exceeded("the suite", budget, s.suite)
}

var errSuiteRefused = fmt.Errorf("the suite's budget refused")

func (s *situation) oneRun(ctx context.Context, m model.Model, run int) error {
	own := NewBudget(Run, s.run)
	ctx = WithRun(ctx, own)
	for call := range s.calls {
		request := &model.Request{MaxOutputTokens: 1 + (run*7+call*31)%400, Draw: model.Draw{Trial: run, Call: call}}
		request.Messages = []model.Message{{Role: "user", Text: strings.Repeat("x", (run*131+call*17)%1500)}}
		_, err := m.Call(ctx, request)
		var refused *Refused
		if errors.As(err, &refused) && refused.Budget.owner == Suite {
			return errSuiteRefused
		} else if refused != nil {
			break
		}
		if err := s.exceeded("a run", own, s.run); err != nil {
			return err
		}
	}
	return nil
}

// exceeded says that more was spent than allowed.
func (s *situation) exceeded(whose string, b *Budget, l Limits) error {
	if s.dense {
		excess := int64(1500 + messageTokens) // tokens of one call, all of them unexpected
		l.Tokens += excess * min(1, l.Tokens)
		l.Cost += max(s.price.Input, s.price.CachedInput).Times(excess) * min(1, l.Cost)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if short := l.Short(b.spent()); short != "" {
		return fmt.Errorf("%s spent %+v of %+v", whose, b.spent(), l)
	}
	if short := l.Short(b.spent().Plus(b.reserved)); short != "" {
		return fmt.Errorf("%s spent %+v and reserved %+v of %+v", whose, b.spent(), b.reserved, l)
	}
	return nil
}

// within is a model whose calls use something within their reservation, and
// fail in all the ways in which calls do.
type within struct {
	situation *situation
	seed      uint64
	budget    *Budget
}

func (m *within) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	if err := m.situation.exceeded("the suite", m.budget, m.situation.suite); err != nil {
		return nil, err
	}
	chance := rand.New(rand.NewPCG(m.seed, uint64(request.Draw.Trial*1000+request.Draw.Call)))
	switch chance.IntN(13) {
	case 0:
		return nil, model.Fail(record.Server, "500", 0)
	case 1:
		return nil, model.Fail(record.Incomplete, "cut", 0)
	case 2:
		return nil, context.Canceled
	case 3:
		refused := model.Fail(record.Network, "refused", 0)
		refused.Unsent = 1
		return nil, refused
	}
	most := request.InputTokens() + framingTokens(request)
	if m.situation.dense {
		most = request.Bytes() + framingTokens(request)
	}
	used := record.Usage{Calls: 1, InputTokens: chance.Int64N(most + 1), OutputTokens: chance.Int64N(int64(request.MaxOutputTokens) + 1)}
	used.CachedTokens = chance.Int64N(used.InputTokens + 1)
	return &model.Reply{Text: "yes", Usage: used}, nil
}

// A program's call was admitted when it arrived: the run's own budget counts it as that did, and neither refuses it nor lets it
// wait. The suite's budget does.
func TestCallsOfPrograms(t *testing.T) {
	priced := LimitOptions{Price: Price{Rates: Rates{Input: 1, Output: 2}}}
	asked := &model.Request{Raw: &model.Raw{Bytes: 400, Reserve: 4000}}
	reserved := priced.Reserved(asked)
	if reserved.Calls != 1 || reserved.InputTokens != 105 || reserved.OutputTokens != 4000 || reserved.Cost == 0 {
		t.Errorf("reserved %+v", reserved)
	}
	run := NewBudget(Run, Limits{Tokens: 10})
	within := answering(func() (*model.Reply, error) {
		if r := reservedOf(run); r != reserved {
			t.Errorf("in flight %+v are reserved", r)
		}
		return &model.Reply{Usage: tokens(7)}, nil
	})
	reply, err := LimitRun(within, priced).Call(WithRun(t.Context(), run), asked)
	if err != nil || *reply.Reserved != reserved || run.Spent().Tokens() != 7 || reservedOf(run) != (record.Usage{}) {
		t.Errorf("got %+v, %v, spent %+v", reply, err, run.Spent())
	}
	failing := answering(func() (*model.Reply, error) { return nil, model.Fail(record.Incomplete, "cut", 0) })
	_, err = LimitRun(failing, priced).Call(WithRun(t.Context(), run), asked)
	var told *model.Unanswered
	if !errors.As(err, &told) || told.Charged != reserved || told.Charged != Charged(err, reserved) || run.Spent().Tokens() != 7+reserved.Tokens() {
		t.Errorf("got %v, spent %+v", err, run.Spent())
	}
	if refused := Charged(model.Fail(record.RateLimit, "no", 0), reserved); refused != (record.Usage{Calls: 1}) {
		t.Errorf("charged %+v", refused)
	}
	if _, err := Limit(within, NewBudget(Suite, Limits{Tokens: 10}), priced).Call(t.Context(), asked); !errors.Is(err, ErrBudget) {
		t.Errorf("got %v", err)
	}
}

// A call that is no model's counts as one in both budgets, and in none that had
// no room for it.
func TestCallsThatAreNoModels(t *testing.T) {
	for name, c := range map[string]struct {
		run, suite int64
		made       int
		reason     record.Reason
	}{
		"the run's is smaller":   {2, 5, 2, record.ReasonBudgetCalls},
		"the suite's is smaller": {5, 3, 3, record.ReasonSuiteBudget},
		"none has a limit":       {0, 0, 9, ""},
	} {
		run, suite := NewBudget(Run, Limits{Calls: c.run}), NewBudget(Suite, Limits{Calls: c.suite})
		ctx := WithRun(t.Context(), run)
		var err error
		made := 0
		for made < 9 && err == nil {
			var settle func(unsent bool)
			var reserved *record.Usage
			if settle, reserved, err = BudgetCall(ctx, suite); err == nil {
				settle(false)
				made++
				if reserved == nil || reserved.Calls != 1 {
					t.Errorf("%s: reserved %+v", name, reserved)
				}
			}
		}
		want, left := record.Usage{Calls: int64(c.made)}, reservedOf(run).Calls+reservedOf(suite).Calls
		if made != c.made || run.Spent() != want || suite.Spent() != want || left != 0 {
			t.Errorf("%s: %d calls, %+v of the run, %+v of the suite", name, made, run.Spent(), suite.Spent())
		}
		var refused *Refused
		if (err != nil) != (c.reason != "") || err != nil && (!errors.As(err, &refused) || refused.StopReason() != c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		var unanswered *model.Unanswered
		if ofRun := c.reason == record.ReasonBudgetCalls; errors.As(err, &unanswered) != ofRun || ofRun && unanswered.Reserved.Calls != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call that never reached the remote agent is in the suite's budget no more; in
// the run's it is, whose decisions are the same whenever a server dies.
func TestCallsThatReachedNobody(t *testing.T) {
	run, suite := NewBudget(Run, Limits{Calls: 5}), NewBudget(Suite, Limits{Calls: 5})
	settle, _, err := BudgetCall(WithRun(t.Context(), run), suite)
	must(t, err)
	settle(true)
	if free, reserved, err := BudgetCall(t.Context(), nil); err != nil || reserved != nil {
		t.Errorf("without budgets: %v, %v", reserved, err)
	} else {
		free(false)
	}
	if run.Spent().Calls != 1 || suite.Spent() != (record.Usage{}) || reservedOf(suite) != (record.Usage{}) {
		t.Errorf("spent %+v of the run, %+v of the suite", run.Spent(), suite.Spent())
	}
}

// What a model may write is declared, or what was seen.
func TestReserveOutput(t *testing.T) {
	declared := spec.Model{ReserveOutput: 500, Tokens: spec.TokenCounts{Output: 100}}
	if o := OptionsOf(&declared); o.MaxOutput != 500 || o.Reserved(&model.Request{}).OutputTokens != 500 {
		t.Errorf("got %+v", o)
	}
	declared.ReserveOutput = 0
	if o := OptionsOf(&declared); o.MaxOutput != 100 {
		t.Errorf("got %+v", o)
	}
}
