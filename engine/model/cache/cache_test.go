package cache

import (
	"bytes"
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

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
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

// Arguments and blocks of a provider that hold a secret are written nowhere.
func TestSecretPartsAreNotStored(t *testing.T) {
	for name, inner := range map[string]*counting{
		"arguments": {finish: "tool_calls", tools: []model.ToolCall{{ID: "1", Name: "f", Arguments: `{"key":"sk-1"}`}}},
		"blocks":    {blocks: json.RawMessage(`[{"type":"web_search_tool_result","content":"sk-1"}]`)},
	} {
		store := Open(t.TempDir(), Options{Redact: func(text string) string { return strings.ReplaceAll(text, "sk-1", "***") }})
		call(t, Wrap(inner, store, openAI, On), WithRun(t.Context()), ask("x"))
		if got := store.Stats(); got.Misses != 1 || got.Stored != 0 {
			t.Errorf("%s: stats %+v", name, got)
		}
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

func keyOf(i Identity, request *model.Request, n int) Key { return sum(i.prefix(), request).nth(n) }

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

func someEntry() *entry {
	return &entry{
		Head: Head{
			Key: strings.Repeat("ab", 32), Provider: "openai", Model: "m", Task: "a", Trial: 1, N: 2,
			Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Finish: "stop", Tier: "flex", Reported: json.RawMessage(`{"searches":2}`),
			Usage: record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Cost: 4}, Duration: time.Second,
		},
		text: "The answer\nis 42.", thinking: "Six times seven?",
		calls:  []model.ToolCall{{ID: "call_1", Name: "multiply", Arguments: `{"a": 6, "b": 7}`}},
		blocks: json.RawMessage(`[{"type":"thinking","thinking":"<six times seven>","signature":"c2ln"}]`),
	}
}

func encoded(t rapid.TB, e *entry) []byte {
	t.Helper()
	b, err := e.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decode(encode(e)) = e, also for replies that are no text.
func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		want := someEntry()
		want.text = string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		want.thinking = string(rapid.SliceOf(rapid.Byte()).Draw(t, "thinking"))
		want.calls = rapid.SliceOfN(rapid.Custom(anyCall), 0, 3).Draw(t, "calls")
		want.Task, want.Model = rapid.String().Draw(t, "task"), rapid.String().Draw(t, "model")
		want.N, want.Trial = rapid.Int().Draw(t, "n"), rapid.Int().Draw(t, "trial")
		want.Duration = time.Duration(rapid.Int64().Draw(t, "duration"))
		want.Usage.Cost = record.Money(rapid.Int64().Draw(t, "cost"))
		want.Usage.Estimated = rapid.Int64().Draw(t, "estimated")
		want.Created = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 5).UTC()
		got, err := decode(encoded(t, want))
		if err != nil {
			t.Fatal(err)
		}
		want.TextBytes, want.ThinkingBytes, want.BlockBytes = len(want.text), len(want.thinking), len(want.blocks)
		want.ToolCallBytes = got.ToolCallBytes
		if len(want.calls) == 0 {
			want.calls, want.ToolCallBytes = nil, 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

func anyCall(t *rapid.T) model.ToolCall {
	return model.ToolCall{ID: rapid.String().Draw(t, "id"), Name: rapid.String().Draw(t, "name"), Arguments: rapid.String().Draw(t, "arguments")}
}

// An entry of before there were tool calls is read as it was.
func TestEntriesOfBeforeToolCalls(t *testing.T) {
	const old = "agentbench cache 1 %s %s\n%s\nThe answerhm"
	head := `{"key":"ab","provider":"openai","model":"m","task":"a","trial":1,"n":0,"created":"2026-01-02T03:04:05Z","finish":"stop","usage":{"calls":1},"duration_ns":5,"text_bytes":10,"thinking_bytes":2}`
	got, err := decode(fmt.Appendf(nil, old, checksum([]byte(head)), checksum([]byte("The answerhm")), head))
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Reply{Text: "The answer", Thinking: "hm", Finish: "stop", Usage: record.Usage{Calls: 1}, Duration: 5, Cached: true}
	if reply := got.reply(); !reflect.DeepEqual(reply, want) {
		t.Errorf("got %+v", reply)
	}
}

// F2: whatever bit flips and wherever it is cut, an entry is whole or none.
func TestF2_DamageIsSeen(t *testing.T) {
	whole := encoded(t, someEntry())
	for cut := range len(whole) {
		if _, err := decode(whole[:cut]); err == nil {
			t.Fatalf("cut at %d of %d it is read", cut, len(whole))
		}
	}
	if _, err := decode(append(bytes.Clone(whole), 'x')); err == nil {
		t.Error("with more behind it, it is read")
	}
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := decode(damaged); err == nil {
			t.Fatalf("with bit %d of byte %d flipped it is read", bit%8, bit/8)
		}
	}
}

// Nothing that is read as an entry is written as another one.
func FuzzDecode(f *testing.F) {
	whole, err := someEntry().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:firstLine])
	f.Add([]byte(magic + "00000000 00000000\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		first, err := decode(content)
		if err != nil {
			return
		}
		again, err := decode(encoded(t, first))
		if err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("read %+v, then %+v (%v)", first, again, err)
		}
	})
}

// encode is the entry as a file holds it.
func (e *entry) encode() ([]byte, error) {
	var b bytes.Buffer
	err := e.write(&b)
	return b.Bytes(), err
}

// A number that is taken is the lowest that no other equal request has.
func TestNumbersAreTheLowestFree(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		requests := []Key{{1}, {2}}
		n, held := numbersOf(WithRun(context.Background())), map[Key][]int{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			k := rapid.SampledFrom(requests).Draw(t, "request")
			if len(held[k]) > 0 && rapid.Bool().Draw(t, "fails") {
				failed := rapid.SampledFrom(held[k]).Draw(t, "number")
				n.giveBack(k, failed)
				held[k] = slices.DeleteFunc(held[k], func(h int) bool { return h == failed })
				continue
			}
			want := 0
			for slices.Contains(held[k], want) {
				want++
			}
			got := n.take(k)
			if got != want {
				t.Fatalf("got %d, want %d beside %v", got, want, held[k])
			}
			held[k] = append(held[k], got)
		}
	})
}

func TestToolsAreRememberedByMode(t *testing.T) {
	key := [32]byte{1}
	for mode, want := range map[Mode]struct{ same, later bool }{
		"": {true, true}, On: {true, true}, Read: {true, false}, Only: {true, false}, Write: {false, true}, Off: {false, false},
	} {
		dir := t.TempDir()
		tools := Tools{Store: Open(dir, Options{}), Mode: mode}
		if _, _, ok := tools.Recall(key); ok {
			t.Errorf("%s: there is an answer at first", mode)
		}
		tools.Keep(key, "calculator", json.RawMessage(`{"a":1}`), time.Second)
		if _, _, ok := tools.Recall(key); ok != want.same {
			t.Errorf("%s: recalled %v", mode, ok)
		}
		content, took, ok := Tools{Store: Open(dir, Options{})}.Recall(key)
		if ok != want.later || ok && (string(content) != `{"a":1}` || took != time.Second) {
			t.Errorf("%s: another session recalls %s, %v, %v", mode, content, took, ok)
		}
	}
}

// What cannot be read, is a model's or holds a secret is not an answer.
func TestToolsRecallNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir, Options{Redact: func(text string) string { return strings.ReplaceAll(text, "CANARY", "***") }})
	tools := Tools{Store: s}
	s.save(Key{1}, &entry{Head: Head{Provider: "openai", Model: "m"}, text: "hello"})
	tools.Keep(Key{2}, "t", json.RawMessage(`1`), 0)
	if err := os.WriteFile(s.path(Key{2}), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	tools.Keep(Key{3}, "t", json.RawMessage(`"CANARY"`), 0)
	if _, _, ok := tools.Recall(Key{3}); !ok {
		t.Error("an answer with a secret is forgotten at once")
	}
	later := Tools{Store: Open(dir, Options{})}
	for i := range 4 {
		if content, _, ok := later.Recall(Key{byte(i)}); ok {
			t.Errorf("%d: recalled %s", i, content)
		}
	}
}
