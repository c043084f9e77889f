package mockserver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
		for option != "" && rest != "" && rest[0] >= '0' && rest[0] <= '9' { // of a time, which has colons
			more, after, _ := strings.Cut(rest, ":")
			option, rest = option+":"+more, after
		}
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
func (f *Fault) tellRetry(v vendor, header http.Header, now time.Time) {
	if seconds, err := strconv.ParseFloat(f.RetryAfter, 64); err == nil && f.Form != "" {
		f.Form.set(header, time.Duration(seconds*float64(time.Second)), now)
	} else if f.RetryAfter != "" {
		header.Set("Retry-After", f.RetryAfter)
	}
	if f.Reset != "" {
		v.reset(header, "requests", f.Reset)
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
	answer  func(*answer)
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

	{Name: "quota", Row: "F12", Class: record.Quota, About: "429 insufficient_quota; 400 credit balance is too low", kind: refusalOf("quota")},
	{Name: "budget", Row: "F12", Class: record.Quota, About: "400 of LiteLLM: Budget has been exceeded", kind: refusal(quotaOfLiteLLM)},
	{Name: "context", Row: "F15", Class: record.ContextLength, About: "400 context_length_exceeded; 400 prompt is too long", kind: refusalOf("context")},
	{Name: "context-vllm", Row: "F15", Class: record.ContextLength, About: "400 of vLLM: maximum context length", kind: refusal(contextOfVLLM)},
	{Name: "context-anthropic", Row: "F15", Class: record.ContextLength, About: "400 of Anthropic: prompt is too long", kind: refusal(contextOfAnthropic)},
	{Name: "content-filter", Class: record.ContentFilter, About: "400 content_filter; 400 content filtering policy", kind: refusalOf("filter")},

	{Name: "close", Row: "F16", Class: record.Network, About: "the connection is closed before the answer", kind: kind{instead: func(x *exchange) { x.disconnect(-1) }}},
	{Name: "reset", Row: "F16", Class: record.Network, About: "the connection is reset before the answer", kind: kind{instead: func(x *exchange) { x.disconnect(0) }}},
	{Name: "hang", Row: "F18", Class: record.CallTimeout, About: "no answer, not even headers, until the client goes away", kind: kind{instead: func(x *exchange) { <-x.ctx.Done() }}},
	{Name: "slow", About: "the answer begins later, by 5s", kind: kind{options: []string{"by"}, instead: slow}, by: 5 * time.Second},
	{Name: "stall", Row: "F19", Class: record.CallTimeout, About: "half an answer, then nothing more", kind: kind{payload: stalled}},
	{Name: "trickle", Row: "F19", Class: record.CallTimeout, About: "a byte at a time, one by 1s", kind: kind{options: []string{"by"}, payload: trickle}, by: time.Second},

	{Name: "cut", Row: "F20", Class: record.Incomplete, About: "half a stream, without its end", kind: kind{payload: cut}},
	{Name: "cut-frame", Row: "F20", Class: record.Incomplete, About: "the same, inside a frame", kind: kind{payload: cutFrame}},
	{Name: "cut-reset", Row: "F20", Class: record.Incomplete, About: "half an answer, then the connection is reset", kind: kind{payload: cutReset}},
	{Name: "cut-event", Row: "F20", Class: record.Incomplete, About: "half a stream, then event: error", kind: kind{payload: cutEvent}},
	{Name: "cut-error", Row: "F20", Class: record.Incomplete, About: "half a stream, then an error in an event of another name", kind: kind{payload: cutError}},
	{Name: "cut-json", Row: "F20", Class: record.Incomplete, About: "a whole JSON answer where a stream was asked for", kind: kind{payload: cutJSON}},
	{Name: "no-finish", Row: "F20", Class: record.Incomplete, About: "everything but the reason why it ends", kind: kind{answer: noFinish}},

	{Name: "half-json", Row: "F21", Class: record.BadResponse, About: "JSON that ends inside, in an answer that is whole", kind: kind{payload: halfJSON}},
	{Name: "html", Row: "F21", Class: record.BadResponse, About: "200 with a page", kind: body(typeHTML, page)},
	{Name: "error-200", Row: "F21", Class: record.BadResponse, About: "200 with an error", kind: kind{payload: failed200}},
	{Name: "empty-object", Row: "F21", Class: record.BadResponse, About: "200 with {}", kind: body(typeJSON, "{}")},
	{Name: "empty-body", Row: "F21", Class: record.BadResponse, About: "200 with nothing", kind: body(typeJSON, "")},
	{Name: "no-choices", Row: "F21", Class: record.BadResponse, About: "choices: [], output: []; content: []", kind: kind{answer: noChoices}},
	{Name: "null-content", Row: "F21", Class: record.BadResponse, About: "content: null and no call of a tool, output: null", kind: kind{answer: nullContent}},
	{Name: "wrong-type", Row: "F21", About: "the right answer as text/plain", kind: kind{payload: wrongType}},
	{Name: "refusal", Class: record.ContentFilter, About: "a refusal instead of content", kind: kind{answer: refused}},
	{Name: "length", About: "half the reply, cut for its length", kind: kind{answer: tooLong}},
	{Name: "empty", About: "an empty reply", kind: kind{answer: empty}},

	{Name: "keep-alive", Row: "F22", About: "1,000 comments before a stream, 1,000 empty lines before a whole answer", kind: kind{payload: keepAlive}},
	{Name: "crlf", Row: "F22", About: "lines of a stream end with CR LF", kind: kind{payload: crlf}},
	{Name: "no-space", Row: "F22", About: "no space after data:", kind: kind{payload: noSpace}},

	{Name: "huge", Row: "F23", Class: record.BadResponse, About: "a reply of size 64MB; of a stream, in one line", kind: kind{options: []string{"size"}, instead: huge}},
	{Name: "huge-error", Row: "F23", Class: record.BadResponse, About: "a 500 of size 64MB", kind: kind{options: []string{"size"}, instead: hugeError}},
	{Name: "gzip-bomb", Row: "F23", Class: record.BadResponse, About: "a reply of size 64MB, packed to a thousandth", kind: kind{options: []string{"size"}, instead: gzipBomb}},
	{Name: "huge-header", Row: "F23", Class: record.Network, About: "a header of size 64MB", kind: kind{options: []string{"size"}, instead: hugeHeader}},

	{Name: "usage-missing", Row: "F24", About: "no usage", kind: kind{answer: func(a *answer) { a.usage = nil }}},
	{Name: "usage-negative", Row: "F24", About: "negative usage", kind: kind{answer: used(-5, -3)}},
	{Name: "usage-absurd", Row: "F24", About: "usage that cannot be", kind: kind{answer: used(5e12, 9e13)}},
	{Name: "usage-cached", Row: "F24", About: "more tokens from a cache than the prompt has", kind: kind{answer: func(a *answer) { a.usage.cached = a.usage.input + 1 }}},
	{Name: "usage-zero", Row: "F24", About: "a usage of zero", kind: kind{answer: used(0, 0)}},
	{Name: "usage-decimals", Row: "F24", About: "usage as 12.0", kind: kind{answer: written("%d.0")}},
	{Name: "usage-strings", Row: "F24", About: `usage as "12"`, kind: kind{answer: written(`"%d"`)}},
	{Name: "usage-fractions", Row: "F24", About: "usage as 12.5", kind: kind{answer: written("%d.5")}},
	{Name: "usage-words", Row: "F24", About: `usage as "12 tokens"`, kind: kind{answer: written(`"%d tokens"`)}},

	{Name: "usage-shrinks", Row: "F24", About: "a stream that tells half of the usage at its end", kind: kind{answer: func(a *answer) { a.shrinks = true }}},

	{Name: "other-model", Row: "F25", About: "the name of another model", kind: kind{answer: func(a *answer) { a.model = "another-model" }}},
	{Name: "two-choices", Row: "F25", About: "a second choice; nothing", kind: kind{answer: twoChoices}},
	{Name: "choices-reversed", Row: "F25", About: "a second choice, before the first; nothing", kind: kind{answer: otherChoiceFirst}},
	{Name: "tool-and-content", Row: "F25", About: "a call of a tool besides the content", kind: kind{answer: tools("call_1")}},
	{Name: "tool-without-id", Row: "F25", About: "a call of a tool without an id", kind: kind{answer: tools("")}},
	{Name: "tools-of-one-id", Row: "F25", About: "two calls of tools with the same id", kind: kind{answer: tools("call_1", "call_1")}},

	{Name: "unknown-stop", Row: "F25", About: "an unknown reason to stop; the status incomplete for one", kind: kind{answer: unknownStop}},
	{Name: "disorder", Row: "F25", Class: record.BadResponse, About: "a stream in which a part comes behind its end", kind: kind{answer: func(a *answer) { a.disorder = true }}},

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
	if x.request.stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = (*last)[:len(*last)/2]
	}
}

func cutReset(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = reset
}

func cutEvent(x *exchange, p *payload) { p.cutWith(x, true) }

func cutError(x *exchange, p *payload) { p.cutWith(x, false) }

func (p *payload) cutWith(x *exchange, event bool) {
	p.keepHalf()
	if x.request.stream {
		p.pieces = append(p.pieces, x.protocol.broken(x.made, len(p.pieces), event))
	}
}

func cutJSON(x *exchange, p *payload) {
	if !x.request.stream {
		p.keepHalf()
		return
	}
	*p = *whole(x.protocol.whole(x.made))
}

// What takes its time.

func stalled(_ *exchange, p *payload) {
	p.keepHalf()
	p.end = stall
}

func slow(x *exchange) {
	if x.wait(x.fault.By) {
		x.send(x.payload(x.reply()))
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

// hugePlace is where a text of the fault's size comes in an answer.
const hugePlace = "agentbench-huge"

func huge(x *exchange) {
	a := x.hugeReply()
	var p *payload
	if x.request.stream {
		p = x.stream(a, len(hugePlace)) // in one line
	} else {
		p = whole(x.protocol.whole(a))
	}
	x.begin(p.status, p.header, -1)
	x.fill(x.w, p.text())
}

func (x *exchange) hugeReply() *answer {
	a := x.reply()
	a.text, a.thinking, a.calls, a.finish = hugePlace, "", nil, "stop"
	return a
}

func hugeError(x *exchange) {
	wrong := x.protocol.problem("500")
	wrong.message = hugePlace
	p := whole(x.protocol.refuse(wrong, x.id))
	x.begin(wrong.status, p.header, -1)
	x.fill(x.w, p.text())
}

func gzipBomb(x *exchange) {
	a := x.hugeReply()
	x.begin(http.StatusOK, map[string]string{"Content-Type": typeJSON, "Content-Encoding": "gzip"}, -1)
	packed := gzip.NewWriter(x.w)
	x.fill(packed, whole(x.protocol.whole(a)).text())
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
	x.fill(buffered, "HTTP/1.1 200 OK\r\nX-Huge: "+hugePlace+"\r\nContent-Length: 2\r\n\r\n{}")
	_ = buffered.Flush() // the client may be gone
}

// fill writes a text with as many letters as the fault's size in each huge place, until
// the client goes away.
func (x *exchange) fill(w io.Writer, text string) {
	letters := bytes.Repeat([]byte("a"), 32<<10)
	for i, piece := range strings.Split(text, hugePlace) {
		for left := x.fault.Size; i > 0 && left > 0; left -= int64(len(letters)) {
			if _, err := w.Write(letters[:min(left, int64(len(letters)))]); err != nil {
				return
			}
		}
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// What follows changes an answer that is sent whole or as a stream alike.

func noFinish(a *answer) { a.finish = "" }

// unknown is a reason to stop that no API has.
const unknown = "unknown_stop"

func unknownStop(a *answer) { a.finish = unknown }

func noChoices(a *answer) { a.content = noParts }

func nullContent(a *answer) { a.content, a.calls = isNull, nil }

func refused(a *answer) {
	a.refusal, a.calls, a.finish = "I'm sorry, I cannot assist with that request.", nil, "stop"
}

func empty(a *answer) { a.text = "" }

func tooLong(a *answer) { a.text, a.finish = validPrefix(a.text, len(a.text)/2), "length" }

func used(input, output int64) func(*answer) {
	return func(a *answer) { a.usage = &usage{input: input, output: output} }
}

// written tells the right usage in another form.
func written(as string) func(*answer) { return func(a *answer) { a.usage.as = as } }

func twoChoices(a *answer) { a.second = after }

func otherChoiceFirst(a *answer) { a.second = before }

// ended is the answer as a stream ends it: where the usage shrinks, with half of it.
func (a *answer) ended() *answer {
	if !a.shrinks || a.usage == nil {
		return a
	}
	end, u := *a, *a.usage
	for _, n := range []*int64{&u.input, &u.output, &u.thinking, &u.cached, &u.written, &u.written1h} {
		*n /= 2
	}
	end.usage = &u
	return &end
}

// disordered lets the first frame of a stream that holds the text come before the one that it ends.
func (a *answer) disordered(frames [][]byte, text string) [][]byte {
	for i := 1; a.disorder && i < len(frames); i++ {
		if bytes.Contains(frames[i], []byte(text)) {
			frames[i-1], frames[i] = frames[i], frames[i-1]
			break
		}
	}
	return frames
}

// tools adds calls of tools with these ids.
func tools(ids ...string) func(*answer) {
	return func(a *answer) {
		for _, id := range ids {
			a.calls = append(a.calls, Tool{id, "lookup", `{"q":"x"}`})
		}
	}
}

// What follows changes how an answer is sent.

func wrongType(_ *exchange, p *payload) { p.header["Content-Type"] = "text/plain; charset=utf-8" }

func keepAlive(x *exchange, p *payload) {
	line := "\n"
	if x.request.stream {
		line = ": keep-alive\n\n"
	}
	p.pieces = append([][]byte{[]byte(strings.Repeat(line, 1000))}, p.pieces...)
	if p.length >= 0 {
		p.length += 1000
	}
}

func crlf(x *exchange, p *payload) { p.inStreams(x, "\n", "\r\n") }

func noSpace(x *exchange, p *payload) {
	p.inStreams(x, "\ndata: ", "\ndata:")
	if x.request.stream {
		for i := range p.pieces {
			p.pieces[i] = bytes.Replace(p.pieces[i], []byte(": "), []byte(":"), 1) // of its first line
		}
	}
}

func (p *payload) inStreams(x *exchange, old, new string) {
	if !x.request.stream {
		return
	}
	for i := range p.pieces {
		p.pieces[i] = bytes.ReplaceAll(p.pieces[i], []byte(old), []byte(new))
	}
}

// halfJSON ends the JSON early, but nothing else.
func halfJSON(x *exchange, p *payload) {
	end := p.pieces[len(p.pieces)-1]
	p.keepHalf()
	if x.request.stream {
		last := &p.pieces[len(p.pieces)-1]
		*last = append(append((*last)[:len(*last)/2:len(*last)/2], "\n\n"...), end...)
		return
	}
	p.length = len(p.pieces[0])
}

// body is a kind that answers 200 with a text of its own.
func body(contentType, text string) kind {
	return kind{payload: func(_ *exchange, p *payload) { p.replace(200, contentType, text) }}
}

// failed200 answers 200 with what would be said of an error.
func failed200(x *exchange, p *payload) {
	*p = *whole(x.protocol.refuse(x.protocol.problem("500"), x.id))
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
)

// canned is an error as some server between words it, whatever the protocol.
type canned struct {
	status int
	text   string
}

var (
	quotaOfLiteLLM = canned{400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`}

	contextOfVLLM = canned{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`}

	contextOfAnthropic = canned{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`}
)

// refusal is a kind that answers with an error.
func refusal(c canned) kind {
	return kind{options: retryOptions, instead: func(x *exchange) { x.refuseWith(c.status, typeJSON, c.text) }}
}

// refusalOf is a kind that answers with a problem as the protocol words it.
func refusalOf(name string) kind {
	return kind{options: retryOptions, instead: func(x *exchange) {
		x.tellAgain()
		x.fail(x.protocol.problem(name))
	}}
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
		x.tellAgain()
		x.fail(x.protocol.problem(x.fault.Kind))
	}
}

func (x *exchange) refuseWith(status int, contentType, text string) {
	x.tellAgain()
	p := &payload{}
	p.replace(status, contentType, text)
	x.send(p)
}

func (x *exchange) tellAgain() { x.fault.tellRetry(x.protocol, x.w.Header(), x.server.options.Now()) }

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
	x.w.Header().Set("Location", "http://"+other+x.path)
	x.begin(http.StatusTemporaryRedirect, nil, 0)
}
