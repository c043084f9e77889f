package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// recorder keeps the body that it is to send, and gives a good answer.
type recorder struct{ body []byte }

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.body, _ = io.ReadAll(request.Body)
	if int64(len(r.body)) != request.ContentLength {
		panic("the length of the body is another than the header tells")
	}
	answer := io.NopCloser(bytes.NewReader([]byte(goodAnswer)))
	return &http.Response{StatusCode: http.StatusOK, Body: answer, ContentLength: int64(len(goodAnswer)), Request: request}, nil
}

// texts are any, and such as could be taken for something else.
var texts = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{"stream":false}`, `"`, `\`, "<&>\u2028\x00", ""}))

// Whatever the texts are, they arrive as they are, and nothing besides.
func TestTextsArriveAsTheyAre(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		sent := &recorder{}
		stream := rapid.Bool().Draw(t, "stream")
		m, err := New(Options{Name: "m" + texts.Draw(t, "name"), BaseURL: "http://mock", Key: canary, Stream: stream, Transport: sent})
		if err != nil {
			t.Fatal(err)
		}
		request := &model.Request{JSON: rapid.Bool().Draw(t, "JSON"), Temperature: float(0.5)}
		want := map[string]any{"model": m.options.Name, "stream": stream, "temperature": 0.5}
		var messages []any
		for range rapid.IntRange(1, 3).Draw(t, "messages") {
			text := texts.Draw(t, "text")
			request.Messages = append(request.Messages, model.Message{Role: "user", Text: text})
			messages = append(messages, map[string]any{"role": "user", "content": text})
		}
		want["messages"] = messages
		if stream {
			want["stream_options"] = map[string]any{"include_usage": true}
		}
		if request.JSON {
			want["response_format"] = map[string]any{"type": "json_object"}
		}
		_, _ = m.Call(t.Context(), request) // the answer is none of a stream
		var got map[string]any
		if err := json.Unmarshal(sent.body, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, sent %s\nwant %v", err, sent.body, want)
		}
	})
}
