package pace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// A budget limits calls, tokens and money. Every call is reserved at its worst before it is made and
// settled at what it used, so that calls in parallel cannot overshoot as long
// as none is worse than its reservation.

// Limits are what may be spent. Zero means no limit. What exceeds them is decided
// where replay decides it too.
type Limits = stop.Limits

// Resource is what a budget limits.
type Resource string

// The resources.
const (
	Calls  Resource = "calls"
	Tokens Resource = "tokens"
	Cost   Resource = "cost"
)

// Owner says whose budget it is.
type Owner string

// The owners.
const (
	Suite Owner = "suite"
	Run   Owner = "run"
)

// Budget is what may be spent, and what was. It is safe for concurrent use.
type Budget struct {
	owner  Owner
	limits Limits

	mu       sync.Mutex
	paid     record.Usage // what calls are known to have used
	doubt    record.Usage // what calls may have used whose answers did not come
	reserved record.Usage // what calls in flight may use
	inFlight int
	refusal  *Refused // the last call that was not made; nil: all were
	starved  bool
	settled  chan struct{} // closed at the next settlement; nil while nobody waits
	ledger   *record.Ledger

	// elsewhere is what of the limits other processes hold or have spent; see Borrow.
	elsewhere record.Usage
	lender    Lender // nil: all that is left is this process's own
	asking    chan struct{}
	handed    *Reservation // what HandOver put down in the ledger; nil: nothing
}

// NewBudget makes a budget.
func NewBudget(owner Owner, limits Limits) *Budget { return &Budget{owner: owner, limits: limits} }

// OfSuite makes the budget of a suite; its duration is the engine's concern.
func OfSuite(b spec.SuiteBudget) *Budget {
	return NewBudget(Suite, Limits{Calls: b.Calls, Tokens: b.Tokens, Cost: stop.Dollars(b.CostUSD)})
}

// OfRun makes the budget of one run under a hard budget guard.
func OfRun(b *spec.RunBudget) *Budget {
	return NewBudget(Run, stop.LimitsOf(b))
}

// Limits are what may be spent.
func (b *Budget) Limits() Limits { return b.limits }

// Charge adds what was spent elsewhere, by an earlier session.
func (b *Budget) Charge(paid, doubt record.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid, b.doubt = b.paid.Plus(paid), b.doubt.Plus(doubt)
}

// Exhausted reports whether nothing is left of a limit.
func (b *Budget) Exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent().Plus(b.elsewhere)
	l := &b.limits
	return l.Calls > 0 && s.Calls >= l.Calls || l.Tokens > 0 && s.Tokens() >= l.Tokens || l.Cost > 0 && s.Cost >= l.Cost
}

// Keep has every call put down in a ledger, before it is made and when it is over.
func (b *Budget) Keep(l *record.Ledger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger = l
}

// spent counts what is in doubt as well.
func (b *Budget) spent() record.Usage { return b.paid.Plus(b.doubt) }

// Spent is what was settled: paid, or in doubt.
func (b *Budget) Spent() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent()
}

// InDoubt is the part of what is spent that calls may have used whose answers did
// not come.
func (b *Budget) InDoubt() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.doubt
}

// Reserved is what calls in flight may still spend.
func (b *Budget) Reserved() record.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}

// resources are what the limits are of that a reason names.
var resources = map[record.Reason]Resource{
	record.ReasonBudgetCalls:  Calls,
	record.ReasonBudgetTokens: Tokens,
	record.ReasonBudgetCost:   Cost,
}

// short is what the limits do not suffice for, "" where they do.
func (b *Budget) short(u record.Usage) Resource {
	return resources[b.limits.Short(u.Plus(b.elsewhere))]
}

// Refused reports whether a call was not made because there was no room for it.
func (b *Budget) Refused() bool { return b.Refusal() != nil }

// Refusal tells of the last call that was not made because there was no room for it; nil: there was none.
func (b *Budget) Refusal() *Refused {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal
}

// Starved reports whether the last call that was not made would have had room
// beside what was paid, so that it is what is in doubt that fills the budget.
func (b *Budget) Starved() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.starved
}

// Overshoot is a limit that was exceeded, because calls used more than could be
// reserved for them. Cost counts in 1e-12 USD.
type Overshoot struct {
	Resource     Resource
	Limit, Spent int64
}

// Overshoot tells which limit was exceeded; nil: none was.
func (b *Budget) Overshoot() *Overshoot {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch l, s := &b.limits, b.spent().Plus(b.elsewhere); resources[l.Short(s)] {
	case Calls:
		return &Overshoot{Calls, l.Calls, s.Calls}
	case Tokens:
		return &Overshoot{Tokens, l.Tokens, s.Tokens()}
	case Cost:
		return &Overshoot{Cost, int64(l.Cost), int64(s.Cost)}
	}
	return nil
}

// oneCall is all that is known beforehand of a call that is no model's.
var oneCall = Worst{Expected: record.Usage{Calls: 1}, Bound: record.Usage{Calls: 1}}

// BudgetCall reserves a call that is no model's, such as that of a remote agent, in the
// budget of the context's run and in the suite's, which may be nil. It is settled
// when the call is over, as one call; in the suite's as none where it is certain that
// nothing was sent. Reserved is what the record has of it under
// a budget of the run. The errors are those of models under a budget.
func BudgetCall(ctx context.Context, suite *Budget) (settle func(unsent bool), reserved *record.Usage, err error) {
	run, _ := ctx.Value(runKey{}).(*Budget)
	ofRun, err := run.one(ctx)
	if err != nil {
		return nil, nil, &model.Unanswered{Err: err, Reserved: oneCall.Expected}
	}
	ofSuite, err := suite.one(ctx)
	if err != nil {
		ofRun.Settle(record.Settlement{})
		return nil, nil, err
	}
	if ofRun != nil {
		reserved = &record.Usage{Calls: 1}
	}
	return func(unsent bool) {
		one := record.Settlement{Paid: oneCall.Expected}
		ofRun.Settle(one)
		if unsent {
			one = record.Settlement{}
		}
		ofSuite.Settle(one)
	}, reserved, nil
}

// one reserves one call; nil in no budget.
func (b *Budget) one(ctx context.Context) (*Reservation, error) {
	if b == nil {
		return nil, nil
	}
	return b.Reserve(ctx, oneCall)
}

// messageTokens is what the chat formats add to a message and to the beginning
// of the reply at most: 3 or 4 at OpenAI, 5 in the templates of open models.
const messageTokens = 5

// What servers add where there are tools: once, the words that explain to a model
// how it calls them, of which Anthropic's are the longest with about 350 tokens;
// and the framing of each tool and of each call that was made.
const (
	toolsTokens = 400
	toolTokens  = 16
	callTokens  = 16
)

// estimate says what calls of a model may use. It learns from what calls used.
type estimate struct {
	options LimitOptions

	mu sync.Mutex
	// density is the most tokens of input that were reported for each that was
	// estimated, at least 1; longest is the longest reply seen.
	density float64
	longest int64
}

func newEstimate(o LimitOptions) *estimate {
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	return &estimate{options: o, density: 1, longest: o.MaxOutput}
}

// of is what a call may use. A token stands for a byte at least, so that the
// text's length bounds its tokens.
func (e *estimate) of(request *model.Request) Worst {
	e.mu.Lock()
	density, output := e.density, e.longest
	e.mu.Unlock()
	switch {
	case request.Raw != nil && output > e.options.MaxOutput: // a longer reply was seen
		output = max(output, request.Raw.Reserve)
	case request.Raw != nil:
		output = request.Raw.Reserve
	case request.MaxOutputTokens > 0:
		output = int64(request.MaxOutputTokens)
	}
	expected, bound := e.options.Input, e.options.Input
	if expected == 0 {
		framing := framingTokens(request)
		expected = int64(math.Ceil(density * float64(request.InputTokens()+framing)))
		bound = max(expected, request.Bytes()+framing)
	}
	return Worst{Expected: e.priced(expected, output), Bound: e.priced(bound, output), Simulated: e.options.Simulated}
}

func framingTokens(request *model.Request) int64 {
	tokens := messageTokens * (len(request.Messages) + 1)
	if len(request.Tools) > 0 {
		tokens += toolsTokens + toolTokens*len(request.Tools)
	}
	for i := range request.Messages {
		tokens += callTokens * len(request.Messages[i].ToolCalls)
	}
	return int64(tokens)
}

func (e *estimate) priced(input, output int64) record.Usage {
	return e.options.Price.most(record.Usage{Calls: 1, InputTokens: input, OutputTokens: output})
}

// learn compares what a call was expected to use with what it used.
func (e *estimate) learn(request *model.Request, used record.Usage) {
	expected := request.InputTokens() + framingTokens(request)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.longest = max(e.longest, used.OutputTokens)
	e.density = max(e.density, float64(used.InputTokens)/float64(expected))
}

// Worst is what a call may use. What is expected rests on an estimate of the
// prompt's tokens; the bound does not, and is at least as much.
type Worst struct {
	Expected, Bound record.Usage
	Simulated       bool // the call is free
}

// Reserve makes room for a call. There is none where even what is expected does
// not fit beside what was spent. Where the bound fits as well, the call may be
// made beside others; where it does not, only when no other is in flight. So
// Reserve waits for calls in flight, for they may turn out smaller than
// reserved. Its errors are *Refused, ErrUnpriced, the context's cause, and that the
// ledger cannot be written.
func (b *Budget) Reserve(ctx context.Context, worst Worst) (*Reservation, error) {
	for {
		if err := b.borrow(ctx, &worst); err != nil {
			return nil, err
		}
		reserved, wait, err := b.try(model.Role(ctx), &worst)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return reserved, reserved.sync(&worst)
		}
		if err := await(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// sync has the reservation on disk, so that no crash forgets what a call may cost. Simulated calls cost nothing.
func (r *Reservation) sync(worst *Worst) error {
	if r.budget.ledger == nil || worst.Simulated {
		return nil
	}
	err := r.budget.ledger.Sync()
	if err != nil {
		r.Settle(record.Settlement{})
	}
	return err
}

// await is no work of the run that waits.
func await(ctx context.Context, wait <-chan struct{}) error {
	defer model.Waiting(ctx)()
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try reserves, or gives what to wait for.
func (b *Budget) try(role record.Role, worst *Worst) (_ *Reservation, wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.Cost > 0 && worst.Expected.Unpriced > 0 {
		return nil, nil, ErrUnpriced
	}
	if short := b.short(b.spent().Plus(worst.Expected)); short != "" {
		b.starved = b.short(b.paid.Plus(worst.Expected)) == ""
		b.refusal = &Refused{Budget: b, Resource: short, Needs: worst.Expected, Left: b.limits.Left(b.spent().Plus(b.elsewhere))}
		return nil, nil, b.refusal
	}
	r := &Reservation{budget: b, role: role, worst: worst.Expected}
	switch {
	case b.short(b.spent().Plus(b.reserved).Plus(worst.Bound)) == "":
		r.worst = worst.Bound
	case b.inFlight > 0:
		if b.settled == nil {
			b.settled = make(chan struct{})
		}
		return nil, b.settled, nil
	}
	if b.ledger != nil {
		if r.entry, err = b.ledger.Reserve(role, r.worst); err != nil {
			return nil, nil, err
		}
	}
	b.reserved = b.reserved.Plus(r.worst)
	b.inFlight++
	return r, nil, nil
}

// Reported adds what a program or endpoint says that it used itself: it was not asked before. The nil Budget takes nothing.
func (b *Budget) Reported(u record.Usage) {
	if b == nil || u == (record.Usage{}) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid = b.paid.Plus(u)
	if b.ledger == nil {
		return
	}
	if entry, err := b.ledger.Reserve(record.RoleProgram, u); err == nil { // else the next call is told
		b.ledger.Settle(entry, u, record.Settlement{Paid: u})
	}
}

// take makes room for a call whose admission was decided before.
func (b *Budget) take(expected record.Usage) *Reservation {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = b.reserved.Plus(expected)
	b.inFlight++
	return &Reservation{budget: b, worst: expected}
}

// Reservation is the room that a call in flight holds.
type Reservation struct {
	budget *Budget
	role   record.Role
	worst  record.Usage
	entry  int64 // of the ledger, if there is one
	once   sync.Once
}

// Worst is what was reserved.
func (r *Reservation) Worst() record.Usage { return r.worst }

// Settle replaces the reservation by what became of the call. Only the first
// settlement counts; the nil Reservation holds nothing.
func (r *Reservation) Settle(s record.Settlement) {
	if r == nil {
		return
	}
	r.once.Do(func() { r.budget.settle(r, &s) })
}

func (b *Budget) settle(r *Reservation, s *record.Settlement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved = b.reserved.Minus(r.worst)
	b.paid, b.doubt = b.paid.Plus(s.Paid), b.doubt.Plus(s.Doubt)
	b.inFlight--
	if b.ledger != nil {
		s.Role = r.role
		b.ledger.Settle(r.entry, r.worst, *s)
	}
	if b.settled != nil {
		close(b.settled)
		b.settled = nil
	}
}

// ErrBudget says that a budget has no room for a call.
var ErrBudget = errors.New("the budget is spent")

// ErrUnpriced says that a call of unknown price met a budget of money.
var ErrUnpriced = fmt.Errorf("%w: its price is unknown, and the budget limits the cost", model.ErrRefused)

// Refused is the ErrBudget of a budget that has no room for a call.
type Refused struct {
	Budget   *Budget
	Resource Resource
	Needs    record.Usage // what it would have reserved
	Left     Limits       // what was left
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the budget of the %s has no room for another call: %s", e.Budget.owner, e.Resource)
}

// Is makes it an ErrBudget, which is a call that was not made.
func (e *Refused) Is(target error) bool { return target == ErrBudget || target == model.ErrRefused }

// StopReason is the reason for which a run stops that meets the refusal.
func (e *Refused) StopReason() record.Reason {
	switch {
	case e.Budget.owner == Suite:
		return record.ReasonSuiteBudget
	case e.Resource == Calls:
		return record.ReasonBudgetCalls
	case e.Resource == Tokens:
		return record.ReasonBudgetTokens
	}
	return record.ReasonBudgetCost
}

// DefaultMaxOutput is reserved for the reply of a call that names no
// MaxOutputTokens, as long as no longer one was seen. A longer one may overshoot
// the budget by its excess.
const DefaultMaxOutput = 4096

// LimitOptions say how calls are priced and reserved.
type LimitOptions struct {
	Price Price
	// Input is what every prompt is reserved at; 0: at an estimate by its text.
	Input int64
	// Guessed means that Input is an estimate.
	Guessed bool
	// MaxOutput is reserved for the reply of a call that names no
	// MaxOutputTokens; 0 means DefaultMaxOutput.
	MaxOutput int64
	// Simulated says that calls use what is estimated, for no server knows better.
	Simulated bool
}

// OptionsOf says what calls of a declared model cost and may use. Where tokens are
// declared, as for simulated models, the texts do not matter.
func OptionsOf(m *spec.Model) LimitOptions {
	return LimitOptions{
		Price:     PriceOfModel(m),
		Input:     int64(m.Tokens.Most(m.Tokens.Input)),
		MaxOutput: cmp.Or(m.ReserveOutput, int64(m.Tokens.Most(m.Tokens.Output))),
		Guessed:   m.Tokens.Input == 0 || m.Tokens.Spread > 0,
	}
}

// Reserved is what the run's own budget reserves for a request.
func (o LimitOptions) Reserved(request *model.Request) record.Usage {
	return newEstimate(o).of(request).Expected
}

// Charged is what the run's own budget counts as spent by a call that failed, of which so much was reserved.
func Charged(err error, reserved record.Usage) record.Usage {
	s := settlementOf(err, reserved, true)
	return s.Paid.Plus(s.Doubt)
}

// Limit prices what a model uses and reserves every call in the budget first. A
// nil budget has no limits. Where the budget has no room the call is not made,
// and the error is a *Refused. What replies report corrects the estimates.
func Limit(inner model.Model, budget *Budget, options LimitOptions) model.Model {
	return &limited{inner: inner, suite: budget, worst: newEstimate(options)}
}

// LimitRun does the same with the budget that the context carries for one run
// (see WithRun), and puts what was expected into the reply for the record. Its
// estimates depend on nothing but the request: other runs must not decide where
// this one ends.
func LimitRun(inner model.Model, options LimitOptions) model.Model {
	return &limited{inner: inner, perRun: true, worst: newEstimate(options)}
}

type runKey struct{}

// WithRun gives the calls of one run their budget.
func WithRun(ctx context.Context, budget *Budget) context.Context {
	return context.WithValue(ctx, runKey{}, budget)
}

type limited struct {
	inner  model.Model
	suite  *Budget
	perRun bool
	worst  *estimate
}

// Call makes the call if the budget has room for it.
func (m *limited) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	budget := m.suite
	if m.perRun {
		budget, _ = ctx.Value(runKey{}).(*Budget)
	}
	if budget == nil {
		return m.call(ctx, request)
	}
	return m.reserved(ctx, budget, request)
}

// reserved is a call that the budget has room for.
func (m *limited) reserved(ctx context.Context, budget *Budget, request *model.Request) (*model.Reply, error) {
	worst := m.worst.of(request)
	reservation, err := m.reserve(ctx, budget, request, worst)
	if err != nil {
		return nil, m.noted(err, &worst, record.Usage{})
	}
	settled := record.Settlement{Doubt: reservation.Worst()} // and so it stays where the model panics
	defer func() { reservation.Settle(settled) }()
	reply, err := m.call(ctx, request)
	if err != nil {
		if m.perRun {
			settled.Doubt = worst.Expected // the bound may be reserved or not, by what is left: that must not decide later
		}
		settled = settlementOf(err, settled.Doubt, m.perRun)
		return nil, m.noted(err, &worst, settled.Paid.Plus(settled.Doubt))
	}
	settled = record.Settlement{Paid: reply.Usage}
	switch {
	case m.perRun:
		reply.Reserved = new(worst.Expected)
	case reply.Usage.Estimated > 0 && !m.worst.options.Simulated: // what it used nobody knows: not to exceed the budget, all that was reserved
		settled = record.Settlement{Doubt: larger(reservation.Worst(), reply.Usage)}
	default:
		m.worst.learn(request, reply.Usage)
	}
	return reply, nil
}

// reserve makes room for a call. Whether the run's own budget admits one that a program makes was decided when it
// arrived, by the calls of that moment: it is not decided again.
func (m *limited) reserve(ctx context.Context, budget *Budget, request *model.Request, worst Worst) (*Reservation, error) {
	if m.perRun && request.Raw != nil {
		return budget.take(worst.Expected), nil
	}
	return budget.Reserve(ctx, worst)
}

// larger is a reservation, or an estimate that is more.
func larger(reserved, estimate record.Usage) record.Usage {
	reserved.InputTokens = max(reserved.InputTokens, estimate.InputTokens)
	reserved.OutputTokens = max(reserved.OutputTokens, estimate.OutputTokens)
	reserved.Cost = max(reserved.Cost, estimate.Cost)
	reserved.Estimated = estimate.Estimated
	return reserved
}

// noted tells what the run's own budget made of a call without an answer, for the
// record.
func (m *limited) noted(err error, worst *Worst, charged record.Usage) error {
	if !m.perRun {
		return err
	}
	return &model.Unanswered{Err: err, Reserved: worst.Expected, Charged: charged}
}

// call makes the call and prices it.
func (m *limited) call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	price := &m.worst.options.Price
	reply, err := m.inner.Call(ctx, request)
	if err == nil {
		price.charge(reply)
		return reply, nil
	}
	var failed *model.CallError
	switch {
	case !errors.As(err, &failed):
	case failed.Reply != nil:
		price.charge(failed.Reply)
		failed.Usage = failed.Reply.Usage
	default:
		failed.Usage = price.tokens(failed.Usage)
	}
	return nil, err
}

// settlementOf is what becomes of the reservation of a failed call: all of it is in
// doubt where the server may have worked and nobody will ever say how much, and none
// of it is spent where the server never received a byte. A run's own budget does
// not tell the two apart: what it decides must not depend on when a server died.
func settlementOf(err error, reserved record.Usage, ofRun bool) record.Settlement {
	_, known := model.Failure(err)
	var failed *record.Error
	switch {
	case errors.Is(err, model.ErrEnded), errors.Is(err, model.ErrRefused):
		return record.Settlement{Paid: known}
	case model.NeverSent(err) && !ofRun:
		return record.Settlement{}
	case !errors.As(err, &failed):
		return record.Settlement{Doubt: reserved}
	}
	switch failed.Class {
	case record.CallTimeout, record.Network, record.Incomplete, record.BadResponse, record.Internal:
		return record.Settlement{Doubt: reserved}
	}
	return record.Settlement{Paid: known}
}
