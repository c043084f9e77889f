package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/cmd/agentbench/heap"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/browse"
	"github.com/agentbench/agentbench/reports/page"
)

// pageFlags are the flags of page.
type pageFlags struct {
	compareFlags
	baselines, out string
}

// pageFile is where a page goes unless the user says otherwise.
const pageFile = "report.html"

func (p *program) pageCommand() *cobra.Command {
	var f pageFlags
	c := &cobra.Command{
		Use:     "page DIR | page BASE NEW",
		Short:   "Write an HTML page to browse: the report, every run, and their texts",
		GroupID: "look",
		Long: `Writes one HTML file that works offline: the report of a result folder, or with two arguments the
comparison that diff makes of them, and all runs with a filter, sorting and links to single runs.
Arguments are result folders, baseline files or names of baselines; FOLDER:CONFIGURATION selects
one configuration. The file has the texts of runs whose success changed, of failures and of a
sample; agentbench show DIR RUN has those of every run. Equal results give equal files.`,
		Args: arguments(1, 2, "one or two results"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(f.compareFlags.validate(), writablePage(f.out)); err != nil {
				return err
			}
			return p.page(args, &f)
		},
	}
	f.compareFlags.declare(c)
	declareBaselines(c, &f.baselines)
	f.out = pageFile
	c.Flags().StringVarP(&f.out, "out", "o", pageFile, "write the page to this `FILE`; a file that is there is replaced")
	return c
}

// writablePage refuses a place that is no place for a page.
func writablePage(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exit.Usage("name a file in it: --out "+exit.ShellWord(filepath.Join(path, pageFile)), "--out %s is a folder", path)
	}
	if results.Holds(path) {
		return exit.Usage("name another file", "--out %s holds results", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); path == "" || path == "-" || err != nil || !info.IsDir() {
		return exit.Usage("for example --out "+pageFile, "--out %s: want a file in a folder that is there", path)
	}
	return nil
}

// page writes the page of one result, or of two.
func (p *program) page(args []string, f *pageFlags) error {
	defer heap.Leanly()()
	document, sources, err := p.pageOf(args, f)
	if err != nil {
		return err
	}
	data, err := sources.Collect()
	switch {
	case err != nil:
		return exit.Unmeasured(err)
	case data.Runs == 0:
		return exit.With(exit.NotMeasured, "agentbench run SUITE makes runs", "%s has no runs to show", sources.Sides[0].Name)
	}
	size, err := p.writePage(f.out, document, data)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "--out %s: %w", f.out, err)
	}
	p.tellPage(f.out, size, data)
	return nil
}

// pageOf are the tables of a page, and what is browsed there.
func (p *program) pageOf(args []string, f *pageFlags) (page.Page, *browse.Sources, error) {
	if len(args) == 2 {
		return p.comparisonToBrowse(args, f)
	}
	at, err := p.openPlace(args[0], f.baselines)
	if err != nil {
		return nil, nil, err
	}
	if at.Configuration != "" {
		return nil, nil, exit.Usage("name "+exit.ShellWord(at.Path)+" alone", "%s is one configuration, and the page compares all of them", args[0])
	}
	report, err := p.collect(at.Results)
	if err != nil {
		return nil, nil, err
	}
	options, err := f.options(&at.Manifest)
	if err != nil {
		return nil, nil, err
	}
	report.Options, report.Where = options.Options, exit.ShellWord(at.Path)
	if report.Differences, err = reports.DiffBaseline(report, options); err != nil {
		return nil, nil, reports.Incomparable(err)
	}
	sources := p.sourcesOf(at)
	if report.Differences != nil {
		sources.Flips = report.Differences.Flipped()
		report.Differences.DropFlips()
	}
	return report, sources, nil
}

// comparisonToBrowse compares two results, as diff does.
func (p *program) comparisonToBrowse(args []string, f *pageFlags) (page.Page, *browse.Sources, error) {
	as := &diffFlags{baselines: f.baselines}
	s, err := p.openSides(args, as)
	if err != nil {
		return nil, nil, err
	}
	options, err := f.options(&s.new.Manifest, &s.base.Manifest)
	if err != nil {
		return nil, nil, err
	}
	base, newest, err := p.collectBoth(s)
	if err != nil {
		return nil, nil, err
	}
	compared, err := p.compare(s, base, newest, options, as)
	if err != nil {
		return nil, nil, err
	}
	sources := p.sourcesOf(s.base, s.new)
	sources.Flips = compared.Flipped()
	return compared, sources, nil
}

// sourcesOf are the places that a page is made of. The suite is the last one's.
func (p *program) sourcesOf(places ...*results.Place) *browse.Sources {
	sources := &browse.Sources{Redact: p.secrets.Redact, MostTexts: browse.MostTexts, Disagree: reports.Disagree}
	for _, at := range places {
		sources.Suite = at.Manifest.Suite
		sources.Sides = append(sources.Sides, browse.Side{Results: at.Results, Name: at.Path, Configuration: at.Configuration})
	}
	return sources
}

// writePage writes the file and gives its size. Secrets were removed from the data before
// they were packed: these are written past what removes secrets, which could only find in
// base64 what is none.
func (p *program) writePage(path string, document page.Page, data *browse.Data) (size int64, err error) {
	script, err := browse.Script()
	if err != nil {
		return 0, err
	}
	err = p.replaceFile(path, func(w io.Writer) error {
		hiding, ok := w.(*secret.Writer)
		if !ok {
			return errors.New("the file would have its secrets")
		}
		size = 0
		past := func(io.Writer) error {
			return errors.Join(hiding.Flush(), data.Write(counting{hiding.Unwrap(), &size}))
		}
		live := &page.Live{Script: script, Style: browse.Style, Data: past}
		return page.Write(counting{hiding, &size}, document, page.Options{Format: "html", Live: live})
	})
	return size, err
}

// counting counts what is written.
type counting struct {
	to  io.Writer
	all *int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	*c.all += int64(n)
	return n, err
}

// tellPage says what was written, and what is left out.
func (p *program) tellPage(path string, size int64, data *browse.Data) {
	fmt.Fprintf(p.out, "%s: %s, %s\n", page.Visible(path), page.Plural(data.Runs, "run", "runs"), page.Bytes(size))
	if data.WithTexts < data.Runs {
		fmt.Fprintf(p.err, "agentbench: note: the page has the texts of %d runs; agentbench show DIR RUN has those of every run\n", data.WithTexts)
	}
	if size > browse.Warned {
		fmt.Fprintf(p.err, "agentbench: warning: the page is larger than %s and may open slowly\n", page.Bytes(browse.Warned))
	}
}
