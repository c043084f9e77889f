package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The exit codes that are not 0. They are stable: scripts branch on them.
const (
	answerNo    = 1
	wrongUsage  = 2
	wrongSpec   = 3
	stopped     = 4
	notMeasured = 5
)

// failure is an error that knows its exit code and what to do about it.
type failure struct {
	code int
	err  error  // nil: everything has been said already
	hint string // may be empty
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail is a failure with a message; %w keeps its cause.
func fail(code int, hint, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), hint: hint}
}

func usage(hint, format string, args ...any) error { return fail(wrongUsage, hint, format, args...) }

// quiet is a failure that has been explained already.
func quiet(code int) error { return &failure{code: code} }

// tell prints how the program failed, if it did, and gives the exit code. What
// does not know its code is wrong usage found by the command line's library.
func (p *program) tell(err error) int {
	if err == nil {
		return 0
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{code: wrongUsage, err: err}
	}
	if f.err != nil {
		fmt.Fprintln(p.err, "agentbench: "+once(f.err.Error()))
	}
	if f.hint != "" {
		fmt.Fprintln(p.err, "hint: "+printable(f.hint))
	}
	return f.code
}

// once leaves out the lines of joined errors that say what one before them said.
func once(text string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		said := func(before string) bool { return strings.HasSuffix(before, line) }
		if line == "" || !slices.ContainsFunc(kept, said) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// some lists the first names of many, each once.
func some(names []string) string {
	const most = 8
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	names = once
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
