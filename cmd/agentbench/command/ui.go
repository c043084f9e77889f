package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/spec/source"
)

// defaultWidth is that of output which is no terminal and whose COLUMNS is not set.
const defaultWidth = 100

// isTerminal says whether lines can be rewritten there.
func (p *program) isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && p.env("TERM") != "dumb" && p.env("CI") == ""
}

// width is how many cells a line may have.
func (p *program) width(w io.Writer) int {
	if columns, err := strconv.Atoi(p.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// colored says whether colours are welcome: on a terminal, unless NO_COLOR is set.
func (p *program) colored(w io.Writer) bool { return p.isTerminal(w) && p.env("NO_COLOR") == "" }

// tell prints how the program failed, if it did, and gives the exit code. What
// does not know its code is wrong usage found by the command line's library.
func (p *program) tell(err error) int {
	if err == nil {
		return 0
	}
	var f *exit.Error
	if !errors.As(err, &f) {
		f = &exit.Error{Code: exit.WrongUsage, Err: err}
	}
	if faults, ok := f.Err.(source.Faults); ok {
		faults.Print(p.err)
	} else if f.Err != nil {
		fmt.Fprintln(p.err, "agentbench: "+visibleLines(once(f.Err.Error()), "\n"))
	}
	if f.Hint != "" {
		fmt.Fprintln(p.err, "hint: "+page.Visible(f.Hint))
	}
	return f.Code
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

// visibleLines shows what of a text a terminal does not, and parts its lines so.
func visibleLines(text, separator string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = page.Visible(lines[i])
	}
	return strings.Join(lines, separator)
}

// printableLines keeps line feeds, behind which it indents.
func printableLines(text string) string { return visibleLines(text, "\n  ") }

// line writes a value as a line of JSON.
func (p *program) line(value any) error {
	text, err := jsonLine(value)
	if err == nil {
		_, err = p.out.Write(text)
	}
	return exit.Unmeasured(unlessClosed(err))
}

// jsonLine is a value as a line of JSON that a terminal shows as it is.
func jsonLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encode := json.NewEncoder(&line)
	encode.SetEscapeHTML(false)
	err := encode.Encode(value)
	return page.PlainJSON(line.Bytes()), err
}

// What the files of tune still call the parts of package exit.
const (
	answerNo    = exit.AnswerNo
	wrongUsage  = exit.WrongUsage
	wrongSpec   = exit.WrongSpec
	stopped     = exit.Stopped
	notMeasured = exit.NotMeasured
)

func printable(text string) string { return page.Visible(text) }

func costOf(u record.Usage) string { return trajectory.Cost(u) }

type failure = exit.Error

func fail(code int, hint, format string, args ...any) error {
	return exit.With(code, hint, format, args...)
}
func usage(hint, format string, args ...any) error { return exit.Usage(hint, format, args...) }
func quiet(code int) error                         { return exit.Quiet(code) }
func some(names []string) string                   { return exit.Some(names) }
func shellWord(word string) string                 { return exit.ShellWord(word) }
func count(n int, one, many string) string         { return page.Plural(n, one, many) }
func firstOf(errs ...error) error                  { return cmp.Or(errs...) }
func didYouMean(word string, words []string, otherwise string) string {
	return exit.DidYouMean(word, words, otherwise)
}
