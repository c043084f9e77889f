package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbench/agentbench/engine/agent/a2a"
	"github.com/agentbench/agentbench/engine/loop"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// delegates are the agents that an agent may hand tasks to: other loops of the
// suite, and remote agents.
func (m *Parts) delegates(_ *spec.Loop, a *spec.Agent) ([]tool.Tool, error) {
	var made []tool.Tool
	for i := range a.Delegates {
		delegate, err := m.delegate(&a.Delegates[i])
		if err != nil {
			return nil, fmt.Errorf("delegate %q: %w", a.Delegates[i].Name, err)
		}
		made = append(made, delegate)
	}
	return made, nil
}

func (m *Parts) delegate(d *spec.Delegate) (tool.Tool, error) {
	if m.offline {
		return tool.Tool{Definition: tool.Delegation(d.Name, d.Description)}, nil
	}
	if d.A2A != "" {
		client, err := m.remote(d.A2A, d.Headers, d.Timeout)
		if err != nil {
			return tool.Tool{}, err
		}
		return client.Delegate(d.Name, d.Description), nil
	}
	built, err := m.delegated(d.Resolved)
	defined := tool.Delegation(d.Name, d.Description)
	defined.Serial = m.inOrder(d.Resolved)
	return tool.Tool{Definition: defined, Use: (&delegate{loop: built, declared: d}).use}, err
}

// remote is a remote agent as it is declared.
func (m *Parts) remote(address string, declared spec.Headers, timeout time.Duration) (*a2a.Client, error) {
	if m.offline {
		return a2a.Offline(address), nil
	}
	headers, err := m.headers(declared)
	if err != nil {
		return nil, err
	}
	return a2a.New(a2a.Options{Address: address, Headers: headers, Timeout: timeout, Transport: m.client.Transport, Budget: m.options.Budget})
}

// headers are as they are sent. One whose variable is not set is told before
// anything runs: without it the server would only say no.
func (m *Parts) headers(declared spec.Headers) (map[string]string, error) {
	for _, header := range declared {
		if name := header.Value.Env; name != "" && m.options.Getenv(name) == "" {
			return nil, fmt.Errorf("the environment variable %s, which is to hold the header %s, is not set", name, header.Key)
		}
	}
	return declared.Values(m.options.Getenv), nil
}

// variables are those of a program as NAME=value. One that is not set in our own
// environment is told before anything runs.
func (m *Parts) variables(declared spec.Variables) ([]string, error) {
	for _, variable := range declared {
		if name := variable.Value.Env; name != "" && !m.offline && m.options.Getenv(name) == "" {
			return nil, fmt.Errorf("the environment variable %s, which is to be the program's %s, is not set", name, variable.Key)
		}
	}
	return declared.Set(m.options.Getenv), nil
}

// delegated is a loop that serves others. It is made once, for all that hand it
// tasks.
func (m *Parts) delegated(l *spec.Loop) (*loop.Loop, error) {
	if made, ok := m.nested[l]; ok {
		return made, nil
	}
	built, err := m.loop(&spec.Resolved{Name: l.Name, Loop: l, Hash: l.Hash()})
	if err != nil {
		return nil, err
	}
	built.Begin = within
	m.nested[l] = built
	return built, nil
}

// within prepares a run that serves another: its calls are reserved in that
// run's budget, and numbered among that run's; what its own tools need it keeps
// for itself.
func within(ctx context.Context) (context.Context, func()) {
	ctx, run := tool.WithRun(ctx)
	return ctx, run.Close
}

// inOrder says that a model of the loop answers by how many calls it had: tasks
// that are handed over together must follow one another.
func (m *Parts) inOrder(l *spec.Loop) bool {
	for _, name := range Used(l) {
		if declared, _ := m.doc.Suite.Models.Get(name); free(declared.Provider) {
			return true
		}
	}
	return false
}

// delegate is a loop to which tasks are handed.
type delegate struct {
	loop     *loop.Loop
	declared *spec.Delegate
}

// maxDepth is how deep delegates may be nested when they run; the spec refuses
// what would nest deeper.
const maxDepth = 5

type depthKey struct{}

// use runs the loop on the task that is handed over. Its output is the result;
// where it fails, that is told as an error of the tool, but what fails in the
// infrastructure under it fails whoever handed the task over, too.
func (d *delegate) use(ctx context.Context, use *tool.Use) (tool.Result, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxDepth {
		return tool.Result{}, d.failure("delegates are nested deeper than %d", maxDepth)
	}
	task := *use.Task
	task.Input = use.Handed()
	nested, cancel := d.limited(context.WithValue(ctx, depthKey{}, depth+1))
	defer cancel()
	run := d.loop.Within(nested, fmt.Sprintf("%s/%d", d.declared.Name, use.Number), &task, use.Trial, calls(use))
	run.Volatile = record.Volatile{}
	result := tool.Result{Content: run.Output(), Duration: run.Elapsed, Calls: d.calls(run), Run: run}
	result.Waited = waited(run)
	if d.late(run) || ctx.Err() == nil && nested.Err() != nil && run.Outcome.Status == record.Cancelled {
		pace.Refund(ctx, d.expire(&result))
		return result, d.failure("timed out after %v", d.declared.Timeout)
	}
	return result, d.outcome(ctx, run)
}

// late says that a task took longer than it may, also where its time only passed
// as-if. What was waited does not count.
func (d *delegate) late(run *record.Run) bool {
	var worked time.Duration
	for i := range run.Iterations {
		worked += run.Iterations[i].Working
	}
	return d.declared.Timeout > 0 && worked > d.declared.Timeout
}

func calls(use *tool.Use) map[string]int {
	if use.Calls == nil {
		return map[string]int{}
	}
	return use.Calls
}

// limited is a context in which a task may take as long as is declared.
func (d *delegate) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.declared.Timeout <= 0 {
		return ctx, func() {}
	}
	return model.WithWorkingTime(ctx, d.declared.Timeout, errLate)
}

// errLate is why the loop of a delegate is cancelled that took too long.
var errLate = errors.New("the delegate's timeout passed")

// expire ends a task at its timeout: what would have begun later did not happen, and what it was charged is to be given back.
func (d *delegate) expire(result *tool.Result) (charged record.Usage) {
	limit := d.declared.Timeout
	kept := result.Calls[:0]
	for _, c := range result.Calls {
		if c.Start <= limit+result.Waited {
			kept = append(kept, c)
		} else {
			charged = charged.Plus(c.ChargedToRun())
		}
	}
	result.Calls, result.Content, result.Duration = kept, nil, limit+result.Waited
	return charged
}

// calls are those of the delegate's run and of whoever it handed tasks to itself,
// as calls of whoever handed this one over. What they wrote stands in the run.
func (d *delegate) calls(run *record.Run) []record.Call {
	var all []record.Call
	for i := range run.Iterations {
		for _, c := range run.Iterations[i].Calls {
			c.Role, c.Delegate = record.RoleDelegate, d.declared.Name
			c.Stdout, c.Stderr = "", ""
			all = append(all, c)
		}
	}
	return all
}

// waited is what a run waited. What calls beside each other waited, it waited once.
func waited(run *record.Run) (sum time.Duration) {
	for i := range run.Iterations {
		for _, stretch := range stop.Timeline(&run.Iterations[i]) {
			sum += stretch.Waited
		}
	}
	return sum
}

// outcome is what whoever handed the task over makes of how the run ended.
func (d *delegate) outcome(ctx context.Context, run *record.Run) error {
	o := &run.Outcome
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case o.Status == record.Cancelled:
		return stopped{o.Reason}
	case o.Status == record.Faulted && o.Error != nil:
		return &record.Error{Class: o.Error.Class, Message: fmt.Sprintf("delegate %q: %s", d.declared.Name, o.Error.Message)}
	case o.Status != record.Completed:
		why := error(errors.New(string(o.Reason)))
		if o.Error != nil {
			why = o.Error
		}
		return d.failure("failed: %v", why)
	case run.Output() == nil:
		return d.failure("ended without an output: %s", cmp.Or(o.Fired, string(o.Reason)))
	}
	return nil
}

func (d *delegate) failure(format string, arguments ...any) *record.Error {
	return &record.Error{Class: record.Tool, Message: fmt.Sprintf("the delegate %s "+format, append([]any{d.declared.Name}, arguments...)...)}
}

// stopped is the error of a run that was stopped from outside of all runs, and so
// stops the one that it serves.
type stopped struct{ reason record.Reason }

func (s stopped) Error() string             { return "the delegate was stopped: " + string(s.reason) }
func (s stopped) StopReason() record.Reason { return s.reason }
