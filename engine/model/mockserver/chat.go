package mockserver

import (
	"context"
	"net/http"
	"time"
)

// exchange is one request for a chat completion and what became of it.
type exchange struct {
	server  *Server
	w       http.ResponseWriter
	ctx     context.Context
	host    string // as the client named the server
	request *chatRequest
	chosen  chosen
	fault   Fault
	made    *completion // nil where the fault comes instead
	status  int         // of the answer; 0: none began
	counted bool
}

// finish counts the request as answered. It comes before the last bytes, so that
// a client that has read them finds it counted.
func (x *exchange) finish() {
	if !x.counted {
		x.counted = true
		x.server.stats.end(x.status)
	}
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, w: w, ctx: r.Context(), host: r.Host}
	s.stats.begin()
	defer x.finish()
	request, status, refused := read(w, r)
	if refused != nil {
		x.fail(status, refused)
		return
	}
	x.request = request
	var err error
	if x.chosen, err = s.replies.choose(x.ctx, request); err != nil {
		x.fail(http.StatusBadRequest, invalid("messages", "", "the mock's match: %v", err))
		return
	}
	request.nth = s.stats.meet(request)
	w.Header().Set("X-Request-Id", "req_"+s.identity(request))
	now := s.options.Now()
	if refused := s.limiter.admit(request.inputTokens()+int64(request.maxOutput()), w.Header(), now); refused != nil {
		s.stats.limited()
		x.fail(http.StatusTooManyRequests, refused)
		return
	}
	x.fault = s.faults.next(request)
	if x.fault.Kind != noFault {
		s.stats.fault(x.fault.Kind)
	}
	if x.wait(s.options.Latency.of(s.options.Seed, request)) {
		x.answer()
	}
}

// answer lets the fault, if any, do what its kind does.
func (x *exchange) answer() {
	kind := x.fault.kind
	if kind.instead != nil {
		kind.instead(x)
		return
	}
	x.made = x.completion()
	if kind.answer != nil {
		kind.answer(x.made)
	}
	p := x.payload(x.made)
	if kind.payload != nil {
		kind.payload(x, p)
	}
	x.send(p)
}

func (x *exchange) completion() *completion {
	return x.server.complete(x.request, x.server.replies.to(x.request, x.chosen))
}

func (x *exchange) fail(status int, refused *apiError) {
	x.status = status
	x.finish()
	writeJSON(x.w, status, refused.body())
}

// wait says whether the client is still there after a while.
func (x *exchange) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}
