package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

type importFlags struct {
	out                     string
	quiet                   bool
	list, print             bool
	whenCut, scores, prices string
}

func (p *program) importCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:     "import [MAPPING] FILE...",
		Short:   "Import logs of other tools as results",
		GroupID: "run",
		Long: `Imports logs with a mapping, a YAML file of CEL expressions, into a result folder for
report, diff, show, replay and tune. A mapping is a file, or the name of one that ships.
Without MAPPING, the one that ships is found by the contents of the files:

` + mappingListing() + `

Unreadable entries are reported and skipped; the exit code is 5 only if nothing could be
read. After an interrupt it keeps what it has read and exits with 4.
FILE can be - for stdin.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.list:
				fmt.Fprintln(p.out, mappingListing())
				return nil
			case f.print:
				return p.printMapping(args)
			case len(args) == 0 || len(args) == 1 && isMapping(args):
				return exit.Usage("agentbench import --help explains it", "import: want a mapping and one or more files, or files, got %d", len(args))
			}
			return p.importLogs(c.Context(), args, &f)
		},
	}
	outFlag(c, &f.out, "result folder (default results/MAPPING-TIME-…)")
	quietFlag(c, &f.quiet, "hide notes, except for unreadable entries,")
	choiceFlag(c, &f.whenCut, "when-cut", []string{"score", "0"}, "what a run is worth that a limit stops before its recorded end: the score of the iteration, or 0 (default: the mapping's when_cut)")
	c.Flags().StringVar(&f.scores, "scores", "", "CSV `FILE` with a column id, of runs or tasks, and a column for each score")
	c.Flags().StringVar(&f.prices, "prices", "", "price the tokens of the log by a `FILE` of prices, where it has no costs")
	c.Flags().BoolVar(&f.list, "list", false, "list the mappings that ship")
	c.Flags().BoolVar(&f.print, "print", false, "print a mapping that ships, as a starting point")
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
		return exit.Usage("agentbench import --list lists them", "import --print: want the name of a mapping that ships, got %d", len(args))
	}
	shipped, ok := suites.FindMapping(args[0])
	if !ok {
		return exit.Usage(exit.DidYouMean(args[0], suites.MappingNames(), "there are: "+strings.Join(suites.MappingNames(), ", ")), "unknown mapping %q", args[0])
	}
	text, err := fs.ReadFile(suites.MappingFiles(), shipped.File())
	if err != nil {
		return exit.Unmeasured(err)
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
	case path == "-" || there(path) && !(ships && isFolder(path)):
		document, faults = spec.Load(path, options)
	case ships:
		document, faults = spec.LoadFS(suites.MappingFiles(), shipped.File(), options)
	default:
		names := append(suites.MappingNames(), nearby(path)...)
		return nil, exit.Usage(exit.DidYouMean(path, names, "the mappings that ship: "+strings.Join(suites.MappingNames(), ", ")), "unknown mapping %s", path)
	}
	if document == nil {
		p.learnLines(faults)
		p.print(faults)
		return nil, exit.Quiet(exit.WrongSpec)
	}
	if document.Import == nil {
		return nil, exit.Usage("a mapping begins with import: NAME; agentbench import --print intercode shows one", "%s is not a mapping", path)
	}
	p.print(document.Warnings)
	return document.Import, nil
}

// isMapping reports whether the first argument is a mapping: the name of one that ships, a
// YAML file, or, before other files, whatever does not have the name of a log.
func isMapping(args []string) bool {
	if _, ships := suites.FindMapping(args[0]); ships {
		return true
	}
	switch strings.ToLower(filepath.Ext(args[0])) {
	case ".yaml", ".yml":
		return true
	case ".json", ".jsonl", ".ndjson", ".eval", ".zip", ".csv":
		return false
	}
	return len(args) > 1
}

// mappingFor is the mapping that the arguments name, or else the one that ships and
// recognizes all files; and the files.
func (p *program) mappingFor(args []string, f *importFlags) (*spec.Import, []string, error) {
	if isMapping(args) {
		if err := readableLogs(args[1:]); err != nil {
			return nil, nil, err
		}
		m, err := p.openMapping(args[0])
		return m, args[1:], err
	}
	if err := readableLogs(args); err != nil {
		return nil, nil, err
	}
	var found *spec.Import
	var by string
	for i, file := range args {
		m, words, err := p.recognized(file)
		switch {
		case err != nil:
			return nil, nil, err
		case i > 0 && m.Name != found.Name:
			return nil, nil, exit.Usage("import the files of each format alone", "%s is %s, but %s is %s", args[0], found.Name, file, m.Name)
		}
		found, by = m, words
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "format: %s (found by %s)\n", found.Name, by)
	}
	return found, args, nil
}

// recognized is the mapping that ships and recognizes a file, and by what. More and more of the file
// is read until one does.
func (p *program) recognized(file string) (found *spec.Import, by string, err error) {
	log := p.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, "", exit.Unmeasured(err)
		}
		defer opened.Close()
		log = opened
	}
	var shipped []*spec.Import
	var tried, took []string
	for _, one := range suites.Mappings() {
		document, _ := spec.LoadFS(suites.MappingFiles(), one.File(), spec.Options{Env: p.env})
		shipped = append(shipped, document.Import) // that they load is tested
		for i := range document.Import.Recognize {
			tried = append(tried, document.Import.Name+": "+document.Import.Recognize[i].Key)
		}
	}
	var text bytes.Buffer
	for size, ended := int64(imports.HeadSize), false; len(took) == 0 && !ended && size <= imports.MostHead; size *= 8 {
		_, err := io.CopyN(&text, log, size-int64(text.Len()))
		if ended = err == io.EOF; err != nil && !ended {
			return nil, "", exit.Unmeasured(err)
		}
		head, err := imports.NewHead(file, text.Bytes(), log)
		if err != nil {
			return nil, "", exit.With(exit.NotMeasured, "", "%s: %w", file, err)
		}
		for _, m := range shipped {
			if words := head.Recognized(m); words != "" {
				found, by, took = m, words, append(took, m.Name+" (by "+words+")")
			}
		}
	}
	if file == "-" { // what was looked at is read again
		p.in = io.MultiReader(&text, p.in)
	}
	const name = "name it: agentbench import MAPPING %s; --list lists those that ship, and a mapping of your own is a YAML file"
	switch {
	case len(took) > 1:
		return nil, "", exit.Usage(fmt.Sprintf(name, exit.ShellWord(file)), "%s has several formats: %s", file, strings.Join(took, ", "))
	case found == nil:
		return nil, "", exit.Usage(fmt.Sprintf(name, exit.ShellWord(file)), "unknown format of %s; tried\n  %s", file, strings.Join(tried, "\n  "))
	}
	return found, by, nil
}

func (p *program) importLogs(ctx context.Context, args []string, f *importFlags) error {
	m, files, err := p.mappingFor(args, f)
	if err != nil {
		return err
	}
	var problems imports.Problems
	im := results.NewImport(m)
	if err := p.completeLog(im, m, f); err != nil {
		return err
	}
	im.Writer, im.Dir, im.Stdin, im.Now, im.Problem = p.writer(), cmp.Or(f.out, results.Fresh(m.Name, p.now())), p.in, p.now, problems.Add
	ctx, end := untilSignal(ctx, syscall.SIGHUP)
	defer end()
	err = im.Read(ctx, files)
	for _, line := range problems.Lines() {
		fmt.Fprintln(p.err, "agentbench: warning:", page.Visible(line))
	}
	switch {
	case err != nil:
		return err
	case !im.Made && ctx.Err() != nil:
		return exit.With(exit.Stopped, "", "interrupted before anything was read")
	case !im.Made:
		return exit.With(exit.NotMeasured, "is this the mapping for these files? agentbench import --list lists those that ship", "nothing could be read")
	case ctx.Err() != nil:
		return exit.With(exit.Stopped, "what was read is in "+im.Dir+"; import into another folder to have all",
			"interrupted after %s", page.Plural(im.Manifest.Totals.Runs(), "run", "runs"))
	}
	made := &im.Manifest
	fmt.Fprintf(p.out, "%s: imported %s: %s, %s, %s, %s\n", im.Dir, page.Plural(made.Totals.Runs(), "run", "runs"), page.Plural(made.Tasks, "task", "tasks"),
		page.Plural(len(made.Configurations), "configuration", "configurations"), page.Plural(made.Trials, "trial", "trials"),
		page.Plural(im.Iterations, "iteration", "iterations"))
	if problems.Count > 0 {
		fmt.Fprintf(p.out, "%s could not be read\n", page.Plural(problems.Count, "row or file", "rows or files"))
	}
	if f.quiet {
		return nil
	}
	for _, line := range im.Warnings(m, page.Visible) {
		fmt.Fprintln(p.err, "agentbench: warning:", line)
	}
	fmt.Fprintf(p.err, "look at it: agentbench report %s\n", exit.ShellWord(im.Dir))
	return nil
}

// completeLog takes what the log lacks from flags: what a run is worth that is cut, labels and prices.
func (p *program) completeLog(im *results.Import, m *spec.Import, f *importFlags) error {
	if f.scores != "" {
		if err := readableLogs([]string{f.scores}); err != nil {
			return err
		}
		if err := im.Label(f.scores); err != nil {
			return exit.With(exit.WrongSpec, "the first line names the columns, for example id,passed", "--scores: %w", err)
		}
	}
	if f.whenCut != "" {
		if err := m.ScoreWhenCut(f.whenCut); err != nil {
			return exit.Usage("--when-cut 0: a run that is cut has failed", "--when-cut %s: %w", f.whenCut, err)
		}
	}
	if f.prices == "" {
		return nil
	}
	if err := readableLogs([]string{f.prices}); err != nil {
		return err
	}
	file, faults := spec.LoadPrices(f.prices)
	p.print(faults)
	if faults.Err() != nil {
		return exit.Quiet(exit.WrongSpec)
	}
	im.Manifest.PricesAsOf = string(file.AsOf)
	im.Prices = func(model string, u *record.Usage) (known bool) {
		price, known := file.Prices.Get(model)
		if known {
			of := pace.PriceOf(&price)
			*u = of.Charged(*u)
		}
		return known
	}
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
			return notFound(file, "")
		case err != nil:
			return exit.Usage("", "%v", err)
		case info.IsDir():
			return exit.Usage("name the files in it: "+exit.ShellWord(file)+"/*", "%s is a folder", file)
		case info.Mode()&fs.ModeDevice != 0: // it may never end
			return exit.Usage("- reads stdin", "%s is a device, not a file", file)
		}
	}
	return nil
}
