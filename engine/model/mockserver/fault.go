package mockserver

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/source"
)

// noFault is the kind that is no fault.
const noFault = "ok"

// Fault is a kind of fault with its options.
type Fault struct {
	Kind       string
	RetryAfter string // "": none; a number is sent in its form, anything else as it is
	Form       Form
	Reset      string // of x-ratelimit-reset-requests
	Should     string // x-should-retry
	Body       string // of an error: api (default), html, empty
	Size       int64  // bytes of what is huge
	By         time.Duration

	status int
	kind   *kind
}

// ParseFault reads a fault: KIND or KIND:option=value:option=value.
func ParseFault(text string) (Fault, error) {
	name, rest, _ := strings.Cut(text, ":")
	fault, err := named(strings.TrimSpace(name))
	if err != nil {
		return Fault{}, err
	}
	for rest != "" {
		var option string
		option, rest, _ = strings.Cut(rest, ":")
		key, value, _ := strings.Cut(option, "=")
		if !slices.Contains(fault.kind.options, key) {
			return Fault{}, fmt.Errorf("the fault %s has no option %q%s", fault.Kind, key, listed(fault.kind.options))
		}
		if err := fault.set(key, value); err != nil {
			return Fault{}, fmt.Errorf("the fault %s: %w", fault.Kind, err)
		}
	}
	return fault, nil
}

// named is the fault of a kind without options. Any status is a kind.
func named(name string) (Fault, error) {
	fault := Fault{Kind: name, Size: 64 << 20}
	if n, err := strconv.Atoi(name); err == nil && n >= 400 && n <= 599 {
		fault.status, fault.kind = n, &statusKind
		return fault, nil
	}
	for i := range kinds {
		if kinds[i].Name == name {
			fault.kind, fault.By = &kinds[i].kind, kinds[i].by
			return fault, nil
		}
	}
	var names []string
	for _, known := range Kinds() {
		names = append(names, known.Name)
	}
	if closest := source.Closest(name, names); closest != "" {
		return Fault{}, fmt.Errorf("unknown fault %q: did you mean %s?", name, closest)
	}
	return Fault{}, fmt.Errorf("unknown fault %q", name)
}

func listed(options []string) string {
	if len(options) == 0 {
		return ": it has none"
	}
	return ", only " + strings.Join(options, ", ")
}

var optionBodies = []string{"api", "html", "empty"}

func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "retry-after":
		f.RetryAfter = value
	case "form":
		f.Form, err = ParseForm(value)
	case "reset":
		f.Reset = value
	case "should-retry":
		f.Should = value
	case "body":
		if f.Body = value; !slices.Contains(optionBodies, value) {
			err = fmt.Errorf("body is one of %s, not %q", strings.Join(optionBodies, ", "), value)
		}
	case "size":
		f.Size, err = source.Size(value)
	case "by":
		if f.By, err = time.ParseDuration(value); err != nil || f.By < 0 {
			err = fmt.Errorf("by is a duration such as 500ms, not %q", value)
		}
	}
	return err
}

// ParseForm reads a form of Retry-After.
func ParseForm(text string) (Form, error) {
	forms := []Form{Seconds, Millis, Date, Silent}
	if form := Form(text); slices.Contains(forms, form) {
		return form, nil
	}
	return "", fmt.Errorf("a form of Retry-After is one of seconds, ms, date, none, not %q", text)
}

// tellRetry writes what a refusal says of trying again.
func (f *Fault) tellRetry(header http.Header, now time.Time) {
	if seconds, err := strconv.ParseFloat(f.RetryAfter, 64); err == nil && f.Form != "" {
		f.Form.set(header, time.Duration(seconds*float64(time.Second)), now)
	} else if f.RetryAfter != "" {
		header.Set("Retry-After", f.RetryAfter)
	}
	if f.Reset != "" {
		header.Set("X-Ratelimit-Reset-Requests", f.Reset)
	}
	if f.Should != "" {
		header.Set("X-Should-Retry", f.Should)
	}
}

// Kind describes a kind of fault.
type Kind struct {
	Name    string
	About   string
	Row     string            // of the list of faults that agentbench is held to
	Class   record.ErrorClass // what agentbench's own client makes of it; "": it is accepted
	Options []string
}

// kind is what a fault does: to the completion, to how it is sent, or instead
// of both.
type kind struct {
	options []string
	answer  func(*completion)
	payload func(*exchange, *payload)
	instead func(*exchange)
}

// transient stands for all kinds that a client is to survive by trying again.
const transient = "transient"

var (
	retryOptions  = []string{"retry-after", "form", "reset", "should-retry"}
	statusOptions = append(slices.Clone(retryOptions), "body")
)

var statusKind = kind{options: statusOptions, instead: (*exchange).refuse}

// entry is a row of the table of kinds.
type entry struct {
	Name, Row string
	Class     record.ErrorClass
	About     string
	kind      kind
	by        time.Duration // what the option by is if not given
}

// kinds are all but the statuses.
var kinds = []entry{
	{Name: noFault, About: "no fault, for schedules"},
	{Name: transient, About: "each kind in turn that a client survives by trying again"},

	{Name: "quota", Row: "F12", Class: record.Quota, About: "429 insufficient_quota", kind: refusal(quotaOfOpenAI)},
	{Name: "budget", Row: "F12", Class: record.Quota, About: "400 of LiteLLM: Budget has been exceeded", kind: refusal(quotaOfLiteLLM)},
	{Name: "context", Row: "F15", Class: record.ContextLength, About: "400 context_length_exceeded", kind: refusal(contextOfOpenAI)},
	{Name: "context-vllm", Row: "F15", Class: record.ContextLength, About: "400 of vLLM: maximum context length", kind: refusal(contextOfVLLM)},
	{Name: "context-anthropic", Row: "F15", Class: record.ContextLength, About: "400 of Anthropic: prompt is too long", kind: refusal(contextOfAnthropic)},
	{Name: "content-filter", Class: record.ContentFilter, About: "400 content_filter", kind: refusal(contentFilter)},

	{Name: "close", Row: "F16", Class: record.Network, About: "the connection is closed before the answer", kind: kind{instead: func(x *exchange) { x.disconnect(-1) }}},
	{Name: "reset", Row: "F16", Class: record.Network, About: "the connection is reset before the answer", kind: kind{instead: func(x *exchange) { x.disconnect(0) }}},
	{Name: "hang", Row: "F18", Class: record.CallTimeout, About: "no answer, not even headers, until the client goes away", kind: kind{instead: func(x *exchange) { <-x.ctx.Done() }}},
	{Name: "slow", About: "the answer begins later, by 5s", kind: kind{options: []string{"by"}, instead: slow}, by: 5 * time.Second},
	{Name: "stall", Row: "F19", Class: record.CallTimeout, About: "half an answer, then nothing more", kind: kind{payload: stalled}},
	{Name: "trickle", Row: "F19", Class: record.CallTimeout, About: "a byte at a time, one by 1s", kind: kind{options: []string{"by"}, payload: trickle}, by: time.Second},

	{Name: "cut", Row: "F20", Class: record.Incomplete, About: "half a stream that ends without finish_reason and [DONE]", kind: kind{payload: cut}},
	{Name: "cut-frame", Row: "F20", Class: record.Incomplete, About: "the same, inside a frame", kind: kind{payload: cutFrame}},
	{Name: "cut-reset", Row: "F20", Class: record.Incomplete, About: "half an answer, then the connection is reset", kind: kind{payload: cutReset}},
	{Name: "cut-event", Row: "F20", Class: record.Incomplete, About: "half a stream, then event: error", kind: kind{payload: cutEvent}},
	{Name: "cut-error", Row: "F20", Class: record.Incomplete, About: `half a stream, then data: {"error": ...}`, kind: kind{payload: cutError}},
	{Name: "cut-json", Row: "F20", Class: record.Incomplete, About: "a whole JSON answer where a stream was asked for", kind: kind{payload: cutJSON}},
	{Name: "no-finish", Row: "F20", Class: record.Incomplete, About: "everything but the finish_reason", kind: kind{answer: noFinish}},

	{Name: "half-json", Row: "F21", Class: record.BadResponse, About: "JSON that ends inside, in an answer that is whole", kind: kind{payload: halfJSON}},
	{Name: "html", Row: "F21", Class: record.BadResponse, About: "200 with a page", kind: body(typeHTML, page)},
	{Name: "error-200", Row: "F21", Class: record.BadResponse, About: "200 with an error", kind: body(typeJSON, serverError)},
	{Name: "empty-object", Row: "F21", Class: record.BadResponse, About: "200 with {}", kind: body(typeJSON, "{}")},
	{Name: "empty-body", Row: "F21", Class: record.BadResponse, About: "200 with nothing", kind: body(typeJSON, "")},
	{Name: "no-choices", Row: "F21", Class: record.BadResponse, About: "choices: []", kind: kind{answer: noChoices}},
	{Name: "null-content", Row: "F21", Class: record.BadResponse, About: "content: null and no call of a tool", kind: kind{answer: nullContent}},
	{Name: "wrong-type", Row: "F21", About: "the right answer as text/plain", kind: kind{payload: wrongType}},
	{Name: "refusal", Class: record.ContentFilter, About: "a refusal instead of content", kind: kind{answer: refused}},
	{Name: "length", About: "half the reply, finish_reason length", kind: kind{answer: tooLong}},
	{Name: "empty", About: "an empty reply", kind: kind{answer: empty}},

	{Name: "keep-alive", Row: "F22", About: "1,000 comments before a stream, 1,000 empty lines before a whole answer", kind: kind{payload: keepAlive}},
	{Name: "crlf", Row: "F22", About: "lines of a stream end with CR LF", kind: kind{payload: crlf}},
	{Name: "no-space", Row: "F22", About: "no space after data:", kind: kind{payload: noSpace}},

	{Name: "huge", Row: "F23", Class: record.BadResponse, About: "a reply of size 64MB; of a stream, in one line", kind: kind{options: []string{"size"}, instead: huge}},
	{Name: "huge-error", Row: "F23", Class: record.BadResponse, About: "a 500 of size 64MB", kind: kind{options: []string{"size"}, instead: hugeError}},
	{Name: "gzip-bomb", Row: "F23", Class: record.BadResponse, About: "a reply of size 64MB, packed to a thousandth", kind: kind{options: []string{"size"}, instead: gzipBomb}},
	{Name: "huge-header", Row: "F23", Class: record.Network, About: "a header of size 64MB", kind: kind{options: []string{"size"}, instead: hugeHeader}},

	{Name: "usage-missing", Row: "F24", About: "no usage", kind: kind{answer: func(c *completion) { c.Usage = nil }}},
	{Name: "usage-negative", Row: "F24", About: "negative usage", kind: kind{answer: used(-5, -3)}},
	{Name: "usage-absurd", Row: "F24", About: "usage that cannot be", kind: kind{answer: used(5e12, 9e13)}},
	{Name: "usage-cached", Row: "F24", About: "more tokens from a cache than the prompt has", kind: kind{answer: func(c *completion) { c.Usage.cached = c.Usage.Prompt + 1 }}},
	{Name: "usage-zero", Row: "F24", About: "a usage of zero", kind: kind{answer: used(0, 0)}},
	{Name: "usage-decimals", Row: "F24", About: "usage as 12.0", kind: kind{answer: written("%d.0")}},
	{Name: "usage-strings", Row: "F24", About: `usage as "12"`, kind: kind{answer: written(`"%d"`)}},
	{Name: "usage-fractions", Row: "F24", About: "usage as 12.5", kind: kind{answer: written("%d.5")}},
	{Name: "usage-words", Row: "F24", About: `usage as "12 tokens"`, kind: kind{answer: written(`"%d tokens"`)}},

	{Name: "other-model", Row: "F25", About: "the name of another model", kind: kind{answer: func(c *completion) { c.Model = "another-model" }}},
	{Name: "two-choices", Row: "F25", About: "a second choice", kind: kind{answer: twoChoices}},
	{Name: "choices-reversed", Row: "F25", About: "a second choice, before the first", kind: kind{answer: otherChoiceFirst}},
	{Name: "tool-and-content", Row: "F25", About: "a call of a tool besides the content", kind: kind{answer: tools("call_1")}},
	{Name: "tool-without-id", Row: "F25", About: "a call of a tool without an id", kind: kind{answer: tools("")}},
	{Name: "tools-of-one-id", Row: "F25", About: "two calls of tools with the same id", kind: kind{answer: tools("call_1", "call_1")}},

	{Name: "redirect", Row: "F26", Class: record.InvalidRequest, About: "307 to another name of this host", kind: kind{instead: redirect}},
}

// statuses are those that the list shows; any from 400 to 599 is a kind.
var statuses = []struct {
	Name, Row string
	Class     record.ErrorClass
}{
	{"400", "F14", record.InvalidRequest}, {"401", "F14", record.Auth}, {"402", "F12", record.Quota},
	{"403", "F14", record.Auth}, {"404", "F14", record.InvalidRequest}, {"408", "F13", record.Server},
	{"409", "F13", record.Server}, {"413", "F14", record.ContextLength}, {"422", "F14", record.InvalidRequest},
	{"429", "F10", record.RateLimit}, {"500", "F13", record.Server}, {"502", "F13", record.Server},
	{"503", "F13", record.Server}, {"504", "F13", record.Server}, {"529", "F13", record.Server},
}

// Kinds lists all kinds: statuses, then the others.
func Kinds() []Kind {
	var all []Kind
	for _, s := range statuses {
		about := "the status"
		if n := statusText(s.Name); n != "" {
			about += ": " + n
		}
		all = append(all, Kind{s.Name, about, s.Row, s.Class, statusOptions})
	}
	for _, e := range kinds {
		all = append(all, Kind{e.Name, e.About, e.Row, e.Class, e.kind.options})
	}
	return all
}

// transients are the kinds that a second try may survive and that take no time.
func transients() []string {
	retried := []record.ErrorClass{record.RateLimit, record.Server, record.Network, record.Incomplete, record.BadResponse}
	var names []string
	for _, k := range Kinds() {
		if slices.Contains(retried, k.Class) && !slices.Contains(k.Options, "size") {
			names = append(names, k.Name)
		}
	}
	return names
}

// The forms in which a stream is cut. A whole answer breaks off inside instead,
// whichever it is: half of the promised length comes.

func cut(_ *exchange, p *payload) { p.keepHalf() }

func cutFrame(x *exchange, p *payload) {
	p.keepHalf()
	if x.request.Stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = (*last)[:len(*last)/2]
	}
}

func cutReset(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = reset
}

func cutEvent(x *exchange, p *payload) { p.cutWith(x, "event: error\ndata: "+serverError+"\n\n") }

func cutError(x *exchange, p *payload) { p.cutWith(x, "data: "+serverError+"\n\n") }

func (p *payload) cutWith(x *exchange, last string) {
	p.keepHalf()
	if x.request.Stream {
		p.pieces = append(p.pieces, []byte(last))
	}
}

func cutJSON(x *exchange, p *payload) {
	if !x.request.Stream {
		p.keepHalf()
		return
	}
	*p = *whole(x.made)
}

// What takes its time.

func stalled(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = stall
}

func slow(x *exchange) {
	if x.wait(x.fault.By) {
		x.send(x.payload(x.completion()))
	}
}

// trickle sends single bytes.
func trickle(x *exchange, p *payload) {
	var bytes [][]byte
	for _, piece := range p.pieces {
		for i := range piece {
			bytes = append(bytes, piece[i:i+1])
		}
	}
	p.pieces, p.pause = bytes, max(x.fault.By, time.Nanosecond)
}

// The answers that are too long are written as they go, so that the server
// itself needs little memory.

const (
	hugeHead = `{"id":"chatcmpl-huge","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`
	hugeTail = `"},"logprobs":null,"finish_reason":"stop"}]}`
)

func huge(x *exchange) {
	head, tail, contentType := hugeHead, hugeTail, typeJSON
	if x.request.Stream {
		head, tail, contentType = "data: "+strings.Replace(hugeHead, `"message"`, `"delta"`, 1), hugeTail+"\n\ndata: [DONE]\n\n", typeStream
	}
	x.begin(http.StatusOK, map[string]string{"Content-Type": contentType}, -1)
	x.fill(x.w, head, tail)
}

func hugeError(x *exchange) {
	x.begin(http.StatusInternalServerError, map[string]string{"Content-Type": typeJSON}, -1)
	x.fill(x.w, `{"error":{"type":"server_error","message":"`, `"}}`)
}

func gzipBomb(x *exchange) {
	x.begin(http.StatusOK, map[string]string{"Content-Type": typeJSON, "Content-Encoding": "gzip"}, -1)
	packed := gzip.NewWriter(x.w)
	x.fill(packed, hugeHead, hugeTail)
	_ = packed.Close() // the client may be gone
}

// hugeHeader is written past net/http, as one line.
func hugeHeader(x *exchange) {
	conn, buffered, err := http.NewResponseController(x.w).Hijack()
	if err != nil { // HTTP/2 has no such lines
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	x.status = http.StatusOK
	x.fill(buffered, "HTTP/1.1 200 OK\r\nX-Huge: ", "\r\nContent-Length: 2\r\n\r\n{}")
	_ = buffered.Flush() // the client may be gone
}

// fill writes the fault's size in letters between head and tail, until the
// client goes away.
func (x *exchange) fill(w io.Writer, head, tail string) {
	if _, err := io.WriteString(w, head); err != nil {
		return
	}
	letters := bytes.Repeat([]byte("a"), 32<<10)
	for left := x.fault.Size; left > 0; left -= int64(len(letters)) {
		if _, err := w.Write(letters[:min(left, int64(len(letters)))]); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, tail) // the client may be gone
}

// What follows changes an answer that is sent whole or as a stream alike.

func noFinish(c *completion) { c.Choices[0].Finish = nil }

func noChoices(c *completion) { c.Choices = []choice{} }

func nullContent(c *completion) {
	c.Choices[0].Message.Content, c.Choices[0].Message.ToolCalls = null, nil
}

func refused(c *completion) {
	c.Choices[0].Message.Content, c.Choices[0].Message.Refusal = null, "I'm sorry, I cannot assist with that request."
}

func empty(c *completion) { c.Choices[0].Message.Content = "" }

func tooLong(c *completion) {
	finish := "length"
	c.Choices[0].Finish = &finish
	if text, ok := c.Choices[0].Message.Content.(string); ok {
		c.Choices[0].Message.Content = validPrefix(text, len(text)/2)
	}
}

func used(prompt, output int64) func(*completion) {
	return func(c *completion) { c.Usage = &tokens{Prompt: prompt, Completion: output, Total: prompt + output} }
}

// written tells the right usage in another form.
func written(as string) func(*completion) { return func(c *completion) { c.Usage.as = as } }

func twoChoices(c *completion) {
	finish := "stop"
	second := choice{Index: 1, Message: &spoken{Role: "assistant", Content: "another", Refusal: null}, Finish: &finish}
	c.Choices = append(c.Choices, second)
}

func otherChoiceFirst(c *completion) {
	twoChoices(c)
	slices.Reverse(c.Choices)
}

// tools adds calls of tools with these ids.
func tools(ids ...string) func(*completion) {
	return func(c *completion) {
		for _, id := range ids {
			call := toolCall{ID: id, Type: "function"}
			call.Function.Name, call.Function.Arguments = "lookup", `{"q":"x"}`
			c.Choices[0].Message.ToolCalls = append(c.Choices[0].Message.ToolCalls, call)
		}
	}
}

// What follows changes how an answer is sent.

func wrongType(_ *exchange, p *payload) { p.header["Content-Type"] = "text/plain; charset=utf-8" }

func keepAlive(x *exchange, p *payload) {
	line := "\n"
	if x.request.Stream {
		line = ": keep-alive\n\n"
	}
	p.pieces = append([][]byte{[]byte(strings.Repeat(line, 1000))}, p.pieces...)
	if p.length >= 0 {
		p.length += 1000
	}
}

func crlf(x *exchange, p *payload) { p.inStreams(x, "\n", "\r\n") }

func noSpace(x *exchange, p *payload) { p.inStreams(x, "data: ", "data:") }

func (p *payload) inStreams(x *exchange, old, new string) {
	if !x.request.Stream {
		return
	}
	for i := range p.pieces {
		p.pieces[i] = bytes.ReplaceAll(p.pieces[i], []byte(old), []byte(new))
	}
}

// halfJSON ends the JSON early, but nothing else.
func halfJSON(x *exchange, p *payload) {
	p.keepHalf()
	if x.request.Stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = append((*last)[:len(*last)/2:len(*last)/2], "\n\ndata: [DONE]\n\n"...)
		return
	}
	p.length = len(p.pieces[0])
}

// body is a kind that answers 200 with a text of its own.
func body(contentType, text string) kind {
	return kind{payload: func(_ *exchange, p *payload) { p.replace(200, contentType, text) }}
}

// cutPort parts host and port; the port is optional.
func cutPort(hostport string) (host, port string, found bool) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport, "", false
	}
	return host, port, true
}

const (
	typeHTML = "text/html; charset=utf-8"
	page     = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n"

	serverError = `{"error":{"message":"The server had an error while processing your request","type":"server_error","param":null,"code":null}}`
)

// canned is an error as some server words it.
type canned struct {
	status int
	text   string
}

var (
	quotaOfOpenAI = canned{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`}

	quotaOfLiteLLM = canned{400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`}

	contextOfOpenAI = canned{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`}

	contextOfVLLM = canned{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`}

	contextOfAnthropic = canned{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`}

	contentFilter = canned{400, `{"error":{"message":"The response was filtered due to the prompt triggering the content management policy.","type":null,"param":"prompt","code":"content_filter"}}`}
)

// refusal is a kind that answers with an error.
func refusal(c canned) kind {
	return kind{options: retryOptions, instead: func(x *exchange) { x.refuseWith(c.status, typeJSON, c.text) }}
}

// refuse answers with the status of the fault.
func (x *exchange) refuse() {
	status := x.fault.status
	switch x.fault.Body {
	case "html":
		x.refuseWith(status, typeHTML, "<html><h1>"+strconv.Itoa(status)+" "+http.StatusText(status)+"</h1></html>\n")
	case "empty":
		x.refuseWith(status, "text/plain", "")
	default:
		about := describe(status)
		x.tellAgain()
		x.fail(status, &about)
	}
}

func (x *exchange) refuseWith(status int, contentType, text string) {
	x.tellAgain()
	p := &payload{}
	p.replace(status, contentType, text)
	x.send(p)
}

func (x *exchange) tellAgain() { x.fault.tellRetry(x.w.Header(), x.server.options.Now()) }

// describe words a status as OpenAI does.
func describe(status int) apiError {
	text := func(message, kind, code string) apiError {
		return apiError{Message: message, Type: kind, Code: nullable(code)}
	}
	switch status {
	case http.StatusUnauthorized:
		return text("Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
	case http.StatusForbidden:
		return text("You are not allowed to use this model.", "invalid_request_error", "")
	case http.StatusNotFound:
		return text("The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")
	case http.StatusTooManyRequests:
		return text("Rate limit reached.", "requests", "rate_limit_exceeded")
	}
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return text(statusText(strconv.Itoa(status)), kind, "")
}

// statusText also knows the status of Anthropic for a server with too much to do.
func statusText(name string) string {
	if name == "529" {
		return "Overloaded"
	}
	status, _ := strconv.Atoi(name)
	return http.StatusText(status)
}

// redirect sends the client to the same server under another name, which to a
// client is another host.
func redirect(x *exchange) {
	host, port, found := cutPort(x.host)
	other := "localhost"
	if host == other {
		other = "127.0.0.1"
	}
	if found {
		other += ":" + port
	}
	x.w.Header().Set("Location", "http://"+other+"/v1/chat/completions")
	x.begin(http.StatusTemporaryRedirect, nil, 0)
}

// Limits refuse what comes too fast, with status 429.
type Limits struct {
	Requests   int     // a minute; 0: no limit
	Tokens     int     // a minute, input and allowed output; 0: no limit
	Burst      float64 // minutes' worth that may come at once; default 1, as at OpenAI
	RetryAfter Form    // how a refusal says when to come back
}

// Form is how a server says how long to wait.
type Form string

// The forms of Retry-After.
const (
	Seconds Form = "seconds" // the default; rounded up
	Millis  Form = "ms"      // retry-after-ms
	Date    Form = "date"    // rounded up
	Silent  Form = "none"
)

// set writes the header.
func (f Form) set(header http.Header, wait time.Duration, now time.Time) {
	switch f {
	case Millis:
		header.Set("Retry-After-Ms", strconv.FormatInt(int64(math.Ceil(wait.Seconds()*1000)), 10))
	case Date:
		header.Set("Retry-After", now.Add(wait+time.Second-1).UTC().Format(http.TimeFormat))
	case Silent:
	default:
		header.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(wait.Seconds())), 10))
	}
}

// limiter holds requests to the limits.
type limiter struct {
	lock             sync.Mutex
	requests, tokens bucket
	form             Form
}

func (l *limiter) reset(limits Limits, now time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	burst := limits.Burst
	if burst <= 0 {
		burst = 1
	}
	l.requests = newBucket("requests", limits.Requests, burst, now)
	l.tokens = newBucket("tokens", limits.Tokens, burst, now)
	l.form = limits.RetryAfter
}

// admit takes the request from the limits or gives the error of a refusal. The
// header tells in either case what is left.
func (l *limiter) admit(tokens int64, header http.Header, now time.Time) *apiError {
	l.lock.Lock()
	defer l.lock.Unlock()
	refused, wait := l.requests.lack(1, now)
	if more, longer := l.tokens.lack(float64(tokens), now); longer > wait {
		refused, wait = more, longer
	}
	if wait == 0 {
		l.requests.level--
		l.tokens.level -= float64(tokens)
	} else {
		l.form.set(header, wait, now)
	}
	l.requests.tell(header)
	l.tokens.tell(header)
	return refused
}

// bucket is filled steadily and emptied by requests.
type bucket struct {
	what      string
	limit     int // a minute; 0: none
	capacity  float64
	level     float64
	updatedAt time.Time
}

func newBucket(what string, limit int, burst float64, now time.Time) bucket {
	capacity := max(1, float64(limit)*burst)
	return bucket{what, limit, capacity, capacity, now}
}

func (b *bucket) perSecond() float64 { return float64(b.limit) / 60 }

// lack is the error, and how long until the bucket has room for so much; nil
// and 0 where it has. What is more than the bucket holds never finds room.
func (b *bucket) lack(amount float64, now time.Time) (*apiError, time.Duration) {
	if b.limit == 0 {
		return nil, 0
	}
	b.level = min(b.capacity, b.level+now.Sub(b.updatedAt).Seconds()*b.perSecond())
	b.updatedAt = now
	if amount <= b.level+1e-9 {
		return nil, 0
	}
	wait := time.Duration(math.Ceil((min(amount, b.capacity) - b.level) / b.perSecond() * 1e9))
	code := "rate_limit_exceeded"
	return &apiError{
		Message: fmt.Sprintf("Rate limit reached for %s per min: Limit %d, Requested %.0f. Please try again in %v.", b.what, b.limit, amount, wait),
		Type:    b.what, Code: &code,
	}, max(wait, 1)
}

// tell writes the x-ratelimit headers: the reset is when the bucket is full.
func (b *bucket) tell(header http.Header) {
	if b.limit == 0 {
		return
	}
	full := time.Duration((b.capacity - b.level) / b.perSecond() * 1e9)
	header.Set("X-Ratelimit-Limit-"+b.what, strconv.Itoa(b.limit))
	header.Set("X-Ratelimit-Remaining-"+b.what, strconv.FormatInt(int64(max(0, b.level)), 10))
	header.Set("X-Ratelimit-Reset-"+b.what, full.Round(time.Millisecond).String())
}

// payload is an answer as it goes over the wire.
type payload struct {
	status int
	header map[string]string
	pieces [][]byte      // of a stream: one frame each
	pause  time.Duration // between the pieces
	length int           // promised; -1: none is
	end    ending
}

// ending is what follows the last piece.
type ending int

const (
	done  ending = iota
	reset        // the connection is reset
	stall        // nothing, until the client goes away
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// payload is the completion as it was asked for.
func (x *exchange) payload(c *completion) *payload {
	if x.request.Stream {
		return x.stream(c)
	}
	return whole(c)
}

func whole(value any) *payload {
	text, _ := json.Marshal(value) // plain data
	text = append(text, '\n')
	half := len(text) / 2
	return &payload{
		status: http.StatusOK, header: map[string]string{"Content-Type": typeJSON},
		pieces: [][]byte{text[:half], text[half:]}, length: len(text),
	}
}

func (x *exchange) stream(c *completion) *payload {
	p := &payload{
		status: http.StatusOK, header: map[string]string{"Content-Type": typeStream, "Cache-Control": "no-cache"},
		pause: x.server.options.Pause, length: -1,
	}
	for _, chunk := range c.chunks(x.server.options.Chunk, x.request.StreamOptions.IncludeUsage) {
		p.pieces = append(p.pieces, frame(chunk))
	}
	p.pieces = append(p.pieces, []byte("data: [DONE]\n\n"))
	return p
}

func frame(value any) []byte {
	text, _ := json.Marshal(value) // plain data
	return append(append([]byte("data: "), text...), "\n\n"...)
}

// replace makes another answer of it, with its length.
func (p *payload) replace(status int, contentType, text string) {
	p.status, p.length, p.pause = status, len(text), 0
	p.header = map[string]string{"Content-Type": contentType}
	p.pieces = [][]byte{[]byte(text)}
}

// keepHalf drops what a connection that breaks would not have carried. The
// length stays promised.
func (p *payload) keepHalf() { p.pieces = p.pieces[:max(1, len(p.pieces)/2)] }

// send writes the payload, each piece at once.
func (x *exchange) send(p *payload) {
	x.begin(p.status, p.header, p.length)
	immediate := p.pause > 0 || p.length < 0 || p.end != done
	for i, piece := range p.pieces {
		if i > 0 && !x.wait(p.pause) {
			return
		}
		if i == len(p.pieces)-1 && p.end == done {
			x.finish()
		}
		if _, err := x.w.Write(piece); err != nil {
			return
		}
		if immediate && http.NewResponseController(x.w).Flush() != nil {
			return
		}
	}
	switch p.end {
	case reset:
		x.disconnect(0)
	case stall:
		<-x.ctx.Done()
	}
}

func (x *exchange) begin(status int, header map[string]string, length int) {
	for name, value := range header {
		x.w.Header().Set(name, value)
	}
	if length >= 0 {
		x.w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	x.status = status
	x.w.WriteHeader(status)
}

// disconnect closes the connection under the answer; without lingering the
// client sees a reset.
func (x *exchange) disconnect(linger int) {
	x.finish()
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil { // HTTP/2 resets the stream instead
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(linger) // else it is closed in the usual way
	}
	_ = conn.Close()
}
