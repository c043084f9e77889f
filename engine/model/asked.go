package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Asked is one call of a model, on behalf of an agent or a judge.
type Asked struct {
	Model   Model
	Name    string // in the suite
	Role    record.Role
	Hash    string // of the request
	Request *Request
	Timeout time.Duration  // of the call, as-if, without what it waits; 0: none
	Calls   map[string]int // of each model so far in the run; counted on where the call was made
}

// Ask makes the call and its record, which is nil where no call was made.
func (a *Asked) Ask(ctx context.Context) (*Reply, *record.Call, error) {
	calling, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		calling, cancel = WithWorkingTime(ctx, a.Timeout, context.DeadlineExceeded)
	}
	defer cancel()
	reply, err := a.Model.Call(calling, a.Request)
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrRefused) {
		return nil, nil, err
	}
	if a.Calls != nil {
		a.Calls[a.Name]++
	}
	call := &record.Call{Role: a.Role, Model: a.Name, Request: a.Hash}
	if err == nil {
		call.Usage, call.Reserved, call.Finish = reply.Usage, reply.Reserved, reply.Finish
		call.Answered = reply.Answered
		call.Duration, call.Waited = reply.Duration, reply.Waited
		call.Attempts, call.Unsent, call.Cached = reply.Attempts, reply.Unsent, reply.Cached
		err = a.late(call)
	} else {
		err = a.failed(ctx, calling, call, err)
	}
	return reply, call, err
}

// late turns a call that took longer than allowed into a timeout, also where
// its time only passed as-if.
func (a *Asked) late(call *record.Call) error {
	if a.Timeout <= 0 || call.Duration <= a.Timeout {
		return nil
	}
	call.Duration = a.Timeout
	call.Error = a.timedOut()
	return call.Error
}

func (a *Asked) timedOut() *record.Error {
	return &record.Error{Class: record.CallTimeout, Message: fmt.Sprintf("the call took longer than %v", a.Timeout)}
}

// reserved records what the run's own budget made of a call that failed.
func reserved(call *record.Call, err error) {
	var u *Unanswered
	if !errors.As(err, &u) {
		return
	}
	call.Reserved = &u.Reserved
	if u.Charged != call.Usage {
		call.Charged = &u.Charged
	}
}

// failed records a call that gave no reply. An error of no known class is one
// of agentbench, unless the context ended.
func (a *Asked) failed(ctx, calling context.Context, call *record.Call, err error) error {
	call.Duration, call.Usage = Failure(err)
	var told *CallError
	if errors.As(err, &told) {
		call.Waited, call.Attempts, call.Unsent = told.Waited, told.Attempts, told.Unsent
	}
	reserved(call, err)
	if a.Timeout > 0 && call.Duration > a.Timeout {
		call.Duration = a.Timeout
	}
	switch {
	case errors.As(err, &call.Error):
	case ctx.Err() != nil:
		return err
	case calling.Err() != nil:
		call.Duration, call.Error = a.Timeout, a.timedOut()
		return call.Error
	default:
		call.Error = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return err
}

// Unfence takes the JSON out of a reply that wraps it into one pair of ``` or
// ```json fences, with or without prose around them.
func Unfence(text string) string {
	trimmed := strings.TrimSpace(text)
	start := strings.Index(trimmed, fence)
	end := strings.LastIndex(trimmed, fence)
	whole := start == 0 && end == len(trimmed)-len(fence)
	if end < start+len(fence) || !whole && (strings.Count(trimmed, fence) != 2 || startsJSON(trimmed)) {
		return trimmed
	}
	language, inner, lines := strings.Cut(trimmed[start+len(fence):end], "\n")
	language = strings.TrimSpace(language)
	if !lines || language != "" && !strings.EqualFold(language, "json") {
		return trimmed
	}
	return strings.TrimSpace(inner)
}

// Verdict takes the JSON out of an answer of a judge, which may be nothing but one
// fence. A fence within prose may be what the judge quotes: what the output says of
// itself.
func Verdict(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, fence) && strings.HasSuffix(text, fence) {
		return Unfence(text)
	}
	return text
}

const fence = "```"

func startsJSON(text string) bool { return text != "" && strings.ContainsRune("{[\"", rune(text[0])) }
