package tool

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

func set(t *testing.T, names ...string) *Set {
	t.Helper()
	var tools []Tool
	for _, name := range names {
		made, err := Builtin(name, "")
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, made)
	}
	s, err := NewSet(tools, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// S2.4: task_completion ends the run with whatever JSON its result is.
func TestS2_4_TaskCompletion(t *testing.T) {
	s := set(t, TaskCompletion)
	for _, given := range []string{`"done"`, `{"a": [1]}`, `12.50`, `null`} {
		arguments := json.RawMessage(`{"result": ` + given + `}`)
		if failed := s.Check(TaskCompletion, arguments); failed != nil {
			t.Errorf("%s: %v", given, failed)
		}
		result, err := s.Use(t.Context(), TaskCompletion, &Use{Arguments: arguments})
		if err != nil || result.Ended == nil || result.Ended.Reason != string(record.ReasonToolEnded) || string(result.Ended.Output) != given {
			t.Errorf("%s: got %+v, %v", given, result, err)
		}
	}
	if failed := s.Check(TaskCompletion, json.RawMessage(`{"text": "done"}`)); failed == nil {
		t.Error("a completion without a result is let through")
	}
}

func TestConverseSaysItsMessage(t *testing.T) {
	s := set(t, Converse)
	result, err := s.Use(t.Context(), Converse, &Use{Arguments: json.RawMessage(`{"message": "hello"}`)})
	if d, _ := s.Definition(Converse); err != nil || string(result.Content) != `"hello"` || result.Ended != nil || !d.Converses {
		t.Errorf("got %+v, %v", result, err)
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	value, err := expr.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// S2.4: a question is answered by the task, or ends the run.
func TestS2_4_AskQuestion(t *testing.T) {
	s := set(t, AskQuestion)
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
				result, err := s.Use(ctx, AskQuestion, &Use{Arguments: arguments, Task: task})
				if err != nil {
					t.Fatal(err)
				}
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
	if _, err := s.Use(t.Context(), AskQuestion, &Use{Arguments: json.RawMessage(`{"question": "?"}`)}); err != nil {
		t.Errorf("without a task: %v", err)
	}
}

func TestDescriptions(t *testing.T) {
	if _, err := Builtin("fly", ""); err == nil {
		t.Error("there is a tool fly")
	}
	made, err := Builtin(Converse, "Talk.")
	if err != nil || made.Definition().Description != "Talk." {
		t.Errorf("got %v, %v", made, err)
	}
	set(t, TaskCompletion, AskQuestion, Converse) // their schemas compile
}
