package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/spectest"
)

// acts is an agent that does what a function says.
type acts func(ctx context.Context, turn *agent.Turn) (agent.Result, error)

func (a acts) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	return a(ctx, turn)
}

// says gives its texts in turn, each in a call of a second.
func says(texts ...string) acts {
	return func(_ context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Iteration > len(texts) {
			return agent.Result{}, model.ErrEnded
		}
		text := texts[turn.Iteration-1]
		return agent.Result{
			Value: text, Output: []byte(`"` + text + `"`),
			Calls: []record.Call{{Role: record.RoleAgent, Duration: time.Second, Usage: record.Usage{Calls: 1, InputTokens: 3}}},
		}, nil
	}
}

// judges is an evaluator that does what a function says.
type judges func(ctx context.Context, trial *Trial) (*record.Evaluation, []record.Call, error)

func (j judges) Evaluate(ctx context.Context, trial *Trial) (*record.Evaluation, []record.Call, error) {
	return j(ctx, trial)
}

// byLength finds longer outputs better: 0.1 a letter.
func byLength(_ context.Context, trial *Trial) (*record.Evaluation, []record.Call, error) {
	text := trial.Output.(string)
	return &record.Evaluation{Confidence: float64(len(text)) / 10, Feedback: "longer than " + text}, nil, nil
}

func declared(t *testing.T, text string) *spec.Loop {
	t.Helper()
	return spectest.Loop(t, "agent: {model: m}\nevaluate: {confidence: '0.0'}\n"+text)
}

func build(t *testing.T, text string, a agent.Agent) *Loop {
	t.Helper()
	l := declared(t, text)
	built := &Loop{Rules: stop.Compile(l), Evaluator: judges(byLength), Head: record.Run{Configuration: "c"}}
	for _, s := range l.Stages() {
		built.Stages = append(built.Stages, Stage{Agent: a, System: s.Agent.System, Prompt: s.Prompt})
	}
	return built
}

func play(ctx context.Context, l *Loop) *record.Run {
	return l.Run(ctx, "c/t/1", &spec.Task{ID: "t", Input: "hello"}, 1, nil)
}

func TestS1_6_EvaluationBecomesTheNextInput(t *testing.T) {
	var prompts []string
	talk := says("a", "abc")
	l := build(t, "prompt: 'say {{ task.input }} {{ feedback }}'\nmax_iterations: 2", acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		prompts = append(prompts, turn.Prompt)
		return talk(ctx, turn)
	}))
	r := play(t.Context(), l)
	if want := []string{"say hello ", "say hello longer than a"}; !reflect.DeepEqual(prompts, want) {
		t.Errorf("the prompts are %q, want %q", prompts, want)
	}
	if got := r.Iterations[0].Adaptation; got != "longer than a" {
		t.Errorf("the adaptation is %q", got)
	}
	l.Evaluator = judges(func(context.Context, *Trial) (*record.Evaluation, []record.Call, error) {
		return &record.Evaluation{}, nil, nil
	})
	if r := play(t.Context(), l); r.Iterations[0].Adaptation != "general refinement" {
		t.Errorf("without feedback the adaptation is %q", r.Iterations[0].Adaptation)
	}
}

func TestS1_7_HistoryIsRecorded(t *testing.T) {
	task := &spec.Task{ID: "t", Input: "hello", Cluster: "topic", Group: "hard"}
	r := build(t, "prompt: p\nmax_iterations: 2", says("a", "abc")).Run(t.Context(), "c/t/1", task, 1, nil)
	if light := r.Light(); r.Cluster != "topic" || light.Cluster != "topic" || r.Group != "hard" || light.Group != "hard" {
		t.Errorf("the cluster is %q, the group %q; of the light run %q and %q", r.Cluster, r.Group, light.Cluster, light.Group)
	}
	if len(r.Iterations) != 2 || r.Outcome.Returned != 2 || string(r.Output()) != `"abc"` {
		t.Fatalf("%d iterations, output %s of iteration %d", len(r.Iterations), r.Output(), r.Outcome.Returned)
	}
	second := r.Iterations[1]
	if second.N != 2 || second.Evaluation.Confidence != 0.3 || second.Start != time.Second || second.End != 2*time.Second {
		t.Errorf("the second iteration is recorded as %+v", second)
	}
	if r.Usage.Calls != 2 || r.Usage.InputTokens != 6 || r.Elapsed != 2*time.Second {
		t.Errorf("usage %+v in %v", r.Usage, r.Elapsed)
	}
}

func TestS1_7_HistoryTellsDurationsAndAdaptations(t *testing.T) {
	var prompts []string
	spoken := says("a", "abc", "abcd")
	l := build(t, `prompt: "{{ history.map(h, string(h.duration) + ' ' + h.adaptation).join('; ') }}|{{ previous == null ? '' : previous.adaptation }}"
max_iterations: 3`, acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		prompts = append(prompts, turn.Prompt)
		return spoken(ctx, turn)
	}))
	l.Evaluator = judges(func(_ context.Context, trial *Trial) (*record.Evaluation, []record.Call, error) {
		elapsed, _ := trial.Scope.Lookup("elapsed")
		return &record.Evaluation{Feedback: fmt.Sprint("after ", elapsed)}, nil, nil
	})
	play(t.Context(), l)
	want := []string{"|", "1s after 1s|", "1s after 1s; 1s after 2s|after 1s"}
	if !slices.Equal(prompts, want) {
		t.Errorf("prompts %q\nwant    %q", prompts, want)
	}
}

func TestAnAgentThatEndsLeavesNoIteration(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: p", says("ab", "a")))
	if len(r.Iterations) != 2 || r.Outcome.Reason != record.ReasonAgentEnded || r.Outcome.Returned != 1 || r.Usage.Calls != 2 {
		t.Errorf("%d iterations, %+v, %d calls", len(r.Iterations), r.Outcome, r.Usage.Calls)
	}
}

func TestS1_8_FailedIterationsAreRecorded(t *testing.T) {
	failure := &record.Error{Class: record.Program, Message: "exit status 3"}
	good := says("abcdefgh", "", "abcdefghi")
	l := build(t, "prompt: '{{ error }}'\nmax_iterations: 3", acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Iteration == 2 {
			return agent.Result{}, failure
		}
		return good(ctx, turn)
	}))
	r := play(t.Context(), l)
	if len(r.Iterations) != 3 || r.Iterations[1].Error != failure || r.Iterations[1].Evaluation != nil || r.Outcome.Returned != 3 {
		t.Errorf("recorded %+v", r)
	}
	for i, it := range r.Iterations {
		if failed := i == 1; (it.Confidence != nil) != failed || failed && *it.Confidence != 0 {
			t.Errorf("iteration %d: the record holds the confidence %v", it.N, it.Confidence)
		}
	}
	line, err := json.Marshal(r.Iterations[1])
	if err != nil || !strings.Contains(string(line), `"error":{"class":"program","message":"exit status 3"},"confidence":0,`) {
		t.Errorf("the record is %s (%v)", line, err)
	}
}

func TestTimeoutCancelsTheIterationInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			if turn.Iteration < 3 {
				return says("a", "ab")(ctx, turn)
			}
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		})
		r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: 5s}", hangs))
		last := r.Iterations[len(r.Iterations)-1]
		if r.Outcome.Reason != record.ReasonTimeout || len(r.Iterations) != 3 || last.Cut != "timeout" || last.End != 5*time.Second || last.Evaluation != nil {
			t.Errorf("%+v, last iteration %+v", r.Outcome, last)
		}
		if r.Outcome.Returned != 2 {
			t.Errorf("returned iteration %d: one that was cut is never the best", r.Outcome.Returned)
		}
	})
}

// A timeout cuts what only passed as if, unless it does not cancel; working time leaves out what was waited.
func TestTimeoutsByTheClockOfTheCalls(t *testing.T) {
	waits := acts(func(context.Context, *agent.Turn) (agent.Result, error) {
		return agent.Result{Value: "a", Output: []byte(`"a"`), Calls: []record.Call{{Role: record.RoleAgent, Duration: time.Second, Waited: 9 * time.Second}}}, nil
	})
	for timeout, c := range map[string]struct {
		agent    agent.Agent
		cut      string // the third iteration
		elapsed  time.Duration
		returned int
	}{
		"2500ms":                         {says("a", "ab", "abc", "abcd"), "timeout", 2500 * time.Millisecond, 2},
		"{after: 2500ms, cancel: false}": {says("a", "ab", "abc", "abcd"), "", 3 * time.Second, 3},
		"{after: 3s, working: true}":     {waits, "", 30 * time.Second, 1},
	} {
		r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: "+timeout+"}", c.agent))
		if len(r.Iterations) != 3 || r.Iterations[2].Cut != c.cut || r.Elapsed != c.elapsed || r.Outcome.Reason != record.ReasonTimeout || r.Outcome.Returned != c.returned {
			t.Errorf("%s: %d iterations in %v, %+v", timeout, len(r.Iterations), r.Elapsed, r.Outcome)
		}
	}
}

// While a call waits for its turn the time that may be worked stands still, and
// the iteration in flight is cancelled that much later.
func TestWorkingTimeOfAnIterationInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		waits := acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			resume := model.Waiting(ctx)
			time.Sleep(time.Minute)
			resume()
			<-ctx.Done()
			return agent.Result{}, context.Cause(ctx)
		})
		r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: {after: 3s, working: true}}", waits))
		if took := time.Since(begin); took != 63*time.Second || r.Outcome.Reason != record.ReasonTimeout {
			t.Errorf("took %v, %+v", took, r.Outcome)
		}
	})
}

// spent is a budget's refusal.
type spent record.Reason

func (s spent) Error() string             { return string(s) }
func (s spent) StopReason() record.Reason { return record.Reason(s) }

func TestABudgetThatRefusesTheFirstCallEndsBeforeTheIteration(t *testing.T) {
	refuses := acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		if turn.Iteration == 2 {
			return agent.Result{}, spent(record.ReasonSuiteBudget)
		}
		return says("ab")(ctx, turn)
	})
	r := play(t.Context(), build(t, "prompt: p", refuses))
	if len(r.Iterations) != 1 || r.Outcome.Reason != record.ReasonSuiteBudget || r.Outcome.Status != record.Cancelled {
		t.Errorf("%d iterations, %+v", len(r.Iterations), r.Outcome)
	}
}

func TestABudgetThatRefusesTheJudgeCutsTheIteration(t *testing.T) {
	l := build(t, "prompt: p", says("ab"))
	l.Evaluator = judges(func(context.Context, *Trial) (*record.Evaluation, []record.Call, error) {
		return nil, nil, spent(record.ReasonSuiteBudget)
	})
	r := play(t.Context(), l)
	if len(r.Iterations) != 1 || r.Iterations[0].Cut != "suite_budget" || r.Outcome.Returned != 0 {
		t.Errorf("%+v, %+v", r.Iterations, r.Outcome)
	}
}

func TestACancelledContextEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	l := build(t, "prompt: p", acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		cancel(errors.New("interrupt"))
		return agent.Result{Calls: []record.Call{{Role: record.RoleAgent}}}, ctx.Err()
	}))
	if r := play(ctx, l); r.Outcome.Reason != record.ReasonCancelled || r.Iterations[0].Cut != "cancelled" {
		t.Errorf("%+v", r.Outcome)
	}
}

// again judges an iteration with an output, recorded as given, by a declared
// evaluation.
func again(t *testing.T, a Again, it *record.Iteration) (*record.Evaluation, *record.Error, bool) {
	t.Helper()
	task := &spec.Task{ID: "t"}
	state := stop.Compile(&spec.Loop{Agent: &spec.Agent{Model: "m", Reply: spec.ReplyJSON}, Evaluate: a.Evaluator.Spec}).Start(task, nil)
	unjudged := *it
	unjudged.Evaluation, unjudged.Error = nil, nil
	state.Append(&unjudged, nil)
	return a.Judge(t.Context(), task, it, state)
}

func TestRecordedOutputsAreJudgedAgain(t *testing.T) {
	recorded := &record.Iteration{N: 1, Output: []byte(`{"c": 0.7}`), Evaluation: &record.Evaluation{Confidence: 0.1}}
	a := Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: compile(t, "double(output.c)", expr.WantNumber), Passed: compile(t, "confidence > 0.5", expr.WantBool)}}}
	v, failure, ok := again(t, a, recorded)
	if !ok || failure != nil || v.Confidence != 0.7 || !v.Passed {
		t.Errorf("%+v, %v, %v", v, failure, ok)
	}
	_, failure, ok = again(t, a, &record.Iteration{N: 1, Output: []byte(`{}`), Evaluation: &record.Evaluation{}})
	if !ok || failure == nil || failure.Class != record.Unjudged {
		t.Errorf("an output without a confidence: %v, %v", failure, ok)
	}
	v, _, ok = again(t, a, &record.Iteration{N: 1, Output: []byte(`"no JSON"`), Evaluation: &record.Evaluation{Fault: "no JSON"}})
	if !ok || v.Fault != "no JSON" || v.Confidence != 0 {
		t.Errorf("a reply that is not JSON: %+v, %v", v, ok)
	}
}

func TestWhatCannotBeJudgedAgain(t *testing.T) {
	evaluated := &record.Iteration{N: 1, Output: []byte(`{"c": 0.7}`), Evaluation: &record.Evaluation{}}
	confidence := compile(t, "0.5", expr.WantNumber)
	for name, c := range map[string]struct {
		again Again
		it    *record.Iteration
	}{
		"with a judge":                     {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Judge: &spec.Judge{Model: "j"}}, Judge: &offline.Script{}}}, evaluated},
		"with a program":                   {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Command: &spec.Command{Argv: []string{"x"}}}}}, evaluated},
		"a program's own confidence":       {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Passed: compile(t, "true", expr.WantBool)}}, Programs: true}, evaluated},
		"what the recording did not judge": {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: confidence}}}, &record.Iteration{N: 1, Output: []byte(`1`)}},
		"an iteration that failed":         {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: confidence}}}, &record.Iteration{N: 1, Error: &record.Error{Class: record.Program}}},
	} {
		if _, _, ok := again(t, c.again, c.it); ok {
			t.Errorf("%s: it was judged", name)
		}
	}
}

// talks makes two steps of a call of a second, two tools beside each other that
// take two, and in the first an answer of the user in one.
func talks(_ context.Context, turn *agent.Turn) (agent.Result, error) {
	r := agent.Result{Prompt: turn.Prompt, Value: "a", Output: []byte(`"a"`), Servers: []record.ToolServer{{Name: "s"}}}
	if len(turn.Servers) > 0 {
		r.Servers = nil
	}
	call := func(role record.Role, waited time.Duration) {
		r.Calls = append(r.Calls, record.Call{Role: role, Start: r.Took, Duration: time.Second, Waited: waited, Usage: record.Usage{Calls: 1}})
		r.Took += time.Second + waited
		r.Waited += waited
	}
	call(record.RoleAgent, time.Second)
	r.Steps = append(r.Steps, record.Step{Text: "one", Call: 1, User: "go on"})
	call(record.RoleUser, 0)
	if r.Cut = turn.AfterStep(&r); r.Cut != "" {
		return r, nil
	}
	call(record.RoleAgent, 0)
	r.Steps = append(r.Steps, record.Step{Text: "two", Call: 3, Tools: 2})
	for range 2 {
		r.ToolCalls = append(r.ToolCalls, record.ToolCall{Tool: "look", Start: r.Took, Duration: 2 * time.Second, Result: []byte(`1`)})
	}
	r.Took += 2 * time.Second
	r.Cut = turn.AfterStep(&r)
	return r, nil
}

func TestTimesAndLedgersOfAConversation(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: p\nmax_iterations: 2", acts(talks)))
	second := r.Iterations[1]
	if second.Start != 6*time.Second || second.End != 12*time.Second || second.Working != 5*time.Second || r.Elapsed != 12*time.Second {
		t.Errorf("%v to %v, %v of it working; elapsed %v", second.Start, second.End, second.Working, r.Elapsed)
	}
	var starts []time.Duration
	for _, c := range second.Calls {
		starts = append(starts, c.Start)
	}
	if want := []time.Duration{6 * time.Second, 8 * time.Second, 9 * time.Second}; !slices.Equal(starts, want) || second.ToolCalls[1].Start != 10*time.Second {
		t.Errorf("calls begin at %v, the tools at %v", starts, second.ToolCalls[1].Start)
	}
	if r.Usage.Calls != 4 || r.Usage.ToolCalls != 4 || r.User.Calls != 2 || r.Total().Calls != 6 {
		t.Errorf("the agent used %+v, the user %+v", r.Usage, r.User)
	}
	if want := []record.ToolServer{{Name: "s"}}; !reflect.DeepEqual(r.Servers, want) {
		t.Errorf("servers %+v", r.Servers)
	}
}

// What an agent is told of the run so far.
func TestWhatAConversingAgentIsTold(t *testing.T) {
	type told struct{ earlier, tools, remaining, servers int }
	var got []told
	l := build(t, "prompt: p\nmax_iterations: 3", acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		got = append(got, told{len(turn.Earlier), turn.ToolCalls, turn.Remaining, len(turn.Servers)})
		return talks(ctx, turn)
	}))
	play(t.Context(), l)
	if want := []told{{0, 0, 3, 0}, {1, 2, 2, 1}, {2, 4, 1, 1}}; !slices.Equal(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
}

// converses calls a tool at each of its steps, each in a second, until it is cut
// or made so many.
func converses(steps int, stepped func(n int)) acts {
	return func(_ context.Context, turn *agent.Turn) (agent.Result, error) {
		result := agent.Result{Prompt: turn.Prompt, Value: "a", Output: []byte(`"a"`)}
		for n := range steps {
			result.Calls = append(result.Calls, record.Call{Role: record.RoleAgent, Start: result.Took, Duration: time.Second})
			result.Took += time.Second
			result.Steps = append(result.Steps, record.Step{Text: "look", Call: n + 1, Tools: 1})
			result.ToolCalls = append(result.ToolCalls, record.ToolCall{Tool: "look", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`1`), Start: result.Took})
			cut := turn.AfterStep(&result)
			stepped(n)
			if result.Cut = cut; cut != "" {
				break
			}
		}
		return result, nil
	}
}

func TestS2_7_StepsAreStreamedAsTheyHappen(t *testing.T) {
	for name, c := range map[string]struct {
		loop  string
		steps int
	}{
		"whole":                {"prompt: p\nmax_iterations: 2", 3},
		"cut by a guard":       {"prompt: p\nguards: {stagnation: {window: 2, scope: step}}", 3},
		"cut by a timeout":     {"prompt: p\nterminate: {timeout: 2s}", 4},
		"in later iterations":  {"prompt: p\nmax_iterations: 3\nguards: {stagnation: {window: 5, scope: step}}", 2},
		"of an iteration each": {"prompt: p\nmax_iterations: 3", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var live []record.Event
			replies := 0
			l := build(t, "phases: [{name: only, tools: [{name: look, cel: \"1\"}]}]\n"+c.loop, converses(c.steps, func(n int) {
				told := slices.ContainsFunc(live, func(e record.Event) bool { return e.Type == record.AgentResponse && e.Step == n+1 })
				if told {
					replies++
				}
			}))
			r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { live = append(live, e) })
			if recorded := slices.Collect(record.Events(r)); !reflect.DeepEqual(live, recorded) {
				t.Errorf("live events\n%+v\nevents of the record\n%+v", live, recorded)
			}
			if replies == 0 {
				t.Error("no step was told before its iteration ended")
			}
		})
	}
}

// S3.6: a run that failed, had a fault or was cancelled ends as others do: with the
// number of its iterations, its episode and the end of its agent, once each.
func TestS3_6_RunsThatWentWrongEndTheAgent(t *testing.T) {
	fails := func(class record.ErrorClass) func(context.CancelFunc) acts {
		return func(context.CancelFunc) acts {
			return func(context.Context, *agent.Turn) (agent.Result, error) {
				return agent.Result{}, &record.Error{Class: class, Message: "oh"}
			}
		}
	}
	cancels := func(at int, calls ...record.Call) func(context.CancelFunc) acts {
		return func(cancel context.CancelFunc) acts {
			return func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
				if turn.Iteration < at {
					return says("a", "ab")(ctx, turn)
				}
				cancel()
				return agent.Result{Calls: calls}, ctx.Err()
			}
		}
	}
	for name, c := range map[string]struct {
		loop       string
		agent      func(context.CancelFunc) acts
		status     record.Status
		reason     record.Reason
		class      record.Class
		iterations int
		episode    record.EpisodeOutcome
		payload    string
	}{
		"the agent failed":             {"", fails(record.Program), record.Failed, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "program: oh"},
		"a fault":                      {"", fails(record.Network), record.Faulted, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "network: oh"},
		"a fault of an expression":     {"terminate: {when: 'task.vars.missing == 1'}", func(context.CancelFunc) acts { return says("a") }, record.Faulted, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "expression: "},
		"cancelled before a call":      {"", cancels(1), record.Cancelled, record.ReasonCancelled, record.ByBudget, 0, record.EpisodeFailed, "stopped by cancelled"},
		"cancelled after a call":       {"", cancels(1, record.Call{Role: record.RoleAgent}), record.Cancelled, record.ReasonCancelled, record.ByBudget, 1, record.EpisodeFailed, "stopped by cancelled"},
		"cancelled between iterations": {"", cancels(3), record.Cancelled, record.ReasonCancelled, record.ByBudget, 2, record.EpisodeFailed, "stopped by cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var live []record.Event
			r := build(t, "prompt: p\n"+c.loop, c.agent(cancel)).Run(ctx, "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { live = append(live, e) })
			if r.Outcome.Status != c.status {
				t.Fatalf("the outcome is %+v, want %s", r.Outcome, c.status)
			}
			if recorded := slices.Collect(record.Events(r)); !reflect.DeepEqual(live, recorded) {
				t.Errorf("live events\n%+v\nevents of the record\n%+v", live, recorded)
			}
			var ends []record.Event
			for _, e := range live {
				switch e.Type {
				case record.TurnCompleted, record.EpisodeRecorded, record.AgentEnded:
					ends = append(ends, e)
				}
			}
			if len(ends) != 3 || !reflect.DeepEqual(ends, live[max(0, len(live)-3):]) {
				t.Fatalf("the run ends with %+v", ends)
			}
			turn, episode, end := ends[0], ends[1], ends[2]
			if turn.Type != record.TurnCompleted || *turn.Iterations != c.iterations {
				t.Errorf("%+v after %d iterations", turn, *turn.Iterations)
			}
			if episode.Type != record.EpisodeRecorded || episode.Outcome != c.episode {
				t.Errorf("episode %+v", episode)
			}
			if end.Type != record.AgentEnded || end.Reason != c.reason || end.Class != c.class || *end.Success || end.Error != r.Outcome.Error {
				t.Errorf("end %+v", end)
			}
			if end.Payload == nil || !strings.HasPrefix(end.Payload.Error, c.payload) {
				t.Errorf("payload %+v, want %q", end.Payload, c.payload)
			}
		})
	}
}
