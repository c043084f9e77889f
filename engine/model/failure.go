package model

import (
	"errors"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// CallError is a failed call with what a caller may want to know beyond its
// class, for instance whether and when to try again.
type CallError struct {
	Cause      *record.Error
	Status     int           // of HTTP; 0 where no answer came
	RetryAfter time.Duration // what the server asked to wait; 0: it did not say
	Retry      *bool         // the server's word on whether to try again; nil: it did not say
	Duration   time.Duration // as-if: how long the call took to fail
	Usage      record.Usage  // what the failed call is known to have used, itself included
	Waited     time.Duration // beside Duration: for rate limits, to try again, and for attempts before the last
	Attempts   int           // requests sent; 0 means 1
	Unsent     int           // of these attempts, those of which no byte reached a server
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
