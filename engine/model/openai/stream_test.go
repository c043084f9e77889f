package openai

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

// event is one event of a stream, as most servers send it.
func event(data string) string { return "data: " + data + "\n\n" }

func delta(fields string) string { return event(`{"choices":[{"index":0,"delta":{` + fields + `}}]}`) }

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counts   = `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}`
)

var goodStream = delta(`"role":"assistant","content":""`) + delta(`"reasoning_content":"because"`) +
	delta(`"content":"h"`) + delta(`"content":"i"`) + event(finished) + event(counts) + event("[DONE]")

// F22: forms that servers use. Those of any protocol are in the tests of package wire.
func TestF22_FormsOfStreams(t *testing.T) {
	usage := event(counts) + event("[DONE]")
	for name, stream := range map[string]string{
		"comments between":       strings.ReplaceAll(goodStream, "\n\n", "\n\n: OPENROUTER PROCESSING\n\n"),
		"no empty lines":         strings.ReplaceAll(goodStream, "\n\n", "\n"),
		"names and ids":          strings.ReplaceAll(goodStream, "data: ", "event: message\nid: 3\nretry: 10\ndata: "),
		"data in two lines":      strings.ReplaceAll(goodStream, `{"choices":`, "{\"choices\":\ndata: "),
		"empty lines first":      "\n\n  \n" + goodStream,
		"no [DONE]":              strings.ReplaceAll(goodStream, event("[DONE]"), ""),
		"no newline at the end":  strings.TrimSpace(goodStream),
		"more behind the end":    goodStream + "garbage",
		"usage with the finish":  delta(`"content":"hi","reasoning":"because"`) + event(strings.Replace(finished, "]}", `],"usage":{"prompt_tokens":30,"completion_tokens":20,"prompt_cache_hit_tokens":10,"completion_tokens_details":{"reasoning_tokens":5}}}`, 1)) + event("[DONE]"),
		"a second choice":        delta(`"content":"hi","reasoning_content":"because"`) + event(`{"choices":[{"index":1,"delta":{"content":"other"}}]}`) + event(finished) + usage,
		"nulls":                  delta(`"content":null,"refusal":null`) + delta(`"content":"hi","reasoning_content":"because"`) + event(`{"choices":[],"usage":null,"error":null}`) + event(finished) + usage,
		"300 kB in one line":     delta(`"reasoning_content":"because","x":"`+strings.Repeat("x", 300_000)+`"`) + delta(`"content":"hi"`) + event(finished) + usage,
		"odd numbers":            event(`{"choices":[{"index":"1","delta":{"content":"other"}},{"index":0.0,"delta":{"content":"hi","reasoning":"because"},"logprobs":"none"}]}`) + event(finished) + event(`{"choices":[],"created":"today","usage":{"prompt_tokens":"30","completion_tokens":20.0,"prompt_cache_hit_tokens":"10"}}`) + event("[DONE]"),
		"finish_reason repeated": delta(`"content":"hi","reasoning_content":"because"`) + event(finished) + event(finished) + usage,
	} {
		got, err := answered(t, true, stream)
		if err != nil || got.Text != "hi" || got.Thinking != "because" || got.Finish != "stop" || got.Usage.Tokens() != 50 || got.Usage.CachedTokens != 10 {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// F20, P11: the forms in which streams are cut; none is ever a reply.
func TestF20_CutStreams(t *testing.T) {
	begun := delta(`"content":"half an ans"`)
	for name, c := range map[string]struct {
		stream string
		class  record.ErrorClass
	}{
		"end without [DONE]":           {begun, record.Incomplete},
		"half an event":                {begun + `data: {"choices":[{"index":0,"delta":{"con`, record.Incomplete},
		"half a word":                  {begun + `dat`, record.Incomplete},
		"event: error":                 {begun + "event: error\n" + event(`{"message":"overloaded"}`), record.Incomplete},
		"event: error, as text":        {begun + "event: error\n" + event(`upstream died`), record.Incomplete},
		"an error as data":             {begun + event(`{"error":{"message":"The server had an error","type":"server_error"}}`), record.Incomplete},
		"an error as text":             {begun + event(`{"error":"overloaded"}`), record.Incomplete},
		"JSON instead":                 {goodAnswer, record.Incomplete},
		"no finish_reason":             {begun + event("[DONE]"), record.Incomplete},
		"nothing but comments":         {": keep-alive\n\n", record.Incomplete},
		"a rate limit":                 {begun + event(`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`), record.RateLimit},
		"a quota":                      {event(`{"error":{"message":"x","code":"insufficient_quota"}}`), record.Quota},
		"too long a prompt":            {event(`{"error":{"message":"x","code":"context_length_exceeded"}}`), record.ContextLength},
		"an event that is no JSON":     {begun + event(`{"choices":[`) + event(finished), record.BadResponse},
		"an event of other types":      {begun + event(`{"choices":"none"}`) + event(finished), record.BadResponse},
		"[DONE] inside an event":       {begun + "data: {\"choices\":[\n" + event("[DONE]"), record.BadResponse},
		"HTML instead":                 {"<html>log in</html>", record.BadResponse},
		"nothing":                      {"", record.BadResponse},
		"an error instead":             {`{"error":{"message":"no slot"}}`, record.BadResponse},
		"[DONE] at once":               {event("[DONE]"), record.BadResponse},
		"finished without any content": {event(finished) + event("[DONE]"), record.BadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			shows(t, connect(t, wire.Options{BaseURL: "http://here", Transport: wiretest.Only(c.stream), Stream: true}), c.class, "")
		})
	}
}

// F24: estimates learn from what the server reported before.
func TestF24_EstimatesAreCorrected(t *testing.T) {
	const answer = `{"choices":[{"message":{"content":"01234567890123456789"},"finish_reason":"stop"}]%s}`
	reports := []string{`,"usage":{"prompt_tokens":6,"completion_tokens":10}`, `,"usage":{"prompt_tokens":6,"completion_tokens":20}`, ``}
	calls := 0
	m := connect(t, wire.Options{BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, answer, reports[calls])
		calls++
	}))})
	var got *model.Reply
	for range reports {
		var err error
		if got, err = m.Call(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
	}
	if want := (record.Usage{Calls: 1, InputTokens: 6, OutputTokens: 15, Estimated: 1}); got.Usage != want {
		t.Errorf("got %+v, want %+v", got.Usage, want)
	}
}

// FuzzFold: whatever comes, a stream is an answer or an error with a class; a stream
// that is cut anywhere before its finish_reason is never one.
func FuzzFold(f *testing.F) {
	f.Add(goodStream)
	f.Add("data: {\"choices\":[\n\n")
	f.Add("event: error\ndata: x\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		answer, err := fold(bufio.NewReader(strings.NewReader(stream)))
		var failed *record.Error
		if err == nil && len(answer.Choices) > 0 && answer.Choices[0].Finish == "" || err != nil && !errors.As(err, &failed) {
			t.Errorf("%q gives %+v, %v", stream, answer, err)
		}
	})
}

// F20: cut at any byte before its finish_reason, a stream is never an answer.
func TestF20_CutAnywhere(t *testing.T) {
	end := strings.Index(goodStream, finished) + len(finished)
	for n := range end {
		if answer, err := fold(bufio.NewReader(strings.NewReader(goodStream[:n]))); err == nil {
			t.Errorf("cut at byte %d: %+v", n, answer)
		}
	}
	if _, err := fold(bufio.NewReader(strings.NewReader(goodStream[:end]))); err != nil {
		t.Errorf("with its finish_reason: %v", err)
	}
}
