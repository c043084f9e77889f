// Package openai decides how a request reaches a server that speaks the
// chat-completions API of OpenAI, and what its answer, or its failure, means.
//
// The stages: a request becomes a body (body.go), the wire sends it with its
// own limits (wire.go, silence.go) and makes one answer of a stream (stream.go),
// the answer becomes a reply (answer.go) with its usage (usage.go) or an error
// with a class (classify.go), whose message holds no key. It does not try again;
// that is for a model around it.
package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
	"github.com/sashabaranov/go-openai"
)

// The limits of a call where the options say nothing.
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultFirstByte   = 120 * time.Second
	DefaultIdle        = 60 * time.Second
	DefaultMaxResponse = 32 << 20
	DefaultKeyEnv      = "OPENAI_API_KEY"
	DefaultURL         = "https://api.openai.com/v1"
)

// longText is how many bytes a reply has that was read from memory worth collecting.
const longText = 8 << 20

// Options say where the server is and how long to wait for it.
type Options struct {
	Name        string // of the model, at the server
	BaseURL     string // default: OpenAI's own
	Key         string // "": none is sent
	Headers     map[string]string
	Timeout     time.Duration     // of one call; default DefaultTimeout
	Stream      bool              // let the answer come in pieces
	FirstByte   time.Duration     // until the answer begins; default DefaultFirstByte, or Timeout if that is longer
	Idle        time.Duration     // between two pieces of the answer; default DefaultIdle
	MaxResponse int64             // bytes, after decompression; default DefaultMaxResponse
	Transport   http.RoundTripper // default: NewTransport
	Now         func() time.Time  // default: time.Now
}

// FromSpec reads the options of a declared model. The key comes from the
// environment; only OpenAI's own server and a declared variable demand one.
func FromSpec(name string, m *spec.Model, getenv func(string) string) (Options, error) {
	o := Options{
		Name: m.Name, BaseURL: m.BaseURL, Headers: m.Headers,
		Timeout: m.Timeout, FirstByte: m.FirstByteTimeout, Idle: m.IdleTimeout, Stream: m.Stream,
	}
	if o.Name == "" {
		o.Name = name
	}
	variable := m.APIKeyEnv
	if variable == "" {
		variable = DefaultKeyEnv
	}
	o.Key = strings.TrimSpace(getenv(variable))
	if o.Key == "" && (m.APIKeyEnv != "" || m.BaseURL == "") {
		return o, fmt.Errorf("model %q: the environment variable %s, which is to hold its key, is not set", name, variable)
	}
	return o, nil
}

// Model calls one model of one server.
type Model struct {
	options Options
	client  *openai.Client
	secrets *secret.Redactor
	counted counted
	// completionLimit: the server wants max_completion_tokens, not max_tokens.
	completionLimit bool
}

// New makes a model. It fails on an address that is none.
func New(o Options) (*Model, error) {
	o = o.withDefaults()
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the base_url of model %q is not an http or https address", o.Name)
	}
	query := base.RawQuery
	base.RawQuery, base.Fragment = "", ""
	config := openai.DefaultConfig(o.Key)
	config.BaseURL = base.String()
	config.HTTPClient = &http.Client{
		Transport:     &wire{base: o.Transport, query: query, headers: o.Headers, maxResponse: o.MaxResponse, firstByte: o.FirstByte, idle: o.Idle},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Model{
		options:         o,
		client:          openai.NewClientWithConfig(config),
		secrets:         secret.New(secret.OfServer(o.BaseURL, o.Key, o.Headers)...),
		completionLimit: base.Host == "api.openai.com" || reasons(o.Name),
	}, nil
}

func (o Options) withDefaults() Options {
	if o.BaseURL == "" {
		o.BaseURL = DefaultURL
	}
	if o.FirstByte <= 0 {
		o.FirstByte = max(DefaultFirstByte, o.Timeout)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// reasons tells by its name that a model counts its reasoning as output, and so
// knows only the newer name of the limit.
func reasons(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// Call sends one request and waits for the whole answer.
func (m *Model) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	body, err := m.body(request)
	if err != nil {
		return nil, m.fail(&record.Error{Class: record.InvalidRequest, Message: err.Error()}, &exchange{}, 0)
	}
	exchange := &exchange{body: body, key: request.Idempotency, stream: m.options.Stream}
	calling, cancel := context.WithTimeout(withExchange(ctx, exchange), m.options.Timeout)
	defer cancel()
	start := m.options.Now()
	_, err = m.client.CreateChatCompletion(calling, openai.ChatCompletionRequest{}) // the answer is in the exchange
	took := m.options.Now().Sub(start)
	switch {
	case err == nil && exchange.status < 300:
		return m.answered(request, exchange, took)
	case ctx.Err() != nil && !exchange.sending.Began():
		return nil, &model.Unsent{Err: context.Cause(ctx)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, m.fail(m.classify(calling, exchange, err), exchange, took)
}

// answered makes a reply of an answer, or says why it is none.
func (m *Model) answered(request *model.Request, e *exchange, took time.Duration) (*model.Reply, error) {
	answer, failed := e.read()
	var reply *model.Reply
	if failed == nil {
		reply, failed = m.reply(request, answer)
	}
	if e.unasked {
		reply, failed = notStreamed(reply, failed)
	}
	if failed != nil {
		return nil, m.fail(failed, e, took)
	}
	if len(reply.Text) >= longText {
		runtime.GC() // else what it was read from stays until the heap has doubled, itself included
	}
	reply.Duration = took
	return reply, nil
}
