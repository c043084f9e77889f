package mockserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// protocols are the ones that are spoken, by their names.
var protocols = map[model.Protocol]protocol{model.Chat: chat{}, model.Responses: responses{}, model.Messages: messages{}}

// Speaking lets a model that calls no server answer the requests of programs, in whichever protocol they are. Other requests
// it is asked as it is.
func Speaking(inner model.Model, now func() time.Time) model.Model {
	return &speaking{inner, New(Options{Now: now})}
}

type speaking struct {
	inner  model.Model
	server *Server // completes replies; it is never listened at
}

// Call answers as a server would, without one.
func (m *speaking) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	raw := request.Raw
	if raw == nil {
		return m.inner.Call(ctx, request)
	}
	p := protocols[raw.Protocol]
	asked, refused := m.read(p, raw)
	if refused != nil {
		return nil, refuse(p, refused)
	}
	neutral := asked.neutral()
	neutral.Draw = request.Draw
	reply, err := m.inner.Call(ctx, neutral)
	if err != nil {
		return nil, err
	}
	a := offlineReplyOf(reply).answer(m.server, asked)
	reply.Finish = a.finish
	reply.Text = a.text
	reply.Usage = record.Usage{
		Calls: 1, InputTokens: a.usage.input, OutputTokens: a.usage.output, ReasoningTokens: a.usage.thinking, Estimated: reply.Usage.Estimated,
		CachedTokens: a.usage.cached, CacheWriteTokens: a.usage.written, CacheWrite1hTokens: a.usage.written1h,
	}
	reply.Raw = m.write(p, a, raw.Answer)
	return reply, nil
}

// read reads a request as the server of its protocol would. Equal requests are told apart by their number.
func (m *speaking) read(p protocol, raw *model.Raw) (*request, *problem) {
	asked := &request{}
	if refused := p.read(asked, raw.Body(raw.Name), raw.Header); refused != nil {
		return nil, refused
	}
	asked.id = fmt.Sprintf("%08x%x", raw.Nth, raw.Sum[:12])
	return asked, nil
}

// write passes an answer on: of a stream one frame after the other.
func (m *speaking) write(p protocol, a *answer, to model.Sink) *model.RawAnswer {
	header := http.Header{"Content-Type": {typeJSON}}
	p.identify(header, "req_"+a.id)
	frames := [][]byte{nil}
	if a.stream {
		header.Set("Content-Type", typeStream)
		frames = p.stream(a, m.server.options.Chunk)
	} else {
		frames[0], _ = json.Marshal(p.whole(a)) // plain data
	}
	answer := &model.RawAnswer{Status: http.StatusOK, Header: header}
	to.Begin(answer.Status, header)
	for i, frame := range frames {
		if i == len(frames)-1 {
			to.Last()
		}
		answer.Body = append(answer.Body, frame...)
		if _, err := to.Write(frame); err != nil {
			break // whoever went away is told nothing more
		}
	}
	if len(answer.Body) > model.MostKept {
		answer.Body = nil
	}
	return answer
}

// refuse is the error of a request that the protocol does not allow.
func refuse(p protocol, refused *problem) error {
	text, _ := json.Marshal(p.refuse(refused, "")) // plain data
	return &model.CallError{
		Cause:  &record.Error{Class: record.InvalidRequest, Message: refused.message},
		Status: refused.status,
		Answer: &model.RawAnswer{Status: refused.status, Header: http.Header{"Content-Type": {typeJSON}}, Body: text},
	}
}

// Refusal is the body with which the vendor of a protocol refuses a request with a status. Code is what its clients may go by;
// "": the usual one.
func Refusal(p model.Protocol, status int, code, message string) []byte {
	spoken := protocols[p]
	refused := spoken.problem(fmt.Sprint(status))
	if refused.message = message; code != "" {
		refused.code = code
		if p == model.Messages { // it has a type alone
			refused.kind = code
		}
	}
	text, _ := json.Marshal(spoken.refuse(refused, "")) // plain data
	return text
}

// ModelList is the list of models as the vendor gives it whose client asks; Listed is one of them.
func ModelList(header http.Header, names []string) any { return vendorOf(header).models(names) }

// ProtocolOf is the protocol in which the vendor is answered whose client sends the headers, beside its calls.
func ProtocolOf(header http.Header) model.Protocol {
	if header.Get(versionHeader) != "" {
		return model.Messages
	}
	return model.Chat
}

// CountTokens estimates the tokens of a request of Messages; the error is a body that refuses it.
func CountTokens(header http.Header, body []byte) (int64, []byte) {
	p := messages{counting: true}
	var asked request
	if refused := p.read(&asked, body, header); refused != nil {
		text, _ := json.Marshal(p.refuse(refused, "")) // plain data
		return 0, text
	}
	return asked.inputTokens(), nil
}
