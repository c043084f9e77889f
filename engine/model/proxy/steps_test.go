package proxy

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/stop"
)

// What a program is told its tools gave is in the next request of the conversation.
func TestStepsOfAProgram(t *testing.T) {
	answers := map[model.Protocol]string{
		model.Chat:      `{"choices":[{"finish_reason":"tool_calls","message":{"content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":"{\"cmd\":\"ls\"}"}},{"id":"c2","type":"function","function":{"name":"sh","arguments":"no JSON"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		model.Responses: `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"look"}]},{"type":"function_call","call_id":"c1","name":"sh","arguments":"{\"cmd\":\"ls\"}"},{"type":"custom_tool_call","call_id":"c2","name":"sh","input":"no JSON"},{"type":"local_shell_call","call_id":"c3","action":{"command":["ls"]}}],"usage":{"input_tokens":1,"output_tokens":1}}`,
		model.Messages:  `{"stop_reason":"tool_use","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"c1","name":"sh","input":{"cmd":"ls"}},{"type":"tool_use","id":"c2","name":"sh","input":"no JSON"}],"usage":{"input_tokens":1,"output_tokens":1}}`,
	}
	told := map[model.Protocol]string{
		model.Chat: `{"model":"x","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"look","tool_calls":[]},
			{"role":"tool","tool_call_id":"c1","content":"a file"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"no"},{"type":"text","text":"such"}]}]}`,
		model.Responses: `{"model":"x","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"sh","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"a file"},{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"no"},{"type":"input_text","text":"such"}]}]}`,
		model.Messages: `{"model":"x","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"look"},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a file"},{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"such"}]}]}]}`,
	}
	eachProtocol(t, func(t *testing.T, p model.Protocol) {
		s := behindOf(t, p, replying(answers[p]))
		s.post(t, p, body(p, "x", false, "hi"))
		if steps, _ := s.Followed(); len(steps) != 0 {
			t.Errorf("the step is whole before the program has told what its tools gave: %+v", steps)
		}
		steps, tools := s.Steps(time.Hour)
		want := 2
		if p == model.Responses {
			want = 3
		}
		if len(steps) != 1 || len(tools) != want || steps[0].Text != "look" || steps[0].Call != 1 || steps[0].Tools != want || tools[0].Result != nil {
			t.Fatalf("%+v %+v", steps, tools)
		}
		if early, _ := s.Steps(1); len(early) != 0 {
			t.Errorf("it was answered later: %+v", early)
		}
		s.post(t, p, told[p])
		steps, tools = s.Followed()
		if len(steps) != 1 || len(tools) != want || want == 3 && (tools[2].Tool != "local_shell" || string(tools[2].Arguments) != `{"command":["ls"]}`) {
			t.Fatalf("%+v %+v", steps, tools)
		}
		if c := tools[0]; c.Tool != "sh" || c.ID != "c1" || string(c.Arguments) != `{"cmd":"ls"}` || string(c.Result) != `"a file"` || c.Duration <= 0 || c.Error != nil {
			t.Errorf("%+v %s %s", c, c.Arguments, c.Result)
		}
		if c := tools[1]; string(c.Arguments) != `"no JSON"` || string(c.Result) != `"no\nsuch"` || (c.Error != nil) != (p == model.Messages) {
			t.Errorf("%+v %s %s", c, c.Arguments, c.Result)
		}
		s.Begin(2, nil)
		if steps, _ := s.Steps(time.Hour); len(steps) != 0 {
			t.Errorf("steps of the iteration before: %+v", steps)
		}
	})
}

// A sub-agent's steps are whole as its own conversation goes on, while that of the main one waits for it.
func TestStepsOfASubAgentAreWholeBeforeTheStepThatWaitsForIt(t *testing.T) {
	n := 0
	s := behindOf(t, model.Chat, func(w http.ResponseWriter, r *http.Request) {
		n++
		replying(fmt.Sprintf(`{"choices":[{"finish_reason":"stop","message":{"content":"%d"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, n))(w, r)
	})
	sub := []string{"X-Session-Id", "sub", "X-Parent-Session-Id", "main"}
	s.post(t, model.Chat, body(model.Chat, "x", false, "a"))
	s.post(t, model.Chat, body(model.Chat, "x", false, "b"), sub...)
	s.post(t, model.Chat, body(model.Chat, "x", false, "b", "2", "c"), sub...)
	s.post(t, model.Chat, body(model.Chat, "x", false, "a", "1", "d"))
	var places []int
	steps, _ := s.Steps(time.Hour)
	for _, step := range steps {
		places = append(places, step.Call)
	}
	if !slices.Equal(places, []int{2, 1, 3, 4}) {
		t.Errorf("the steps are of the calls %v", places)
	}
	if followed, _ := s.Followed(); len(followed) != 2 {
		t.Errorf("%d steps are whole", len(followed))
	}
}

// Of what a tool gave only the beginning and the end are kept, where it is long. No word of it is cut: it may be a secret.
func TestALongResultLosesItsMiddle(t *testing.T) {
	word := strings.Repeat("k", 50)
	for at := longestResult/2 - 60; at < longestResult/2+10; at++ {
		text := strings.Repeat("a", at-1) + " " + word + " " + strings.Repeat("b ", longestResult) + " " + word + " " + strings.Repeat("ü", at/2-99)
		got := clipped(text)
		if parts := strings.Count(got, "k"); parts%50 != 0 || len(got) > longestResult+40 || !strings.Contains(got, "bytes left out]") || !strings.HasSuffix(got, "ü") {
			t.Fatalf("at %d: %d of the word's letters in %d bytes", at, parts, len(got))
		}
	}
	if got := clipped(strings.Repeat("a", 2*longestResult)); got != fmt.Sprintf("\n[%d bytes left out]\n", 2*longestResult) {
		t.Errorf("of one long word %d bytes are kept", len(got))
	}
}

// Results are those behind what an earlier request had: servers give the same id again, or none.
func TestResultsWithoutIds(t *testing.T) {
	for _, c := range []struct{ id, told, want string }{
		{"", `{"role":"tool","tool_call_id":"","content":"one"},{"role":"tool","content":"two"}`, `"one" "two"`},
		{"same", `{"role":"tool","tool_call_id":"same","content":"one"},{"role":"tool","tool_call_id":"same","content":"two"}`, `"one" "two"`},
		{"same", `{"role":"user","content":"denied"}`, " "},
	} {
		call := `{"id":"` + c.id + `","type":"function","function":{"name":"sh","arguments":"{}"}}`
		s := behindOf(t, model.Chat, replying(`{"choices":[{"finish_reason":"tool_calls","message":{"content":"","tool_calls":[`+call+`,`+call+
			`]}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
		const before = `{"role":"user","content":"hi"},{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"same","content":"old"}`
		s.post(t, model.Chat, `{"model":"x","messages":[`+before+`]}`)
		s.post(t, model.Chat, `{"model":"x","messages":[`+before+`,{"role":"assistant","content":"y"},`+c.told+`]}`)
		_, tools := s.Followed()
		if len(tools) != 2 || string(tools[0].Result)+" "+string(tools[1].Result) != c.want {
			t.Errorf("id %q, %s: %+v", c.id, c.told, tools)
		}
	}
}

// What a program measured and wrote into a result is no part of it.
func TestEqualResultsAreEqual(t *testing.T) {
	s := opened(t, Run{Program: "codex", Models: named(behind(t, model.Responses, replying(
		`{"status":"completed","output":[{"type":"function_call","call_id":"c1","name":"sh","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":1}}`)))})
	s.post(t, model.Responses, body(model.Responses, "x", false, "hi"))
	s.post(t, model.Responses, `{"model":"x","input":[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"c1","output":"Chunk ID: ab12\nWall time: 0.3 seconds\nfine"}]}`)
	if _, tools := s.Followed(); len(tools) != 1 || string(tools[0].Result) != `"Chunk ID: *\nWall time: * seconds\nfine"` {
		t.Errorf("%+v", tools)
	}
}

// A call that its server refused as too long is no step: those that arrived after it move up, and the limit has room for another one.
func TestACallThatIsTooLongIsNoStep(t *testing.T) {
	second, arrived := make(chan struct{}), make(chan struct{})
	s := opened(t, Run{Iteration: stop.CallLimits{Steps: 3}, Refuse: true, Models: named(behind(t, model.Messages, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked, _ := io.ReadAll(r.Body); strings.Contains(string(asked), "long") {
			close(arrived)
			<-second
			w.WriteHeader(http.StatusBadRequest)
			replying(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}`)(w, r)
			return
		}
		replying(`{"stop_reason":"end_turn","content":[{"type":"text","text":"yes"}],"usage":{"input_tokens":1,"output_tokens":1}}`)(w, r)
	})))})
	s.post(t, model.Messages, body(model.Messages, "x", false, "a"))
	long := make(chan struct{})
	go func() {
		defer close(long)
		s.post(t, model.Messages, body(model.Messages, "x", false, "a", "yes", "long"))
	}()
	<-arrived
	s.post(t, model.Messages, body(model.Messages, "x", false, "b"))
	close(second)
	<-long
	s.post(t, model.Messages, body(model.Messages, "x", false, "a summary"))
	if response, _ := s.post(t, model.Messages, body(model.Messages, "x", false, "a summary", "yes", "c")); response.StatusCode == 200 {
		t.Error("a fourth step was answered")
	}
	var steps []int
	for _, c := range s.Calls() {
		steps = append(steps, c.Step)
	}
	if !slices.Equal(steps, []int{1, 0, 2, 3}) {
		t.Errorf("the calls are the steps %v", steps)
	}
}
