package cache

import (
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
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

var openAI = Identity{Provider: "openai", Model: "m"}

// counting is a model that numbers its answers.
type counting struct {
	calls  atomic.Int64
	finish string
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
	finish := c.finish
	if finish == "" {
		finish = "stop"
	}
	return &model.Reply{
		Text: fmt.Sprintf("answer %d to %s", call, request.Messages[0].Text), Thinking: "hm", Finish: finish, ToolCalls: c.tools, Blocks: c.blocks,
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
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// A hit is the answer as if the call had been made, but for what was really
// waited and tried.
func TestASecondRunGetsTheFirstOnesAnswer(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	first := call(t, Wrap(inner, Open(dir, Options{}), openAI, On), WithRun(t.Context()), ask("x"))
	store := Open(dir, Options{})
	again := call(t, Wrap(inner, store, openAI, On), WithRun(t.Context()), ask("x"))
	want := *first
	want.Attempts, want.Waited, want.Cached = 0, 0, true
	if !reflect.DeepEqual(again, &want) {
		t.Errorf("got  %+v\nwant %+v", again, &want)
	}
	if n := inner.calls.Load(); n != 1 {
		t.Errorf("%d calls were made", n)
	}
	if got := store.Stats(); got != (Stats{Hits: 1}) {
		t.Errorf("stats %+v", got)
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

// Equal requests of one run are different draws, the same ones in every run.
func TestRepetitionsAreDrawsOfTheirOwn(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	m := Wrap(inner, Open(dir, Options{}), openAI, On)
	var texts [2][]string
	for run := range texts {
		ctx := WithRun(t.Context())
		for range 3 {
			texts[run] = append(texts[run], call(t, m, ctx, ask("x")).Text)
			call(t, m, ctx, ask("y")) // another request has numbers of its own
		}
	}
	if !reflect.DeepEqual(texts[0], texts[1]) {
		t.Errorf("the runs got %q", texts)
	}
	if texts[0][0] == texts[0][1] || inner.calls.Load() != 6 {
		t.Errorf("got %q with %d calls", texts[0], inner.calls.Load())
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
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Calls beside each other have the answers of their places, whichever comes first.
func TestCallsBesideEachOtherAreToldApart(t *testing.T) {
	dir, inner := t.TempDir(), &counting{}
	answers := func(order ...int) map[string]string {
		ctx, given := WithRun(t.Context()), map[string]string{}
		m := Wrap(inner, Open(dir, Options{}), openAI, On)
		for n, place := range order {
			at := model.Beside(ctx, place)
			if place == 0 {
				at = ctx
			}
			given[fmt.Sprint(place, " ", slices.Index(order, place) == n)] = call(t, m, at, ask("x")).Text
		}
		return given
	}
	first := answers(0, 1, 2, 1, 0, 2)
	if again := answers(2, 1, 2, 0, 1, 0); !reflect.DeepEqual(first, again) || inner.calls.Load() != 6 {
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

// Of the draw, what a run may differ in without asking anything else is not
// part of the key.
func TestTheDrawInTheKey(t *testing.T) {
	draw := model.Draw{Task: "a", Trial: 1}
	request := func(d model.Draw) *model.Request { return &model.Request{Draw: d} }
	want := keyOf(openAI, request(draw), 0)
	for name, c := range map[string]struct {
		draw model.Draw
		n    int
		same bool
	}{
		"another task":                   {model.Draw{Task: "b", Trial: 1}, 0, false},
		"another trial":                  {model.Draw{Task: "a", Trial: 2}, 0, false},
		"another repetition":             {draw, 1, false},
		"later in the run":               {model.Draw{Task: "a", Trial: 1, Call: 4, Iteration: 3}, 0, true},
		"with a target that is not sent": {model.Draw{Task: "a", Trial: 1, Of: spec.TaskFields{Task: &spec.Task{ID: "a"}}}, 0, true},
	} {
		if same := keyOf(openAI, request(c.draw), c.n) == want; same != c.same {
			t.Errorf("%s: the same key is %v", name, same)
		}
	}
}

func TestTheIdentityInTheKey(t *testing.T) {
	base := Identity{Provider: "openai", BaseURL: "http://a/v1", Model: "m", Headers: map[string]string{"X-Route": "one", "Authorization": "1"}}
	with := func(change func(*Identity)) Identity {
		i := base
		i.Headers = map[string]string{"X-Route": "one", "Authorization": "1"}
		change(&i)
		return i
	}
	want := keyOf(base, ask("x"), 0)
	for name, c := range map[string]struct {
		identity Identity
		same     bool
	}{
		"provider":           {with(func(i *Identity) { i.Provider = "other" }), false},
		"server":             {with(func(i *Identity) { i.BaseURL = "http://b/v1" }), false},
		"name":               {with(func(i *Identity) { i.Model = "n" }), false},
		"border":             {with(func(i *Identity) { i.BaseURL, i.Model = "http://a/v", "1m" }), false},
		"header":             {with(func(i *Identity) { i.Headers["X-Route"] = "two" }), false},
		"another header":     {with(func(i *Identity) { i.Headers["X-More"] = "" }), false},
		"a query":            {with(func(i *Identity) { i.BaseURL += "?version=2" }), false},
		"a user":             {with(func(i *Identity) { i.BaseURL = "http://me:password@a/v1?api_key=1" }), true},
		"slash at the end":   {with(func(i *Identity) { i.BaseURL += "/" }), true},
		"case of a header":   {with(func(i *Identity) { delete(i.Headers, "X-Route"); i.Headers["x-route"] = "one" }), true},
		"another credential": {with(func(i *Identity) { i.Headers["Authorization"] = "2"; i.Headers["api-key"] = "3" }), true},
	} {
		if same := keyOf(c.identity, ask("x"), 0) == want; same != c.same {
			t.Errorf("%s: the same key is %v", name, same)
		}
	}
}

// A caller may change the tool calls and blocks of its reply.
func TestRepliesAreTheCallersOwn(t *testing.T) {
	store := Open(t.TempDir(), Options{})
	inner := &counting{finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}, blocks: json.RawMessage(`[ "<b>" ]`)}
	for run := range 3 {
		got := call(t, Wrap(inner, store, openAI, On), WithRun(t.Context()), ask("x"))
		want := []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
		if !reflect.DeepEqual(got.ToolCalls, want) || string(got.Blocks) != `[ "<b>" ]` || got.Cached != (run > 0) {
			t.Errorf("run %d got %+v", run, got)
		}
		if got.Cached {
			got.ToolCalls[0].Name, got.Blocks[0] = "changed", 'x'
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
