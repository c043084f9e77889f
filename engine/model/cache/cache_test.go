package cache

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

var must = wiretest.Must

var openAI = Identity{Provider: "openai", Model: "m"}

// counting is a model that numbers its answers.
type counting struct {
	calls  atomic.Int64
	finish string
	text   string // of every answer
	tools  []model.ToolCall
	blocks json.RawMessage
	fail   func(call int64) error
}

func (c *counting) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	call := c.calls.Add(1)
	if c.fail != nil {
		if err := c.fail(call); err != nil {
			return nil, err
		}
	}
	return &model.Reply{
		Text: cmp.Or(c.text, fmt.Sprintf("answer %d to %s", call, request.Messages[0].Text)), Thinking: "hm", Finish: cmp.Or(c.finish, "stop"), ToolCalls: c.tools, Blocks: c.blocks,
		Usage:    record.Usage{Calls: 1, InputTokens: 3, OutputTokens: call, Cost: 7},
		Duration: time.Second, Waited: time.Minute, Attempts: 2,
	}, nil
}

func ask(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: "user", Text: text}}, Draw: model.Draw{Task: "a", Trial: 1}}
}

func call(t *testing.T, m model.Model, ctx context.Context, request *model.Request) *model.Reply {
	t.Helper()
	reply, err := m.Call(ctx, request)
	must(t, err)
	return reply
}

// A hit is the answer as if the call had been made, but for what was really waited and tried. A caller may change it.
func TestAHitIsTheAnswerOfTheCall(t *testing.T) {
	dir := t.TempDir()
	inner := &counting{finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}, blocks: json.RawMessage(`[ "<b>" ]`)}
	want := *call(t, Wrap(inner, Open(dir, Options{}), openAI, On), WithRun(t.Context()), ask("x"))
	want.Attempts, want.Waited, want.Cached = 0, 0, true
	store := Open(dir, Options{})
	for range 2 {
		got := call(t, Wrap(inner, store, openAI, On), WithRun(t.Context()), ask("x"))
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("got  %+v\nwant %+v", got, &want)
		}
		got.ToolCalls[0].Name, got.Blocks[0] = "changed", 'x'
	}
	if n := inner.calls.Load(); n != 1 || store.Stats() != (Stats{Hits: 2}) {
		t.Errorf("%d calls were made, stats %+v", n, store.Stats())
	}
}

// What each mode does with a stored and with a missing answer.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode           Mode
		known, missing int64 // calls made
		stored         bool  // whether what was missing is stored
	}{
		{On, 0, 1, true},
		{Off, 1, 1, false},
		{Read, 0, 1, false},
		{Write, 1, 1, true},
		{Only, 0, 0, false},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			dir := t.TempDir()
			call(t, Wrap(&counting{}, Open(dir, Options{}), openAI, On), t.Context(), ask("known"))
			calls := func(text string) int64 {
				inner := &counting{}
				_, err := Wrap(inner, Open(dir, Options{}), openAI, c.mode).Call(t.Context(), ask(text))
				if (err != nil) != (c.mode == Only && text == "missing") {
					t.Errorf("%s: error %v", text, err)
				}
				return inner.calls.Load()
			}
			if n := calls("known"); n != c.known {
				t.Errorf("%d calls for a stored answer, want %d", n, c.known)
			}
			if n := calls("missing"); n != c.missing {
				t.Errorf("%d calls for a missing answer, want %d", n, c.missing)
			}
			probe := Open(dir, Options{})
			if _, err := Wrap(nil, probe, openAI, Only).Call(t.Context(), ask("missing")); (err == nil) != c.stored {
				t.Errorf("the missing one was stored: %v, want %v", err == nil, c.stored)
			}
		})
	}
}

// A new answer takes the place of the old one, and is the answer for all runs of
// the session.
func TestWriteReplaces(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	for range 2 {
		m := Wrap(inner, Open(dir, Options{}), openAI, Write)
		for range 3 {
			call(t, m, WithRun(t.Context()), ask("x"))
		}
	}
	if n := inner.calls.Load(); n != 2 {
		t.Errorf("%d calls were made in two sessions", n)
	}
	if got := call(t, Wrap(nil, Open(dir, Options{}), openAI, Only), t.Context(), ask("x")); got.Text != "answer 2 to x" {
		t.Errorf("got %q", got.Text)
	}
}

// P20, F82: with "only" no model is needed, and what is missing is a fault that
// names the call and the way out.
func TestF82_OnlyMakesNoCall(t *testing.T) {
	_, err := Wrap(nil, Open(t.TempDir(), Options{}), openAI, Only).Call(t.Context(), ask("x"))
	var cause *record.Error
	if !errors.As(err, &cause) || !cause.Class.Fault() {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"model m", "task a", "trial 1", "--cache on"} {
		if !strings.Contains(cause.Message, part) {
			t.Errorf("the message lacks %q: %s", part, cause.Message)
		}
	}
	if _, used := model.Failure(err); used != (record.Usage{}) {
		t.Errorf("a call that was not made used %+v", used)
	}
}

// A call that failed and is made again is the same draw.
func TestFailuresDoNotAdvanceTheNumber(t *testing.T) {
	dir := t.TempDir()
	inner := &counting{fail: func(call int64) error {
		if call == 2 {
			return model.Fail(record.Server, "no", 0)
		}
		return nil
	}}
	m, ctx := Wrap(inner, Open(dir, Options{}), openAI, On), WithRun(t.Context())
	var texts []string
	for range 3 {
		if reply, err := m.Call(ctx, ask("x")); err == nil {
			texts = append(texts, reply.Text)
		}
	}
	offline, ctx := Wrap(nil, Open(dir, Options{}), openAI, Only), WithRun(t.Context())
	for _, want := range texts {
		if got := call(t, offline, ctx, ask("x")).Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOnlyNormalAnswersAreStored(t *testing.T) {
	for finish, want := range map[string]int64{"stop": 1, "length": 1, "tool_calls": 1, "content_filter": 0, "error": 0} {
		store := Open(t.TempDir(), Options{})
		reply := call(t, Wrap(&counting{finish: finish}, store, openAI, On), t.Context(), ask("x"))
		if got := store.Stats().Stored; got != want || reply.Finish != finish {
			t.Errorf("%s: %d stored, want %d", finish, got, want)
		}
	}
	store := Open(t.TempDir(), Options{})
	failing := &counting{fail: func(int64) error { return model.Fail(record.Incomplete, "cut off", 0) }}
	if _, err := Wrap(failing, store, openAI, On).Call(t.Context(), ask("x")); err == nil || store.Stats().Stored != 0 {
		t.Errorf("error %v, %d stored", err, store.Stats().Stored)
	}
}

// contents are all files beneath a folder, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = string(content)
		return err
	})
	must(t, err)
	return found
}

// Calls beside each other have the answers of their places, whichever comes first.
func TestCallsBesideEachOtherAreToldApart(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	answers := func(order ...int) map[string]string { // and those to another request have numbers of their own
		ctx, given := WithRun(t.Context()), map[string]string{}
		m := Wrap(inner, Open(dir, Options{}), openAI, On)
		for n, place := range order {
			at := model.Beside(ctx, place)
			if place == 0 {
				at = ctx
			}
			given[fmt.Sprint(place, " ", slices.Index(order, place) == n)] = call(t, m, at, ask("x")).Text
			given[fmt.Sprint("y ", n)] = call(t, m, ctx, ask("y")).Text
		}
		return given
	}
	first := answers(0, 1, 2, 1, 0, 2)
	if again := answers(2, 1, 2, 0, 1, 0); !reflect.DeepEqual(first, again) || inner.calls.Load() != 12 {
		t.Errorf("first %v, then %v after %d calls", first, again, inner.calls.Load())
	}
}

func keyOf(i Identity, request *model.Request, n int) Key {
	return requestKey(i.prefix(), request, "").nth(n)
}

// notSent are the fields of a request that cannot change the answer.
var notSent = []string{"Draw", "Idempotency"}

// Every other field of a request and every one of a message is part of the key.
// A field that is added to them and not to Request.Sum fails here.
func TestEverythingThatIsSentIsPartOfTheKey(t *testing.T) {
	base := func() *model.Request {
		return &model.Request{Messages: []model.Message{{Role: "user", Text: "x"}}}
	}
	want := keyOf(openAI, base(), 0)
	if keyOf(openAI, base(), 0) != want {
		t.Fatal("equal requests have different keys")
	}
	for i := range reflect.TypeFor[model.Request]().NumField() {
		if field := reflect.TypeFor[model.Request]().Field(i); !slices.Contains(notSent, field.Name) {
			request := base()
			change(t, reflect.ValueOf(request).Elem().Field(i))
			if keyOf(openAI, request, 0) == want {
				t.Errorf("%s is not part of the key", field.Name)
			}
		}
	}
	for i := range reflect.TypeFor[model.Message]().NumField() {
		request := base()
		change(t, reflect.ValueOf(&request.Messages[0]).Elem().Field(i))
		if keyOf(openAI, request, 0) == want {
			t.Errorf("Message.%s is not part of the key", reflect.TypeFor[model.Message]().Field(i).Name)
		}
	}
}

// change sets a field to something else.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.String:
		v.SetString(v.String() + "y")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		t.Fatalf("the test cannot change a %v", v.Type())
	}
}

// Of the draw, what a run may differ in without asking anything else is not part of the key; nor is who asks.
func TestTheDrawAndTheModelInTheKey(t *testing.T) {
	type asked struct {
		identity Identity
		draw     model.Draw
		n        int
	}
	key := func(change func(*asked)) Key {
		a := asked{identity: Identity{Provider: "openai", BaseURL: "http://a/v1", Model: "m", Headers: map[string]string{"X-Route": "one", "Authorization": "1"}}, draw: model.Draw{Task: "a", Trial: 1}}
		change(&a)
		return keyOf(a.identity, &model.Request{Draw: a.draw}, a.n)
	}
	for name, c := range map[string]struct {
		same   bool
		change func(*asked)
	}{
		"another task":                   {false, func(a *asked) { a.draw.Task = "b" }},
		"another trial":                  {false, func(a *asked) { a.draw.Trial = 2 }},
		"another repetition":             {false, func(a *asked) { a.n = 1 }},
		"later in the run":               {true, func(a *asked) { a.draw.Call, a.draw.Iteration = 4, 3 }},
		"with a target that is not sent": {true, func(a *asked) { a.draw.Of = spec.TaskFields{Task: &spec.Task{ID: "a"}} }},
		"provider":                       {false, func(a *asked) { a.identity.Provider = "other" }},
		"server":                         {false, func(a *asked) { a.identity.BaseURL = "http://b/v1" }},
		"name":                           {false, func(a *asked) { a.identity.Model = "n" }},
		"border":                         {false, func(a *asked) { a.identity.BaseURL, a.identity.Model = "http://a/v", "1m" }},
		"header":                         {false, func(a *asked) { a.identity.Headers["X-Route"] = "two" }},
		"another header":                 {false, func(a *asked) { a.identity.Headers["X-More"] = "" }},
		"a query":                        {false, func(a *asked) { a.identity.BaseURL += "?version=2" }},
		"a user":                         {true, func(a *asked) { a.identity.BaseURL = "http://me:password@a/v1?api_key=1" }},
		"slash at the end":               {true, func(a *asked) { a.identity.BaseURL += "/" }},
		"case of a header":               {true, func(a *asked) { delete(a.identity.Headers, "X-Route"); a.identity.Headers["x-route"] = "one" }},
		"another credential":             {true, func(a *asked) { a.identity.Headers["Authorization"], a.identity.Headers["api-key"] = "2", "3" }},
	} {
		if same := key(c.change) == key(func(*asked) {}); same != c.same {
			t.Errorf("%s: the same key is %v", name, same)
		}
	}
}

// P17: an answer that holds a secret anywhere is given as it is, and not written.
func TestF70_SecretsAreNotStored(t *testing.T) {
	const secret = "sk-CANARY"
	named := ask("x")
	named.Draw.Task = secret
	for name, c := range map[string]struct {
		inner   *counting
		request *model.Request
	}{
		"text":      {&counting{}, ask(secret)},
		"task":      {&counting{}, named},
		"arguments": {&counting{finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: `{"key":"` + secret + `"}`}}}, ask("x")},
		"blocks":    {&counting{blocks: json.RawMessage(`[{"type":"web_search_tool_result","content":"` + secret + `"}]`)}, ask("x")},
	} {
		dir := t.TempDir()
		store := Open(dir, Options{Redact: func(text string) string { return strings.ReplaceAll(text, secret, "***") }})
		got := call(t, Wrap(c.inner, store, openAI, On), t.Context(), c.request)
		if want := "answer 1 to " + c.request.Messages[0].Text; got.Text != want || store.Stats() != (Stats{Misses: 1}) || len(contents(t, dir)) != 0 {
			t.Errorf("%s: got %q, stats %+v", name, got.Text, store.Stats())
		}
	}
}

// What a session recalls of the answers of tools that it kept, and what a later one does, by the mode of the first.
func TestToolsAreRememberedByMode(t *testing.T) {
	key := Key{1}
	for mode, want := range map[Mode]struct{ same, later bool }{
		"": {true, true}, On: {true, true}, Read: {false, false}, Only: {false, false}, Write: {false, true}, Off: {false, false},
	} {
		dir := t.TempDir()
		tools := Tools{Store: Open(dir, Options{}), Mode: mode}
		tools.Keep(key, "calculator", json.RawMessage(`{"a": 1}`), time.Second)
		if _, _, ok := tools.Recall(key); ok != want.same {
			t.Errorf("%s: recalled %v", mode, ok)
		}
		content, took, ok := Tools{Store: Open(dir, Options{}), Mode: Only}.Recall(key)
		if ok != want.later || ok && (string(content) != `{"a": 1}` || took != time.Second) {
			t.Errorf("%s: another session recalls %s, %v, %v", mode, content, took, ok)
		}
	}
	store := Open(t.TempDir(), Options{})
	store.save(key, &Entry{Provider: "openai", Text: "hello"})
	if content, _, ok := (Tools{Store: store}).Recall(key); ok {
		t.Errorf("recalled the answer %s of a model", content)
	}
}
