package offline

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

func simulatedRequest(task string, trial, call int, target any) *model.Request {
	return &model.Request{
		Messages: []model.Message{{Role: "user", Text: "solve " + task}},
		Draw: model.Draw{Task: task, Trial: trial, Call: call, Iteration: call + 1,
			Of: spec.JudgedTask{Task: &spec.Task{ID: task, Input: "in", Target: target}}},
	}
}

// said is a reply to the default template.
type said struct {
	quality, confidence float64
	answer              any
}

func askSimulated(t *testing.T, m *Simulated, r *model.Request) said {
	t.Helper()
	reply, err := m.Call(t.Context(), r)
	must(t, err)
	value, err := expr.ParseJSON([]byte(reply.Text))
	if err != nil {
		t.Fatalf("%s: %v", reply.Text, err)
	}
	o := value.(*expr.Object)
	q, _ := o.Get("quality")
	c, _ := o.Get("confidence")
	a, _ := o.Get("answer")
	return said{q.(float64), c.(float64), a}
}

func TestQualityApproachesItsLimit(t *testing.T) {
	m := &Simulated{Name: "m", Quality: spec.Quality{Start: 0.2, Limit: 1, Rate: 0.5}}
	for call, want := range []float64{0.2, 0.6, 0.8, 0.9, 0.95} {
		if got := askSimulated(t, m, simulatedRequest("x", 1, call, nil)); got.quality != want || got.confidence != want {
			t.Errorf("call %d: %+v, want %v", call, got, want)
		}
	}
}

// Over many tasks and calls the quality varies as declared.
func TestQualityVaries(t *testing.T) {
	m := &Simulated{Name: "m", Quality: spec.Quality{Start: 0.5, Limit: 0.5, Spread: 0.08, Noise: 0.03}}
	var byTask, within []float64
	for task := range 300 {
		var sum float64
		first := askSimulated(t, m, simulatedRequest(strconv.Itoa(task), 1, 0, nil)).quality
		for trial := range 10 {
			q := askSimulated(t, m, simulatedRequest(strconv.Itoa(task), trial+2, 0, nil)).quality
			sum += q
			within = append(within, (q-first)/math.Sqrt2)
		}
		byTask = append(byTask, sum/10)
	}
	if mean, deviation := moments(byTask); math.Abs(mean-0.5) > 0.02 || math.Abs(deviation-0.08) > 0.01 {
		t.Errorf("tasks: mean %.3f, deviation %.3f; want 0.5 and 0.08", mean, deviation)
	}
	if _, deviation := moments(within); math.Abs(deviation-0.03) > 0.005 {
		t.Errorf("calls: deviation %.4f, want 0.03", deviation)
	}
}

func moments(xs []float64) (mean, deviation float64) {
	var sum, squares float64
	for _, x := range xs {
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(xs))
	return sum / n, math.Sqrt(max(0, squares/n-sum/n*sum/n))
}

// A task is as easy for one model as for another, so that models are compared
// on equal ground.
func TestTheEaseOfATaskIsSharedByModels(t *testing.T) {
	quality := spec.Quality{Start: 0.5, Limit: 0.5, Spread: 0.1}
	a, b := &Simulated{Name: "a", Quality: quality}, &Simulated{Name: "b", Quality: quality}
	other := &Simulated{Name: "a", Seed: 1, Quality: quality}
	same := true
	for task := range 20 {
		r := simulatedRequest(strconv.Itoa(task), 1, 0, nil)
		if askSimulated(t, a, r).quality != askSimulated(t, b, r).quality {
			t.Errorf("task %d differs between models", task)
		}
		same = same && askSimulated(t, a, r).quality == askSimulated(t, other, r).quality
	}
	if same {
		t.Error("another seed changes nothing")
	}
}

func TestAnswersAreCorrectAsOftenAsQualitySays(t *testing.T) {
	for _, quality := range []float64{0, 0.3, 0.9, 1} {
		m := &Simulated{Name: "m", Quality: spec.Quality{Start: quality, Limit: quality}}
		correct := 0
		const n = 1500
		for task := range n {
			if askSimulated(t, m, simulatedRequest(strconv.Itoa(task), 1, 0, 7.0)).answer == 7.0 {
				correct++
			}
		}
		if share := float64(correct) / n; math.Abs(share-quality) > 0.04 {
			t.Errorf("quality %v: %.3f correct", quality, share)
		}
	}
}

func TestARightAnswerDoesNotTurnWrongWhileQualityRises(t *testing.T) {
	m := &Simulated{Name: "m", Quality: spec.Quality{Start: 0.2, Limit: 0.9, Rate: 0.3}}
	turned := 0
	for task := range 200 {
		right := false
		for call := range 6 {
			now := askSimulated(t, m, simulatedRequest(strconv.Itoa(task), 1, call, "yes")).answer == "yes"
			if right && !now {
				t.Fatalf("task %d, call %d: turned wrong", task, call)
			}
			if now && !right && call > 0 {
				turned++
			}
			right = now
		}
	}
	if turned == 0 {
		t.Error("no answer ever turned right")
	}
}

func TestWrongAnswersAreNotTheTruth(t *testing.T) {
	for _, truth := range []any{1.0, -3.5, int64(4), "yes", "", true, false} {
		for draw := range int64(20) {
			if got := wrong(truth, draw); expr.Equal(got, truth) || got == nil {
				t.Errorf("wrong(%v) = %v", truth, got)
			}
		}
	}
	if got := wrong(expr.NewObject(0), 1); got != nil {
		t.Errorf("wrong(object) = %v", got)
	}
}

// Draws belong to the call, not to the order or the number of calls at once.
func TestRepliesDoNotDependOnTheOrder(t *testing.T) {
	m := Simulate("m", 42, &spec.Model{
		Errors:  0.2,
		Latency: spec.Latency{Median: time.Second, Sigma: 0.5},
		Tokens:  spec.TokenCounts{Input: 100, Output: 30, Spread: 0.3},
	})
	const n = 200
	run := func(order func(i int) int) [n]string {
		var got [n]string
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				i := order(i)
				reply, err := m.Call(t.Context(), simulatedRequest(strconv.Itoa(i%20), i%3+1, i/20, 5.0))
				got[i] = describe(reply, err)
			})
		}
		calls.Wait()
		return got
	}
	if run(func(i int) int { return i }) != run(func(i int) int { return n - 1 - i }) {
		t.Error("the order changes the replies")
	}
}

func describe(reply *model.Reply, err error) string {
	if err != nil {
		after, _ := model.Failure(err)
		return err.Error() + after.String()
	}
	return reply.Text + reply.Duration.String() + strconv.FormatInt(reply.Usage.Tokens(), 10)
}

// Equal requests at another moment of a run, of another trial or task, or to
// another model are other draws.
func TestDrawsDiffer(t *testing.T) {
	noisy := spec.Quality{Start: 0.5, Limit: 0.5, Noise: 0.1}
	m := &Simulated{Name: "m", Quality: noisy}
	want := askSimulated(t, m, simulatedRequest("x", 1, 0, nil)).quality
	elsewhere := simulatedRequest("x", 1, 0, nil)
	elsewhere.Draw.Task = "y"
	for name, got := range map[string]said{
		"call":  askSimulated(t, m, simulatedRequest("x", 1, 1, nil)),
		"trial": askSimulated(t, m, simulatedRequest("x", 2, 0, nil)),
		"task":  askSimulated(t, m, elsewhere),
		"model": askSimulated(t, &Simulated{Name: "n", Quality: noisy}, simulatedRequest("x", 1, 0, nil)),
		"seed":  askSimulated(t, &Simulated{Name: "m", Seed: 1, Quality: noisy}, simulatedRequest("x", 1, 0, nil)),
	} {
		if got.quality == want {
			t.Errorf("another %s is the same draw", name)
		}
	}
}

func TestErrors(t *testing.T) {
	m := &Simulated{Name: "m", Errors: 0.25, Time: Call{Latency: spec.Latency{Median: time.Second}}}
	failures := 0
	const n = 2000
	for task := range n {
		_, err := m.Call(t.Context(), simulatedRequest(strconv.Itoa(task), 1, 0, nil))
		var failed *record.Error
		if !errors.As(err, &failed) {
			continue
		}
		failures++
		if after, _ := model.Failure(err); failed.Class != record.Server || after != time.Second {
			t.Fatalf("%v after %v", err, after)
		}
	}
	if share := float64(failures) / n; math.Abs(share-0.25) > 0.03 {
		t.Errorf("%.3f failed, want 0.25", share)
	}
}

func TestTheReplySeesWhatWasDrawn(t *testing.T) {
	const text = `{{ correct }} {{ truth }} {{ answer }} {{ quality }} {{ confidence }} {{ task.id }} {{ task.input }} {{ iteration }} {{ prompt }} {{ draw >= 0 && draw < 1000000 }}`
	template, faults := expr.Simulated().Template(text)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	m := &Simulated{Name: "m", Quality: spec.Quality{Start: 1, Limit: 1}, Reply: &spec.Prompt{Text: text, Template: template}}
	reply, err := m.Call(t.Context(), simulatedRequest("x", 1, 2, "the answer"))
	must(t, err)
	if want := "true the answer the answer 1 1 x in 3 solve x true"; reply.Text != want {
		t.Errorf("got  %s\nwant %s", reply.Text, want)
	}
}

func TestAReplyThatCannotBeRenderedIsAnExpressionError(t *testing.T) {
	template, faults := expr.Simulated().Template("{{ truth.missing }}")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	m := &Simulated{Name: "m", Reply: &spec.Prompt{Template: template}}
	_, err := m.Call(t.Context(), simulatedRequest("x", 1, 0, expr.NewObject(0)))
	var failed *record.Error
	if !errors.As(err, &failed) || failed.Class != record.Expression {
		t.Errorf("got %v", err)
	}
}

func TestAModelWithoutQualityHasTheDefault(t *testing.T) {
	if got := Simulate("m", 1, &spec.Model{}).Quality; got != DefaultQuality {
		t.Errorf("got %+v", got)
	}
}
