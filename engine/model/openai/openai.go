// Package openai decides how a request reaches a server that speaks the
// chat-completions API of OpenAI, and what its answer, or its failure, means.
//
// The stages: a request becomes a body, the wire sends it in a request that
// go-openai made, with its own limits, and makes one answer of a stream,
// the answer becomes a reply (answer.go) with its usage or an error
// with a class (classify.go), whose message holds no key. It does not try again;
// that is for a model around it.
//
// It is no stable API.
package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
)

// The limits of a call where the options say nothing.
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultFirstByte   = 120 * time.Second
	DefaultIdle        = 60 * time.Second
	DefaultMaxResponse = 32 << 20
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
	Quirks      spec.Quirks       // how the server differs from OpenAI's
	Timeout     time.Duration     // of one call; default DefaultTimeout
	Effort      string            // of the reasoning; "": none is sent
	Tier        string            // the service tier to ask for; "": none is sent
	Stream      bool              // let the answer come in pieces
	FirstByte   time.Duration     // until the answer begins; default DefaultFirstByte, or Timeout if that is longer
	Idle        time.Duration     // between two pieces of the answer; default DefaultIdle
	MaxResponse int64             // bytes, after decompression; default DefaultMaxResponse
	Transport   http.RoundTripper // default: NewTransport
	Now         func() time.Time  // default: time.Now
}

// FromSpec reads the options of a declared model. The key comes from the
// environment; a server on this machine, and one whose address alone is declared, may need none.
func FromSpec(name string, m *spec.Model, getenv func(string) string) (Options, error) {
	o := Options{
		Name: m.Name, Headers: m.Headers,
		Timeout: m.Timeout, FirstByte: m.FirstByteTimeout, Idle: m.IdleTimeout, Stream: m.Stream,
		Effort: m.Effort, Tier: m.ServiceTier,
	}
	if o.Name == "" {
		o.Name = name
	}
	server, calls := m.Server()
	if !calls {
		return o, fmt.Errorf("model %q: unknown provider %q", name, m.Provider)
	}
	o.BaseURL, o.Quirks = server.BaseURL, server.Quirks
	o.Key = strings.TrimSpace(getenv(server.KeyEnv))
	if o.Key == "" && !server.Keyless {
		return o, fmt.Errorf("model %q: the environment variable %s, which is to hold its key, is not set", name, server.KeyEnv)
	}
	return o, nil
}

// Model calls one model of one server.
type Model struct {
	options Options
	wire    *wire
	secrets *secret.Redactor
	server  string // scheme and host
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
	headers, bearer := o.Headers, o.Key
	if name := o.Quirks.KeyHeader; name != "" && o.Key != "" {
		headers, bearer = maps.Clone(o.Headers), ""
		if headers == nil {
			headers = map[string]string{}
		}
		if _, declared := headers[name]; !declared {
			headers[name] = o.Key
		}
	}
	request, err := blank(base.String(), bearer)
	if err != nil {
		return nil, fmt.Errorf("the base_url of model %q: %w", o.Name, err)
	}
	request.URL.RawQuery = query
	setHeaders(request, headers, o.Stream)
	return &Model{
		options:         o,
		wire:            &wire{base: o.Transport, blank: request, maxResponse: o.MaxResponse, firstByte: o.FirstByte, idle: o.Idle},
		server:          base.Scheme + "://" + base.Host,
		secrets:         secret.New(secret.OfServer(o.BaseURL, o.Key, o.Headers)...),
		completionLimit: o.Quirks.CompletionLimit || base.Host == "api.openai.com" || reasons(o.Name),
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
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(m.options.Timeout, func() { cancel(context.DeadlineExceeded) }).Stop()
	exchange := &exchange{body: body, key: request.Idempotency, stream: m.options.Stream, end: cancel}
	start := m.options.Now()
	err = m.wire.do(calling, exchange)
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

// connections is how many idle connections to a server are kept: more than calls
// are usually made at once, so that hardly any is made anew.
const connections = 512

const (
	// drained is how much of an answer is read behind its end, so that its
	// connection can be used again, and for how long.
	drained   = 4 << 10
	drainTime = 250 * time.Millisecond
)

// errTooLarge says that an answer was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// NewTransport makes a transport for many calls at once to few servers; the
// default of net/http would connect anew for nearly each of them.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            external.Counting((&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext),
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// exchange is what a call and its wire tell each other.
type exchange struct {
	end    context.CancelCauseFunc
	body   []byte // to be sent
	key    string // of idempotency; "": none
	stream bool   // the answer is to be streamed

	status   int // 0: no answer began
	header   http.Header
	answer   []byte      // where it was not streamed
	folded   *completion // where it was
	unasked  bool        // it was not streamed although it was to be
	broken   error       // why the answer is not whole
	hopeless bool        // trying again would end the same way
	refused  bool        // nothing listens at the server's address

	sending *external.Sending // nil: nothing was ever to be sent
}

// wire sends requests. The client of go-openai would have no limits, no headers and no
// zero values of its own, and take a stream that was cut for a whole one. It follows no
// redirection: the headers may hold a key.
type wire struct {
	base        http.RoundTripper
	blank       *http.Request // every call sends a copy, with its own body
	maxResponse int64
	firstByte   time.Duration
	idle        time.Duration
}

// blank is the request that go-openai makes of a call, whatever is asked: its body is
// replaced.
func blank(base, bearer string) (*http.Request, error) {
	var made caught
	config := openai.DefaultConfig(bearer)
	config.BaseURL, config.HTTPClient = base, &made
	_, err := openai.NewClientWithConfig(config).CreateChatCompletion(context.Background(), openai.ChatCompletionRequest{})
	if made.request == nil {
		return nil, err
	}
	return made.request, nil
}

// caught is an HTTP client that keeps the request and sends nothing.
type caught struct{ request *http.Request }

func (c *caught) Do(request *http.Request) (*http.Response, error) {
	c.request = request
	return nil, http.ErrNotSupported
}

// do reads the whole answer, so that its errors are the call's and the connection can
// be used again. Its error is a *url.Error.
func (w *wire) do(ctx context.Context, e *exchange) error {
	err := context.Cause(ctx)
	if err == nil {
		watched, sending := external.Watch(ctx)
		e.sending = sending
		err = causeOf(ctx, w.exchange(w.request(watched, e), e))
	}
	if err == nil {
		return nil
	}
	return &url.Error{Op: "Post", URL: w.blank.URL.Redacted(), Err: err}
}

// request is the blank one, filled in. Only what differs is copied.
func (w *wire) request(ctx context.Context, e *exchange) *http.Request {
	request := w.blank.WithContext(ctx)
	if request.Header.Get(idempotencyKey) == "" && e.key != "" {
		request.Header = maps.Clone(request.Header)
		request.Header.Set(idempotencyKey, e.key)
	}
	setBody(request, e.body)
	return request
}

func (w *wire) exchange(request *http.Request, e *exchange) error {
	silence := listen(w.firstByte, w.idle, e.end)
	defer silence.timer.Stop()
	response, err := w.base.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	e.status, e.header = response.StatusCode, response.Header
	if err := w.read(e, response, silence); err != nil {
		e.broken = causeOf(request.Context(), err)
	}
	return e.broken
}

// causeOf is why a request ended, where its context knows better.
func causeOf(ctx context.Context, err error) error {
	var failed *record.Error
	if err == nil || ctx.Err() == nil || errors.As(err, &failed) || errors.Is(err, errTooLarge) {
		return err
	}
	return context.Cause(ctx)
}

const idempotencyKey = "Idempotency-Key"

func setHeaders(request *http.Request, headers map[string]string, stream bool) {
	if stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
}

// read reads the answer, however it is sent.
func (w *wire) read(e *exchange, response *http.Response, silence *silence) (err error) {
	silence.from = response.Body
	limited := &limited{from: silence, left: w.maxResponse, most: w.maxResponse}
	if !e.stream || e.status >= 300 {
		e.answer, err = readAll(limited, response.ContentLength)
		return err
	}
	from := bufio.NewReader(limited)
	if !isStream(from) {
		e.unasked = true
		e.answer, err = readAll(from, response.ContentLength)
		return err
	}
	if e.folded, err = fold(from); err == nil {
		silence.timer.Reset(drainTime)
		_, _ = io.CopyN(io.Discard, from, drained)
	}
	return err
}

// setBody replaces what go-openai would send.
func setBody(request *http.Request, body []byte) {
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body = io.NopCloser(bytes.NewReader(body))
}

// chatRequest is the body of a call. That of go-openai, which is sent nowhere,
// would leave out zeros, such as a temperature of 0, and empty texts, refuse
// models and settings by their names, and encode every text three times.
type chatRequest struct {
	Model               string                               `json:"model"`
	Messages            []message                            `json:"messages"`
	Stream              bool                                 `json:"stream"`
	StreamOptions       *openai.StreamOptions                `json:"stream_options,omitempty"`
	Temperature         *float64                             `json:"temperature,omitempty"`
	TopP                *float64                             `json:"top_p,omitempty"`
	Seed                *int64                               `json:"seed,omitempty"`
	RandomSeed          *int64                               `json:"random_seed,omitempty"`
	MaxTokens           int                                  `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                                  `json:"max_completion_tokens,omitempty"`
	ResponseFormat      *openai.ChatCompletionResponseFormat `json:"response_format,omitempty"`
	Tools               []offered                            `json:"tools,omitempty"`
	ToolChoice          any                                  `json:"tool_choice,omitempty"`
	ReasoningEffort     string                               `json:"reasoning_effort,omitempty"`
	ServiceTier         string                               `json:"service_tier,omitempty"`
}

type message struct {
	Role       string     `json:"role"`
	Text       *string    `json:"content"` // null where a message is only calls
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// body encodes a request.
func (m *Model) body(request *model.Request) ([]byte, error) {
	body := chatRequest{
		Model:    m.options.Name,
		Messages: make([]message, len(request.Messages)),
		Stream:   m.options.Stream, Temperature: request.Temperature, TopP: request.TopP, Seed: request.Seed,
		ReasoningEffort: m.options.Effort, ServiceTier: m.options.Tier,
	}
	for i := range request.Messages {
		body.Messages[i] = messageOf(&request.Messages[i])
	}
	if len(request.Tools) > 0 { // a server refuses a choice among none
		body.Tools, body.ToolChoice = offers(request.Tools), choiceOf(request.ToolChoice)
	}
	if q := m.options.Quirks; q.NoSeed {
		body.Seed = nil
	} else if q.RandomSeed {
		body.Seed, body.RandomSeed = nil, request.Seed
	}
	if m.options.Stream && !m.options.Quirks.NoStreamOptions {
		body.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if m.completionLimit {
		body.MaxCompletionTokens = request.MaxOutputTokens
	} else {
		body.MaxTokens = request.MaxOutputTokens
	}
	if request.JSON {
		body.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	text, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return text, nil
}

// offered is a tool that the model may call.
type offered struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolCall is a call that the model made.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// noParameters is the schema of a tool that declares none: there are servers that
// refuse a tool without one.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func offers(tools []model.Tool) []offered {
	all := make([]offered, len(tools))
	for i := range tools {
		o := &all[i]
		o.Type, o.Function.Name, o.Function.Description = "function", tools[i].Name, tools[i].Description
		if o.Function.Parameters = tools[i].Parameters; len(o.Function.Parameters) == 0 {
			o.Function.Parameters = noParameters
		}
	}
	return all
}

// choiceOf is a word of the API, or the tool of that name; nil where nothing is
// said.
func choiceOf(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: choice}}
}

// messageOf keeps the content of every message, also an empty one, unless an
// assistant has only called tools.
func messageOf(said *model.Message) message {
	m := message{Role: said.Role, Text: &said.Text, ToolCallID: said.ToolCallID}
	for _, call := range said.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: call.ID, Type: "function", Function: functionCall{call.Name, call.Arguments}})
	}
	if said.Text == "" && m.ToolCalls != nil {
		m.Text = nil
	}
	return m
}

// callsOf are the calls of an answer, with IDs.
func callsOf(said []toolCall) []model.ToolCall {
	if len(said) == 0 {
		return nil
	}
	calls := make([]model.ToolCall, len(said))
	for i := range said {
		calls[i] = model.ToolCall{ID: said[i].ID, Name: said[i].Function.Name, Arguments: said[i].Function.Arguments}
	}
	model.Identify(calls)
	return calls
}

// mostTokens is more than any call can use; a server that reports more is not believed.
const mostTokens = 1 << 30

// counted learns from what a server reports how far the estimates of tokens by
// characters are off for its model. The zero value corrects nothing yet.
type counted struct {
	mu            sync.Mutex
	input, output ratio
}

// ratio compares reported tokens with estimated ones.
type ratio struct{ reported, estimated float64 }

func (r *ratio) correct(estimate int64) int64 {
	if r.estimated == 0 {
		return estimate
	}
	return int64(math.Ceil(float64(estimate) * r.reported / r.estimated))
}

func (r *ratio) learn(reported, estimate int64) {
	if estimate == 0 {
		return
	}
	r.reported += float64(reported)
	r.estimated += float64(estimate)
}

// count is a number of tokens, or of anything that is counted: a whole number in
// whatever way it is written, 12, 12.0, 1.2e1 or "12". Anything else is not known.
type count struct {
	n     int64
	known bool
}

// UnmarshalJSON takes anything.
func (c *count) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*c = count{n, true}
		return nil
	}
	var number json.Number // also of a text
	if json.Unmarshal(raw, &number) != nil || number == "" {
		return nil
	}
	if n, err := number.Int64(); err == nil {
		*c = count{n, true}
	} else if f, err := number.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= mostTokens {
		*c = count{int64(f), true}
	}
	return nil
}

// reported is what a server says of the usage of a call.
type reported struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	CacheHits  count `json:"prompt_cache_hit_tokens"`
	OfPrompt   struct {
		Cached count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OfCompletion struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// read takes what has the type that it should have.
func (r *reported) read(raw json.RawMessage) { _ = json.Unmarshal(raw, r) }

// usage believes the server where what it says can be; else it takes the
// estimates, corrected by what the server has reported before.
func (c *counted) usage(said *reported, input, output int64) record.Usage {
	used := record.Usage{
		Calls: 1, InputTokens: said.Prompt.n, OutputTokens: said.Completion.n,
		CachedTokens: max(said.CacheHits.n, said.OfPrompt.Cached.n),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !said.Prompt.known || !said.Completion.known || !plausible(&used, said, output) {
		return record.Usage{Calls: 1, InputTokens: c.input.correct(input), OutputTokens: c.output.correct(output), Estimated: 1}
	}
	used.ReasoningTokens = max(0, min(said.OfCompletion.Reasoning.n, used.OutputTokens)) // some servers count them apart
	c.input.learn(used.InputTokens, input)
	c.output.learn(used.OutputTokens, output) // hidden reasoning included
	return used
}

func plausible(used *record.Usage, said *reported, output int64) bool {
	return used.InputTokens > 0 && used.InputTokens <= mostTokens &&
		min(said.CacheHits.n, said.OfPrompt.Cached.n) >= 0 && used.CachedTokens <= used.InputTokens &&
		used.OutputTokens >= 0 && used.OutputTokens <= mostTokens &&
		(used.OutputTokens > 0 || output == 0)
}
