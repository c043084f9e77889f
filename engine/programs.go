package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/proxy"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
)

// listening is the model proxy, and the socket by which sandboxes reach it.
type listening struct {
	*proxy.Server
	socket string
}

// programModels is how programs of a stage call models of the suite.
type programModels struct {
	// proxy is started when it is first asked for.
	proxy  func() (*listening, error)
	models []proxy.Name
	limits stop.CallLimits
	// within one iteration
	within stop.CallLimits
	now    func() time.Time
}

// served is how a program calls models; nil: it calls none.
func (m *Parts) served(l *spec.Loop, a *spec.Agent) (agent.Served, error) {
	if len(a.Models) == 0 || m.offline {
		return nil, nil
	}
	models, err := m.behindProxy(a.Models)
	if err != nil {
		return nil, err
	}
	limits, _ := stop.Compile(l).CallLimits()
	return &programModels{proxy: m.proxy, models: models, limits: limits, within: stop.IterationLimits(a), now: time.Now}, nil
}

// proxy is the model proxy, which is closed after the last run. In sandboxes without a
// network it is reached by a socket.
func (m *Parts) proxy() (*listening, error) {
	kept, err := m.options.Shared.Keep("model proxy", func() (any, func(), error) {
		p := &listening{Server: proxy.New(proxy.Options{Now: time.Now})}
		if err := p.Server.Listen(); err != nil {
			return nil, nil, err
		}
		removeAbandonedSockets(socketRoot())
		dir, err := os.MkdirTemp(socketRoot(), socketFolder)
		if err == nil {
			p.socket = filepath.Join(dir, "proxy.sock")
			err = p.Server.ListenUnix(p.socket)
		}
		return p, func() { p.Server.Close(); os.RemoveAll(dir) }, err
	})
	if err != nil {
		return nil, err
	}
	return kept.(*listening), nil
}

const socketFolder = "agentbench-proxy-"

// socketRoot is the folder for temporary files, or /tmp where its name is too long for the path of a socket.
func socketRoot() string {
	if dir := os.TempDir(); len(dir) < 60 || runtime.GOOS == "windows" {
		return dir
	}
	return "/tmp"
}

// removeAbandonedSockets removes the socket folders of killed processes: their sockets refuse connections.
func removeAbandonedSockets(in string) {
	sockets, _ := filepath.Glob(filepath.Join(in, socketFolder+"*", "proxy.sock"))
	for _, socket := range sockets {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			_ = connection.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.RemoveAll(filepath.Dir(socket))
		}
	}
}

// programCalls are those that the programs of a run have made, by stage.
type programCalls map[*programModels][]record.Call

type programCallsKey struct{}

// besides are those of the other stages.
func (made programCalls) besides(v *programModels) (calls []record.Call) {
	for stage, of := range made {
		if stage != v {
			calls = append(calls, of...)
		}
	}
	return calls
}

// access is that of a run's programs of one stage to models. It is kept as long as the run takes.
type access struct {
	*proxy.Session
	of     *programModels
	made   programCalls // changes between the iterations alone
	socket string
	refuse bool
	steps  bool // the state of the workspace is kept when a call arrives
	clock  func() time.Time

	mu        sync.Mutex
	running   *external.Running // nil: no program runs
	workspace *agent.Workspace  // nil: the run has none
	began     time.Time         // of the iteration in flight
	values    context.Context   // of the iteration in flight: spans of calls belong to that of the iteration
	elapsed   time.Duration     // in the run before that
	frozen    time.Duration     // in the iteration, which is not its time
	trees     map[time.Duration]string
	told      int // calls of the iterations before
	end       error
	refused   *record.Next // the call that a limit refused; nil: none
	// watch looks at the steps that are whole when a call arrives; nil: nothing does.
	watch func(steps []record.Step, tools []record.ToolCall) record.Reason
}

// Calls is the access of the run to which the context belongs.
func (v *programModels) Calls(ctx context.Context, turn *agent.Turn, program *agent.Program) (agent.Calls, error) {
	made, err := tool.RunOf(ctx).Keep(programCallsKey{}, func() (any, func(), error) { return programCalls{}, func() {}, nil })
	if err != nil {
		return nil, err
	}
	kept, err := tool.RunOf(ctx).Keep(v, func() (any, func(), error) {
		server, err := v.proxy()
		if err != nil {
			return nil, nil, record.Errorf(record.Internal, "starting the model proxy: %v", err)
		}
		s := &access{
			of: v, made: made.(programCalls),
			socket: server.socket, refuse: program.Spec.OnLimit == "refuse", workspace: turn.Workspace, clock: v.now,
			trees: map[time.Duration]string{}, steps: turn.Workspace != nil && turn.Workspace.Spec.BySteps(),
		}
		run := proxy.Run{
			Models: v.models, Program: cmp.Or(program.Spec.Recipe, filepath.Base(program.Program.Argv[0])),
			Draw:  model.Draw{Task: turn.Task.ID, Trial: turn.Trial, Iteration: turn.Iteration, Of: spec.JudgedTask{Task: turn.Task}},
			Clock: s.clocked, Limits: v.limits, Iteration: v.within, Refuse: s.refuse, Arrived: s.arrived, Ended: s.ended, Ask: s.ask,
		}
		if turn.Workspace != nil {
			run.Own = turn.Workspace.Own()
		}
		s.Session, err = server.Open(context.WithoutCancel(ctx), run)
		return s, s.close, err
	})
	if err != nil {
		return nil, err
	}
	return kept.(*access), nil
}

func (s *access) close() {
	if s.Session != nil {
		s.Session.Close()
	}
}

// Access implements agent.Calls.
func (s *access) Access() agent.Access {
	return agent.Access{URL: s.BaseURL, Socket: s.socket, Env: s.EnvAt}
}

// clocked is the time of the run: that of the programs' work, without what was spent on
// keeping states.
func (s *access) clocked() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinceStart()
}

func (s *access) sinceStart() time.Duration {
	if s.began.IsZero() {
		return s.elapsed
	}
	return s.elapsed + s.clock().Sub(s.began) - s.frozen
}

// Start starts a program of the run.
func (s *access) Start(ctx context.Context, turn *agent.Turn, program external.Program, stdin []byte) (*external.Running, error) {
	s.Begin(turn.Iteration, s.made.besides(s.of))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.elapsed, s.frozen, s.values = s.clock(), turn.Elapsed, 0, context.WithoutCancel(ctx)
	s.watch = turn.BeforeCall
	if s.end == error(refused{record.ReasonMaxSteps}) { // only the iteration before has ended
		s.end, s.refused = nil, nil
	}
	running, err := program.Start(ctx, stdin)
	s.running = running
	return running, err
}

// Stopped implements agent.Calls.
func (s *access) Stopped(turn *agent.Turn, failed error) agent.Made {
	s.mu.Lock()
	s.running, s.began, s.elapsed = nil, time.Time{}, s.sinceStart()
	at := s.elapsed
	if s.refused != nil && !s.refuse {
		at = s.refused.Arrived
	}
	s.mu.Unlock() // the session asks for the time while it is locked
	all, steps, tools := s.Made(at)
	named := s.Agent()
	s.mu.Lock()
	defer s.mu.Unlock()
	made := agent.Made{Calls: slices.Clone(all[s.told:]), Steps: steps, Tools: tools, Agent: named, Refused: s.refused, End: s.end}
	for i := range made.Calls {
		c := &made.Calls[i]
		c.Tree = s.trees[c.Arrived]
		c.Start = max(0, c.Start-turn.Elapsed)
	}
	for i := range steps {
		steps[i].Call -= s.told
	}
	for i := range tools {
		tools[i].Start = max(0, tools[i].Start-turn.Elapsed)
	}
	s.told, s.made[s.of] = len(all), all
	if made.End == nil {
		made.End = faultOf(made.Calls, failed)
	}
	return made
}

// refused is why a program was ended, or its calls were refused: a limit of the run, or of the iteration.
type refused struct{ reason record.Reason }

func (r refused) Error() string {
	return "there is no room for the program's next call: " + string(r.reason)
}
func (r refused) StopReason() record.Reason { return r.reason }
func (r refused) Is(target error) bool      { return target == model.ErrRefused }

// arrived decides about a call, which waits meanwhile. Where the limits end the run, the program is killed. Where the
// state of the workspace is kept, the program stands still.
func (s *access) arrived(ctx context.Context, a *proxy.Arrival) record.Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return cmp.Or(a.Refused, record.ReasonAgentEnded) // its program has ended
	}
	if why := s.of.within.MainUnknown(a.InIteration, &a.Call); why != "" {
		s.running.Kill(record.Errorf(record.InvalidRequest, "%s", why))
		return record.ReasonError
	}
	if a.Refused == "" && s.watch != nil {
		a.Refused = s.watch(a.Steps, a.Tools)
	}
	if a.Refused != "" && s.end == nil {
		s.end = refused{a.Refused}
		s.refused = &record.Next{Request: a.Call.Request, Reserved: a.Call.Reserved, Kind: a.Call.Kind, Conversation: a.Call.Conversation, Arrived: a.Call.Arrived}
	}
	kills := a.Refused != "" && !s.refuse
	if !s.steps && !kills {
		return a.Refused
	}
	begun := s.clock()
	defer func() { s.frozen += s.clock().Sub(begun) }()
	if kills {
		s.running.Kill(s.end)
	}
	if !s.steps {
		return a.Refused
	}
	err := s.running.Freeze()
	if err == nil {
		s.trees[a.Call.Arrived], err = s.workspace.Keep(context.WithoutCancel(ctx))
	}
	if err != nil && ctx.Err() == nil {
		s.running.Kill(record.Errorf(record.Setup, "keeping the state of the workspace when call %d of the program arrived: %v", len(a.Before)+1, err))
		return cmp.Or(a.Refused, record.ReasonError)
	}
	s.running.Thaw()
	return a.Refused
}

// ask makes a call in a span of its own, below that of the iteration in flight.
func (s *access) ask(ctx context.Context, call *model.Asked, place *record.Call) (*model.Reply, *record.Call, error) {
	s.mu.Lock()
	values := s.values
	s.mu.Unlock()
	return trace.AskStep(valued{ctx, values}, call, place)
}

// valued is a context with the values of another one, which comes first.
type valued struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (v valued) Value(key any) any {
	if value := v.values.Value(key); value != nil {
		return value
	}
	return v.Context.Value(key)
}

// ended ends the program where the suite has no room for a call of it.
func (s *access) ended(e *proxy.Ended) {
	var over interface{ StopReason() record.Reason }
	if e.NotMade == nil || !errors.As(e.NotMade, &over) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end = cmp.Or(s.end, e.NotMade); s.running != nil {
		go s.running.Kill(e.NotMade) // it waits for this call
	}
}

// faultOf is the fault of the infrastructure for which a program could not do its work:
// every call that it made failed, or the last one did and so did the program. Nil: it could.
func faultOf(calls []record.Call, failed error) error {
	var last *record.Call
	answered := false
	for i := range calls {
		c := &calls[i]
		answered = answered || c.Error == nil
		if last == nil || c.Ended > last.Ended {
			last = c
		}
	}
	if last == nil || last.Error == nil || !last.Error.Class.Infrastructure() || answered && failed == nil {
		return nil
	}
	return &record.Error{Class: last.Error.Class, Message: fmt.Sprintf("a model call of the program: %s", last.Error.Message)}
}
