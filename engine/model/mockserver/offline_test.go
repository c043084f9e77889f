package mockserver

import (
	"io"
	"net/http"
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
	served := httptest.NewServer(server)
	t.Cleanup(served.Close)
	const (
		chats    = "/v1/chat/completions"
		answers  = "/v1/responses"
		messages = "/v1/messages"
	)
	said := `[{"role": "user", "content": "hello"}]`
	later := `[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "first"}, {"role": "user", "content": "and?"}]`
	for _, c := range []struct {
		path, model, turns, more, task string
		status                         int
		want                           string
	}{
		{chats, "script", said, "", "", 200, `"content":"first"`},
		{chats, "script", later, "", "", 200, `"content":"second"`},
		{chats, "script", later, `, "stream": true`, "", 200, `"content":"second"`},
		{answers, "script", said, "", "", 200, `"text":"first"`},
		{answers, "script", later, `, "stream": true`, "", 200, `"delta":"second"`},
		{messages, "script", said, "", "", 200, `"text":"first"`},
		{messages, "script", later, `, "stream": true`, "", 200, `"text":"second"`},
		{chats, "tasks", said, "", "t1", 200, `"content":"one"`},
		{messages, "tasks", said, "", "t1", 200, `"text":"one"`},
		{chats, "tasks", said, "", "t2", 400, `t2`},
		{chats, "good", said, "", "", 200, `"completion_tokens":33,"prompt_tokens":77`},
		{answers, "good", said, "", "", 200, `"input_tokens":77`},
		{messages, "good", said, "", "", 200, `"output_tokens":33`},
		{chats, "bad", said, "", "", 500, "a simulated server error"},
		{messages, "bad", said, "", "", 500, "a simulated server error"},
		{chats, "another", said, "", "", 200, `"content":"hello"`},
	} {
		key := map[string]string{chats: "messages", answers: "input", messages: "messages"}[c.path]
		body := `{"model": "` + c.model + `", "max_tokens": 99, "` + key + `": ` + c.turns + c.more + `}`
		if c.path == answers {
			body = strings.Replace(body, `"max_tokens"`, `"max_output_tokens"`, 1)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, served.URL+c.path, strings.NewReader(body))
		must(t, err)
		request.Header.Set("Anthropic-Version", "2023-06-01")
		request.Header.Set(taskHeader, c.task)
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != c.status || !strings.Contains(strings.ReplaceAll(string(got), `": `, `":`), c.want) {
			t.Errorf("%s %s %q: %d %s, want %d with %s", c.path, c.model, c.task, response.StatusCode, got, c.status, c.want)
		}
	}
}
