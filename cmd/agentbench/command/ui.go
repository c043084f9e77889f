package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
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

// colored reports whether colours are wanted: always, never, or by themselves on a
// terminal, unless NO_COLOR is set.
func (p *program) colored(w io.Writer) bool {
	switch p.color {
	case "always":
		return true
	case "never":
		return false
	}
	return p.isTerminal(w) && p.env("NO_COLOR") == ""
}

// colorFlags say whether there is colour.
func (p *program) colorFlags(flags *pflag.FlagSet) {
	whens := []string{"auto", "always", "never"}
	p.color = whens[0]
	set := func(text string) error {
		if !slices.Contains(whens, text) {
			return exit.Usage("there are: "+strings.Join(whens, ", "), "--color %s", text)
		}
		p.color = text
		return nil
	}
	flags.Var(&checked{"string", set, func() string { return p.color }}, "color", "colour: auto, always, never")
}

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
	if damage, is := errors.AsType[*record.Damage](err); is {
		f = &exit.Error{Code: exit.NotMeasured, Err: f.Err, Hint: results.RepairHint(damage)}
	}
	if faults, ok := f.Err.(source.Faults); ok {
		p.print(faults)
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

// commandLine is a command of agentbench with the flags that were given to it.
func commandLine(words []string, flags *pflag.FlagSet, without ...string) string {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch {
		case slices.Contains(without, f.Name):
		case f.NoOptDefVal != "" && f.NoOptDefVal == f.Value.String(): // a switch
			words = append(words, "--"+f.Name)
		case f.NoOptDefVal != "": // a value is optional
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			for _, value := range values {
				words = append(words, "--"+f.Name, value)
			}
		}
	})
	line := "agentbench"
	if f := flags.Lookup("executor"); f != nil && f.Changed {
		line += "-" + f.Value.String() // a place has a program of its own
	}
	for _, word := range words {
		line += " " + exit.ShellWord(word)
	}
	return line
}

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

// write puts a page on stdout and into the files that were asked for. Where the
// user names no tables, Markdown has these.
func (p *program) write(of page.Page, f *reportFlags, tables ...string) error {
	for _, name := range f.tables {
		if all := of.Tables(page.Machines); !slices.ContainsFunc(all, func(t page.Table) bool { return t.Name == name }) {
			return exit.Usage("it has: "+all[0].Name, "unknown table %q here", name)
		}
	}
	options := page.Options{Format: f.format, Width: p.width(p.out), Color: p.colored(p.out), Summary: !f.all, Tables: f.tables, Cases: page.JUnitCases[0]}
	if len(f.tables) == 0 && f.format == "markdown" && len(tables) > 0 {
		options.Tables = append([]string{"thresholds"}, tables...)
	}
	write := func(w io.Writer) error { return page.Write(w, of, options) }
	var err error
	if f.format == "github" {
		err = p.obeyed(write)
	} else {
		err = write(p.out)
	}
	if unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	p.tellEmpty(of, f.tables)
	return p.writeFiles(of, f)
}

// onScreen reports whether a page is the summary on a terminal, which has the verdicts that
// notes below it would repeat. In logs and files they stay.
func (p *program) onScreen(f *reportFlags) bool {
	return f.format == "terminal" && !f.all && len(f.tables) == 0 && p.isTerminal(p.out) && p.isTerminal(p.err)
}

// tellEmpty says of which tables that the user named there is nothing to show.
func (p *program) tellEmpty(of page.Page, named []string) {
	for _, t := range of.Tables(page.Machines) {
		switch {
		case t.Count > 0 || !slices.Contains(named, t.Name):
		case t.Name == page.Thresholds:
			fmt.Fprintln(p.err, "the table thresholds is empty: none was judged; --threshold gives one")
		default:
			fmt.Fprintf(p.err, "the table %s is empty\n", t.Name)
		}
	}
}

// writeFiles writes what --write asks for, and the summary that goes with
// annotations.
func (p *program) writeFiles(of page.Page, f *reportFlags) error {
	summary := f.format == "github"
	for _, file := range f.files {
		options := page.Options{Format: file.format, Width: defaultWidth, Tables: f.tables, Cases: page.JUnitCases[0]}
		err := p.replaceFile(file.path, func(w io.Writer) error { return page.Write(w, of, options) })
		if err != nil {
			return exit.With(exit.NotMeasured, "", "--write %s=%s: %w", file.format, file.path, err)
		}
		summary = summary || file.format == "github"
	}
	if !summary {
		return nil
	}
	if err := p.writeSummary(of, f); err != nil {
		return exit.With(exit.NotMeasured, "GITHUB_STEP_SUMMARY names the file", "writing the summary of the step: %w", err)
	}
	return nil
}

// replaceFile writes a file whole or not at all. What is there and no file, such
// as a pipe, is written to as it is.
func (p *program) replaceFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return p.writeTo(path, os.O_WRONLY, write)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
	if err != nil {
		return err
	}
	hiding := p.secrets.Writer(temporary)
	err = errors.Join(write(hiding), hiding.Flush(), temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// writeTo opens a file that is there, or may be made, and writes to it.
func (p *program) writeTo(path string, flags int, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	hiding := p.secrets.Writer(file)
	return errors.Join(write(hiding), hiding.Flush(), file.Close())
}

// writeSummary adds a page to the summary of a step on GitHub, if there is one.
func (p *program) writeSummary(of page.Page, f *reportFlags) error {
	path := p.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	var before int64
	if info, err := os.Stat(path); err == nil {
		before = info.Size()
	}
	return p.writeTo(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, func(w io.Writer) error {
		return page.WriteSummary(w, of, page.Options{Format: "markdown", Tables: f.tables}, before)
	})
}

// unlessClosed forgives a reader who has seen enough, such as head.
func unlessClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

func (p *program) note(line string) { fmt.Fprintln(p.err, line) }
