package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

const canary = wiretest.Canary

var (
	body, serve, hello, shows = wiretest.Body, wiretest.Serve, wiretest.Hello, wiretest.Shows
	ticking, must, equal      = wiretest.Ticking, wiretest.Must, wiretest.Equal
)

func connect(t testing.TB, o wire.Options) *Model { return wiretest.Connect(t, o, New) }

func connectResponses(t testing.TB, o wire.Options) *Responses {
	return wiretest.Connect(t, o, NewResponses)
}

// answered is what the client of chat completions makes of an answer.
func answered(t testing.TB, stream bool, answer string) (*model.Reply, error) {
	t.Helper()
	return wiretest.Answered(t, wire.Options{Stream: stream}, New, answer)
}

const goodAnswer = `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"because"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":20,"total_tokens":50,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}`

// A streamed answer is the same reply as a whole one.
func TestReply(t *testing.T) {
	want := &model.Reply{
		Text: "hi", Thinking: "because", Finish: "stop", Duration: time.Second,
		Usage: record.Usage{Calls: 1, InputTokens: 30, CachedTokens: 10, OutputTokens: 20, ReasoningTokens: 5},
	}
	for answer, stream := range map[string]bool{goodAnswer: false, goodStream: true} {
		got, err := wiretest.Answered(t, wire.Options{Stream: stream, Now: ticking(time.Second)}, New, answer)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("streamed %v: got %+v, %v\nwant %+v", stream, got, err, want)
		}
	}
}

func TestOtherReplies(t *testing.T) {
	const form = `{"choices":[{"message":%s,"finish_reason":%q},{"message":{"content":"another"},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct{ message, finish, text string }{
		"cut at its limit":    {`{"content":"half"}`, "length", "half"},
		"nothing but thought": {`{"content":null,"reasoning_content":"hm"}`, "length", ""},
		"filtered":            {`{"content":""}`, "content_filter", ""},
		"empty":               {`{"content":""}`, "stop", ""},
		"in parts":            {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "stop", "ab"},
		"not UTF-8":           {`{"content":"a` + "\xff" + `"}`, "stop", "a\uFFFD"},
	} {
		got, err := answered(t, false, fmt.Sprintf(form, c.message, c.finish))
		if err != nil || got.Text != c.text || got.Finish != c.finish {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// F24: odd numbers are read; usage that cannot be is replaced by an estimate, and marked.
func TestF24_Usage(t *testing.T) {
	asked := func(usage string) record.Usage {
		answer := `{"created":"today","choices":[{"message":{"content":"0123456789","reasoning":{"effort":"low"}},"finish_reason":"stop","logprobs":"none"}],"usage":` + usage + `}`
		got, err := answered(t, false, answer)
		must(t, err)
		return got.Usage
	}
	for usage, want := range map[string]record.Usage{
		`{"prompt_tokens":5.0,"completion_tokens":0.4e1}`: {InputTokens: 5, OutputTokens: 4},
		`{"prompt_tokens":"5","completion_tokens":"4.0"}`: {InputTokens: 5, OutputTokens: 4},
		`{"prompt_tokens":5,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":"3"},"completion_tokens_details":{"reasoning_tokens":2.0}}`: {InputTokens: 5, CachedTokens: 3, OutputTokens: 4, ReasoningTokens: 2},
		`{"prompt_tokens":5,"completion_tokens":4,"prompt_tokens_details":"none","completion_tokens_details":[1],"total_tokens":"many"}`:               {InputTokens: 5, OutputTokens: 4},
		`{"prompt_tokens":5,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":-1}}`:    {InputTokens: 5, CachedTokens: 5, OutputTokens: 4},
		// xAI and Gemini count reasoning beside the other output; Gemini tells it by the total alone.
		`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`: {InputTokens: 32, OutputTokens: 103, ReasoningTokens: 94},
		`{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}`:                                                   {InputTokens: 20, OutputTokens: 603, ReasoningTokens: 405},
		`{"prompt_tokens":20,"completion_tokens":4,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":3}}`:          {InputTokens: 20, CachedTokens: 3, OutputTokens: 4},
		`{"prompt_tokens":20,"completion_tokens":4,"total_tokens":9,"completion_tokens_details":{"reasoning_tokens":10}}`:   {InputTokens: 20, OutputTokens: 4, ReasoningTokens: 4},
		`{"prompt_tokens":20,"completion_tokens":4,"total_tokens":9223372036854775807}`:                                     {InputTokens: 20, OutputTokens: 4},
	} {
		if want.Calls = 1; asked(usage) != want {
			t.Errorf("%s: got %+v, want %+v", usage, asked(usage), want)
		}
	}
	const counted = `{"prompt_tokens":5,"completion_tokens":4,`
	for _, usage := range []string{
		`null`, `{}`, `"5"`, `[5, 4]`, `12.5`, `{"prompt_tokens":5}`, `{"prompt_tokens":0,"completion_tokens":0}`, `{"prompt_tokens":5,"completion_tokens":0}`,
		`{"prompt_tokens":-5,"completion_tokens":3}`, `{"prompt_tokens":5,"completion_tokens":-3}`, `{"prompt_tokens":20,"completion_tokens":-4,"total_tokens":30}`,
		`{"prompt_tokens":5000000000000,"completion_tokens":3}`, `{"prompt_tokens":5,"completion_tokens":90000000000000}`, `{"prompt_tokens":1e400,"completion_tokens":4}`,
		`{"prompt_tokens":5.5,"completion_tokens":4}`, `{"prompt_tokens":5,"completion_tokens":"4 tokens"}`, `{"prompt_tokens":"","completion_tokens":4}`,
		`{"prompt_tokens":[5],"completion_tokens":{"n":4}}`, `{"prompt_tokens":true,"completion_tokens":null}`,
		counted + `"prompt_tokens_details":{"cached_tokens":6}}`, counted + `"prompt_tokens_details":{"cached_tokens":-1}}`,
		counted + `"prompt_cache_hit_tokens":6}`, counted + `"prompt_cache_hit_tokens":-1,"prompt_tokens_details":{"cached_tokens":3}}`,
	} {
		if got, want := asked(usage), (record.Usage{Calls: 1, InputTokens: 2, OutputTokens: 3, Estimated: 1}); got != want {
			t.Errorf("%s: got %+v, want %+v", usage, got, want)
		}
	}
}

// What a server reports beside the usual usage, its service tier and who answered, streamed or not.
func TestWhatElseIsReported(t *testing.T) {
	const rest = `"model":"other","service_tier":"flex","usage":{"prompt_tokens":5,"completion_tokens":4,"total_tokens":9,"num_sources_used":2,"cost":0.5,
		"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":2}}}`
	for name, answer := range map[string]string{
		"whole":    `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],` + rest,
		"streamed": delta(`"content":"hi"`) + event(strings.Replace(finished, "]}", "],"+strings.ReplaceAll(rest, "\n", ""), 1)) + event("[DONE]"),
	} {
		got, err := answered(t, name == "streamed", answer)
		must(t, err)
		const want = `{"completion_tokens_details.audio_tokens":2,"cost":0.5,"num_sources_used":2}`
		if got.Tier != "flex" || string(got.Reported) != want || got.Answered != "other" {
			t.Errorf("%s: got %+v, %s", name, got, got.Reported)
		}
	}
}

// Images are parts beside the text; a message without any is sent as ever.
func TestImagesAreSent(t *testing.T) {
	request := hello()
	request.Messages[0].Images = []model.Image{{Type: "image/png", Data: []byte{1, 2}}, {Type: "image/webp", Data: []byte{3}}}
	request.Messages = append(request.Messages, model.Message{Role: "user", Images: request.Messages[0].Images[:1]}, model.Message{Role: "user", Text: "so?"})
	equal(t, capture(t, wire.Options{}, request).Body["messages"], `[
		{"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQI="}},
			{"type": "image_url", "image_url": {"url": "data:image/webp;base64,Aw=="}}]},
		{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AQI="}}]},
		{"role": "user", "content": "so?"}]`)
}

// F25: of several choices that of index 0 counts, wherever it stands; the first where
// none has it.
func TestF25_TheChoiceOfIndex0(t *testing.T) {
	for indexes, want := range map[string]string{
		`0,1,2`: "a", `1,0,2`: "b", `2,1,0`: "c", `1,2,3`: "a", `1,"0",2`: "b", `1,null,0.0`: "c",
	} {
		index := strings.Split(indexes, ",")
		var choices []string
		for i, text := range []string{"a", "b", "c"} {
			choices = append(choices, fmt.Sprintf(`{"index":%s,"message":{"content":%q},"finish_reason":"stop"}`, index[i], text))
		}
		got, err := answered(t, false, `{"choices":[`+strings.Join(choices, ",")+`]}`)
		if err != nil || got.Text != want {
			t.Errorf("indexes %s: got %+v, %v", indexes, got, err)
		}
	}
}

func capture(t *testing.T, o wire.Options, request *model.Request) wiretest.Sent {
	t.Helper()
	return wiretest.Capture(t, o, New, request, goodAnswer)
}

func float(n float64) *float64 { return &n }

// Zeros are sent; a choice among no tools is not: it would be refused.
func TestZerosAreSent(t *testing.T) {
	seed := int64(0)
	request := hello()
	request.Temperature, request.TopP, request.Seed, request.ToolChoice = float(0), float(0), &seed, "auto"
	equal(t, capture(t, wire.Options{}, request).Body,
		`{"model": "m", "stream": false, "temperature": 0, "top_p": 0, "seed": 0, "messages": [{"role": "user", "content": "hello"}]}`)
}

// Reasoning models know only the newer name of the limit; many servers only the
// older. Neither settings nor names are refused on this side.
func TestTheLimitOfOutputTokens(t *testing.T) {
	for name, want := range map[string]string{
		"llama3":         "max_tokens",
		"gpt-4o":         "max_tokens",
		"o3-mini":        "max_completion_tokens",
		"openai/gpt-5":   "max_completion_tokens",
		"gpt-5-nano":     "max_completion_tokens",
		"text-davinci-9": "max_tokens",
	} {
		request := hello()
		request.MaxOutputTokens, request.Temperature = 7, float(0.2)
		got := capture(t, wire.Options{Name: name}, request).Body
		other := map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[want]
		if got[want] != 7.0 || got[other] != nil || got["temperature"] != 0.2 {
			t.Errorf("%s: got %v", name, got)
		}
	}
	official, err := New(wire.Options{Name: "gpt-4o", Key: canary})
	if err != nil || !official.completionLimit {
		t.Errorf("OpenAI's own server gets the older name (%v)", err)
	}
}

// What stands behind the ? of an address is sent with every request, and a header may replace the key.
func TestHeadersAndPath(t *testing.T) {
	request := hello()
	request.Idempotency = "key-1"
	got := capture(t, wire.Options{BaseURL: "/v1/?api-version=1&key=a%2Fb", Headers: map[string]string{"X-Title": "agentbench"}}, request)
	if got.Path != "/v1/chat/completions" || got.Query != "api-version=1&key=a%2Fb" {
		t.Errorf("path %s, query %s", got.Path, got.Query)
	}
	if got.Header.Get("Authorization") != "Bearer "+canary || got.Header.Get("X-Title") != "agentbench" || got.Header.Get("Idempotency-Key") != "key-1" {
		t.Errorf("headers %v", got.Header)
	}
	got = capture(t, wire.Options{Headers: map[string]string{"Authorization": "Basic other"}}, hello())
	if got.Header.Get("Authorization") != "Basic other" {
		t.Errorf("headers %v", got.Header)
	}
}

func TestOptionsOfAModel(t *testing.T) {
	none := func(string) string { return "" }
	key := func(name string) string { return map[string]string{"OPENAI_API_KEY": " sk-1\n", "LOCAL": "sk-2"}[name] }
	for name, c := range map[string]struct {
		model   spec.Model
		getenv  func(string) string
		key     string
		message string
	}{
		"the default":            {spec.Model{Provider: "openai"}, key, "sk-1", ""},
		"a variable":             {spec.Model{Provider: "openai", APIKeyEnv: "LOCAL"}, key, "sk-2", ""},
		"none for a local one":   {spec.Model{Provider: "openai", BaseURL: "http://localhost:1"}, none, "", ""},
		"missing":                {spec.Model{Provider: "openai"}, none, "", `model "m" needs a key: the environment variable OPENAI_API_KEY is not set`},
		"missing, but was named": {spec.Model{Provider: "openai", BaseURL: "http://localhost:1", APIKeyEnv: "LOCAL"}, none, "", `model "m" needs a key: the environment variable LOCAL is not set`},
		"another provider":       {spec.Model{Provider: "groq"}, key, "", `model "m" needs a key: the environment variable GROQ_API_KEY is not set`},
		"a server of this machine gets no other's key": {spec.Model{Provider: "ollama"}, key, "", ""},
		"no server": {spec.Model{Provider: "script"}, key, "", `model "m": unknown provider "script"`},
	} {
		got, err := wire.FromSpec("m", &c.model, c.getenv)
		if (err == nil) != (c.message == "") || err != nil && err.Error() != c.message {
			t.Errorf("%s: %v", name, err)
		}
		if got.Key != c.key || got.Name != "m" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Each provider gets what its server takes: where the key is, and which parameters it knows.
func TestProvidersByName(t *testing.T) {
	seed := int64(7)
	for _, server := range spec.Servers() {
		if server.Protocol != "" {
			continue
		}
		t.Run(server.Provider, func(t *testing.T) {
			declared := spec.Model{Provider: server.Provider, Stream: true}
			if server.Provider == "azure" {
				declared.BaseURL = "https://resource.openai.azure.com/openai/v1"
			}
			o, err := wire.FromSpec("m", &declared, func(name string) string { return "key of " + name })
			must(t, err)
			if server.Provider != "openai" && !strings.HasPrefix(o.BaseURL, "http") {
				t.Errorf("the address is %q", o.BaseURL)
			}
			o.BaseURL, o.Stream = "", false
			request := hello()
			request.Seed, request.MaxOutputTokens = &seed, 9
			got := capture(t, o, request)
			bearer, key := "Bearer key of "+server.KeyEnv, ""
			seeds := map[string]any{"seed": 7.0, "max_tokens": 9.0}
			switch server.Provider {
			case "azure":
				bearer, key = "", "key of AZURE_OPENAI_API_KEY"
				seeds = map[string]any{"seed": 7.0, "max_completion_tokens": 9.0}
			case "gemini":
				delete(seeds, "seed")
			case "mistral":
				seeds = map[string]any{"random_seed": 7.0, "max_tokens": 9.0}
			}
			if got.Header.Get("Authorization") != bearer || got.Header.Get("Api-Key") != key {
				t.Errorf("Authorization %q, api-key %q", got.Header.Get("Authorization"), got.Header.Get("Api-Key"))
			}
			for _, name := range []string{"seed", "random_seed", "max_tokens", "max_completion_tokens"} {
				if got.Body[name] != seeds[name] {
					t.Errorf("%s is %v, want %v", name, got.Body[name], seeds[name])
				}
			}
			o.Stream = true
			text, err := connect(t, wire.Options{Name: "m", BaseURL: "http://127.0.0.1:1", Stream: true, Quirks: o.Quirks}).body(request)
			if has := strings.Contains(string(text), "stream_options"); err != nil || has != (server.Provider != "mistral") {
				t.Errorf("%s %v", text, err)
			}
		})
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"localhost:8000", "ftp://x", "/v1", "http://", "http://user:" + canary + "@[::1"} {
		_, err := New(wire.Options{Name: "m", BaseURL: address})
		if err == nil || !strings.Contains(err.Error(), "is not an http or https address") {
			t.Errorf("%s: %v", address, err)
			continue
		}
		wiretest.WithoutSecrets(t, err.Error())
	}
}

// A user in the address signs in, where no key and no header does.
func TestTheUserOfAnAddressSignsIn(t *testing.T) {
	var sent string
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		fmt.Fprint(w, goodAnswer)
	}))
	for name, o := range map[string]wire.Options{
		"Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass")): {},
		"Bearer key": {Key: "key"},
		"Digest it":  {Headers: map[string]string{"Authorization": "Digest it"}},
	} {
		o.Name, o.BaseURL = "m", strings.Replace(address, "http://", "http://me:pass@", 1)
		m, err := New(o)
		must(t, err)
		if _, err := m.Call(t.Context(), hello()); err != nil || sent != name {
			t.Errorf("sent %q, not %q: %v", sent, name, err)
		}
	}
}

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
		m, err := New(wire.Options{Name: "m" + texts.Draw(t, "name"), BaseURL: "http://mock", Key: canary, Stream: stream, Transport: sent})
		must(t, err)
		request := &model.Request{JSON: rapid.Bool().Draw(t, "JSON"), Temperature: float(0.5)}
		want := map[string]any{"model": m.line.Name, "stream": stream, "temperature": 0.5}
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
