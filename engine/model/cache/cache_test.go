package cache

import (
	"context"
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
)

var openAI = Identity{Provider: "openai", Model: "m"}

// counting is a model that numbers its answers.
type counting struct {
	calls  atomic.Int64
	finish string
	tools  []model.ToolCall
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
		Text: fmt.Sprintf("answer %d to %s", call, request.Messages[0].Text), Thinking: "hm", Finish: finish, ToolCalls: c.tools,
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

// The calls of tools are part of the answer, and whoever gets it may change its own.
func TestToolCallsAreKept(t *testing.T) {
	for _, mode := range []Mode{On, Read} {
		store := Open(t.TempDir(), Options{})
		inner := &counting{finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}
		for run := range 3 {
			got := call(t, Wrap(inner, store, openAI, mode), WithRun(t.Context()), ask("x"))
			want := []model.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}
			if !reflect.DeepEqual(got.ToolCalls, want) || got.Cached != (run > 0) {
				t.Errorf("%s: run %d got %+v", mode, run, got)
			}
			if got.Cached {
				got.ToolCalls[0].Name = "changed"
			}
		}
	}
}

// Arguments that hold a secret are written nowhere.
func TestSecretArgumentsAreNotStored(t *testing.T) {
	dir := t.TempDir()
	store := Open(dir, Options{Redact: func(text string) string { return strings.ReplaceAll(text, "sk-1", "***") }})
	inner := &counting{finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: `{"key":"sk-1"}`}}}
	call(t, Wrap(inner, store, openAI, On), WithRun(t.Context()), ask("x"))
	if got := store.Stats(); got.Stored != 0 {
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

// Runs that send the same share the answer also where it is not on the disk:
// because it is not to be, because it cannot be, or because it holds a secret.
func TestAnswersThatAreNotStoredAreShared(t *testing.T) {
	broken := Open(t.TempDir(), Options{})
	broken.disk = &failing{disk: folder{}}
	secret := Open(t.TempDir(), Options{Redact: func(text string) string { return strings.ReplaceAll(text, "x", "*") }})
	for name, c := range map[string]struct {
		store *Store
		mode  Mode
	}{"not to be": {Open(t.TempDir(), Options{}), Read}, "cannot be": {broken, On}, "cannot be replaced": {broken, Write}, "a secret": {secret, On}} {
		inner := &counting{}
		m := Wrap(inner, c.store, openAI, c.mode)
		first := call(t, m, WithRun(t.Context()), ask("x "+name)).Text
		if got := call(t, m, WithRun(t.Context()), ask("x "+name)).Text; got != first || inner.calls.Load() != 1 || c.store.Stats().Stored != 0 {
			t.Errorf("%s: %q, then %q, %d calls, stats %+v", name, first, got, inner.calls.Load(), c.store.Stats())
		}
	}
}

// So many of them are remembered, the oldest are forgotten.
func TestRecentAnswersAreForgotten(t *testing.T) {
	var r recent
	key := func(i int) Key { return Key{byte(i), byte(i >> 8)} }
	for i := range mostRecent + 10 {
		r.keep(key(i), &entry{})
		r.keep(key(i), &entry{})
	}
	if len(r.of) != mostRecent || r.find(key(9)) != nil || r.find(key(10)) == nil || r.find(key(mostRecent+9)) == nil {
		t.Errorf("%d answers are remembered", len(r.of))
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

// P17: an answer that holds a secret is given, but not written.
func TestF70_SecretsAreNotStored(t *testing.T) {
	dir := t.TempDir()
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-CANARY", "***") }
	store := Open(dir, Options{Redact: redact})
	m := Wrap(&counting{}, store, openAI, On)
	if got := call(t, m, t.Context(), ask("sk-CANARY")).Text; !strings.Contains(got, "sk-CANARY") {
		t.Errorf("the answer was changed: %q", got)
	}
	request := ask("harmless")
	request.Draw.Task = "sk-CANARY"
	call(t, m, t.Context(), request)
	if store.Stats().Stored != 1 {
		t.Errorf("stats %+v", store.Stats())
	}
	for _, content := range contents(t, dir) {
		if strings.Contains(content, "sk-CANARY") {
			t.Errorf("written: %s", content)
		}
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
