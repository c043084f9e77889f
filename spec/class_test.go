package spec

import (
	"reflect"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec/source"
)

// Every key of the language says what another value of it changes, beside its declaration or by what holds it: where one
// key of a mapping says it, all do.
func TestEveryKeyOfALoopHasAClass(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type, at string)
	walk = func(of reflect.Type, at string) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		all := keysOf(of)
		tells := at == "" || slices.ContainsFunc(all, func(k key) bool { return k.class != "" })
		for _, k := range all {
			switch k.class {
			case ChangesStop, ChangesScores, ChangesPath, ChangesRequests, ChangesEvaluation:
			case "":
				if tells {
					t.Errorf("%s has no class: say in the tag changes of its field what another value of it changes", join(at, k.name))
				}
			default:
				t.Errorf("%s: there is no class %q", join(at, k.name), k.class)
			}
			walk(of.Field(k.field).Type, join(at, k.name))
		}
	}
	walk(reflect.TypeFor[Loop](), "")
	for _, of := range []reflect.Type{reflect.TypeFor[Agent](), reflect.TypeFor[Workspace](), reflect.TypeFor[Delegate](), reflect.TypeFor[MCP]()} {
		if !seen[of] {
			t.Errorf("%v was not met", of)
		}
	}
}

func TestDifferences(t *testing.T) {
	tool := func(name string, success bool) Tool { return Tool{Name: name, Success: &success} }
	env := func(value string) Variables {
		return Variables{source.Pair[Header]{Key: "ANSWER", Value: Header{Text: value}}}
	}
	base := Agent{Env: env("1"), Command: []string{"a", "b"}, Tools: []Tool{tool("x", true), tool("y", true)}}
	for name, c := range map[string]struct {
		change func(*Agent)
		want   []Difference
	}{
		"nothing":           {func(*Agent) {}, nil},
		"a variable":        {func(a *Agent) { a.Env = env("2") }, []Difference{{"env.ANSWER", ChangesPath}}},
		"a word":            {func(a *Agent) { a.Command = []string{"a", "c"} }, []Difference{{"command", ChangesRequests}}},
		"words in an order": {func(a *Agent) { a.Command = []string{"b", "a"} }, []Difference{{"command", ChangesRequests}}},
		"a memory":          {func(a *Agent) { a.Memory = &Memory{} }, []Difference{{"memory", ChangesRequests}}},
		"success of a tool": {func(a *Agent) { a.Tools = []Tool{tool("x", false), tool("y", true)} }, []Difference{{"tools.x.success", ChangesStop}}},
		"the order of tools": {func(a *Agent) { a.Tools = []Tool{tool("y", true), tool("x", true)} },
			[]Difference{{"tools.x.name", ChangesRequests}, {"tools.y.name", ChangesRequests}, {"tools.x.success", ChangesStop}, {"tools.y.success", ChangesStop}}},
	} {
		other := base
		c.change(&other)
		expect.Equal(t, name, Differences(&base, &other), c.want)
	}
}
