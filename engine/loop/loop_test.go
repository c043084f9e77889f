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
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
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
	files := fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nevaluate: {confidence: '0.0'}\n" + text)}}
	doc, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return doc.Loop
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
	r := play(t.Context(), build(t, "prompt: p\nmax_iterations: 2", says("a", "abc")))
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

func TestTheClusterAndTheGroupOfTheTaskAreRecorded(t *testing.T) {
	l := build(t, "prompt: p\nmax_iterations: 1", says("a"))
	r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t", Cluster: "topic", Group: "hard"}, 1, nil)
	if r.Cluster != "topic" || r.Signals().Cluster != "topic" {
		t.Errorf("the cluster is %q, in the signals %q", r.Cluster, r.Signals().Cluster)
	}
	if r.Group != "hard" || r.Signals().Group != "hard" {
		t.Errorf("the group is %q, in the signals %q", r.Group, r.Signals().Group)
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

func TestAPromptThatCannotBeRenderedFailsTheIteration(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: '{{ task.vars.missing }}'", says("a")))
	if r.Outcome.Status != record.Faulted || r.Outcome.Error.Class != record.Expression {
		t.Errorf("the outcome is %+v", r.Outcome)
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

func TestTimeoutCutsWhatOnlyPassedAsIf(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: 2500ms}", says("a", "ab", "abc", "abcd")))
	if len(r.Iterations) != 3 || r.Iterations[2].Cut != "timeout" || r.Elapsed != 2500*time.Millisecond || r.Outcome.Returned != 2 {
		t.Errorf("%d iterations in %v, %+v", len(r.Iterations), r.Elapsed, r.Outcome)
	}
}

func TestTimeoutWithoutCancelIsDecidedAfterwards(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: {after: 2500ms, cancel: false}}", says("a", "ab", "abc", "abcd")))
	if len(r.Iterations) != 3 || r.Iterations[2].Cut != "" || r.Elapsed != 3*time.Second || r.Outcome.Returned != 3 {
		t.Errorf("%d iterations in %v, %+v", len(r.Iterations), r.Elapsed, r.Outcome)
	}
}

func TestWorkingTimeLeavesOutWhatWasWaited(t *testing.T) {
	waits := acts(func(_ context.Context, turn *agent.Turn) (agent.Result, error) {
		return agent.Result{Value: "a", Output: []byte(`"a"`), Calls: []record.Call{{Role: record.RoleAgent, Duration: time.Second, Waited: 9 * time.Second}}}, nil
	})
	r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: {after: 3s, working: true}}", waits))
	if len(r.Iterations) != 3 || r.Outcome.Reason != record.ReasonTimeout || r.Elapsed != 30*time.Second {
		t.Errorf("%d iterations in %v, %+v", len(r.Iterations), r.Elapsed, r.Outcome)
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

func TestLiveEventsAreThoseOfTheRecord(t *testing.T) {
	var live []record.Event
	l := build(t, "prompt: p\nmax_iterations: 3", says("a", "ab", "abc"))
	r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { live = append(live, e) })
	var recorded []record.Event
	for e := range record.Events(r) {
		recorded = append(recorded, e)
	}
	if !reflect.DeepEqual(live, recorded) || len(live) < 10 {
		t.Errorf("live events\n%+v\nevents of the record\n%+v", live, recorded)
	}
}
