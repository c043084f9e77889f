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
	call     record.ToolCall
	defined  tool.Definition
	asked    tool.Use
	parallel bool
	result   tool.Result
	err      error
	broken   error // a panic
}

// use uses the tools that a reply calls, and records what they gave in the
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

// check finds what is wrong with a call, before any call of the step is made. So many
// calls of the iteration come before it.
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

// mostParallel is how many calls of one step are made at the same time: a reply may
// have thousands, each of them a program. In virtual time they begin
// together, however long they waited for one another.
const mostParallel = 16

// run makes the calls that can be made: serial ones one after another here, the
// others in parallel. It returns when all are over.
func (t *talk) run(ctx context.Context, uses []use) {
	before := maps.Clone(t.turn.Calls)
	free := make(chan struct{}, mostParallel)
	var running sync.WaitGroup
	for i := range uses {
		u := &uses[i]
		if u.parallel = u.call.Error == nil && !u.defined.Serial && len(uses) > 1; u.parallel {
			u.asked.Calls = maps.Clone(before)
			running.Go(func() {
				free <- struct{}{}
				defer func() { <-free }()
				u.make(model.Beside(ctx, i+1), t.set)
			})
		}
	}
	for i := range uses {
		if u := &uses[i]; u.call.Error == nil && !u.parallel {
			u.asked.Calls = t.turn.Calls
			u.make(ctx, t.set)
		}
	}
	running.Wait()
	for i := range uses {
		u := &uses[i]
		if u.broken != nil {
			panic(u.broken)
		}
		if u.parallel {
			for name, made := range u.asked.Calls {
				t.turn.Calls[name] += made - before[name]
			}
		}
	}
}

// make makes a call. A panic is kept until all calls are over.
func (u *use) make(ctx context.Context, set *tool.Set) {
	defer func() {
		if cause := recover(); cause != nil {
			u.broken = fmt.Errorf("%v\n%s", cause, debug.Stack())
		}
	}()
	ctx, traced := trace.StartTool(ctx, &u.call, u.defined.Description)
	u.result, u.err = set.Use(ctx, u.call.Tool, &u.asked)
	r := &u.result
	traced(trace.Used{Duration: r.Duration, Cached: r.Cached, Attempts: r.Attempts, Content: r.Content}, u.err)
}

// settle records what the calls gave, each at its time. The error is that of
// the iteration: the context ended, or something of the infrastructure failed.
func (t *talk) settle(uses []use) (err error) {
	begin := span{over: t.result.Took}
	after, longest := begin, begin
	ended := make([]span, len(uses))
	for i := range uses {
		u := &uses[i]
		took := u.note(begin)
		if u.defined.Serial {
			// A serial call follows the one before it, or a parallel one that was over at
			// the same time: the record does not say which, and a replay has to find the same.
			from := after
			for _, one := range slices.Backward(ended[:i]) {
				if after.over > begin.over && one.over == after.over {
					from = one
					break
				}
			}
			took = u.note(from)
			after = took
		}
		ended[i] = took
		if took.over > longest.over {
			longest = took
		}
		t.keep(u)
		var failed *record.Error
		if err == nil && (!errors.As(u.err, &failed) || failed.Class.Infrastructure()) {
			err = u.err // not the tool's: all others are results for the model
		}
	}
	t.result.Took, t.result.Waited = longest.over, t.result.Waited+longest.waited
	return err
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

// OfflineToolbox has tools that are only described and never used.
func OfflineToolbox(own []tool.Tool, sources []tool.Source) *Toolbox {
	return &Toolbox{own: own, sources: sources}
}

// NewToolbox fails where two of the agent's own tools have one name, or one has a wrong schema.
func NewToolbox(own []tool.Tool, sources []tool.Source, o tool.Options) (*Toolbox, error) {
	set, err := tool.NewSet(own, o)
	if err != nil {
		return nil, err
	}
	return &Toolbox{own: own, sources: sources, options: o, set: set}, nil
}

// open gives the tools that the run in the context can use, made once for the run. Servers
// that are not among those known are asked; they are given as well.
func (b *Toolbox) open(ctx context.Context, known []record.ToolServer) (set *tool.Set, asked []record.ToolServer, err error) {
	if b == nil {
		set, err = tool.NewSet(nil, tool.Options{})
		return set, nil, err
	}
	if len(b.sources) == 0 {
		return b.set, nil, nil
	}
	for _, source := range b.sources {
		if find(known, source.Name()) != nil {
			continue
		}
		server, err := source.Server(ctx)
		if err != nil {
			return nil, asked, err
		}
		asked = append(asked, server)
	}
	kept, err := tool.RunOf(ctx).Keep(b, func() (any, func(), error) {
		all, err := b.tools(slices.Concat(known, asked))
		if err != nil {
			return nil, nil, err
		}
		set, err := tool.NewSet(all, b.options)
		if err != nil {
			err = record.Errorf(record.InvalidRequest, "%v", err)
		}
		return set, nil, err
	})
	if err != nil {
		return nil, asked, err
	}
	return kept.(*tool.Set), asked, nil
}

// defined are the definitions of open's set, without a call. It fails where a server is not
// known.
func (b *Toolbox) defined(servers []record.ToolServer) ([]tool.Definition, error) {
	if b == nil {
		return nil, nil
	}
	all, err := b.tools(servers)
	definitions := make([]tool.Definition, len(all))
	for i := range all {
		definitions[i] = all[i].Definition
	}
	return definitions, err
}

// tools are all tools, each under a name that every API takes and no other tool has.
func (b *Toolbox) tools(servers []record.ToolServer) ([]tool.Tool, error) {
	all := slices.Clone(b.own)
	taken := names{}
	for i := range b.own {
		taken[b.own[i].Name] = 1
	}
	for _, source := range b.sources {
		server := find(servers, source.Name())
		if server == nil {
			return nil, record.Errorf(record.Internal, "unknown server %q", source.Name())
		}
		used, err := source.Tools(*server)
		if err != nil {
			return nil, err
		}
		for _, t := range used {
			t.Name = taken.free(t.Name, tool.Callable(t.Server)+"__"+t.Name)
			all = append(all, t)
		}
	}
	return all, nil
}

func find(servers []record.ToolServer, name string) *record.ToolServer {
	i := slices.IndexFunc(servers, func(s record.ToolServer) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &servers[i]
}

// names are those that are taken, and how often each was asked for.
type names map[string]int

// free is the name where that is free, else the longer one, with a number where that
// is taken as well. APIs take names of up to 64 characters.
func (n names) free(name, longer string) string {
	short := func(name, end string) string { return name[:min(len(name), 64-len(end))] + end }
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
