package agent

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// scripted replies with one text, and keeps what it was sent.
type scripted struct {
	text string
	sent *model.Request
}

func (s *scripted) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	s.sent = request
	return &model.Reply{Text: s.text, Finish: "stop"}, nil
}

// variables are what expressions see.
type variables map[string]any

func (v variables) Lookup(name string) (any, bool) { value, ok := v[name]; return value, ok }

func declared(t *testing.T, user string) *spec.User {
	t.Helper()
	doc, faults := spec.LoadFS(fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\nuser: " + user)}}, "l.yaml", spec.Options{})
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	return doc.Loop.User
}

// heard is a conversation with so many turns of the user, of which those before were in earlier iterations.
func heard(before, turns int) *Heard {
	task := &spec.Task{ID: "t", Input: "tea"}
	return &Heard{
		Turn:  &Turn{Task: task, Scope: variables{"task": spec.TaskFields{Task: task}}, Calls: map[string]int{}},
		Lines: []Line{{User: true, Text: "I want tea."}, {Text: "How much?"}},
		Turns: turns, All: before + turns,
	}
}

// The user's turns end with the script, with until, with max_turns; and only as recorded are they the same again.
func TestAnswers(t *testing.T) {
	const script = `script: "['Two.', 'And rice ###STOP###', 'Bye']"`
	for _, c := range []struct {
		name, user    string
		before, turns int
		text          string
		over          bool
	}{
		{"the first turn", "{" + script + "}", 0, 0, "Two.", false},
		{"the next, in another iteration", "{" + script + "}", 1, 0, "And rice ###STOP###", true},
		{"until is another", "{" + script + ", until: message == 'Bye'}", 0, 1, "And rice ###STOP###", false},
		{"until holds", "{" + script + ", until: message == 'Bye'}", 1, 1, "Bye", true},
		{"until counts the turns of the iteration", "{" + script + ", until: turn == 2}", 0, 1, "And rice ###STOP###", true},
		{"the script is over", "{" + script + "}", 1, 2, "", true},
		{"max_turns of the iteration", "{" + script + ", max_turns: 1}", 0, 1, "", true},
		{"a turn of each iteration", "{" + script + ", max_turns: 1}", 1, 0, "And rice ###STOP###", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &DeclaredUser{Spec: declared(t, c.user)}
			got, err := u.Answer(t.Context(), heard(c.before, c.turns))
			if err != nil || got.Text != c.text || got.Over != c.over || got.Call != nil {
				t.Errorf("got %+v, %v", got, err)
			}
			again, why, err := u.Again(t.Context(), heard(c.before, c.turns), got)
			if err != nil || why != "" || again != got {
				t.Errorf("again %+v, %q, %v", again, why, err)
			}
			if _, why, err = u.Again(t.Context(), heard(c.before, c.turns), Answer{Text: "Three."}); why == "" || err != nil {
				t.Errorf("something else was said, and that is all the same: %v", err)
			}
		})
	}
}

// A model that plays the user hears the agent as the one who asks it, and is told what it wants.
func TestAModelAnswers(t *testing.T) {
	m := &scripted{text: " Two packs. ###STOP### \n"}
	u := &DeclaredUser{Spec: declared(t, `{model: m, system: "You want {{ task.input }}."}`), Model: m}
	got, err := u.Answer(t.Context(), heard(0, 0))
	if err != nil || got.Text != "Two packs. ###STOP###" || !got.Over || got.Call == nil || got.Call.Role != record.RoleUser {
		t.Fatalf("got %+v, %v", got, err)
	}
	want := []model.Message{{Role: "system", Text: "You want tea."}, {Role: "assistant", Text: "I want tea."}, {Role: "user", Text: "How much?"}}
	if len(m.sent.Messages) != len(want) {
		t.Fatalf("sent %+v", m.sent.Messages)
	}
	for i := range want {
		if sent := m.sent.Messages[i]; sent.Role != want[i].Role || sent.Text != want[i].Text {
			t.Errorf("message %d is %+v, want %+v", i, sent, want[i])
		}
	}
	if again, why, err := u.Again(t.Context(), heard(0, 0), got); err != nil || why != "" || !again.Over {
		t.Errorf("again %+v, %q, %v", again, why, err)
	}
	u.Spec = declared(t, `{model: m, system: "You want rice."}`)
	if _, why, _ := u.Again(t.Context(), heard(0, 0), got); why == "" {
		t.Error("the user wants something else, and is asked the same")
	}
	if _, why, _ := u.Again(t.Context(), heard(0, 0), Answer{}); why == "" {
		t.Error("the user was not asked, and would be")
	}
}

// What is no text, and what cannot be evaluated, is a fault of the expression.
func TestScriptsThatCannotBeRead(t *testing.T) {
	for _, user := range []string{`{script: "[1]"}`, `{script: "[string(task.vars.none)]"}`, `{script: "['a']", until: "task.vars.none == 1"}`} {
		u := &DeclaredUser{Spec: declared(t, user)}
		_, err := u.Answer(t.Context(), heard(0, 0))
		if failed, ok := err.(*record.Error); !ok || failed.Class != record.Expression {
			t.Errorf("%s: %v", user, err)
		}
	}
}
