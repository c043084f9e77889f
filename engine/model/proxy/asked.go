package proxy

import (
	"crypto/sha256"
	"net/http"

	"github.com/agentbench/agentbench/engine/model"
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
}

type sum = [sha256.Size]byte

// read reads a body. What is wrong with it is for the program to read.
func read(p model.Protocol, header http.Header, body []byte, r *rules, ofRun []string) (*asked, string) {
	t, err := parse(body)
	if err != nil {
		return nil, "the body is not valid JSON"
	}
	name := t.member(0, "model")
	if t.kind(0) != '{' || t.kind(name) != '"' {
		return nil, "the body has no model"
	}
	place := t.nodes[name].at
	a := &asked{
		protocol: p, header: header, model: t.string(name), before: body[:place.from], after: body[place.to:], rules: r,
		stream: t.kind(t.member(0, "stream")) == 't', bytes: t.bytes(),
		tools: t.length(t.member(0, "tools"))+t.length(t.member(0, "functions")) > 0,
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
