package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// DefaultReserve is how many tokens of output are reserved for a call where nothing is declared.
const DefaultReserve = 4000

// Name is a name that a program asks for, and the model of the suite that answers.
type Name struct {
	Asked string // a pattern, as of path.Match; default: whatever no other one matches
	Model *Model
}

// Model is one of the suite.
type Model struct {
	Name   string // in the suite
	Model  model.Model
	Speaks model.Protocol // "": all of them, as models that call no server do
	// Pricing says what a call may use.
	Pricing pace.LimitOptions
	// Reserve is how many tokens of output are reserved for a call, as long as no longer reply was seen in the run; 0: DefaultReserve.
	Reserve int64
}

// Run is what one run lets its programs call, and what it wants to know.
type Run struct {
	Models []Name // the first that matches answers; default comes last, wherever it stands
	// Program is the name of the one that calls, such as codex; "": it is known by what it tells of itself.
	Program string
	// Draw has the task and the trial.
	Draw model.Draw
	// Clock is the time as-if since the start of the run; nil: since the session was opened. It is asked while the session is locked.
	Clock func() time.Duration
	// Own are texts that only belong to this run, such as the folder of its workspace: requests that differ in nothing
	// else are equal to the cache.
	Own []string
	// Before are the calls of the run that are not the session's, and Limits what it may spend in all.
	Before []record.Call
	Limits stop.CallLimits
	// Iteration is what one iteration may spend: a call beyond it is refused, and so are all others until the next one begins.
	Iteration stop.CallLimits
	// Refuse answers calls that are refused; else they are left without an answer until the session is closed.
	Refuse bool
	// Arrived is told each call when it arrives, one after the other, and decides: "" lets it pass, anything else is the reason for
	// which it is refused. Until it returns the call is not made, and its program waits. nil: the limits decide.
	Arrived func(ctx context.Context, a *Arrival) record.Reason
	// Ask makes a call, which has a place in the run; nil: it is only made.
	Ask func(ctx context.Context, call *model.Asked, place *record.Call) (*model.Reply, *record.Call, error)
	// Ended is told each call that was let through when it is over, before the program may know; nil: nobody is.
	Ended func(*Ended)
}

// Arrival is a call that has arrived, and was not made yet.
type Arrival struct {
	Call record.Call // with conversation, kind, step, reservation and when it arrived
	// Before are the calls of the run before it, those in flight without an end.
	Before []record.Call
	// InIteration are those of the iteration.
	InIteration []record.Call
	// Steps are those of the iteration that were followed by another one of their conversation, in that order, and Tools what they asked
	// for. Both are read only.
	Steps []record.Step
	Tools []record.ToolCall
	// Refused is why the limits refuse it, "": they do not.
	// All calls after one that was refused are refused: of the run, or of the iteration.
	Refused record.Reason
}

// Ended is a call that is over.
type Ended struct {
	Call    record.Call
	Reply   *model.Reply // nil where it failed
	NotMade error        // why it was not made although it was let through, such as for the suite's budget: it is no call then
}

// Session is the access of one run. Its base URL and token are for its programs alone.
type Session struct {
	BaseURL string // without a path
	Token   string

	server *Server
	run    Run
	ctx    context.Context // of the run: ended when the session is closed
	end    context.CancelCauseFunc
	open   sync.WaitGroup // requests that are being answered

	arrivals sync.Mutex // calls arrive one after the other

	mu            sync.Mutex
	calls         []*record.Call // in the order of their arrival
	conversations *conversations
	asked         map[drawn]int // retries left out
	iteration     iteration
	ending        map[*call]bool // the program has their answers, or is about to
	longest       int64          // reply, in tokens
	stopped       record.Reason  // for which a call was refused: so are all later ones
	latest        time.Duration
}

// drawn are calls of a model: all, or those of one name in a script.
type drawn struct{ model, script string }

// ErrClosed is the cause with which calls end that a session was closed upon.
var ErrClosed = errors.New("the session of the model proxy was closed")

// Begin says that what arrives from now on belongs to an iteration; before are the calls of the run that are not the session's. What
// ended the iteration before does not end this one.
func (s *Session) Begin(number int, before []record.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Before = before
	s.iteration, s.conversations.begun = iteration{number: number, began: s.latest}, false
	if s.stopped == record.ReasonMaxSteps {
		s.stopped = ""
	}
}

// Agent is the User-Agent of the first call of the iteration, "" where there was none.
func (s *Session) Agent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.iteration.agent
}

// mostOfAgent is how many bytes of a User-Agent are kept.
const mostOfAgent = 200

// called keeps the User-Agent of the first call of the iteration.
func (s *Session) called(header http.Header) {
	name := strings.ToValidUTF8(header.Get("User-Agent"), "")
	if len(name) > mostOfAgent { // what stands behind the first word may be cut in the middle of a secret
		if name, _, _ = strings.Cut(name, " "); len(name) > mostOfAgent {
			name = ""
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.iteration.agent = cmp.Or(s.iteration.agent, name)
}

// Made are the calls that were let through so far, in the order of their arrival, of which those in flight are cut; and the steps of the iteration that were answered by
// a time, with the tools that the answers ask for: first those that were followed by another one of their conversation. The place of
// each among all calls begins at 1.
func (s *Session) Made(until time.Duration) (calls []record.Call, steps []record.Step, tools []record.ToolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := slices.DeleteFunc(slices.Clone(s.iteration.unfollowed), func(t *said) bool { return t.call.Ended > until })
	slices.SortFunc(open, func(a, b *said) int { return cmp.Compare(a.call.Arrived, b.call.Arrived) })
	places := make(map[*record.Call]int, len(s.calls))
	for i, c := range s.calls {
		places[c] = i + 1
	}
	for _, t := range slices.Concat(s.iteration.followed, open) {
		step := t.step
		step.Call = places[t.call]
		steps, tools = append(steps, step), append(tools, t.tools...)
	}
	calls = s.copies(nil)
	for i := range calls {
		if c := &calls[i]; c.Ended == 0 || c.Ended > until && c.Usage.Cut > 0 {
			*c = c.CutAt(until)
		}
	}
	return calls, steps, tools
}

// copies are the calls behind others.
func (s *Session) copies(before []record.Call) []record.Call {
	all := slices.Grow(slices.Clip(before), len(s.calls))
	for _, c := range s.calls {
		all = append(all, *c)
	}
	return all
}

// Close ends the session: its token is no longer valid, calls in flight are cancelled, and those that were left without an answer
// are cut off. It returns when nothing of them is left.
func (s *Session) Close() {
	s.server.forget(s)
	s.end(ErrClosed)
	s.open.Wait()
}

// Env are the variables by which programs find the proxy.
func (s *Session) Env() []string { return s.EnvAt(s.BaseURL) }

// EnvAt are the variables of a program that reaches the proxy at another address, as within a sandbox.
func (s *Session) EnvAt(address string) []string {
	return []string{
		"OPENAI_BASE_URL=" + address + "/v1", "OPENAI_API_KEY=" + s.Token,
		"ANTHROPIC_BASE_URL=" + address, "ANTHROPIC_API_KEY=" + s.Token, "ANTHROPIC_AUTH_TOKEN=" + s.Token,
		"AGENTBENCH_PROXY_URL=" + address, "AGENTBENCH_PROXY_TOKEN=" + s.Token,
	}
}

// defaultName is the pattern of names that no other one matches.
const defaultName = "default"

// resolve is the model that answers for a name, nil where none does.
func (r *Run) resolve(asked string) *Model {
	var otherwise *Model
	for i := range r.Models {
		n := &r.Models[i]
		if n.Asked == defaultName {
			otherwise = n.Model
			continue
		}
		if matches, _ := path.Match(n.Asked, asked); matches || n.Asked == asked {
			return n.Model
		}
	}
	return otherwise
}

// now is the time of the run, later at each call.
func (s *Session) now() time.Duration {
	s.latest = max(s.latest+1, s.run.Clock())
	return s.latest
}

// call is one that arrived.
type call struct {
	session *Session
	place   *place
	model   *Model
	noted   *record.Call
	request *model.Request
	ctx     context.Context // of the run, ended with the program's request
	over    chan struct{}   // closed when it is
}

// longestEnd is how long a call that arrives waits at most for others that have been answered whole, and are about to end.
const longestEnd = time.Second

// arrive gives a call its place and reserves it, and lets the run decide.
func (s *Session) arrive(ctx context.Context, a *asked, m *Model, raw *model.Raw) (*call, record.Reason) {
	s.arrivals.Lock()
	defer s.arrivals.Unlock()
	s.settle(ctx)
	c, arrival := s.note(ctx, a, m, raw)
	reason := arrival.Refused
	if s.run.Arrived != nil {
		reason = cmp.Or(s.run.Arrived(ctx, arrival), reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason != "" {
		c.place.over, s.stopped = true, cmp.Or(s.stopped, reason)
		if reason == record.ReasonMaxSteps {
			s.withdraw(c)
		}
		return c, reason
	}
	c.noted.Start = s.now()
	s.calls = append(s.calls, c.noted)
	return c, ""
}

// withdraw takes back what a call took that is refused in a run which makes others later.
func (s *Session) withdraw(c *call) {
	if p := c.place; p.kind != record.RetryCall {
		s.asked[drawn{c.model.Name, ""}]--
		s.asked[drawn{c.model.Name, p.script()}]--
	}
	s.conversations.withdraw(c.place)
}

// settle waits until calls have ended whose answers the program has: else it would be left to chance whether they count with
// what they used or with what was reserved for them.
func (s *Session) settle(ctx context.Context) {
	s.mu.Lock()
	var ending []*call
	for c := range s.ending {
		ending = append(ending, c)
	}
	s.mu.Unlock()
	if len(ending) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestEnd)
	defer cancel()
	for _, c := range ending {
		select {
		case <-c.over:
		case <-ctx.Done():
		}
	}
}

// note is what is known of a call when it arrives.
func (s *Session) note(ctx context.Context, a *asked, m *Model, raw *model.Raw) (*call, *Arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.conversations.arrive(a)
	p.items = len(a.prefixes)
	arrived := s.now()
	if p.kind.IsStep() {
		s.follow(p.latest, a, arrived)
	}
	raw.Nth, raw.Reserve = p.nth, max(cmp.Or(m.Reserve, DefaultReserve), s.longest)
	c := &call{session: s, place: p, model: m, ctx: ctx, request: &model.Request{Raw: raw, Draw: s.run.Draw}, over: make(chan struct{})}
	if p.kind != record.RetryCall {
		all, named := drawn{m.Name, ""}, drawn{m.Name, p.script()}
		p.call, p.turn = s.asked[all], s.asked[named]
		s.asked[all]++
		s.asked[named]++
	}
	d := &c.request.Draw
	d.Call, d.Iteration, d.Conversation, d.Turn = p.call, s.iteration.number, p.script(), p.turn
	c.noted = &record.Call{
		Role: record.RoleAgent, Model: m.Name, Request: c.request.Hash(m.Name), Conversation: p.conversation.name, Kind: p.kind, Step: p.step,
		Reserved: new(m.Pricing.Reserved(c.request)), Arrived: arrived,
	}
	if m.Pricing.Guessed { // so is the input that counts where the call is cut
		c.noted.Reserved.Estimated = 1
	}
	c.noted.InputCost = m.Pricing.Price.LeastInput(c.noted.Reserved.InputTokens)
	arrival := &Arrival{Before: s.copies(s.run.Before), InIteration: s.inIteration(), Call: *c.noted, Steps: slices.Clip(s.iteration.steps), Tools: slices.Clip(s.iteration.tools)}
	arrival.Refused = cmp.Or(s.stopped, s.run.Iteration.EndsIteration(arrival.InIteration, &arrival.Call), s.run.Limits.Refuses(arrival.Before, &arrival.Call))
	return c, arrival
}

// inIteration are the calls of the iteration so far.
func (s *Session) inIteration() (calls []record.Call) {
	for _, c := range s.calls {
		if c.Arrived > s.iteration.began {
			calls = append(calls, *c)
		}
	}
	return calls
}

// begins notes when the answer begins, and ends when all of it is there but its last part.
func (c *call) begins() {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.noted.FirstByte = c.session.now()
}

func (c *call) ends() {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.ending[c] = true
}

// make makes the call and notes what became of it, before the program can know.
func (c *call) make() error {
	of := model.Asked{Model: c.model.Model, Name: c.model.Name, Role: record.RoleAgent, Hash: c.noted.Request, Request: c.request}
	ask := c.session.run.Ask
	if ask == nil {
		ask = func(ctx context.Context, of *model.Asked, _ *record.Call) (*model.Reply, *record.Call, error) {
			return of.Ask(ctx)
		}
	}
	reply, made, err := ask(c.ctx, &of, &record.Call{Conversation: c.place.conversation.name, Kind: c.place.kind, Step: c.place.step})
	ended := c.end(reply, made, err)
	if s := c.session; s.run.Ended != nil {
		s.run.Ended(ended)
	}
	return err
}

func (c *call) end(reply *model.Reply, made *record.Call, err error) *Ended {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(c.over)
	delete(s.ending, c)
	c.place.over, c.place.complete = true, err == nil
	ended := &Ended{Reply: reply}
	switch {
	case err == nil:
		s.longest = max(s.longest, reply.Usage.OutputTokens)
		if !c.place.side && c.noted.Arrived > s.iteration.began { // else it came too late for its iteration
			c.place.said = newSaid(c.noted, reply)
			s.iteration.unfollowed = append(s.iteration.unfollowed, c.place.said)
		}
	case made == nil: // it was not made after all
		s.calls = slices.DeleteFunc(s.calls, func(noted *record.Call) bool { return noted == c.noted })
		ended.Call, ended.NotMade = *c.noted, err
		return ended
	default:
		c.fail(made, err)
	}
	if c.noted.FirstByte == 0 && answered(err) {
		c.noted.FirstByte = s.now()
	}
	at := *c.noted
	*c.noted = *made
	c.noted.Conversation, c.noted.Kind, c.noted.Step, c.noted.Reserved, c.noted.InputCost = at.Conversation, at.Kind, at.Step, at.Reserved, at.InputCost
	c.noted.Start, c.noted.Arrived, c.noted.FirstByte, c.noted.Ended = at.Start, at.Arrived, at.FirstByte, s.now()
	if e := c.noted.Error; e != nil && e.Class == record.ContextLength {
		s.unstep(c.noted)
	}
	if err != nil && c.ctx.Err() != nil && c.noted.Charged != nil {
		c.noted.Lose()
	}
	c.place.said.ended()
	ended.Call = *c.noted
	return ended
}

// answered reports whether a failed call has an answer of its server, which is passed on.
func answered(err error) bool {
	failed, ok := errors.AsType[*model.CallError](err)
	return ok && failed.Answer != nil
}

// fail notes what a call without an answer counts with.
func (c *call) fail(made *record.Call, err error) {
	if charged := pace.Charged(err, *c.noted.Reserved); made.Charged == nil && charged != made.Usage {
		made.Charged = &charged
	}
	if made.Error == nil {
		made.Error = &record.Error{Class: record.Incomplete, Message: "the program ended the call: " + err.Error()}
	}
}
