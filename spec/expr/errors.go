package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// ErrorKind tells why an evaluation failed.
type ErrorKind int

// The zero kind is an error in what the expression says about the values at hand.
const (
	Evaluation ErrorKind = iota
	CostExceeded
	DeadlineExceeded
	Cancelled // by the caller's context
	TooLarge  // the result, or a text on the way to it
)

// Error is a failed evaluation.
type Error struct {
	Kind   ErrorKind
	What   string
	Offset int // where in the source, in characters
	Err    error
}

func (e *Error) Error() string { return e.What }

// Unwrap gives the cause, if there is one worth telling.
func (e *Error) Unwrap() error { return e.Err }

// stopped explains why a budget ended an evaluation.
func (p *Program) stopped(b *budget) error {
	failed := &Error{Kind: b.stopped, Offset: p.offset(0)}
	switch b.stopped {
	case CostExceeded:
		failed.What = fmt.Sprintf("the expression cost more than %d steps on these values", p.env.options.CostLimit)
	case DeadlineExceeded:
		failed.What = fmt.Sprintf("the expression took longer than %v on these values", p.env.options.Deadline)
		failed.Err = context.DeadlineExceeded
	case TooLarge:
		failed.What = textGrows
	case Cancelled:
		failed.What = "the evaluation was cancelled"
		failed.Err = context.Cause(b.ctx)
	}
	return failed
}

// failure explains an error of cel-go.
func (p *Program) failure(err error) error {
	var in *types.Err
	if errors.As(err, &in) {
		return &Error{What: runTimeMessage(in.Error()), Offset: p.offset(in.NodeID())}
	}
	return &Error{What: err.Error(), Offset: p.offset(0)}
}

// offset is the place of a node in the source; of the whole expression for 0.
func (p *Program) offset(node int64) int {
	if r, ok := p.tree.SourceInfo().GetOffsetRange(node); ok && r.Start >= 0 {
		return int(r.Start)
	}
	return 0
}

// runTimeMessage says in our words what cel-go says about a value.
func runTimeMessage(message string) string {
	if key, ok := strings.CutPrefix(message, "no such key: "); ok {
		return fmt.Sprintf("there is no key %q", key)
	}
	if index, ok := strings.CutPrefix(message, "index out of bounds: "); ok {
		return fmt.Sprintf("the list has no element %s", index)
	}
	if name, ok := strings.CutPrefix(message, "no such attribute(s): "); ok {
		return fmt.Sprintf("%s has no value here", name)
	}
	if function, ok := strings.CutPrefix(message, "no such overload: "); ok {
		return fmt.Sprintf("%s does not take values of these types (is one of them null?)", operator(function))
	}
	if message == "no such overload" {
		return "the operation does not take values of these types (is one of them null?)"
	}
	return message
}

func typeName(value ref.Val) string {
	switch name := value.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "google.protobuf.Duration":
		return "a duration"
	default:
		return "of type " + name
	}
}
