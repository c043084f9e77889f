package cache

import (
	"reflect"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec"
)

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

func TestParseMode(t *testing.T) {
	for _, text := range Modes {
		if mode, err := ParseMode(text); err != nil || string(mode) != text {
			t.Errorf("%s: %q, %v", text, mode, err)
		}
	}
	if mode, err := ParseMode(""); mode != On || err != nil {
		t.Errorf("default: %q, %v", mode, err)
	}
	if _, err := ParseMode("maybe"); err == nil {
		t.Error("maybe is a mode")
	}
}
