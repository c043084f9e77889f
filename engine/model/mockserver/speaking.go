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

// Speaking lets a model that calls no server answer the requests of programs, in whichever protocol they are. Other requests
// it gets as they are.
func Speaking(inner model.Model, now func() time.Time) model.Model { return &speaking{inner, now} }

type speaking struct {
	inner model.Model
	now   func() time.Time
}

// Call answers as a server would.
func (m *speaking) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	raw := request.Raw
	if raw == nil {
		return m.inner.Call(ctx, request)
	}
	p := protocols[raw.Protocol]
	t, err := p.decode(raw.Body(raw.Name))
	if err != nil {
		return nil, invalid(raw.Protocol, err)
	}
	t.id, t.Draw = fmt.Sprintf("%08x%x", raw.Nth, raw.Sum[:12]), request.Draw // equal requests have numbers
	reply, err := m.inner.Call(ctx, &t.Request)
	if err != nil {
		return nil, err
	}
	kind, frames := p.encode(t.answer(reply, m.now()), defaultChunk)
	reply.Raw = write(raw.Answer, http.Header{"Content-Type": {kind}, idHeader(p.name): {"req_" + t.id}}, frames)
	return reply, nil
}

// write passes an answer on, one frame after the other, and keeps it if it is not too long.
func write(to model.Sink, header http.Header, frames [][]byte) *model.RawAnswer {
	answer := &model.RawAnswer{Status: http.StatusOK, Header: header}
	to.Begin(answer.Status, header)
	for i, frame := range frames {
		if i == len(frames)-1 {
			to.Last()
		}
		answer.Body = append(answer.Body, frame...)
		if _, err := to.Write(frame); err != nil {
			break // a program that went away needs nothing more
		}
	}
	if len(answer.Body) > model.MostKept {
		answer.Body = nil
	}
	return answer
}

// invalid is the error of a request that the protocol does not allow.
func invalid(p model.Protocol, err error) error {
	return &model.CallError{
		Cause:  &record.Error{Class: record.InvalidRequest, Message: err.Error()},
		Status: http.StatusBadRequest,
		Answer: &model.RawAnswer{
			Status: http.StatusBadRequest, Header: http.Header{"Content-Type": {typeJSON}}, Body: Refuse(p, http.StatusBadRequest, "", err.Error()),
		},
	}
}

// Refuse is the body with which the vendor of a protocol refuses a request with a status. Code is what its clients may go by;
// "": the usual one.
func Refuse(p model.Protocol, status int, code, message string) []byte {
	text, _ := json.Marshal(errorBody(p, &problem{status, code, message}, "")) // plain data
	return text
}

// versionHeader is what every client of Anthropic sends.
const versionHeader = "Anthropic-Version"

// ProtocolOf is the protocol of the vendor whose client sends the headers, for requests besides its calls.
func ProtocolOf(header http.Header) model.Protocol {
	if header.Get(versionHeader) != "" {
		return model.Messages
	}
	return model.Chat
}

// idHeader is where the vendor of a protocol names an answer.
func idHeader(p model.Protocol) string {
	if p == model.Messages {
		return "Request-Id"
	}
	return "X-Request-Id"
}

// ModelOf is a model as the vendor tells of it whose client asks.
func ModelOf(header http.Header, name string) map[string]any {
	created := time.Unix(1_700_000_000, 0).UTC()
	if ProtocolOf(header) == model.Messages {
		return object{"id": name, "type": "model", "display_name": name, "created_at": created}
	}
	return object{"id": name, "object": "model", "created": created.Unix(), "owned_by": "agentbench"}
}

// ModelList is the list of models as the vendor gives it whose client asks.
func ModelList(header http.Header, names []string) map[string]any {
	list := object{"object": "list"}
	if ProtocolOf(header) == model.Messages {
		list = object{"has_more": false, "first_id": nil, "last_id": nil}
		if len(names) > 0 {
			list["first_id"], list["last_id"] = names[0], names[len(names)-1]
		}
	}
	data := []object{}
	for _, name := range names {
		data = append(data, ModelOf(header, name))
	}
	list["data"] = data
	return list
}

// CountTokens estimates the tokens of a request of Messages; the second result is a body that refuses it.
func CountTokens(body []byte) (int64, []byte) {
	t, err := decodePrompt(body)
	if err != nil {
		return 0, Refuse(model.Messages, http.StatusBadRequest, "", err.Error())
	}
	return t.inputTokens(), nil
}
