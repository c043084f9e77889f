package model

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// charactersPerToken is the usual rule of thumb for English text.
const charactersPerToken = 4

// EstimateTokens is how many tokens so many bytes of text are about.
func EstimateTokens(bytes int) int64 {
	return int64(bytes+charactersPerToken-1) / charactersPerToken
}

// InputTokens estimates the tokens of what is sent.
func (r *Request) InputTokens() int64 { return EstimateTokens(int(r.Bytes())) }

// Bytes is the length of what a model reads of the request: the texts of its
// messages, the calls in them, and its tools.
func (r *Request) Bytes() int64 {
	if r.Raw != nil {
		return r.Raw.Bytes
	}
	bytes := 0
	for i := range r.Messages {
		bytes += r.Messages[i].Bytes()
	}
	for i := range r.Tools {
		bytes += r.Tools[i].Bytes()
	}
	return int64(bytes)
}

// Sum identifies what is sent to the model of that name: messages, tools and
// settings, but not the draw.
func (r *Request) Sum(name string) [sha256.Size]byte {
	form := r.form()
	b := make([]byte, 0, 512) // most are short: it is on the stack
	if size := r.sumSize(name); size > cap(b) {
		b = make([]byte, 0, size)
	}
	b = appendText(b, "agentbench request "+string(form))
	b = appendText(b, name)
	if form == raw {
		return sha256.Sum256(append(appendText(b, string(r.Raw.Protocol)), r.Raw.Sum[:]...))
	}
	b = appendNumber(b, r.Temperature)
	b = appendNumber(b, r.TopP)
	if r.Seed != nil {
		b = binary.LittleEndian.AppendUint64(append(b, 1), uint64(*r.Seed))
	} else {
		b = append(b, 0)
	}
	b = appendLength(b, r.MaxOutputTokens)
	if r.JSON {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	if form != texts {
		return sha256.Sum256(r.appendConversation(b, form))
	}
	for i := range r.Messages {
		b = appendText(b, r.Messages[i].Role)
		b = appendText(b, r.Messages[i].Text)
	}
	return sha256.Sum256(b)
}

// The forms in which requests are summed. Each is used only where it is needed, so that the hashes in older records
// and caches stay valid.
const (
	texts = '1' // messages are texts
	tools = '2' // there are tools, or calls of them
	whole = '3' // messages have images, or the blocks of their provider
	raw   = '4' // a program wrote it
)

func (r *Request) form() rune {
	if r.Raw != nil {
		return raw
	}
	form := texts
	if r.Tools != nil || r.ToolChoice != "" {
		form = tools
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		switch {
		case m.Blocks != nil || m.Images != nil:
			return whole
		case m.ToolCalls != nil || m.ToolCallID != "":
			form = tools
		}
	}
	return form
}

// sumSize is about how many bytes are summed.
func (r *Request) sumSize(name string) int {
	size := 128 + len(name) + len(r.ToolChoice)
	for i := range r.Messages {
		m := &r.Messages[i]
		size += 32 + len(m.Role) + m.Bytes() + 24*len(m.ToolCalls)
	}
	for i := range r.Tools {
		size += 24 + r.Tools[i].Bytes()
	}
	return size
}

func (r *Request) appendConversation(b []byte, form rune) []byte {
	b = appendText(b, r.ToolChoice)
	b = appendLength(b, len(r.Tools))
	for i := range r.Tools {
		b = appendText(b, r.Tools[i].Name)
		b = appendText(b, r.Tools[i].Description)
		b = appendText(b, string(r.Tools[i].Parameters))
	}
	b = appendLength(b, len(r.Messages))
	for i := range r.Messages {
		b = r.Messages[i].append(b)
		if form == whole {
			b = r.Messages[i].appendWhole(b)
		}
	}
	return b
}

func (m *Message) appendWhole(b []byte) []byte {
	b = appendText(b, string(m.Blocks))
	b = appendLength(b, len(m.Images))
	for i := range m.Images {
		b = appendText(b, m.Images[i].Type)
		b = appendText(b, m.Images[i].Sum)
	}
	return b
}

func (m *Message) append(b []byte) []byte {
	b = appendText(b, m.Role)
	b = appendText(b, m.Text)
	b = appendText(b, m.ToolCallID)
	b = appendLength(b, len(m.ToolCalls))
	for i := range m.ToolCalls {
		b = appendText(b, m.ToolCalls[i].ID)
		b = appendText(b, m.ToolCalls[i].Name)
		b = appendText(b, m.ToolCalls[i].Arguments)
	}
	return b
}

// Hash is the start of Sum in hexadecimal, 16 digits: how records name a request.
func (r *Request) Hash(name string) string {
	sum := r.Sum(name)
	return hex.EncodeToString(sum[:8])
}

func appendText(b []byte, text string) []byte {
	return append(appendLength(b, len(text)), text...)
}

func appendLength(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

func appendNumber(b []byte, n *float64) []byte {
	if n == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(*n))
}

// CallError is a failed call with what a caller may want to know beyond its
// class, for instance whether and when to try again.
type CallError struct {
	Cause      *record.Error
	Status     int           // of HTTP; 0 where no answer came
	RetryAfter time.Duration // what the server asked to wait; 0: it did not say
	Retry      *bool         // the server's word on whether to try again; nil: it did not say
	Duration   time.Duration // as-if: how long the call took to fail
	Usage      record.Usage  // what the failed call is known to have used, itself included
	Reply      *Reply        // of a model that refused, for its usage; else nil
	Waited     time.Duration // beside Duration: for rate limits, to try again, and for attempts before the last
	Attempts   int           // requests sent; 0 means 1
	Unsent     int           // of these attempts, those of which no byte reached a server
	Refused    string        // the server's address, where it refused the connection: nothing listens there
	Answer     *RawAnswer    // to a raw request, where one began
}

// Error gives the class and the message.
func (e *CallError) Error() string { return e.Cause.Error() }

// Unwrap gives the *record.Error.
func (e *CallError) Unwrap() error { return e.Cause }

// Unsent is the error of a call that ended from outside, such as by a signal,
// before a byte of it was sent.
type Unsent struct{ Err error }

// Error is the error itself.
func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap gives the error itself.
func (u *Unsent) Unwrap() error { return u.Err }

// NeverSent reports whether it is certain of a failed call that no server received a
// byte of it, in any of its attempts: it cost nothing.
func NeverSent(err error) bool {
	var unsent *Unsent
	var failed *CallError
	return errors.As(err, &unsent) || errors.As(err, &failed) && failed.Unsent >= max(1, failed.Attempts)
}

// NoRoom is the error of a call that failed and could not be tried again, because a
// budget has no room for another attempt. It is the failure, and stops the run as
// the refusal does.
type NoRoom struct {
	Failed  *CallError
	Refusal Refusal
}

// Refusal is an ErrRefused that says for which reason it stops a run.
type Refusal interface {
	error
	StopReason() record.Reason
}

// Error gives both.
func (e *NoRoom) Error() string { return e.Failed.Error() + "; " + e.Refusal.Error() }

// Unwrap gives the failure.
func (e *NoRoom) Unwrap() error { return e.Failed }

// StopReason is that of the refusal.
func (e *NoRoom) StopReason() record.Reason { return e.Refusal.StopReason() }

// Unanswered is the error of a call that a run's own budget reserved, or had no
// room for.
type Unanswered struct {
	Err      error
	Reserved record.Usage // what the call was expected to use at worst
	Charged  record.Usage // what the budget counts as spent by it
}

// Error is the error itself.
func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap gives the error itself.
func (u *Unanswered) Unwrap() error { return u.Err }

// Fail makes the error of a call that failed after a while.
func Fail(class record.ErrorClass, message string, after time.Duration) *CallError {
	return &CallError{
		Cause:    &record.Error{Class: class, Message: message},
		Duration: after,
		Usage:    record.Usage{Calls: 1},
	}
}

// Failure tells what is known of an error of Call: how long the call took, and
// what it used. A call that was not made used nothing.
func Failure(err error) (after time.Duration, used record.Usage) {
	var failed *CallError
	switch {
	case err == nil, errors.Is(err, ErrEnded), errors.Is(err, ErrRefused):
		return 0, record.Usage{}
	case errors.As(err, &failed):
		return failed.Duration, failed.Usage
	}
	return 0, record.Usage{Calls: 1}
}

// WithWorkingTime gives a context that ends, with the cause, once so much time
// was worked in it. What was only waited (see Waiting) does not count.
func WithWorkingTime(ctx context.Context, most time.Duration, cause error) (context.Context, context.CancelFunc) {
	outer, _ := ctx.Value(watchKey{}).(*watch)
	ending, cancel := context.WithCancelCause(ctx)
	w := &watch{outer: outer, left: most}
	w.ends = time.AfterFunc(most, func() { cancel(cause) })
	w.since = time.Now()
	return context.WithValue(ending, watchKey{}, w), func() {
		w.ends.Stop()
		cancel(nil)
	}
}

// Waiting says that from now on nothing is worked, until resume is called.
func Waiting(ctx context.Context) (resume func()) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	for inner := w; inner != nil; inner = inner.outer {
		inner.pause()
	}
	return func() {
		for inner := w; inner != nil; inner = inner.outer {
			inner.resume()
		}
	}
}

// Forgive gives back time that was worked in vain, so that it counts as waited.
func Forgive(ctx context.Context, worked time.Duration) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	for ; w != nil; w = w.outer {
		w.pause()
		w.give(worked)
		w.resume()
	}
}

type watchKey struct{}

// watch stops while anybody waits.
type watch struct {
	outer *watch

	mu      sync.Mutex
	ends    *time.Timer
	left    time.Duration
	since   time.Time
	waiting int
}

func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting++; w.waiting == 1 && w.ends.Stop() {
		w.left -= time.Since(w.since)
	}
}

func (w *watch) give(worked time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left += worked
}

func (w *watch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting--; w.waiting == 0 {
		w.since = time.Now()
		w.ends.Reset(max(0, w.left))
	}
}
