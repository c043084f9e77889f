package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/agent/dialect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/engine/trace"
)

// use is one call of a step.
type use struct {
	call    record.ToolCall
	defined tool.Definition
	asked   tool.Use
	beside  bool // it is made beside others
	result  tool.Result
	err     error
	broken  error // a panic
}

// use uses the tools that a reply calls, and puts down what they gave in the
// order of the calls.
func (t *talk) use(ctx context.Context, calls []dialect.Call) (over bool, err error) {
	uses := make([]use, len(calls))
	for i := range calls {
		t.check(&uses[i], &calls[i], len(t.result.ToolCalls)+i)
	}
	t.run(ctx, uses)
	err = t.settle(uses)
	if err != nil || t.result.Ended != nil {
		return err == nil, err
	}
	if text, said := t.said(t.last(), t.ofLast()); said {
		return t.say(ctx, text, "")
	}
	return false, nil
}

// check says what is wrong with a call, before any of the step is made. So many
// of the iteration stand before it.
func (t *talk) check(u *use, c *dialect.Call, before int) {
	u.defined, _ = t.set.Definition(c.Tool)
	u.call = record.ToolCall{Tool: c.Tool, ID: c.ID, Server: cmp.Or(u.defined.Server, c.Server), Arguments: c.Arguments}
	if c.Fault != "" {
		u.call.Error = &record.Error{Class: record.BadCall, Message: c.Fault}
		return
	}
	if u.defined.Delegate {
		u.call.Delegate = u.defined.Name
	}
	u.call.Error = t.set.Check(c.Tool, c.Arguments)
	u.asked = tool.Use{Arguments: c.Arguments, Task: t.turn.Task, Trial: t.turn.Trial, Number: t.turn.ToolCalls + before}
}

// mostBeside is how many calls of one step are made at the same time: a reply may
// have thousands, each of them a program. As-if they begin
// together, however long they waited for one another.
const mostBeside = 16

// run makes the calls that can be made: those that follow one another here, the
// others beside them. It returns when all are over.
func (t *talk) run(ctx context.Context, uses []use) {
	before := maps.Clone(t.turn.Calls)
	free := make(chan struct{}, mostBeside)
	var beside sync.WaitGroup
	for i := range uses {
		u := &uses[i]
		if u.beside = u.call.Error == nil && !u.defined.Serial && len(uses) > 1; u.beside {
			u.asked.Calls = maps.Clone(before)
			beside.Go(func() {
				free <- struct{}{}
				defer func() { <-free }()
				u.make(model.Beside(ctx, i+1), t.set)
			})
		}
	}
	for i := range uses {
		if u := &uses[i]; u.call.Error == nil && !u.beside {
			u.asked.Calls = t.turn.Calls
			u.make(ctx, t.set)
		}
	}
	beside.Wait()
	for i := range uses {
		t.count(&uses[i], before)
	}
}

// make makes a call. A panic is kept for who waits for all calls.
func (u *use) make(ctx context.Context, set *tool.Set) {
	defer func() {
		if cause := recover(); cause != nil {
			u.broken = fmt.Errorf("%v\n%s", cause, debug.Stack())
		}
	}()
	ctx, span := trace.StartTool(ctx, &u.call, u.defined.Description)
	u.result, u.err = set.Use(ctx, u.call.Tool, &u.asked)
	r := &u.result
	span.End(trace.Used{Duration: r.Duration, Cached: r.Cached, Attempts: r.Attempts, Content: r.Content}, u.err)
}

// count adds the calls of models that were made beside others.
func (t *talk) count(u *use, before map[string]int) {
	if u.broken != nil {
		panic(u.broken)
	}
	if !u.beside {
		return
	}
	for name, made := range u.asked.Calls {
		t.turn.Calls[name] += made - before[name]
	}
}

// settle puts down what the calls gave, each in its time. The error is that of
// the iteration: the context ended, or something of the infrastructure failed.
func (t *talk) settle(uses []use) (err error) {
	beside := span{over: t.result.Took}
	after, longest := beside, beside
	ended := make([]span, len(uses))
	for i := range uses {
		u := &uses[i]
		took := u.note(beside)
		if u.defined.Serial {
			took = u.note(behind(after, beside, ended[:i]))
			after = took
		}
		ended[i] = took
		if took.over > longest.over {
			longest = took
		}
		t.keep(u)
		if err == nil {
			err = u.fatal()
		}
	}
	t.result.Took, t.result.Waited = longest.over, t.result.Waited+longest.waited
	return err
}

// behind is what a call follows, among those before it that began beside it: the
// last one that was over at that time. The record does not say which it was of
// several, and a replay has to find the same.
func behind(after, beside span, ended []span) span {
	for _, one := range slices.Backward(ended) {
		if after.over > beside.over && one.over == after.over {
			return one
		}
	}
	return after
}

// span is when something was over, and what of it was waited.
type span struct{ over, waited time.Duration }

// note completes the record of a call that followed a span, and gives the span
// that it ends.
func (u *use) note(from span) span {
	c, r := &u.call, &u.result
	c.Start, c.Duration, c.Waited = from.over, r.Duration, r.Waited
	c.Result, c.ResultB64, c.Cached, c.Delegated = r.Content, r.Bytes, r.Cached, r.Run
	if r.Attempts > 1 {
		c.Attempts = r.Attempts
	}
	if c.Error == nil {
		errors.As(u.err, &c.Error)
	}
	if u.err == nil && c.Error == nil && c.Result == nil {
		c.Result = json.RawMessage(`""`)
	}
	return span{from.over + r.Duration, from.waited + r.Waited}
}

// fatal is the error of a call that ends the iteration: one that is not the
// tool's. The model is told of all others.
func (u *use) fatal() error {
	var failed *record.Error
	if errors.As(u.err, &failed) && !failed.Class.Infrastructure() {
		return nil
	}
	return u.err
}

// keep appends a call to the record, with those that it made itself.
func (t *talk) keep(u *use) {
	for i := range u.result.Calls {
		u.result.Calls[i].Start += u.call.Start
	}
	t.result.Calls = append(t.result.Calls, u.result.Calls...)
	t.result.ToolCalls = append(t.result.ToolCalls, u.call)
	t.last().Tools++
	if t.result.Ended == nil && u.err == nil && u.result.Ended != nil {
		ended := *u.result.Ended
		ended.Tool = u.call.Tool
		t.result.Ended = &ended
		t.result.give(ended.Output, t.Spec.Reply)
	}
}

// Toolbox has the tools of an agent: its own, delegates among them, and those of
// servers, which are known once a run has begun. The nil Toolbox is empty.
type Toolbox struct {
	own     []tool.Tool
	sources []tool.Source
	options tool.Options
	set     *tool.Set // of its own; nil: nothing can be used
}

// Told has tools of which an agent can be told, and that nobody may use.
func Told(own []tool.Tool, sources []tool.Source) *Toolbox {
	return &Toolbox{own: own, sources: sources}
}

// NewToolbox fails where the agent's own tools cannot stand beside each other.
func NewToolbox(own []tool.Tool, sources []tool.Source, o tool.Options) (*Toolbox, error) {
	set, err := tool.NewSet(own, o)
	if err != nil {
		return nil, err
	}
	return &Toolbox{own: own, sources: sources, options: o, set: set}, nil
}

// open gives the tools that the run in the context can use. Servers of which it
// knows nothing yet are asked; they are given as well.
func (b *Toolbox) open(ctx context.Context, known []record.ToolServer) (set *tool.Set, asked []record.ToolServer, err error) {
	if b == nil {
		set, err = tool.NewSet(nil, tool.Options{})
		return set, nil, err
	}
	if len(b.sources) == 0 {
		return b.set, nil, nil
	}
	for _, source := range b.sources {
		if _, told := tells(known, source.Name()); told {
			continue
		}
		server, err := source.Server(ctx)
		if err != nil {
			return nil, asked, err
		}
		asked = append(asked, server)
	}
	set, err = b.kept(ctx, slices.Concat(known, asked))
	return set, asked, err
}

// kept is the set of all tools, made once for a run.
func (b *Toolbox) kept(ctx context.Context, servers []record.ToolServer) (*tool.Set, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return b.together(servers)
	}
	set, err := run.Keep(b, func() (any, func(), error) {
		set, err := b.together(servers)
		return set, nil, err
	})
	if err != nil {
		return nil, err
	}
	return set.(*tool.Set), nil
}

// together has the tools of its own and those of servers that told this of
// themselves.
func (b *Toolbox) together(servers []record.ToolServer) (*tool.Set, error) {
	all, err := b.tools(servers)
	if err != nil {
		return nil, err
	}
	set, err := tool.NewSet(all, b.options)
	if err != nil {
		return nil, &record.Error{Class: record.InvalidRequest, Message: err.Error()}
	}
	return set, nil
}

// defined is what open's set would tell of its tools, of which nothing is asked.
// It fails where a server is not known.
func (b *Toolbox) defined(servers []record.ToolServer) ([]tool.Definition, error) {
	if b == nil {
		return nil, nil
	}
	all, err := b.tools(servers)
	definitions := make([]tool.Definition, len(all))
	for i := range all {
		definitions[i] = all[i].Definition()
	}
	return definitions, err
}

func (b *Toolbox) tools(servers []record.ToolServer) ([]tool.Tool, error) {
	all := slices.Clone(b.own)
	taken := names{}
	for _, own := range b.own {
		taken[own.Definition().Name] = 1
	}
	for _, source := range b.sources {
		told, known := tells(servers, source.Name())
		if !known {
			return nil, &record.Error{Class: record.Internal, Message: "nothing is known of the server " + source.Name()}
		}
		used, err := source.Tools(told)
		if err != nil {
			return nil, err
		}
		for _, t := range used {
			all = append(all, taken.apart(t))
		}
	}
	return all, nil
}

func tells(servers []record.ToolServer, name string) (told record.ToolServer, known bool) {
	i := slices.IndexFunc(servers, func(s record.ToolServer) bool { return s.Name == name })
	if i < 0 {
		return told, false
	}
	return servers[i], true
}

// names are those that are taken, and how often each was asked for.
type names map[string]int

// apart is the tool under a name that every API takes and no other tool has: its
// server's stands before it where it is taken, and a number behind that where that
// is taken as well.
func (n names) apart(t tool.Tool) tool.Tool {
	defined := t.Definition()
	name := n.free(defined.Name, strings.Map(callable, defined.Server)+"__"+defined.Name)
	if name == defined.Name {
		return t
	}
	defined.Name = name
	return renamed{t, defined}
}

func (n names) free(name, longer string) string {
	name, longer = short(name, ""), short(longer, "")
	if name == "" || n[name] > 0 {
		name = longer
	}
	for n[name] > 0 {
		n[longer]++
		name = short(longer, fmt.Sprintf("_%d", n[longer]))
	}
	n[name]++
	return name
}

// short keeps a name and what follows it to the length that APIs allow.
func short(name, end string) string {
	const most = 64
	return name[:min(len(name), most-len(end))] + end
}

// renamed is a tool under another name.
type renamed struct {
	tool.Tool
	defined tool.Definition
}

// Definition has the name.
func (r renamed) Definition() tool.Definition { return r.defined }

// callable keeps what the names of functions may have.
func callable(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
