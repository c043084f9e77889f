package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// answer answers a call.
func (s *Session) answer(w http.ResponseWriter, r *http.Request, p model.Protocol) {
	body := s.body(w, r, p)
	if body == nil {
		return
	}
	a, wrong := read(p, r.Header, body, rulesOf(s.run.Program, r.Header), s.run.Own)
	if a == nil {
		refuse(w, p, http.StatusBadRequest, "", wrong)
		return
	}
	m := s.run.resolve(a.model)
	switch {
	case m == nil:
		refuse(w, p, http.StatusNotFound, "", unknownModel(a.model))
		return
	case m.Speaks != "" && m.Speaks != p:
		refuse(w, p, http.StatusBadRequest, "", "the model "+m.Name+" answers in the protocol "+string(m.Speaks)+", not in "+string(p))
		return
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.Context(), func() { cancel(context.Cause(r.Context())) })()
	to := &passing{ResponseWriter: w, flush: http.NewResponseController(w)}
	raw := &model.Raw{
		Protocol: p, Name: a.model, Before: a.before, After: a.after, Query: r.URL.RawQuery, Header: r.Header, Stream: a.stream,
		Bytes: a.bytes, Sum: a.sum, Answer: to,
	}
	c, reason := s.arrive(ctx, a, m, raw)
	if reason != "" {
		s.refused(w, r, p, reason)
		return
	}
	to.call = c
	s.called(r.Header)
	if err := c.make(); err != nil {
		s.fail(to, r, p, err)
	}
}

// passing passes an answer on to a program.
type passing struct {
	http.ResponseWriter
	flush *http.ResponseController
	call  *call
	begun bool
}

// Begin begins the answer.
func (p *passing) Begin(status int, header map[string][]string) {
	p.begun = true
	p.call.begins()
	p.start(status, header)
}

func (p *passing) start(status int, header map[string][]string) {
	for name, values := range header {
		p.Header()[name] = values
	}
	p.WriteHeader(status)
}

// Write passes a part on at once.
func (p *passing) Write(b []byte) (int, error) {
	n, err := p.ResponseWriter.Write(b)
	if err == nil {
		err = p.flush.Flush()
	}
	return n, err
}

// Last says that what comes makes the answer whole.
func (p *passing) Last() { p.call.ends() }

// statuses are those of failures to which no server has given an answer; others are a bad gateway.
var statuses = map[record.ErrorClass]int{
	record.InvalidRequest: http.StatusBadRequest, record.Exhausted: http.StatusBadRequest, record.Expression: http.StatusBadRequest,
	record.Server: http.StatusInternalServerError, record.CallTimeout: http.StatusGatewayTimeout,
}

// fail passes on what went wrong: the server's own answer, else a refusal. An answer that has begun is left as broken as it came.
func (s *Session) fail(to *passing, r *http.Request, p model.Protocol, err error) {
	refusal, isRefused := errors.AsType[model.Refusal](err)
	failed, isFailed := errors.AsType[*model.CallError](err)
	told, isTold := errors.AsType[*record.Error](err)
	switch {
	case to.begun && isFailed && failed.Answer != nil && !failed.Answer.Broken: // all that the server said was passed on
	case to.begun, r.Context().Err() != nil, s.ctx.Err() != nil:
		panic(http.ErrAbortHandler)
	case isRefused:
		s.refused(to, r, p, refusal.StopReason())
	case isFailed && failed.Answer != nil && failed.Answer.Body != nil:
		to.start(failed.Answer.Status, failed.Answer.Header)
		_, _ = to.Write(failed.Answer.Body)
	case isTold:
		refuse(to, p, cmp.Or(statuses[told.Class], http.StatusBadGateway), "", told.Message)
	default: // the script has nothing more to say
		refuse(to, p, http.StatusBadRequest, "", err.Error())
	}
}
