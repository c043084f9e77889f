package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentbench/agentbench/engine/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a tool that a test makes up.
type made struct {
	defined Definition
	uses    func(ctx context.Context, use *Use) (Result, error)
}

func (m made) Definition() Definition { return m.defined }

func (m made) Use(ctx context.Context, use *Use) (Result, error) { return m.uses(ctx, use) }

func named(names ...string) []Tool {
	tools := make([]Tool, len(names))
	for i, name := range names {
		tools[i] = made{defined: Definition{Name: name}}
	}
	return tools
}

func newSet(t testing.TB, o Options, tools ...Tool) *Set {
	t.Helper()
	s, err := NewSet(tools, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const searchParameters = `{
	"type": "object", "required": ["query"], "additionalProperties": false,
	"properties": {"query": {"type": "string", "minLength": 2}, "limit": {"type": "integer", "maximum": 10}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}
}`

// S2.3, F35: what cannot be called is told of, all of it, with its places.
func TestS2_3_F35_WrongCallsAreExplained(t *testing.T) {
	search := made{defined: Definition{Name: "search", Parameters: json.RawMessage(searchParameters)}}
	s := newSet(t, Options{}, append(named("calculator", "task_completion"), search)...)
	for _, c := range []struct{ name, tool, arguments, want string }{
		{"fine", "search", `{"query": "go", "limit": 3, "tags": ["a"]}`, ""},
		{"any object", "calculator", `{"x": [1]}`, ""},
		{"nothing", "calculator", ``, ""},
		{"unknown", "serach", `{}`, `there is no tool "serach"; did you mean "search"?; the tools are calculator, task_completion, search`},
		{"far from any", "weather", `{}`, `there is no tool "weather"; the tools are calculator, task_completion, search`},
		{"all at once", "search", `{"limit": 20, "tags": ["a", "c", 1], "more": 1}`,
			`the arguments of search are wrong: additional properties 'more' not allowed; missing property 'query'; ` +
				`/limit: maximum: got 20, want 10; /tags/1: value must be one of 'a', 'b'; /tags/2: value must be one of 'a', 'b'`},
		{"of another type", "search", `{"query": ["go"]}`, `the arguments of search are wrong: /query: got array, want string`},
		{"a list", "calculator", `[1]`, `the arguments of calculator are wrong: they are no object`},
		{"a trailing comma", "calculator", `{"x": 1,}`, `the arguments of calculator are wrong: they are not JSON: at byte 9: '}' where a key in quotes should stand`},
		{"a trailing quote", "calculator", `{"x": 1}"`, `the arguments of calculator are wrong: they are not JSON: at byte 9: '"' after the end of the JSON value`},
		{"no number", "search", `{"query": "go", "limit": 1e1000000000}`, `the arguments of search are wrong: they are not JSON: at byte 38: number 1e1000000000 is out of range`},
		{"deep", "calculator", strings.Repeat(`{"x":`, 100_000), `the arguments of calculator are wrong: they are not JSON: at byte 5002: JSON nested deeper than 1000 levels`},
		{"long", "calculator", `{"x": "` + strings.Repeat("x", 10<<20) + `"}`, `the arguments of calculator are 10485769 bytes long; 1048576 are allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.Check(c.tool, json.RawMessage(c.arguments))
			if c.want == "" && got != nil || c.want != "" && (got == nil || *got != record.Error{Class: record.BadCall, Message: c.want}) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestLongListsAreCutInErrors(t *testing.T) {
	names := make([]string, 40)
	for i := range names {
		names[i] = strings.Repeat("n", i+1)
	}
	failed := newSet(t, Options{}, named(names...)...).Check(strings.Repeat("unheard of ", 1000), nil)
	if failed == nil || !strings.HasSuffix(failed.Message, " and 10 more") || len(failed.Message) > 1000 {
		t.Errorf("got %v", failed)
	}
	only := `{"items": {"type": "string"}}`
	s := newSet(t, Options{}, made{defined: Definition{Name: "t", Parameters: json.RawMessage(`{"properties": {"l": ` + only + `}}`)}})
	failed = s.Check("t", json.RawMessage(`{"l": [1,2,3,4,5,6,7,8,9,10,11,12]}`))
	if failed == nil || !strings.HasSuffix(failed.Message, "; and 2 more") {
		t.Errorf("got %v", failed)
	}
	if failed := newSet(t, Options{}).Check("t", nil); failed == nil || failed.Message != `there is no tool "t"; there are none` {
		t.Errorf("got %v", failed)
	}
}

func TestSetsThatCannotBe(t *testing.T) {
	for want, tools := range map[string][]Tool{
		`two tools are called "a"`: named("a", "a"),
		`the parameters of the tool "t" are no JSON Schema: it refers to file:///etc/passwd, and only what stands in the schema itself is read`: {
			made{defined: Definition{Name: "t", Parameters: json.RawMessage(`{"$ref": "file:///etc/passwd"}`)}}},
		`the parameters of the tool "t" are no JSON Schema: /type: got string, want array; /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'`: {
			made{defined: Definition{Name: "t", Parameters: json.RawMessage(`{"type": "text"}`)}}},
	} {
		if _, err := NewSet(tools, Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What a server's schema does wrong is not the agent's fault.
func TestASchemaOfAServerThatIsNoneAllowsEverything(t *testing.T) {
	s := newSet(t, Options{Schemas: &Schemas{}}, made{defined: Definition{Name: "t", Server: "s", Parameters: json.RawMessage(`{"type": "text"}`)}})
	if failed := s.Check("t", json.RawMessage(`{"x": 1}`)); failed != nil {
		t.Errorf("got %v", failed)
	}
	if failed := s.Check("t", json.RawMessage(`1`)); failed == nil {
		t.Error("a number was taken for an object")
	}
}

func TestDefinitionsStandInTheirOrder(t *testing.T) {
	s := newSet(t, Options{}, named("b", "a")...)
	if all := s.Definitions(); len(all) != 2 || all[0].Name != "b" || all[1].Name != "a" {
		t.Errorf("got %v", all)
	}
	if d, ok := s.Definition("a"); !ok || d.Name != "a" {
		t.Errorf("got %v", d)
	}
	if _, ok := s.Definition("c"); ok {
		t.Error("there is no c")
	}
}

// F35: whatever arguments a model writes, they are right or explained.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"", "{}", `{"query": "go"}`, `{"query": 1, "limit": 1.5}`, "[", `{"a":{"a":`, "\xff", `{"limit": 1e400}`} {
		f.Add("search", text)
	}
	s := newSet(f, Options{}, made{defined: Definition{Name: "search", Parameters: json.RawMessage(searchParameters)}})
	f.Fuzz(func(t *testing.T, name, arguments string) {
		failed := s.Check(name, json.RawMessage(arguments))
		if failed != nil && (failed.Class != record.BadCall || failed.Message == "" || len(failed.Message) > 5000) {
			t.Errorf("%+v", failed)
		}
		if failed == nil && arguments != "" && !json.Valid([]byte(arguments)) {
			t.Errorf("%q is let through", arguments)
		}
		var asError *record.Error
		if _, err := s.Use(t.Context(), name+"?", &Use{}); !errors.As(err, &asError) {
			t.Errorf("got %v", err)
		}
	})
}
