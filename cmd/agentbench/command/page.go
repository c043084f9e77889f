package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/browse"
	"github.com/agentbench/agentbench/reports/page"
)

// pageFile is the name of pages in hints.
const pageFile = "report.html"

// pagePlace refuses a place that is no place for a page.
func pagePlace(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return exit.Usage("name a file in it: --"+flag+" "+exit.ShellWord(filepath.Join(path, pageFile)), "--%s %s is a folder", flag, path)
	}
	if results.Holds(path) {
		return exit.Usage("name another file", "--%s %s holds results", flag, path)
	}
	if info, err := os.Stat(filepath.Dir(path)); path == "" || path == "-" || err != nil || !info.IsDir() {
		return exit.Usage("for example --"+flag+" "+pageFile, "--%s %s: want a file in a folder that is there", flag, path)
	}
	return nil
}

// alsoPage is the flag of commands that write their tables as a page to browse, too.
type alsoPage struct{ page string }

func (f *alsoPage) declare(c *cobra.Command) {
	refusing(c, func([]string) error {
		if !c.Flags().Changed("page") {
			return nil
		}
		if err := pagePlace("page", f.page); err != nil {
			return err
		}
		return writableFolder("page", filepath.Dir(f.page)) // which makes it
	})
	c.Flags().StringVar(&f.page, "page", "", "also write an HTML page to browse to `FILE`: charts, all runs, their texts")
}

// writeAlso writes the page that was asked for, if any.
func (p *program) writeAlso(f *alsoPage, document page.Page, sources *browse.Sources) error {
	if f.page == "" {
		return nil
	}
	data, err := sources.Collect()
	if err != nil {
		return exit.Unmeasured(err)
	}
	size, err := p.writePage(f.page, document, data)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "--page %s: %w", f.page, err)
	}
	p.tellPage(p.err, "page: "+f.page, size, data)
	return nil
}

// pageOf are the tables of a page, and what is browsed there.
func (p *program) pageOf(args []string, f *againstFlags) (page.Page, *browse.Sources, error) {
	if len(args) == 2 {
		return p.comparisonToBrowse(args, f)
	}
	at, err := p.openWhole(args[0], f.baselines, "the page compares all of them")
	if err != nil {
		return nil, nil, err
	}
	report, err := reports.Of(at.Results)
	if err != nil {
		return nil, nil, err
	}
	report.Where = exit.ShellWord(at.Path)
	err = p.differ(report, at.Results, &againstFlags{compareFlags: f.compareFlags})
	return report, p.sourcesOf(report.Differences, at), err
}

// comparisonToBrowse compares two results, as diff does.
func (p *program) comparisonToBrowse(args []string, f *againstFlags) (page.Page, *browse.Sources, error) {
	as := &diffFlags{baselines: f.baselines}
	s, err := p.openSides(args, as)
	if err != nil {
		return nil, nil, err
	}
	options, err := f.options(s.new.Results, s.base.Results)
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
	return compared, p.sourcesOf(compared, s.sides()...), nil
}

// sides are the places of a comparison, each once.
func (s *sides) sides() []*results.Place {
	if s.within {
		return []*results.Place{s.new}
	}
	return []*results.Place{s.base, s.new}
}

// sourcesOf are the places that a page is made of, and the flips of their comparison, which
// may be nil. The suite is the last one's.
func (p *program) sourcesOf(compared *reports.Comparison, places ...*results.Place) *browse.Sources {
	sources := &browse.Sources{Redact: p.secrets.Redact, MostTexts: browse.MostTexts, Disagree: reports.Disagree, Workspaces: workspacesIn}
	if compared != nil {
		sources.Flips = compared.Flipped()
	}
	for _, at := range places {
		sources.Suite = at.Manifest.Suite
		side := browse.Side{Results: at.Results, Name: at.Path, Configuration: at.Configuration}
		if folder, err := results.Open(at.Results, nil); err == nil {
			side.Document = folder.Document
		}
		sources.Sides = append(sources.Sides, side)
	}
	return sources
}

// workspacesIn are those that the runs of a folder worked in.
func workspacesIn(dir string) (browse.Workspaces, error) { return results.OpenStates(dir) }

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
func (p *program) tellPage(to io.Writer, path string, size int64, data *browse.Data) {
	fmt.Fprintf(to, "%s: %s, %s\n", page.Visible(path), page.Plural(data.Runs, "run", "runs"), page.Bytes(size))
	if data.WithTexts < data.Runs {
		fmt.Fprintf(p.err, "agentbench: note: the page has the texts of %d runs; agentbench show DIR RUN has those of every run\n", data.WithTexts)
	}
	if size > browse.Warned {
		fmt.Fprintf(p.err, "agentbench: warning: the page is larger than %s and may open slowly\n", page.Bytes(browse.Warned))
	}
}
