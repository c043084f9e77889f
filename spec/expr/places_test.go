package expr

import (
	"slices"
	"testing"
)

func declared(env *Env) []string {
	var names []string
	for _, v := range env.cel.Variables() {
		names = append(names, v.Name())
	}
	return names
}

// A loop that could see the target could be scored with the answer it was shown.
func TestNoTargetInsideTheLoop(t *testing.T) {
	for name, env := range map[string]*Env{"loop": Loop(Any), "evaluate": Evaluate(Any), "loop of texts": Loop(String), "fold": Fold(), "step": Step(Any), "tool": Tool(), "user": UserUntil()} {
		for _, src := range []string{"target", "task.target", "has(task.target)"} {
			if program, _ := env.Compile(src, WantAny); program != nil {
				t.Errorf("%s sees %s", name, src)
			}
		}
	}
	for _, src := range []string{"call.arguments == target && call.iteration == 1", "call.result == 'a'"} {
		if program, faults := ToolCall(Any).Compile(src, WantBool); program == nil {
			t.Errorf("a scorer of tool calls does not see %s: %+v", src, faults)
		}
	}
	for _, src := range []string{"target == output", "task.target == output", "iterations[0].output == target", "stop.success"} {
		if program, faults := Scorer(Any).Compile(src, WantBool); program == nil {
			t.Errorf("a scorer does not see %s: %+v", src, faults)
		}
	}
}

func TestEvaluateSeesTheLoopAndTheJudge(t *testing.T) {
	inside := declared(Evaluate(Any))
	for _, name := range append(declared(Loop(Any)), "judge", "command") {
		if !slices.Contains(inside, name) {
			t.Errorf("evaluate does not see %s", name)
		}
	}
	for _, name := range []string{"judge", "command"} {
		if program, _ := Loop(Any).Compile(name, WantAny); program != nil {
			t.Errorf("the loop sees %s", name)
		}
	}
}

func TestWhatOfStepsIsSeen(t *testing.T) {
	calls := func(of string) []string {
		return []string{of + ".exists(c, c.tool == 'find' && c.arguments.q == 'x' && c.error == '' && c.step == 1)", of + ".all(c, c.result == null)"}
	}
	for name, c := range map[string]struct {
		env     *Env
		sources []string
	}{
		"loop":   {Loop(String), append(append(calls("tool_calls"), calls("history[0].tool_calls")...), "steps > history[0].steps")},
		"scorer": {Scorer(Any), append(calls("iterations[0].tool_calls"), "iterations[0].steps == 5")},
		"step":   {Step(String), append(calls("step.calls"), "step.number > 1 && step.text == output && iteration == 1")},
		"tool":   {Tool(), []string{"args.a == task.vars.a && call > 1"}},
		"user":   {UserUntil(), []string{"message.contains(task.vars.stop) && turn > 1"}},
	} {
		for _, src := range c.sources {
			if program, faults := c.env.Compile(src, WantBool); program == nil {
				t.Errorf("%s: %s: %+v", name, src, faults)
			}
		}
	}
	if program, _ := Loop(Any).Compile("step", WantAny); program != nil {
		t.Error("the loop sees a step")
	}
}

func TestOutputTypeFollowsTheReply(t *testing.T) {
	if program, faults := Loop(String).Compile("output + best.output + previous.output + outputs.draft + history[0].output", WantString); program == nil {
		t.Errorf("texts: %+v", faults)
	}
	if program, _ := Loop(String).Compile("output.field", WantAny); program != nil {
		t.Error("a text has a field")
	}
	if program, faults := Loop(Any).Compile("output.field == best.output.field && outputs.draft.field == history[0].output.field", WantBool); program == nil {
		t.Errorf("JSON: %+v", faults)
	}
}

func TestPlacesAreMadeOnce(t *testing.T) {
	first := Loop(Any)
	if first != Loop(Any) {
		t.Error("an environment was made twice")
	}
	if first == Loop(String) {
		t.Error("two output types share an environment")
	}
}

func TestMetrics(t *testing.T) {
	for _, src := range []string{`scores["x"].mean >= 0.5`, `iterations.p95 <= 3.0 && latency.mean < 20.0`, `cost_usd.total < 1.0`, `iterations.sum + latency.sum + cost_usd.sum + tokens.sum < 1.0`, `n > 10 && coverage == 1.0`} {
		if program, faults := Objective().Compile(src, WantBool); program == nil {
			t.Errorf("%s: %+v", src, faults)
		}
	}
	scores := NewObject(1)
	scores.Set("x", record{"mean": 0.5})
	program, _ := Objective().Compile(`scores["y"].mean >= 0.5`, WantBool)
	if _, err := program.Bool(t.Context(), vars{"scores": scores}); err == nil || err.Error() != `there is no key "y"` {
		t.Errorf("an unknown score: %v", err)
	}
}
