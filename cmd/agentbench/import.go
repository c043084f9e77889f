package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

// importFlags are the flags of import.
type importFlags struct {
	out         string
	list, print bool
}

func (p *program) importCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:     "import MAPPING FILE...",
		Short:   "Make records of the logs of other tools",
		GroupID: "run",
		Long: `Reads logs by a mapping, a YAML file of CEL expressions, into a result folder, which
report, diff and show read as any other. A mapping is a file, or the name of one that ships:

` + mappingListing() + `

What cannot be read is told and left out; it exits with 5 only if nothing could be read.
Interrupted, it keeps what it has read and exits with 4.
A file may be - for stdin.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.list:
				fmt.Fprintln(p.out, mappingListing())
				return nil
			case f.print:
				return p.printMapping(args)
			case len(args) < 2:
				return usage("agentbench import --help explains it", "import: want a mapping and one or more files, got %d", len(args))
			}
			return p.importLogs(c.Context(), args[0], args[1:], &f)
		},
	}
	c.Flags().StringVarP(&f.out, "out", "o", "", "folder for the results (default results/MAPPING-TIME-…)")
	c.Flags().BoolVar(&f.list, "list", false, "list the mappings that ship")
	c.Flags().BoolVar(&f.print, "print", false, "print a mapping that ships, to start from")
	return c
}

func mappingListing() string {
	var b strings.Builder
	for _, m := range suites.Mappings() {
		fmt.Fprintf(&b, "  %-16s %s\n", m.Name, m.About)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (p *program) printMapping(args []string) error {
	if len(args) != 1 {
		return usage("agentbench import --list lists them", "import --print: want the name of a mapping that ships, got %d", len(args))
	}
	shipped, ok := suites.FindMapping(args[0])
	if !ok {
		return usage(didYouMean(args[0], suites.MappingNames(), "there are: "+strings.Join(suites.MappingNames(), ", ")), "no mapping %q ships", args[0])
	}
	text, err := fs.ReadFile(suites.MappingFiles(), shipped.File())
	if err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	_, err = p.out.Write(text)
	return unlessClosed(err)
}

// openMapping loads a mapping: a file, "-", or one that ships.
func (p *program) openMapping(path string) (*spec.Import, error) {
	options := spec.Options{Env: p.env, Stdin: p.in}
	var document *spec.Document
	var faults source.Faults
	shipped, ships := suites.FindMapping(path)
	switch {
	case path == "-" || there(path):
		document, faults = spec.Load(path, options)
	case ships:
		document, faults = spec.LoadFS(suites.MappingFiles(), shipped.File(), options)
	default:
		names := append(suites.MappingNames(), nearby(path)...)
		return nil, usage(didYouMean(path, names, "the mappings that ship: "+strings.Join(suites.MappingNames(), ", ")), "there is no mapping %s", path)
	}
	if document == nil {
		p.learnLines(faults)
		faults.Print(p.err)
		return nil, quiet(wrongSpec)
	}
	if document.Import == nil {
		return nil, usage("a mapping begins with import: NAME; agentbench import --print intercode shows one", "%s is no mapping", path)
	}
	document.Warnings.Print(p.err)
	return document.Import, nil
}

// importLogs reads files into a new result folder.
func (p *program) importLogs(ctx context.Context, path string, files []string, f *importFlags) error {
	if err := readableLogs(files); err != nil {
		return err
	}
	m, err := p.openMapping(path)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = freshFolder(m.Name, p.now())
	}
	im := &importing{program: p, mapping: m, importer: imports.New(m), dir: f.out, problems: newProblems()}
	ctx, end := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer end()
	context.AfterFunc(ctx, end) // a second signal ends it at once
	err = im.read(ctx, files)
	im.problems.print(p.err)
	return im.conclude(err, ctx.Err() != nil)
}

// conclude puts the state of the results down and tells of them.
func (im *importing) conclude(failed error, interrupted bool) error {
	switch {
	case im.folder == nil && interrupted:
		return fail(stopped, "", "interrupted before anything was read")
	case im.folder == nil && failed == nil:
		return fail(notMeasured, "is this the mapping for these files? agentbench import --list lists those that ship", "nothing could be read")
	case im.folder == nil:
		return failed
	case failed != nil:
		return errors.Join(failed, im.finish(record.StateFailed))
	case interrupted:
		if err := im.finish(record.StateStopped); err != nil {
			return err
		}
		return fail(stopped, "what was read is in "+im.dir+"; import into another folder to have all",
			"interrupted after %s", count(im.folder.manifest.Totals.Runs(), "run", "runs"))
	}
	if err := im.finish(record.StateComplete); err != nil {
		return err
	}
	im.tell()
	return nil
}

// readableLogs refuses files that are not there before anything is made.
func readableLogs(files []string) error {
	for _, file := range files {
		if file == "-" {
			continue
		}
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return usage(didYouMean(file, nearby(file), ""), "there is no file %s", file)
		case err != nil:
			return usage("", "%v", err)
		case info.IsDir():
			return usage("name the files in it: "+shellWord(file)+"/*", "%s is a folder", file)
		}
	}
	return nil
}

// importing is an import on its way.
type importing struct {
	*program
	mapping  *spec.Import
	importer *imports.Importer
	dir      string
	folder   *importFolder // nil: no run was read yet
	problems *problems
	data     []record.DataFile
}

// read reads files until they end, or the context does.
func (im *importing) read(ctx context.Context, files []string) error {
	for _, file := range files {
		if ctx.Err() != nil {
			return nil
		}
		if err := im.readFile(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func (im *importing) readFile(ctx context.Context, path string) error {
	log, err := im.openLog(path)
	if err != nil {
		return err
	}
	defer log.Close()
	for imported, err := range im.importer.Read(path, log) {
		var problem *imports.Problem
		switch {
		case errors.As(err, &problem):
			im.problems.add(problem)
			continue
		case err != nil:
			return fail(notMeasured, "", "%w", err)
		}
		if err := im.keep(imported); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // its hash would be that of the whole file
		}
	}
	sum, err := log.sum()
	if err != nil {
		return fail(notMeasured, "", "reading %s: %w", path, err)
	}
	im.data = append(im.data, record.DataFile{Name: path, Hash: sum})
	return nil
}

// keep writes a run, into a folder that is made for the first one.
func (im *importing) keep(imported *imports.Imported) error {
	if im.folder == nil {
		folder, err := im.makeFolder()
		if err != nil {
			return err
		}
		im.folder = folder
	}
	if err := im.folder.add(imported); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

// tell says what was imported, and what of it needs to be known.
func (im *importing) tell() {
	m := &im.folder.manifest
	fmt.Fprintf(im.out, "%s: imported %s: %s, %s, %s, %s\n", im.dir, count(m.Totals.Runs(), "run", "runs"), count(m.Tasks, "task", "tasks"),
		count(len(m.Configurations), "configuration", "configurations"), count(m.Trials, "trial", "trials"),
		count(im.folder.iterations, "iteration", "iterations"))
	if n := im.problems.count; n > 0 {
		fmt.Fprintf(im.out, "%s could not be read\n", count(n, "row or file", "rows or files"))
	}
	notes := im.importer.Notes()
	note := func(n int, format string, args ...any) {
		if n > 0 {
			fmt.Fprintf(im.err, "agentbench: warning: "+format+"\n", args...)
		}
	}
	note(notes.Renamed, "%s had the id of another task, and got the file's name before it", count(notes.Renamed, "run", "runs"))
	note(notes.Retried, "%s had a trial that was there already, and became the next trial", count(notes.Retried, "run", "runs"))
	note(notes.Regrouped, "%s gave another cluster or group than the first run of the task, which holds", count(notes.Regrouped, "run", "runs"))
	note(len(notes.Parted), "runs of %s were recorded under several limits, and are several configurations: NAME[LIMIT=VALUE]", printable(strings.Join(notes.Parted, ", ")))
	note(notes.Restarts, "counters fell %s: they were restarted there, and what they say is counted from there", count(notes.Restarts, "time", "times"))
	note(notes.Contradicted, "%s went on after the limits of recorded_under; the first: %s", count(notes.Contradicted, "run", "runs"), notes.First)
	if n := notes.Untimed; n == m.Totals.Runs() {
		note(n, "the log has no times: the latency is unknown")
	} else {
		note(n, "the time of %s is unknown, so the latency is unknown", count(n, "run", "runs"))
	}
	fmt.Fprintf(im.err, "look at it: agentbench report %s\n", shellWord(im.dir))
}
