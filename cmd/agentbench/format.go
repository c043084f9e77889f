package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// reportFlags say in which formats a report or a comparison is written.
type reportFlags struct {
	format string
	tables []string // to be written; none: all, or the command's own choice
	writes []string // FORMAT=FILE

	files []formatFile
	names []string // of the tables that there are
}

// formatFile is a file that gets a format of its own.
type formatFile struct{ format, path string }

func (f *reportFlags) declare(c *cobra.Command, tables []string) {
	f.names = tables
	c.Flags().StringVarP(&f.format, "format", "f", "terminal", strings.Join(page.Formats, ", "))
	c.Flags().StringArrayVar(&f.tables, "table", nil, "only this table (repeatable): "+strings.Join(tables, ", "))
	c.Flags().StringArrayVar(&f.writes, "write", nil, "also write FORMAT=FILE, for example junit=junit.xml (repeatable)")
	// Both fail only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(page.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("table", cobra.FixedCompletions(tables, cobra.ShellCompDirectiveNoFileComp))
}

// validate finds what is wrong with the flags, files that cannot be written to
// among it: who pays for runs wants to know before.
func (f *reportFlags) validate() (err error) {
	if f.format, err = f.formatNamed(f.format); err != nil {
		return err
	}
	for _, name := range f.tables {
		if !slices.Contains(f.names, name) {
			return usage(didYouMean(name, f.names, "there are: "+strings.Join(f.names, ", ")), "there is no table %q", name)
		}
	}
	f.files = nil
	for _, text := range f.writes {
		file, err := f.fileNamed(text)
		if err != nil {
			return err
		}
		f.files = append(f.files, file)
	}
	return nil
}

func (f *reportFlags) formatNamed(name string) (string, error) {
	if name == "md" {
		name = "markdown"
	}
	if !slices.Contains(page.Formats, name) {
		return "", usage(didYouMean(name, page.Formats, "there are: "+strings.Join(page.Formats, ", ")), "there is no format %q", name)
	}
	if name == "csv" && len(f.tables) > 1 {
		return "", usage("name one with --table", "a CSV file holds one table")
	}
	return name, nil
}

// fileNamed reads FORMAT=FILE.
func (f *reportFlags) fileNamed(text string) (file formatFile, err error) {
	format, path, ok := strings.Cut(text, "=")
	if !ok || path == "" || path == "-" {
		return file, usage("--write junit=junit.xml; what goes to stdout is for --format", "--write %s: want FORMAT=FILE", text)
	}
	if format, err = f.formatNamed(format); err != nil {
		return file, err
	}
	same := func(other formatFile) bool { return filepath.Clean(other.path) == filepath.Clean(path) }
	if slices.ContainsFunc(f.files, same) {
		return file, usage("give each format a file of its own", "--write %s: %s is written already", text, path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return file, usage("name a file in it", "--write %s: %s is a folder", text, path)
	}
	if holdsResults(path) {
		return file, usage("name another file", "--write %s: %s holds results", text, path)
	}
	return formatFile{format, path}, writableFolder(filepath.Dir(path))
}

// holdsResults says whether a file is a baseline, or one that runs stand in.
func holdsResults(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // a pipe would wait for its writer
	}
	_, err := record.Open(path)
	var none *record.NoBaseline
	if err == nil || errors.As(err, &none) && none.Ours {
		return true
	}
	inFolder := resultFolder(filepath.Dir(path))
	return inFolder && slices.Contains([]string{"manifest.json", "manifest.copy.json", "records.jsonl", "signals.jsonl", "scores.jsonl", "spent.jsonl", "spent.head", "records.damaged.jsonl", "spent.damaged.jsonl", "lock"}, filepath.Base(path))
}

// writableFolder makes a folder, if it is not there, and tries to write to it.
func writableFolder(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".agentbench-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fail(notMeasured, "name a file that can be written to", "--write: %w", err)
	}
	return nil
}

// write puts a page on stdout and into the files that were asked for. Where the
// user names no tables, people read these.
func (p *program) write(of page.Page, f *reportFlags, tables ...string) error {
	options := page.Options{Format: f.format, Width: p.width(p.out), Color: p.colored(p.out), Tables: f.tables}
	if len(options.Tables) == 0 && (f.format == "terminal" || f.format == "markdown") {
		options.Tables = tables
		if f.format == "markdown" && len(tables) > 0 {
			options.Tables = append([]string{"thresholds"}, tables...)
		}
	}
	write := func(w io.Writer) error { return page.Write(w, of, options) }
	var err error
	if f.format == "github" {
		err = p.obeyed(write)
	} else {
		err = write(p.out)
	}
	if unlessClosed(err) != nil {
		return fail(notMeasured, "", "%w", err)
	}
	p.tellEmpty(of, f.tables)
	return p.writeFiles(of, f)
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
		options := page.Options{Format: file.format, Width: defaultWidth, Tables: f.tables}
		err := p.replaceFile(file.path, func(w io.Writer) error { return page.Write(w, of, options) })
		if err != nil {
			return fail(notMeasured, "", "--write %s=%s: %w", file.format, file.path, err)
		}
		summary = summary || file.format == "github"
	}
	if !summary {
		return nil
	}
	if err := p.writeSummary(of, f); err != nil {
		return fail(notMeasured, "GITHUB_STEP_SUMMARY names the file", "writing the summary of the step: %w", err)
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
