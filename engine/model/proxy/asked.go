package proxy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// asked is a request as the proxy reads it.
type asked struct {
	protocol      model.Protocol
	header        http.Header
	model         string // as the program calls it
	before, after []byte // the body around that name
	stream, tools bool
	bytes         int64
	rules         *rules
	sum           sum
	opening       sum   // of what stands before the conversation
	prefixes      []sum // of the conversation up to each of its items
	body          *tree
}

type sum = [sha256.Size]byte

// read reads a body. What is wrong with it is for the program to read.
func read(p model.Protocol, header http.Header, t *tree, r *rules, ofRun []string) (*asked, string) {
	name := t.member(0, "model")
	if t.kind(0) != '{' || t.kind(name) != '"' {
		return nil, "the body has no model"
	}
	if name := t.twice(0); name != "" {
		return nil, fmt.Sprintf("the body has %q twice", name)
	}
	place := t.nodes[name].at
	a := &asked{
		protocol: p, header: header, model: t.string(name), before: t.text[:place.from], after: t.text[place.to:], rules: r,
		stream: t.kind(t.member(0, "stream")) == 't', bytes: t.bytes(p),
		tools: t.length(t.member(0, "tools"))+t.length(t.member(0, "functions")) > 0, body: t,
	}
	a.sumUp(t, ofRun)
	return a, ""
}

// sumUp makes the sums: of the conversation item by item, each with what was before it, and with them of all that is asked.
func (a *asked) sumUp(t *tree, ofRun []string) {
	f := forms[a.protocol]
	var room []byte
	of := func(place int, leftOut []string) sum {
		room = t.canonical(room[:0], place, leftOut)
		return sha256.Sum256(a.rules.mask(room, ofRun))
	}
	items := t.member(0, f.items)
	for _, name := range f.opening {
		if i := t.member(0, name); i >= 0 {
			s := of(i, always)
			a.opening = sha256.Sum256(append(a.opening[:], s[:]...))
		}
	}
	var so sum
	next := func(place int) {
		s := of(place, append(f.ofItems[:len(f.ofItems):len(f.ofItems)], always...))
		so = sha256.Sum256(append(so[:], s[:]...))
		a.prefixes = append(a.prefixes, so)
	}
	switch t.kind(items) {
	case '[':
		for i := range t.within(items) {
			next(i)
		}
	case '"':
		next(items)
	}
	if a.opening == (sum{}) && len(a.prefixes) > 0 {
		a.opening = a.prefixes[0]
	}
	rest := of(0, append(f.leftOut[:len(f.leftOut):len(f.leftOut)], f.items))
	a.sum = sha256.Sum256(append(append([]byte(a.protocol), rest[:]...), so[:]...))
}

// results takes the results of tool calls from the items of the conversation behind the first ones, which the earlier request had.
// Results without an id, or with the same one, go to the calls in their order. Measured times are masked, so that equal results are
// equal.
func (a *asked) results(of []record.ToolCall, behind int) {
	t, f := a.body, forms[a.protocol]
	items := t.member(0, f.items)
	if len(of) == 0 || t.kind(items) != '[' {
		return
	}
	if behind >= len(a.prefixes) { // the conversation began anew
		behind = 0
	}
	open := make([]bool, len(of)) // calls without a result yet
	calls := map[string][]int{}   // by the id that a result may have; all of them by ""
	for i := range of {
		open[i] = true
		calls[""] = append(calls[""], i)
		calls[of[i].ID] = append(calls[of[i].ID], i)
	}
	for i := range of { // behind those that have the id itself: model.Identify numbers equal ids
		if n := strings.LastIndexByte(of[i].ID, '_'); n > 0 {
			calls[of[i].ID[:n]] = append(calls[of[i].ID[:n]], i)
		}
	}
	take := func(item int) {
		if !t.isResult(item) {
			return
		}
		id := t.string(t.member(item, f.result))
		for ; len(calls[id]) > 0; calls[id] = calls[id][1:] {
			if i := calls[id][0]; open[i] {
				open[i] = false
				a.give(&of[i], item)
				return
			}
		}
	}
	n := 0
	for item := range t.within(items) {
		if n++; n <= behind {
			continue
		}
		take(item)
		if parts := t.member(item, "content"); t.kind(parts) == '[' {
			for part := range t.within(parts) {
				take(part)
			}
		}
	}
}

// isResult reports whether an item says what a tool gave.
func (t *tree) isResult(item int) bool {
	role, kind := t.string(t.member(item, "role")), t.string(t.member(item, "type"))
	return role == "tool" || kind == "tool_result" || strings.HasSuffix(kind, "_output")
}

// give puts what a tool gave down with its call.
func (a *asked) give(c *record.ToolCall, item int) {
	t := a.body
	said := clipped(t.said(max(t.member(item, "content"), t.member(item, "output"))))
	c.Result, _ = json.Marshal(said) // a text
	c.Result = a.rules.mask(c.Result, nil)
	if t.kind(t.member(item, "is_error")) == 't' {
		c.Error = &record.Error{Class: record.Tool, Message: said}
	}
}

// said is the text of what a tool gave: it, or those of its parts, or the value as it is written.
func (t *tree) said(place int) string {
	switch t.kind(place) {
	case 0:
		return ""
	case '"':
		return t.string(place)
	case '[':
		var texts []string
		for part := range t.within(place) {
			if text := t.member(part, "text"); t.kind(text) == '"' {
				texts = append(texts, t.string(text))
			} else { // an image or a file
				s := sha256.Sum256(t.raw(part))
				texts = append(texts, fmt.Sprintf("[%s %x]", t.string(t.member(part, "type")), s[:6]))
			}
		}
		return strings.Join(texts, "\n")
	}
	return string(t.raw(place))
}

// longestResult is how much of what a tool gave is kept, in bytes.
const longestResult = 16 << 10

// clipped is a text without its middle, where it is long. No word is cut: of a secret a part would be no longer known as one.
func clipped(text string) string {
	if len(text) <= longestResult {
		return text
	}
	const between, half = " \t\r\n\"'", longestResult / 2
	head := text[:strings.LastIndexAny(text[:half], between)+1]
	tail := text[len(text)-half:]
	if at := strings.IndexAny(tail, between); at >= 0 {
		tail = tail[at:]
	} else {
		tail = ""
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(text)-len(head)-len(tail), tail)
}
