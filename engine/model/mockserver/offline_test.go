package mockserver

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/spec"
)

// Scripts and simulated models answer in all three protocols: which reply comes follows from the conversation.
func TestModelsOfASuiteAnswerInAllProtocols(t *testing.T) {
	server := New(Options{Offline: map[string]model.Model{
		"script": &offline.Script{Name: "script", All: []spec.Answer{{Text: "first", Thinking: "hm"}, {Text: "second"}}, AfterLast: "error"},
		"tasks":  &offline.Script{Name: "tasks", ByTask: map[string][]spec.Answer{"t1": {{Text: "one"}}}, AfterLast: "error"},
		"good":   offline.Simulate("good", 7, &spec.Model{Quality: spec.Quality{Start: 1, Limit: 1}, Tokens: spec.TokenCounts{Input: 77, Output: 33}}),
		"bad":    offline.Simulate("bad", 7, &spec.Model{Errors: 1}),
	}})
	said := `[{"role": "user", "content": "hello"}]`
	later := `[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "first"}, {"role": "user", "content": "and?"}]`
	for _, c := range []struct {
		path, model, turns, more, task string
		status                         int
		want                           string
	}{
		{chatPath, "script", said, "", "", 200, `"content":"first"`},
		{chatPath, "script", later, "", "", 200, `"content":"second"`},
		{chatPath, "script", later, `, "stream": true`, "", 200, `"content":"second"`},
		{responsesPath, "script", said, "", "", 200, `"text":"first"`},
		{responsesPath, "script", later, `, "stream": true`, "", 200, `"delta":"second"`},
		{messagesPath, "script", said, "", "", 200, `"text":"first"`},
		{messagesPath, "script", later, `, "stream": true`, "", 200, `"text":"second"`},
		{chatPath, "tasks", said, "", "t1", 200, `"content":"one"`},
		{messagesPath, "tasks", said, "", "t1", 200, `"text":"one"`},
		{chatPath, "tasks", said, "", "t2", 400, `t2`},
		{chatPath, "good", said, "", "", 200, `"completion_tokens":33,"prompt_tokens":77`},
		{responsesPath, "good", said, "", "", 200, `"input_tokens":77`},
		{messagesPath, "good", said, "", "", 200, `"output_tokens":33`},
		{chatPath, "bad", said, "", "", 500, "a simulated server error"},
		{messagesPath, "bad", said, "", "", 500, "a simulated server error"},
		{chatPath, "another", said, "", "", 200, `"content":"hello"`},
	} {
		key := "messages"
		if c.path == responsesPath {
			key = "input"
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", c.path, strings.NewReader(`{"model": "`+c.model+`", "max_tokens": 99, "`+key+`": `+c.turns+c.more+`}`))
		r.Header.Set(versionHeader, "2023-06-01")
		r.Header.Set(taskHeader, c.task)
		if server.ServeHTTP(w, r); w.Code != c.status || !strings.Contains(strings.ReplaceAll(w.Body.String(), `": `, `":`), c.want) {
			t.Errorf("%s %s %q: %d %s, want %d with %s", c.path, c.model, c.task, w.Code, w.Body, c.status, c.want)
		}
	}
}
