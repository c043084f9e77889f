// Package exit has errors that end the program: With makes one of an exit code, a hint and a text, Usage one of a wrong
// command line, Unmeasured one of results that cannot be read.
// The code and the hint ride on the error; the command line reads them once, at the
// top. It is no stable API.
package exit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// The codes that are not 0. They are stable: scripts branch on them.
const (
	AnswerNo    = 1 // it ran, and the answer is no: a threshold does not hold, something is worse
	WrongUsage  = 2
	WrongSpec   = 3
	Stopped     = 4 // before the end: the suite's budget, or a signal
	NotMeasured = 5 // infrastructure, coverage, missing shards, results not writable
)

// Error is an error that knows its code and what to do about it.
type Error struct {
	Code int
	Err  error  // nil: everything has been said already
	Hint string // may be empty
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// With makes an error with a code and a hint; %w keeps its cause.
func With(code int, hint, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Usage is an error of whoever typed the command.
func Usage(hint, format string, args ...any) error { return With(WrongUsage, hint, format, args...) }

// Unmeasured gives an error the code NotMeasured, without a hint; nil stays nil, and an
// error that knows its code stays as it is.
func Unmeasured(err error) error {
	if known := (*Error)(nil); err == nil || errors.As(err, &known) {
		return err
	}
	return &Error{Code: NotMeasured, Err: err}
}

// Quiet is an error that has been explained already.
func Quiet(code int) error { return &Error{Code: code} }

// DidYouMean is the hint for a misspelt word: the word that was meant, or what else
// helps.
func DidYouMean(word string, words []string, otherwise string) string {
	if closest := source.Closest(word, words); closest != "" {
		return "did you mean " + closest + "?"
	}
	return otherwise
}

// Some lists the first names of many, each once.
func Some(names []string) string {
	const most = 8
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if len(once) > most {
		return strings.Join(once[:most], ", ") + fmt.Sprintf(" and %d more", len(once)-most)
	}
	return strings.Join(once, ", ")
}

// ShellWord quotes a word of a command in a hint where a shell would not take it as
// it is.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Plural is a number of things: 1 run, 2 runs. It is page.Plural for packages that may
// not reach reports/page, which itself reaches none of ours.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
