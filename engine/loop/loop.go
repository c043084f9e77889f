// Package loop makes the iterations of a live run, whose course package stop decides: it executes and evaluates
// them. Call Loop.Run. It declares what it needs of an agent's stage and of an evaluator; package engine builds them.
//
// It is no stable API.
package loop

import (
	"context"
	"errors"
	"sync"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Evaluator judges an iteration inside the loop. The scope is the history with
// the iteration as its last. An error is a *record.Error, an interruption (see
// Interrupted) or the context's error; calls made before it are given as well.
type Evaluator interface {
	Evaluate(ctx context.Context, trial *Trial) (*record.Evaluation, []record.Call, error)
}

// Trial is what an evaluator judges.
type Trial struct {
	Scope  expr.Scope
	Task   *spec.Task
	Trial  int
	Output any
	// Fault says why a reply that was to be JSON is not.
	Fault string
	// Confidence is what a program said of its own output, nil if it did not.
	Confidence *float64
	// Calls counts the run's calls of each model so far; Evaluate counts on.
	Calls map[string]int
	// Iteration is counted from 1.
	Iteration int
	// Workspace is the folder of the run, Seed what it began with, and State that in which the
	// iteration left it; nil: there is none.
	Workspace *agent.Workspace
	Seed      string
	State     *record.Workspace
}

// Loop is one configuration, ready to run. It serves any number of runs at once, and
// must not be copied.
type Loop struct {
	Rules *stop.Rules
	// Stages has the agent of every phase or strategy; one entry in a loop
	// without any.
	Stages    []Stage
	Evaluator Evaluator // nil: nothing is evaluated
	// Workspaces makes a folder for every run; nil: runs have none.
	Workspaces *agent.Workspaces
	// Param is what expressions see as `param`.
	Param any
	// Head is copied into every record.
	Head record.Run
	// Begin prepares the context of one run, for instance with its budget, and
	// says what to do when it is over; nil: nothing is to be prepared.
	Begin func(context.Context) (context.Context, func())
	// Reported is told what programs and endpoints say that they used themselves; nil: nobody is.
	Reported func(record.Usage)

	ended sync.Pool // of *stop.State: the memory of runs that are over, for the next ones
}

// Stage is what executes the iterations of a phase or strategy.
type Stage struct {
	Agent  agent.Agent
	System *spec.Prompt // nil: none
	Prompt *spec.Prompt // nil: none, for programs
}

// Run runs a task to its end and gives the record. Observe is told every event
// as it happens; it may be nil. Run does not fail: whatever goes wrong is the
// outcome of the record.
func (l *Loop) Run(ctx context.Context, id string, task *spec.Task, trial int, observe func(record.Event)) *record.Run {
	return l.run(ctx, &run{trial: trial, calls: make(map[string]int, 1), observe: observe}, id, task)
}

// Within runs a task on behalf of another run, whose calls of each model it counts
// on. Nobody observes it.
func (l *Loop) Within(ctx context.Context, id string, task *spec.Task, trial int, calls map[string]int) *record.Run {
	return l.run(ctx, &run{trial: trial, calls: calls, within: true}, id, task)
}

func (l *Loop) run(ctx context.Context, r *run, id string, task *spec.Task) *record.Run {
	r.Loop, r.task = l, task
	r.State, r.Run.Record = l.start(task), &r.record
	r.record = l.Head
	r.record.Version, r.record.ID, r.record.Task, r.record.Trial = record.Version, id, task.ID, r.trial
	r.record.Cluster, r.record.Group = task.Cluster, task.Group
	for _, image := range task.Images {
		sum, _, _ := image.Sum() // one that cannot be read fails the iteration
		r.record.Images = append(r.record.Images, record.Image{Name: image.Name(), SHA256: sum})
	}
	if r.observe != nil {
		r.emit(record.StartEvents(&r.record))
	}
	ctx, traced := trace.StartRun(ctx, &r.record)
	defer traced()
	if l.Begin != nil {
		begun, end := l.Begin(ctx)
		defer end()
		ctx = begun
	}
	r.ctx = ctx
	r.record.Outcome = r.Iterate(r)
	r.leave()
	r.finish()
	r.State.Restart(nil, nil) // it holds nothing of this run
	l.ended.Put(r.State)
	r.ctx, r.task, r.calls, r.State, r.workspace = nil, nil, nil, nil, nil // the record is part of r, and lives longer
	return &r.record
}

// start begins the history of a run.
func (l *Loop) start(task *spec.Task) *stop.State {
	if state, ok := l.ended.Get().(*stop.State); ok {
		state.Restart(task, l.Param)
		return state
	}
	return l.Rules.Start(task, l.Param)
}

// run is a live run in progress.
type run struct {
	*Loop
	stop.Run
	ctx       context.Context // of the run; that of an iteration is beneath it
	task      *spec.Task
	trial     int
	calls     map[string]int
	tools     int              // calls of tools, before the iteration in flight
	told      int              // events of the iteration in flight that were told of
	within    bool             // on behalf of another run
	workspace *agent.Workspace // nil: the loop has none, or it is not made yet
	record    record.Run
	observe   func(record.Event)
}

// Make executes an iteration and evaluates it.
func (r *run) Make(it *record.Iteration, step stop.Step) (before record.Reason) {
	if reason, ok := Interrupted(r.ctx, nil); ok {
		return reason
	}
	ctx, traced := trace.StartIteration(r.ctx, it)
	defer traced()
	timed, cancel := r.deadline(ctx)
	defer cancel()
	result, err := r.execute(timed, it, step)
	if reason, ok := endsBefore(timed, it, err); ok {
		r.record.Next = next(it, err)
		return reason
	}
	r.note(it, err, timed)
	ends := it.Cut != string(record.ReasonMaxSteps) // the run; else it makes other calls after this one
	if next := result.Unanswered; next != nil && ends && (it.Cut == "" || next.Kind != "") {
		next.Phase, next.Strategy = it.Phase, it.Strategy
		r.record.Next = next
	}
	switch {
	case !r.Executed(it, result.Value):
	case it.Cut == "":
		r.evaluate(timed, it, &result)
	case ctx.Err() == nil: // what it left counts
		r.evaluate(ctx, it, &result)
	}
	it.End = r.Elapsed
	return ""
}

// Decided tells of the rest of an iteration.
func (r *run) Decided(it *record.Iteration) {
	r.tools += len(it.ToolCalls)
	if r.observe != nil {
		r.emit(record.IterationEvents(&r.record, len(r.record.Iterations)-1)[r.told:])
	}
}

// execute renders the prompts of the step and lets the agent act on them.
func (r *run) execute(ctx context.Context, it *record.Iteration, step stop.Step) (agent.Result, error) {
	r.told = 0
	turn, err := r.turn(ctx, r.task, r.trial, step, r.State, true)
	if err == nil && r.Workspaces != nil {
		err = r.enter(ctx, step)
	}
	if err != nil {
		return agent.Result{}, err
	}
	turn.Workspace = r.workspace
	turn.Elapsed, turn.Calls, turn.ToolCalls = r.Elapsed, r.calls, r.tools
	turn.Earlier, turn.Servers = r.record.Iterations[:len(r.record.Iterations)-1], r.record.Servers
	p := &progress{run: r, it: it}
	turn.AfterStep, turn.Late = p.step, r.Late
	if r.LooksAtSteps() {
		turn.BeforeCall = p.call
	}
	result, err := r.Stages[step.StageIndex()].Agent.Execute(ctx, turn)
	it.Request, it.Output, it.Thinking = result.Request, result.Output, result.Thinking
	it.NotUTF8, it.OutputB64 = result.Bytes != nil, result.Bytes
	it.Ended, it.Cut, it.Workspace = result.Ended, string(result.Cut), result.Workspace
	r.record.Servers = append(r.record.Servers, result.Servers...)
	p.end(&result)
	r.told = p.told
	return result, err
}

// progress is an iteration while its agent converses.
type progress struct {
	*run
	it   *record.Iteration
	told int // events
}

// step is told of every whole step. One after which a timeout cuts the iteration
// is told of with the rest of it.
func (p *progress) step(sofar *agent.Result) record.Reason {
	p.take(sofar)
	if p.Late(sofar.Took, sofar.Waited) {
		return record.ReasonTimeout
	}
	if p.observe != nil {
		events := record.StepEvents(&record.Run{ID: p.record.ID, Iterations: []record.Iteration{*p.it}}, 0, len(p.it.Steps)-1)
		p.told += len(events)
		p.emit(events)
	}
	return p.AfterStep(p.it)
}

// call checks the steps of a program that are whole when one of its calls arrives. The iteration in progress is not changed.
func (p *progress) call(steps []record.Step, tools []record.ToolCall) record.Reason {
	it := *p.it
	it.Steps, it.ToolCalls = steps, tools
	return p.AfterStep(&it)
}

// take puts down what was not put down yet, in the time of the run.
func (p *progress) take(sofar *agent.Result) {
	p.it.Prompt, p.it.Steps = sofar.Prompt, sofar.Steps
	for i := len(p.it.Calls); i < len(sofar.Calls); i++ {
		c := sofar.Calls[i]
		c.Start += p.it.Start
		p.noteVolatile(&c)
		p.it.Calls = append(p.it.Calls, c)
	}
	for i := len(p.it.ToolCalls); i < len(sofar.ToolCalls); i++ {
		c := sofar.ToolCalls[i]
		c.Start += p.it.Start
		p.it.ToolCalls = append(p.it.ToolCalls, c)
	}
}

// end puts down all that an agent gave. One that does not converse makes its
// calls one after the other.
func (p *progress) end(result *agent.Result) {
	if result.Took == 0 && len(result.Steps) == 0 {
		p.it.Prompt, p.it.ToolCalls = result.Prompt, result.ToolCalls
		p.add(p.it, result.Calls)
		return
	}
	p.take(result)
	p.Take(p.it, result.Took, result.Waited)
}

// enter makes the folder of the run, or what it began with again where the loop says so.
func (r *run) enter(ctx context.Context, step stop.Step) (err error) {
	if r.workspace == nil {
		if r.workspace, err = r.Workspaces.Open(ctx, r.record.ID, r.task); err == nil {
			r.record.Seed = r.workspace.Seed.ID.String()
		}
		return err
	}
	last := &r.record.Iterations[len(r.record.Iterations)-2]
	switch reset := r.Workspaces.Spec.Reset; {
	case reset == "iteration", reset == "phase" && step.Phase != last.Phase, reset == "strategy" && step.Strategy != last.Strategy:
		return r.workspace.Reset(ctx)
	}
	return r.workspace.Ready(ctx)
}

// leave removes the folder of the run, or keeps it where the loop says so.
func (r *run) leave() {
	if r.workspace == nil {
		return
	}
	outcome := &r.record.Outcome
	kept := ""
	switch keep := r.Workspaces.Spec.Keep; {
	case outcome.Status == record.Cancelled, r.within: // it is made again; it has no id of its own
	case keep == "always", keep == "failed" && !outcome.Success:
		kept = r.record.ID
	}
	r.workspace.Close(kept)
}

// Request is the hash of what the step after a history would send, "" where its
// agent cannot tell. Nothing is sent. The error is that of the iteration.
func (l *Loop) Request(ctx context.Context, task *spec.Task, trial int, step stop.Step, state *stop.State) (hash string, err error) {
	sender, ok := l.Stages[step.StageIndex()].Agent.(agent.Sender)
	if !ok {
		return "", nil
	}
	turn, err := l.turn(ctx, task, trial, step, state, false)
	if err != nil {
		return "", err
	}
	return sender.Sends(turn)
}

// Retrace is what the step after so many iterations of a recorded run would make
// of the recorded steps of the next one; ok is false where its agent does not
// converse. Nothing is sent. The error is that of the iteration.
func (l *Loop) Retrace(ctx context.Context, task *spec.Task, step stop.Step, state *stop.State, run *record.Run) (trace record.Trace, ok bool, err error) {
	conversation, ok := l.Stages[step.StageIndex()].Agent.(*agent.Conversation)
	if !ok {
		return trace, false, nil
	}
	turn, err := l.turn(ctx, task, run.Trial, step, state, false)
	if err != nil {
		return trace, true, err
	}
	turn.Earlier, turn.Servers = run.Iterations[:state.Len()], run.Servers
	trace, err = conversation.Retrace(ctx, turn, &run.Iterations[state.Len()])
	return trace, true, err
}

// turn renders the prompts of a step; whole: images are read, too, else only their sums.
func (l *Loop) turn(ctx context.Context, task *spec.Task, trial int, step stop.Step, state *stop.State, whole bool) (*agent.Turn, error) {
	stage := &l.Stages[step.StageIndex()]
	turn := &agent.Turn{
		Task: task, Trial: trial, Iteration: step.Iteration, Phase: step.Phase, Strategy: step.Strategy,
		Remaining: state.Remaining(), Scope: state,
	}
	var err error
	if turn.System, err = render(ctx, stage.System, state); err != nil {
		return nil, err
	}
	if turn.Prompt, err = render(ctx, stage.Prompt, state); err != nil || len(task.Images) == 0 {
		return turn, err
	}
	turn.Images, err = model.Images(task.Images, whole)
	return turn, err
}

func render(ctx context.Context, prompt *spec.Prompt, scope expr.Scope) (string, error) {
	if prompt == nil {
		return "", nil
	}
	text, err := prompt.Render(ctx, scope)
	if err != nil {
		return "", &record.Error{Class: record.Expression, Message: "rendering the prompt: " + err.Error()}
	}
	return text, nil
}

func (r *run) evaluate(ctx context.Context, it *record.Iteration, result *agent.Result) {
	evaluation, calls, err := r.Evaluator.Evaluate(ctx, &Trial{
		Scope: r.State, Task: r.task, Trial: r.trial, Output: result.Value, Fault: result.Fault,
		Confidence: result.Confidence,
		Calls:      r.calls, Iteration: it.N, Workspace: r.workspace, Seed: r.record.Seed, State: it.Workspace,
	})
	r.add(it, calls)
	if it.Cut != "" { // before it
		var fault *record.Error
		if errors.As(err, &fault) {
			it.Fail(fault)
		} else if err == nil {
			it.Evaluation = evaluation
		}
		return
	}
	r.note(it, err, ctx)
	if it.Cut != "" {
		if r.record.Next == nil {
			r.record.Next = &record.Next{}
		}
		r.record.Next.Role = record.RoleJudge
	}
	if it.Error == nil && it.Cut == "" {
		it.Evaluation = evaluation
	}
}

//go:noinline // an event takes a kilobyte of stack, which every run that waits for a call would hold
func (r *run) emit(events []record.Event) {
	for _, event := range events {
		r.observe(event)
	}
}

// finish adds up what the run used.
func (r *run) finish() {
	for i := range r.record.Iterations {
		agent, judging := r.record.Iterations[i].Spent()
		r.record.Usage = r.record.Usage.Plus(agent)
		r.record.Judging = r.record.Judging.Plus(judging)
		r.record.User = r.record.User.Plus(r.record.Iterations[i].SpentByUser())
	}
	r.record.Elapsed = r.Elapsed
	if r.observe != nil {
		r.emit(record.EndEvents(&r.record))
	}
}

// Stopper is an error or a cancellation cause that ends a run for a reason of
// its own: a spent budget, a signal, a timeout.
type Stopper interface {
	error
	StopReason() record.Reason
}

// errTimeout is the cause of the deadline that a timeout sets.
type errTimeout struct{}

func (errTimeout) Error() string             { return "the loop's timeout passed" }
func (errTimeout) StopReason() record.Reason { return record.ReasonTimeout }

// Interrupted says whether an error, or the end of the context, interrupts a
// run from outside, and why.
func Interrupted(ctx context.Context, err error) (record.Reason, bool) {
	var s Stopper
	if errors.As(err, &s) {
		return s.StopReason(), true
	}
	if ctx.Err() == nil {
		return "", false
	}
	if errors.As(context.Cause(ctx), &s) {
		return s.StopReason(), true
	}
	return record.ReasonCancelled, true
}

// endsBefore says whether the run ends before the iteration: the agent has
// nothing more to give, or a budget or a signal stopped its first call.
func endsBefore(ctx context.Context, it *record.Iteration, err error) (record.Reason, bool) {
	if errors.Is(err, model.ErrEnded) {
		return record.ReasonAgentEnded, true
	}
	if err == nil || len(it.Calls) > 0 {
		return "", false
	}
	reason, ok := Interrupted(ctx, err)
	return reason, ok && reason != record.ReasonTimeout
}

// next is the request that was not answered. One that nothing is known of is none.
func next(it *record.Iteration, err error) *record.Next {
	n := &record.Next{Phase: it.Phase, Strategy: it.Strategy, Request: it.Request}
	var unanswered *model.Unanswered
	if errors.As(err, &unanswered) {
		n.Reserved = &unanswered.Reserved
	}
	if *n == (record.Next{}) {
		return nil
	}
	return n
}

// deadline limits an iteration to what is left until a timeout cancels it.
func (r *run) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	at, ok := r.CancelAt(0)
	if !ok {
		return ctx, func() {}
	}
	if _, working, _ := r.Rules.CancelAt(); working {
		return model.WithWorkingTime(ctx, at-r.Elapsed, errTimeout{})
	}
	return context.WithTimeoutCause(ctx, at-r.Elapsed, errTimeout{})
}

// add appends calls, one after the other.
func (r *run) add(it *record.Iteration, calls []record.Call) {
	for i := range calls {
		r.noteVolatile(&calls[i])
	}
	r.Add(it, calls)
}

func (r *run) noteVolatile(c *record.Call) {
	v := &r.record.Volatile
	if c.Cached {
		v.Cached++
		return
	}
	v.Waited += c.Waited
	if r.Reported != nil && !r.within && (c.Role == record.RoleProgram || c.Role == record.RoleHTTP) {
		r.Reported(c.Usage)
	}
}

// note puts down how an execution or evaluation went wrong, if it did.
func (r *run) note(it *record.Iteration, err error, ctx context.Context) {
	if r.Overdue() || it.Cut == string(record.ReasonTimeout) {
		r.Cut(it, record.ReasonTimeout)
	}
	if err == nil || it.Cut != "" {
		return
	}
	if reason, ok := Interrupted(ctx, err); ok {
		r.Cut(it, reason)
		if errors.Is(err, model.ErrRefused) {
			r.record.Next = next(&record.Iteration{}, err)
		}
		return
	}
	var fault *record.Error
	if !errors.As(err, &fault) {
		fault = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	it.Fail(fault)
}
