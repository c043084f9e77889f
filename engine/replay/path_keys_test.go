package replay

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/spec/spectest"
	"pgregory.net/rapid"
)

// keyField is a key of a loop, and where its value is.
type keyField struct {
	path  string
	class spec.Class
	value reflect.Value
}

// keyFields are the keys below a struct that hold no mapping with keys of their own, or one that is absent.
func keyFields(v reflect.Value, path string, class spec.Class) (all []keyField) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || name == "" && option != "inline" {
			continue
		}
		key := keyField{strings.Trim(path+"."+name, "."), class, v.Field(i)}
		if c := f.Tag.Get("changes"); c != "" {
			key.class = spec.Class(c)
		}
		all = append(all, key.below()...)
	}
	return all
}

func (k keyField) below() (all []keyField) {
	at := reflect.Indirect(k.value)
	if !at.IsValid() {
		return []keyField{k}
	}
	switch at.Interface().(type) {
	case spec.Expr, spec.Prompt, spec.Seed, spec.Sandbox, spec.Variables, spec.Headers, spec.Served, spec.JSON:
	default:
		if at.Kind() == reflect.Struct {
			return keyFields(at, k.path, k.class)
		}
		if at.Kind() == reflect.Slice && at.Len() > 0 && at.Type().Elem().Kind() == reflect.Struct {
			for i := range at.Len() {
				all = append(all, keyFields(at.Index(i), k.path, k.class)...)
			}
			return all
		}
	}
	return []keyField{k}
}

// change gives a key another value.
func change(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *spec.Variables:
		*at = append(*at, source.Pair[spec.Header]{Key: "NEW", Value: spec.Header{Text: "1"}})
		return
	case *spec.Headers:
		*at = append(*at, source.Pair[spec.Header]{Key: "NEW", Value: spec.Header{Text: "1"}})
		return
	case *spec.Served:
		*at = append(*at, source.Pair[string]{Key: "new", Value: "m"})
		return
	case *spec.Expr:
		at.Text += " "
		return
	case *spec.Prompt:
		at.Text += "new"
		return
	case *spec.Seed:
		*at = spec.Seed{Path: &spec.Expr{Text: "'new'"}}
		return
	case *spec.Sandbox:
		at.Kind += "new"
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			switch v.Interface().(type) {
			case *spec.Expr, *spec.Prompt:
			default:
				named(v.Elem())
				return
			}
		}
		change(v.Elem())
	case reflect.String:
		v.SetString(v.String() + "new")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		more := reflect.New(v.Type().Elem()).Elem()
		if more.Kind() == reflect.String {
			more.SetString("new")
		}
		named(more)
		v.Set(reflect.Append(v, more))
	default:
		panic(v.Type())
	}
}

// named gives the first text of a mapping a value, such as its name.
func named(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String && f.CanSet() {
			f.SetString("new")
			return
		}
	}
}

// Whatever key of the path has another value, no replay is exact, and no recording answers for both; by the keys that only
// change scores all do.
func TestNoOtherPathIsExact(t *testing.T) {
	program := "agent: {command: [./a], env: {A: '1'}, models: {default: m}, output: stdout}\nprompt: p\nmax_iterations: 1\n" +
		"workspace: {from: \"'x'\", files: \"{'a': 'b'}\", setup: {command: [x]}, limits: {size: 1MB}, sandbox: {container: {image: i}}}\n"
	model := "agent: {model: m, tools: [{name: t, command: [x]}, {name: s, mcp: {command: [y]}}], delegates: [{name: d, a2a: 'http://localhost/d'}]}\nprompt: p\nmax_iterations: 1\n"
	met := map[string]bool{}
	for _, text := range []string{program, model} {
		count := len(keyFields(reflect.ValueOf(spectest.Loop(t, text)).Elem(), "", ""))
		for i := range count {
			base, other := spectest.Loop(t, text), spectest.Loop(t, text)
			key := keyFields(reflect.ValueOf(other).Elem(), "", "")[i]
			if key.class != spec.ChangesPath && key.class != spec.ChangesScores || slices.Contains([]string{"phases", "strategies"}, key.path) {
				continue
			}
			met[key.path] = true
			change(key.value)
			apart, served := Apart(base, other), NewLimits(base).Serves(other)
			run := recordedRun(record.ReasonMaxIterations, 0.5)
			run.Iterations[0].Steps = make([]record.Step, 1)
			r := New(base, other, Options{}).Run(context.Background(), run, task)
			if key.class == spec.ChangesScores {
				if apart != "" || served != "" || r.Verdict != Exact {
					t.Errorf("%s: %q, %q, %+v", key.path, apart, served, r)
				}
				continue
			}
			if apart == "" || served == "" || r.Verdict != Branches || r.At != 1 {
				t.Errorf("%s: apart %q, served %q, %s at %d", key.path, apart, served, r.Verdict, r.At)
			}
			if !namesKey(r.Why, key.path) {
				t.Errorf("%s: %q does not name it", key.path, r.Why)
			}
		}
	}
	for _, path := range []string{"agent.env", "agent.models", "agent.tools.mcp.shared", "agent.delegates.timeout", "workspace.from", "workspace.files", "workspace.setup.command", "workspace.limits.size", "workspace.sandbox", "workspace.keep"} {
		if !met[path] {
			t.Errorf("%s was not changed: %v", path, fmt.Sprint(met))
		}
	}
}

// Whatever key of what is sent or how it is judged has another value, no replay is exact that neither renders requests nor
// judges again, and no recording answers for both: what such a key changes is there.
func TestNoOtherRequestOrEvaluationIsExact(t *testing.T) {
	talks := "agent: {model: m, system: s, reply: json, tools: [{name: t, command: [x], parameters: {type: object}}, {name: s, mcp: {command: [y], only: [z]}}], " +
		"delegates: [{name: d, a2a: 'http://localhost/d'}], memory: {max_tokens: 5}}\nprompt: p\nmax_iterations: 1\nuser: {model: u, system: s, max_turns: 2}\n"
	judged := "agent: {model: m}\nprompt: p\nmax_iterations: 1\nevaluate: {checks: [{name: c, expr: 'true', feedback: f, weight: 2}], judge: {model: j, rubric: r}, confidence: '0.5', passed: 'false', feedback: \"'x'\", fix: one}\n"
	tested := "agent: {command: [./a]}\nprompt: p\nmax_iterations: 1\nworkspace: {sandbox: {none: accept}}\nevaluate: {command: {command: [./b], timeout: 5s}}\n"
	staged := "agent: {model: m, tools: [{name: t, command: [x]}]}\nprompt: p\nphases: [{name: a, max_iterations: 1}]\nmax_iterations: 1\nevaluate: {confidence: '0.5'}\n"
	tried := "agent: {model: m}\nprompt: p\npattern: multi_strategy\nstrategies: [{name: a, max_iterations: 1}]\nmax_iterations: 1\nevaluate: {confidence: '0.5'}\n"
	met := map[string]bool{}
	for _, text := range []string{talks, judged, tested, staged, tried} {
		count := len(keyFields(reflect.ValueOf(spectest.Loop(t, text)).Elem(), "", ""))
		for i := range count {
			base, other := spectest.Loop(t, text), spectest.Loop(t, text)
			key := keyFields(reflect.ValueOf(other).Elem(), "", "")[i]
			if key.class != spec.ChangesRequests && key.class != spec.ChangesEvaluation || key.path == "evaluate.from_phase" ||
				key.path == "user" && base.Agent.Model == "" {
				continue // which iterations are evaluated is seen at each: TestExactIsNeverWrong; a program has no user
			}
			met[key.path] = true
			change(key.value)
			run := recordedRun(record.ReasonMaxIterations, 0.5)
			it := &run.Iterations[0]
			it.Steps = make([]record.Step, 1)
			if len(base.Phases) > 0 {
				it.Phase = base.Phases[0].Name
			}
			if len(base.Strategies) > 0 {
				it.Strategy = base.Strategies[0].Name
			}
			if r := New(base, base, Options{}).Run(context.Background(), run, task); r.Verdict != Exact {
				t.Fatalf("%s: itself: %s", text, r.Why)
			}
			r, served := New(base, other, Options{}).Run(context.Background(), run, task), NewLimits(base).Serves(other)
			if r.Verdict != Branches || r.At != 1 || served == "" {
				t.Errorf("%s: %s at %d: %s; served %q", key.path, r.Verdict, r.At, r.Why, served)
			}
			if section, _, _ := strings.Cut(key.path, "."); (section == "agent" || section == "evaluate") && !namesKey(r.Why, key.path) && !slices.Contains(otherwise, r.Why) {
				t.Errorf("%s: %q does not name it", key.path, r.Why)
			}
		}
	}
	for _, path := range []string{"agent.system", "agent.tools.name", "agent.command", "phases.tools", "strategies.prompt", "user.script", "evaluate.judge.rubric", "evaluate.checks.expr", "evaluate.command.timeout"} {
		if !met[path] {
			t.Errorf("%s was not changed: %v", path, slices.Sorted(maps.Keys(met)))
		}
	}
}

// otherwise are the reasons that name no key.
var otherwise = []string{"outputs are texts in one of the loops only", "the recorded loop evaluates nothing"}

// namesKey reports whether a reason names a key, or the key of the loop's section that holds it.
func namesKey(why, path string) bool {
	keys := strings.Split(path, ".")
	return strings.Contains(why, strings.Join(keys[:min(2, len(keys))], "."))
}

// stopKeys are the keys below a type that only change when a run stops. What stages say of their agents and
// tools are the keys of these.
func stopKeys(of reflect.Type, path string, class spec.Class, known map[reflect.Type]bool) (keys []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[spec.Tree](): // its conditions, by their kinds
		return stopKeys(reflect.TypeFor[spec.Condition](), path, class, known)
	case reflect.TypeFor[spec.Condition]():
		if known[of] {
			return []string{path} // a list of conditions
		}
		known[of] = true
		for i := range of.NumField() {
			if f := of.Field(i); f.Name != "Kind" && f.Name != "Node" {
				keys = append(keys, stopKeys(f.Type, path+"."+f.Name, class, known)...)
			}
		}
		return keys
	case reflect.TypeFor[spec.Expr](), reflect.TypeFor[spec.Prompt](), reflect.TypeFor[spec.Loop]():
		if len(path) > 0 {
			return leaf(path, class)
		}
	case reflect.TypeFor[spec.Agent](), reflect.TypeFor[spec.Tool]():
		if known[of] {
			return nil
		}
		known[of] = true
	}
	found := false
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			f := of.Field(i)
			name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "-" || name == "" && option != "inline" {
				continue
			}
			found = true
			below, at := class, strings.Trim(path+"."+name, ".")
			if c := f.Tag.Get("changes"); c != "" {
				below = spec.Class(c)
			}
			keys = append(keys, stopKeys(f.Type, at, below, known)...)
		}
	}
	if !found {
		return leaf(path, class)
	}
	return keys
}

func leaf(path string, class spec.Class) []string {
	if class == spec.ChangesStop {
		return []string{path}
	}
	return nil
}

// liveTests compare replays of other values of keys that only change when a run stops with live runs.
var liveTests = map[string][]string{
	"TestExactIsNeverWrong":                    {"pattern", "agent.timeout", "agent.tools.success"},
	"TestShortKeysAreTheLongOnes":              {"max_iterations"},
	"TestFewerStepsAreExactWhereTheyAreUsedUp": {"agent.max_steps"},
	"TestALimitedRunIsTheReplayOfTheWholeOne":  {"agent.steps_of", "guards.budget.steps"},
	"TestTimeoutsOfToolsAreNeverWrong":         {"agent.tools.timeout"},
	"TestTheWidestRecordingAnswersForTighterLimits": {
		"phases.max_iterations", "phases.until", "strategies.max_iterations", "terminate.Name", "terminate.Off", "terminate.Confidence.threshold",
		"terminate.Confidence.min_iterations", "terminate.When", "terminate.Repeated.of", "terminate.Repeated.times", "terminate.Consecutive.when",
		"terminate.Consecutive.times", "terminate.NoImprovement.patience", "terminate.NoImprovement.min_delta", "terminate.Timeout.after",
		"terminate.Timeout.cancel", "terminate.Timeout.working", "terminate.MaxIterations", "terminate.Nested", "guards.absolute_max_iterations",
		"guards.budget.tokens", "guards.budget.calls", "guards.budget.cost_usd", "guards.budget.hard", "guards.repeated_output",
		"guards.degradation.window", "guards.stagnation.window", "guards.stagnation.times", "guards.stagnation.signature", "guards.stagnation.scope",
		"guards.circuit_breaker.threshold", "guards.repeated.name", "guards.repeated.of", "guards.repeated.times", "guards.repeated.scope",
		"guards.repeated.window", "guards.consecutive.name", "guards.consecutive.when", "guards.consecutive.times", "guards.consecutive.scope",
		"on_error.continue_if",
	},
}

// A new key that only changes when a run stops needs a test that its replay is the live run.
func TestEveryStopKeyHasALiveTest(t *testing.T) {
	exist := map[string]bool{}
	for _, folder := range []string{".", "../../cmd/agentbench/processtest"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		spectest.Must(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			spectest.Must(t, err)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					exist[f.Name.Name] = true
				}
			}
		}
	}
	var held []string
	for test, keys := range liveTests {
		if held = append(held, keys...); !exist[test] {
			t.Errorf("there is no %s", test)
		}
	}
	keys := stopKeys(reflect.TypeFor[spec.Loop](), "", "", map[reflect.Type]bool{})
	for _, key := range keys {
		if !slices.Contains(held, key) {
			t.Errorf("%s only changes when a run stops, and no test holds its replays against live runs", key)
		}
	}
	for _, key := range held {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is no key that only changes when a run stops", key)
		}
	}
}

// Another timeout of a tool is exact only where it leaves all uses alone.
func TestTimeoutsOfToolsAreNeverWrong(t *testing.T) {
	exact, cut := 0, 0
	check(t, func(t *rapid.T) {
		w, one := drawWorld(t), drawLoop(t, false)
		if !one.Converses(one.Agent) {
			drawTalk(t, one, false)
		}
		other, agent := *one, *one.Agent
		agent.Tools = slices.Clone(agent.Tools)
		for i, of := range []*spec.Agent{one.Agent, &agent} {
			of.Tools[i].Timeout = time.Duration(number(t, "timeout", 0, 4)) * 20 * time.Second
		}
		other.Agent = &agent
		recorded, live := w.run(one), w.run(&other)
		for how, o := range map[string]Options{"rendered": {Renderer: w.live(&other)}, "declared": {}} {
			r := New(one, &other, o).Run(context.Background(), recorded, task)
			hold(t, how, r, live, recorded)
			if r.Verdict == Exact {
				exact++
			} else if strings.Contains(r.Why, "the timeout of the tool") {
				cut++
			}
		}
	})
	if exact == 0 || cut == 0 {
		t.Errorf("%d were exact, and %d had a use that took as long: the property says little", exact, cut)
	}
}

// The short key is the long one, for which live runs are compared.
func TestShortKeysAreTheLongOnes(t *testing.T) {
	short, long := spectest.Loop(t, plainLoop+"max_iterations: 3\n"), spectest.Loop(t, plainLoop+"terminate: {max_iterations: 3}\n")
	if short.Hash() != long.Hash() || len(New(short, long, Options{}).differ.values) > 0 {
		t.Error("they differ")
	}
}
