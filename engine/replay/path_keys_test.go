package replay

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
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
			return
		}
		change(v.Elem())
	case reflect.String:
		v.SetString(v.String() + "new")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		more := reflect.New(v.Type().Elem()).Elem()
		if more.Kind() == reflect.String {
			more.SetString("new")
		}
		v.Set(reflect.Append(v, more))
	default:
		panic(v.Type())
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
		count := len(keyFields(reflect.ValueOf(declared(t, text)).Elem(), "", ""))
		for i := range count {
			base, other := declared(t, text), declared(t, text)
			key := keyFields(reflect.ValueOf(other).Elem(), "", "")[i]
			if key.class != spec.ChangesPath && key.class != spec.ChangesScores || slices.Contains([]string{"phases", "strategies"}, key.path) {
				continue
			}
			met[key.path] = true
			change(key.value)
			apart, served := Apart(base, other), NewPoints(base).Serves(other)
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
			if named, _, _ := strings.Cut(key.path, "."); named != "agent" && !strings.Contains(r.Why, key.path) {
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
