package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

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
	declared := spec.Price{Input: 10 * chance.Float64(), Output: 40 * chance.Float64()}
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
	suites := 10_000
	if testing.Short() || raceEnabled {
		suites = 500
	}
	met := 0
	for seed := range suites {
		s := situationOf(rand.New(rand.NewPCG(uint64(seed), 40)))
		budget, refused, err := s.play(t.Context(), uint64(seed))
		if err != nil {
			t.Fatalf("suite %d, %+v: %v", seed, s, err)
		}
		if budget.Reserved() != (record.Usage{}) {
			t.Fatalf("suite %d: %+v stays reserved", seed, budget.Reserved())
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
		l.Cost += s.price.Most().Input.Times(excess) * min(1, l.Cost)
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
