package mockserver

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

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
