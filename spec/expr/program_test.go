package expr

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
)

func testScope() vars {
	output, err := ParseJSON([]byte(`{"z": 1, "n": 3, "s": "x", "ok": true, "a": [3, 1, 2], "m": {"q": 1, "b": 2, "c": 3}, "none": null}`))
	if err != nil {
		panic(err)
	}
	param := NewObject(1)
	param.Set("threshold", 0.8)
	param.Set("terminate.max_iterations", 5.0)
	checks := NewObject(1)
	checks.Set("first", record{"passed": true})
	return vars{"output": output, "text": "hello", "iteration": int64(2), "confidence": 0.7, "cost": 1.0, "passed": true,
		"elapsed": 90 * time.Second, "best": nil, "param": param, "checks": checks, "tags": []string{"x", "y"},
		"history": []any{record{"confidence": 0.5, "output": "one", "tags": []any{}}, record{"confidence": nil, "output": "two", "tags": []any{}}}}
}

// programOf is a program without faults.
func programOf(t testing.TB, env *Env, src string, want Want) *Program {
	t.Helper()
	program, faults := env.Compile(src, want)
	if program == nil {
		t.Fatalf("%s: %+v", src, faults)
	}
	return program
}

func TestValues(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	for src, want := range map[string]any{
		"output.n == 3":                         true,
		"output.n in [1, 3]":                    true,
		"int(output.n) + iteration":             int64(5),
		"output.none == null":                   true,
		"output.?missing.orValue(1.5)":          1.5,
		"has(output.missing)":                   false,
		"output.m":                              `{"q":1,"b":2,"c":3}`,
		"elapsed":                               90 * time.Second,
		"best == null":                          true,
		"has(best.output)":                      false,
		"has(history[0].confidence)":            true,
		"has(history[1].confidence)":            false,
		"best.?output.orValue('none')":          "none",
		"confidence > 0":                        true,
		"history[0].confidence":                 0.5,
		"history[1].confidence == null":         true,
		"history.map(h, h.output)":              `["one","two"]`,
		"history.filter(h, h.output != 'one')":  `[{"confidence":null,"output":"two","tags":[]}]`,
		"history + history == []":               false,
		"(history + history).size()":            int64(4),
		"checks['first'].passed":                true,
		"checks":                                `{"first":{"passed":true}}`,
		"checks.all(name, checks[name].passed)": true,
		"text.split('l')[0]":                    "he",
		"size(text.split('l')[2].split('')[0])": int64(1),
		"output.s.split('y')[0] + text":         "xhello",
		"tags.join('-')":                        "x-y",
		"param['terminate.max_iterations']":     5.0,
		"mean([1, 2.0, null])":                  1.5,
		"mean(history.map(h, h.confidence))":    0.5,
		"sum([])":                               0.0,
		"sum(output.a)":                         6.0,
		`string(parse_json("{\"a\": [1]}").a[0]) + string(parse_json("no") == null)`: `1true`,
		`json(output.m.without(["b"]))`:                                              `{"q":1,"c":3}`,
		"json(output.m)":                                                             `{"q":1,"b":2,"c":3}`,
		"output.a.sort()":                                                            `[1,2,3]`,
		"math.greatest(output.a)":                                                    3.0,
		"timestamp('2026-01-02T03:04:05Z')":                                          "2026-01-02T03:04:05Z",
		"{?'a': output.?missing, ?'b': output.?n}":                                   `{"b":3}`,
		"output.m == {'c': 3.0, 'b': 2.0, 'q': 1.0}":                                 true,
		"output.m == {'c': 3.0, 'b': 2.0, 'q': 1.5}":                                 false,
		"output.a == [3.0, 1.0, 2.0]":                                                true,
		"2.0 in output.a && !(5.0 in output.a)":                                      true,
		"'b' in output.m && !('x' in output.m)":                                      true,
		"output.a[1]":                                                                1.0,
		"output.zzz > 1 || true":                                                     true,
		"output.a.transformList(i, v, v * double(i))":                                `[0,1,4]`,
		"history.transformList(i, h, h.output + string(i))":                          `["one0","two1"]`,

		// a Go map would make these orders random
		"output.m.exists(k, output.m[k] == 1.0 || 1 / 0 == 1)": true,
		`output.m.map(k, k)`:                                                   `["q","b","c"]`,
		`output.m.filter(k, output.m[k] > 1)`:                                  `["b","c"]`,
		`output.m.transformList(k, v, k)`:                                      `["q","b","c"]`,
		`output.m.transformList(k, v, v > 1, v)`:                               `[2,3]`,
		`output.m.transformMap(k, v, v * 2.0)`:                                 `{"q":2,"b":4,"c":6}`,
		`output.m.transformMap(k, v, v != 2.0, k)`:                             `{"q":"q","c":"c"}`,
		`output.m.transformMap(k, v, v > 9, k)`:                                `{}`,
		`output.m.transformMapEntry(k, v, {k + k: v})`:                         `{"qq":1,"bb":2,"cc":3}`,
		`{"z": 1, "y": iteration, "a": text}`:                                  `{"z":1,"y":2,"a":"hello"}`,
		`{"z": 1, "y": 2, "a": 3}.map(k, k)`:                                   `["z","y","a"]`,
		`{"z": 1, "y": {"m": 2, "b": 3}}.transformMap(k, v, v)`:                `{"z":1,"y":{"m":2,"b":3}}`,
		`{"z": 1, "a": 2}.map(k, {"y": 1, "b": 2}.transformList(a, b, k + a))`: `[["zy","zb"],["ay","ab"]]`,

		`"banana".replace("a", "")`:                 "bnn",
		`"banana".replace("a", "oo")`:               "boonoonoo",
		`"banana".replace("a", "o", 2)`:             "bonona",
		`"banana".replace("a", "o", 0)`:             "banana",
		`"banana".replace("a", "o", -1)`:            "bonono",
		`"äb".replace("", "-")`:                     "-ä-b-",
		`"äb".replace("", "-", 2)`:                  "-ä-b",
		`"banana".replace("x", "y")`:                "banana",
		`["a", "b", "c"].join()`:                    "abc",
		`["a", "b", "c"].join(", ")`:                "a, b, c",
		`["a"].join(", ")`:                          "a",
		`["a", "b"].filter(x, x == "z").join(", ")`: "",
	} {
		program := programOf(t, env, src, WantAny)
		for range 20 {
			got, err := program.Value(t.Context(), scope)
			switch got.(type) {
			case *Object, []any:
				text, _ := AppendJSON(nil, got)
				got = string(text)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %#v, %v, want %#v", src, got, err, want)
				break
			}
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	for _, c := range []struct {
		src    string
		offset int
		what   string
	}{
		{"1 > 2 || 1 / 0 == 1", 11, "division by zero"},
		{"passed && output.zzz > 1", 16, `key "zzz" not found`},
		{"best.confidence > 0.5", 4, "confidence is not available: the record before it is null"},
		{"history[1].confidence > 0.5", 22, "> does not take values of these types (is one of them null?)"},
		{"history[7].output == ''", 10, "the list has no element 7"},
		{"output.a[7] == 1.0", 8, "the list has no element 7"},
		{"history[0] == history[1]", 0, "records are not compared whole: compare their fields"},
		{"mean([]) > 1.0", 4, "the mean of no numbers"},
		{"mean(['a']) > 1.0", 4, "string in a list of numbers"},
		{"{output.n: 1}.size() > 0", 0, "the key of a map is of type double, not a string"},
		{"[1, 2].transformMapEntry(i, v, {'k': v}).size() > 0", 24, `the key "k" appears twice in a map`},
		{"9223372036854775807 + iteration > 0", 20, "integer overflow"},
	} {
		program := programOf(t, env, c.src, WantBool)
		got, err := program.Bool(t.Context(), scope)
		var failed *Error
		if !errors.As(err, &failed) || failed.Kind != Evaluation || failed.Offset != c.offset || failed.What != c.what {
			t.Errorf("%s: got %v, %#v, want %q at %d", c.src, got, failed, c.what, c.offset)
		}
	}
}

// F56: a wrong type is an error and never "false".
func TestResultsOfTheWrongKindAreErrors(t *testing.T) {
	env := testEnv(t, Options{})
	scope := testScope()
	scope["confidence"] = nil
	scope["cost"] = math.Inf(1)
	number := func(src string) error {
		program := programOf(t, env, src, WantNumber)
		_, err := program.Number(t.Context(), scope)
		return err
	}
	for src, want := range map[string]string{
		"confidence": "the result is null, not a number",
		"cost":       "the result is not a finite number",
		"0.0 / 0.0":  "the result is not a finite number",
	} {
		if err := number(src); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
	list, _ := env.Compile("output.n", WantList)
	if _, err := list.List(t.Context(), scope); err == nil || err.Error() != "the result is not a list" {
		t.Errorf("a number as a list: %v", err)
	}
	whole, _ := env.Compile("dyn(history[0])", WantAny)
	if _, err := whole.Value(t.Context(), scope); err == nil {
		t.Error("a record of unknown type became a value")
	}
	delete(scope, "text")
	missing, _ := env.Compile("text == ''", WantBool)
	if _, err := missing.Bool(t.Context(), scope); err == nil || err.Error() != "text has no value here" {
		t.Errorf("a variable without a value: %v", err)
	}
}

// F8: a panic behind a variable is an error of the evaluation.
func TestScopesThatPanicAreErrors(t *testing.T) {
	program, _ := testEnv(t, Options{}).Compile("text == ''", WantBool)
	if _, err := program.Bool(t.Context(), panicking{}); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}

type panicking struct{}

func (panicking) Lookup(string) (any, bool) { panic("boom") }

func TestCancelledEvaluations(t *testing.T) {
	env := testEnv(t, Options{Deadline: time.Hour})
	program := programOf(t, env, "lists.range(1000000).all(i, lists.range(1000000).all(j, i + j >= 0))", WantBool)
	cause := errors.New("the user pressed a key")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := program.Bool(ctx, testScope())
	if wantKind(t, err, Cancelled); !errors.Is(err, cause) {
		t.Errorf("got %+v", err)
	}
}

func TestReads(t *testing.T) {
	env := testEnv(t, Options{})
	for src, want := range map[string]string{
		"1 > 2":                         "",
		"confidence >= param.threshold": "confidence param.threshold",
		`iteration < int(param["terminate.max_iterations"])`: "iteration param.terminate.max_iterations",
		"best.confidence > 0.5 && has(best.output)":          "best.confidence best.output",
		"history.exists(h, h.confidence > cost)":             "cost history",
		"history.exists(text, text.output == '')":            "history",
		"history.exists(text, .text == 'x')":                 "history text",
		"history.exists(h, h.output == text) || text == 'x'": "history text",
		"output.?a.b.orValue(1) == 1":                        "output.a.b",
		`output[?"a"].orValue(1) == 1`:                       "output.a",
		"output.a[iteration].b":                              "iteration output.a",
		"param[text]":                                        "param text",
		"cel.bind(x, output.n, x + x + cost)":                "cost output.n",
		"{'k': [output.n, text.size()]}":                     "output.n text",
		"output.m.transformMap(k, v, v > output.n)":          "output.m output.n",
	} {
		program := programOf(t, env, src, WantAny)
		expect.Equal(t, src, strings.Join(program.Reads(), " "), want)
	}
}

func TestEnvironmentsAreSafeForConcurrentUse(t *testing.T) {
	env, scope := testEnv(t, Options{}), testScope()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, src := range []string{"output.m.transformMap(k, v, v * 2.0).size() == 3", "iteration == 2", "{'a': 1}.size() == 1"} {
				program, _ := env.Compile(src, WantBool)
				if ok, err := program.Bool(t.Context(), scope); !ok || err != nil {
					t.Errorf("%s: %v, %v", src, ok, err)
				}
				if _, faults := env.Template("{{ " + src + " }}"); faults != nil {
					t.Errorf("%s: %+v", src, faults)
				}
			}
		})
	}
	group.Wait()
}

// F56: without the static estimate, as in dataset mappings, a text must not outgrow memory before it is charged.
func TestF56_TextsDoNotOutgrowMemory(t *testing.T) {
	env, scope := testEnv(t, Options{Deadline: time.Minute}), bombScope()
	for name, src := range map[string]string{
		"replace by itself":       "text.replace('a', text)",
		"replace again":           "text.replace('a', text.substring(0, 1000)).replace('a', text)",
		"replace at most":         "text.replace('a', text, 9000)",
		"replace nothing":         "text.replace('', text)",
		"split and join":          "text.split('').join(text)",
		"join what was joined":    "text.split('').map(x, text).join()",
		"doubling, then a glance": "cel.bind(a, text.split('').map(x, text.substring(0, 6000)).join(), (a + a).size())",
	} {
		program := programOf(t, env, src, WantAny)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := program.Value(t.Context(), scope)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "a text grows beyond") {
			t.Errorf("%s: error %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%s: took %d MiB", name, used>>20)
		}
	}
}

type vars map[string]any

func (v vars) Lookup(name string) (any, bool) { value, ok := v[name]; return value, ok }

type record map[string]any

func (r record) Field(name string) any { return r[name] }

// What is written in each place, beside the expressions of the suites that ship.
func TestExamplesCompile(t *testing.T) {
	cases := []struct {
		env  *Env
		want Want
		src  string
	}{
		{Evaluate(Any), WantBool, `has(output.name) && has(output.date) && has(output.amount)`},
		{Evaluate(Any), WantBool, `output.date.matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}$")`},
		{Evaluate(Any), WantNumber, `has(output.confidence) ? double(output.confidence) : 0.0`},
		{Evaluate(Any), WantNumber, `double(output.reward)`},
		{Loop(String), WantBool, `iteration_tool_calls == 0`},
		{Loop(String), WantBool, `best != null && best.confidence > 0.5`},
		{Loop(String), WantBool, `confidence >= 0.9 && iteration >= 2`},
		{Loop(String), WantBool, `confidence != null && confidence > 1`},
		{Loop(Any), WantAny, `output.observation`},
		{Loop(Any), WantAny, `output.valid == false ? output.observation : null`},
		{Loop(Any), WantBool, `output.valid == false`},
		{Mapping(), WantList, `doc`},
		{Mapping(), WantAny, `row.hardness`},
		{Mapping(), WantList, `row.turn_history.actions.transformList(i, action, {
        "action": action,
        "observation": row.turn_history.observations[i],
        "reward": row.turn_history.rewards[i],
        "valid": i < size(row.turn_history.valid_action) ? row.turn_history.valid_action[i] : null})`},
		{Scorer(Any), WantBool, `double(best.output.reward) >= 1.0`},
		{Scorer(Any), WantBool, `output.overall_score >= 1 && output.overall_score <= 10`},
		{Scorer(Any), WantAny, `output.overall_score`},
		{Threshold(), WantBool, `configurations["default"].cost_usd.mean <= 0.02`},
		{Objective(), WantNumber, `scores["close"].mean`},
		{Objective(), WantBool, `cost_usd.mean <= 0.02`},
		{Fold(), WantAny, `task.metadata.database`},
	}
	for _, c := range cases {
		if _, faults := c.env.Compile(c.src, c.want); len(faults) > 0 {
			t.Errorf("%s: %+v", c.src, faults)
		}
	}
}

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
		programOf(t, ToolCall(Any), src, WantBool)
	}
	for _, src := range []string{"target == output", "task.target == output", "iterations[0].output == target", "stop.success"} {
		programOf(t, Scorer(Any), src, WantBool)
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
	for _, c := range map[string]struct {
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
			programOf(t, c.env, src, WantBool)
		}
	}
	if program, _ := Loop(Any).Compile("step", WantAny); program != nil {
		t.Error("the loop sees a step")
	}
}

func TestOutputTypeFollowsTheReply(t *testing.T) {
	programOf(t, Loop(String), "output + best.output + previous.output + outputs.draft + history[0].output", WantString)
	if program, _ := Loop(String).Compile("output.field", WantAny); program != nil {
		t.Error("a text has a field")
	}
	programOf(t, Loop(Any), "output.field == best.output.field && outputs.draft.field == history[0].output.field", WantBool)
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
		programOf(t, Objective(), src, WantBool)
	}
	scores := NewObject(1)
	scores.Set("x", record{"mean": 0.5})
	program, _ := Objective().Compile(`scores["y"].mean >= 0.5`, WantBool)
	if _, err := program.Bool(t.Context(), vars{"scores": scores}); err == nil || err.Error() != `key "y" not found` {
		t.Errorf("an unknown score: %v", err)
	}
}

// A key that is computed may be charged, and so may what it finds.
func TestComputedKeysWhereEvaluationsAreLimited(t *testing.T) {
	p, faults := Mapping().Compile(`cel.bind(key, row.key, row.?texts[?key.substring(1)].orValue(key)) + "!"`, WantString)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for row, want := range map[string]string{`{"key": "#a", "texts": {"a": "found"}}`: "found!", `{"key": "#b", "texts": {}}`: "#b!"} {
		value, err := ParseJSON([]byte(row))
		must(t, err)
		if got, err := p.String(t.Context(), vars{"row": value}); got != want || err != nil {
			t.Errorf("%s: %q, %v", row, got, err)
		}
	}
}
