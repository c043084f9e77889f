package tool

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

var must = propertytest.Must

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func named(names ...string) []Tool {
	tools := make([]Tool, len(names))
	for i, name := range names {
		tools[i] = Tool{Definition: Definition{Name: name}}
	}
	return tools
}

func newSet(t testing.TB, o Options, tools ...Tool) *Set {
	t.Helper()
	s, err := NewSet(tools, o)
	must(t, err)
	return s
}

const searchParameters = `{
	"type": "object", "required": ["query"], "additionalProperties": false,
	"properties": {"query": {"type": "string", "minLength": 2}, "limit": {"type": "integer", "maximum": 10}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}
}`

// S2.3, F35: what cannot be called is told of, all of it, with its places.
func TestS2_3_F35_WrongCallsAreExplained(t *testing.T) {
	search := Tool{Definition: Definition{Name: "search", Parameters: json.RawMessage(searchParameters)}}
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
		{"a trailing comma", "calculator", `{"x": 1,}`, `the arguments of calculator are wrong: they are not JSON: at byte 8: invalid character ',' at start of value`},
		{"a trailing quote", "calculator", `{"x": 1}"`, `the arguments of calculator are wrong: they are not JSON: at byte 9: invalid character '"' after top-level value`},
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
	s := newSet(t, Options{}, Tool{Definition: Definition{Name: "t", Parameters: json.RawMessage(`{"properties": {"l": ` + only + `}}`)}})
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
		`the parameters of the tool "t" are not a JSON Schema: it refers to file:///etc/passwd, but only the schema itself is read`: {
			Tool{Definition: Definition{Name: "t", Parameters: json.RawMessage(`{"$ref": "file:///etc/passwd"}`)}}},
		`the parameters of the tool "t" are not a JSON Schema: /type: got string, want array; /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'`: {
			Tool{Definition: Definition{Name: "t", Parameters: json.RawMessage(`{"type": "text"}`)}}},
	} {
		if _, err := NewSet(tools, Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What a server's schema does wrong is not the agent's fault.
func TestASchemaOfAServerThatIsNoneAllowsEverything(t *testing.T) {
	s := newSet(t, Options{Schemas: &Schemas{}}, Tool{Definition: Definition{Name: "t", Server: "s", Parameters: json.RawMessage(`{"type": "text"}`)}})
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
	s := newSet(f, Options{}, Tool{Definition: Definition{Name: "search", Parameters: json.RawMessage(searchParameters)}})
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

func set(t *testing.T, names ...string) *Set {
	t.Helper()
	var tools []Tool
	for _, name := range names {
		made, err := Builtin(name, "")
		must(t, err)
		tools = append(tools, made)
	}
	s, err := NewSet(tools, Options{})
	must(t, err)
	return s
}

// S2.4: task_completion ends the run with whatever JSON its result is.
func TestS2_4_TaskCompletion(t *testing.T) {
	s := set(t, taskCompletion)
	for _, given := range []string{`"done"`, `{"a": [1]}`, `12.50`, `null`} {
		arguments := json.RawMessage(`{"result": ` + given + `}`)
		if failed := s.Check(taskCompletion, arguments); failed != nil {
			t.Errorf("%s: %v", given, failed)
		}
		result, err := s.Use(t.Context(), taskCompletion, &Use{Arguments: arguments})
		if err != nil || result.Ended == nil || result.Ended.Reason != string(record.ReasonToolEnded) || string(result.Ended.Output) != given {
			t.Errorf("%s: got %+v, %v", given, result, err)
		}
	}
	if failed := s.Check(taskCompletion, json.RawMessage(`{"text": "done"}`)); failed == nil {
		t.Error("a completion without a result is let through")
	}
}

func TestConverseSaysItsMessage(t *testing.T) {
	s := set(t, converse)
	result, err := s.Use(t.Context(), converse, &Use{Arguments: json.RawMessage(`{"message": "hello"}`)})
	if d, _ := s.Definition(converse); err != nil || string(result.Content) != `"hello"` || result.Ended != nil || !d.Converses {
		t.Errorf("got %+v, %v", result, err)
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	value, err := expr.ParseJSON([]byte(text))
	must(t, err)
	return value
}

// S2.4: a question is answered by the task, or ends the run.
func TestS2_4_AskQuestion(t *testing.T) {
	s := set(t, askQuestion)
	for _, c := range []struct {
		name, vars, metadata string
		questions, want      []string // "": it ends the run
	}{
		{"nothing to say", `{}`, `{}`, []string{"Who?"}, []string{""}},
		{"in their order", `{"answers": ["a", {"b": 1}]}`, `{}`, []string{"1?", "2?", "3?"}, []string{`"a"`, `{"b":1}`, ""}},
		{"by the question", `{"answers": {"Who?": "me", "Where?": "here"}}`, `{}`, []string{"Where?", "Who?"}, []string{`"here"`, `"me"`}},
		{"by words", `{"answers": {"budget": "10", "travel budget": "20"}}`, `{}`,
			[]string{"What is your BUDGET?", "What is the travel-budget of 2024?", "And the budgets?"}, []string{`"10"`, `"20"`, ""}},
		{"for all others", `{"answers": {"*": "I do not know", "name": "Ann"}}`, `{}`, []string{"Your name?", "Your age?"}, []string{`"Ann"`, `"I do not know"`}},
		{"of the metadata", `{"x": 1}`, `{"answers": ["m"]}`, []string{"?"}, []string{`"m"`}},
		{"of both", `{"answers": ["v"]}`, `{"answers": ["m", "m"]}`, []string{"?", "?"}, []string{`"v"`, ""}},
		{"of no kind that is known", `{"answers": "yes"}`, `{}`, []string{"?"}, []string{""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, run := WithRun(t.Context())
			defer run.Close()
			task := &spec.Task{Vars: parsed(t, c.vars), Metadata: parsed(t, c.metadata)}
			for i, question := range c.questions {
				arguments, _ := json.Marshal(map[string]string{"question": question})
				result, err := s.Use(ctx, askQuestion, &Use{Arguments: arguments, Task: task})
				must(t, err)
				if ended := result.Ended; c.want[i] == "" {
					if asked, _ := json.Marshal(question); ended == nil || ended.Reason != string(record.ReasonQuestionAsked) || string(ended.Output) != string(asked) {
						t.Errorf("%s: got %+v", question, result)
					}
				} else if ended != nil || string(result.Content) != c.want[i] {
					t.Errorf("%s: got %s, %+v", question, result.Content, ended)
				}
			}
		})
	}
	if _, err := s.Use(t.Context(), askQuestion, &Use{Arguments: json.RawMessage(`{"question": "?"}`)}); err != nil {
		t.Errorf("without a task: %v", err)
	}
}

func TestDescriptions(t *testing.T) {
	if _, err := Builtin("fly", ""); err == nil {
		t.Error("there is a tool fly")
	}
	made, err := Builtin(converse, "Talk.")
	if err != nil || made.Description != "Talk." {
		t.Errorf("got %v, %v", made, err)
	}
	set(t, taskCompletion, askQuestion, converse) // their schemas compile
}

func computedTool(t *testing.T, text string) Tool {
	t.Helper()
	program, faults := expr.Tool().Compile(text, expr.WantAny)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return Computed(Definition{Name: "t"}, &spec.Expr{Program: program})
}

func TestAnExpressionIsATool(t *testing.T) {
	vars := expr.NewObject(1)
	vars.Set("rate", 1.5)
	use := Use{Arguments: []byte(`{"a": 2, "b": {"c": [1]}, "n": "x"}`), Task: &spec.Task{ID: "task-1", Input: "in", Vars: vars}, Number: 3}
	for text, want := range map[string]string{
		`args.a * 2.0`:                 `4`,
		`args`:                         `{"a":2,"b":{"c":[1]},"n":"x"}`,
		`args.n + "\n"`:                `"x\n"`,
		`task.id + task.input`:         `"task-1in"`,
		`args.a * task.vars.rate`:      `3`,
		`call`:                         `3`,
		`[args.a, null, true]`:         `[2,null,true]`,
		`"{\"error\": \"a text\"}"`:    `"{\"error\": \"a text\"}"`,
		`{"temperature": args.b.c[0]}`: `{"temperature":1}`,
		`call > 2 ? "late" : "early"`:  `"late"`,
	} {
		result, err := computedTool(t, text).Use(t.Context(), &use)
		if err != nil || string(result.Content) != want || result.Duration != 0 || result.Ended != nil {
			t.Errorf("%s: got %s, %v; want %s", text, result.Content, err, want)
		}
	}
}

func TestAnExpressionMayEndTheRunOrFail(t *testing.T) {
	ends := computedTool(t, `{"end": "capability", "output": args.x}`)
	result, err := ends.Use(t.Context(), &Use{Arguments: []byte(`{"x": [1]}`)})
	if err != nil || result.Ended == nil || result.Ended.Reason != "capability" || string(result.Ended.Output) != "[1]" {
		t.Errorf("got %+v, %v", result, err)
	}
	for text, want := range map[string]string{
		`{"error": "the record is locked"}`: "the record is locked",
		`args.missing`:                      "missing",
		`1.0 / 0.0`:                         "",
		`[1][args.size() + 5]`:              "the list has no element 5",
	} {
		_, err := computedTool(t, text).Use(t.Context(), &Use{})
		failed, ok := errors.AsType[*record.Error](err)
		if !ok || failed.Class != record.Tool || !strings.Contains(failed.Message, want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// The target is not for tools: they stand inside the loop.
func TestAnExpressionDoesNotSeeTheTarget(t *testing.T) {
	if _, faults := expr.Tool().Compile(`task.target`, expr.WantAny); len(faults) == 0 {
		t.Error("it compiles")
	}
}

func served(t *testing.T, timeout time.Duration, handler http.HandlerFunc) *Set {
	t.Helper()
	server := httptest.NewServer(handler)
	client := external.NewClient()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	set, err := NewSet([]Tool{
		Endpoint(Definition{Name: "t", Timeout: timeout}, external.Endpoint{URL: server.URL, Client: client}),
	}, Options{})
	must(t, err)
	return set
}

func endpointSays(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// S4.9, F30, F31: what an endpoint answers is the result, or told as an error.
func TestAnEndpointIsATool(t *testing.T) {
	for name, c := range map[string]struct {
		handler               http.HandlerFunc
		content, failed, ends string
	}{
		"what is posted": {func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, `{"a":1}`, "", ""},
		"text":           {endpointSays(201, "made\n"), `"made"`, "", ""},
		"an end":         {endpointSays(200, `{"end": "capability", "output": 1}`), `1`, "", "capability"},
		"an error":       {endpointSays(200, `{"error": "no"}`), ``, "no", ""},
		"a failure":      {endpointSays(500, "oops"), ``, "HTTP 500: oops", ""},
		"no key":         {endpointSays(401, ""), ``, "HTTP 401", ""},
		"it hangs":       {hangs, ``, "timed out after 300ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if name == "it hangs" {
				timeout = 300 * time.Millisecond
			}
			result, err := served(t, timeout, c.handler).Use(t.Context(), "t", &Use{Arguments: []byte(`{"a":1}`)})
			failed, ok := errors.AsType[*record.Error](err)
			if string(result.Content) != c.content || ok != (c.failed != "") || ok && *failed != (record.Error{Class: record.Tool, Message: c.failed}) {
				t.Errorf("got %s, %v", result.Content, err)
			}
			if (result.Ended != nil) != (c.ends != "") || result.Duration <= 0 {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// F34: a long answer keeps its head and tail.
func TestF34_ALongAnswer(t *testing.T) {
	result, err := served(t, time.Minute, endpointSays(200, strings.Repeat("x", 1<<20))).Use(t.Context(), "t", &Use{})
	if err != nil || len(result.Content) > maxResult+100 || !strings.Contains(string(result.Content), " bytes cut …") {
		t.Errorf("kept %d bytes, %v", len(result.Content), err)
	}
}
