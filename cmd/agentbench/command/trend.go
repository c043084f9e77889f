package command

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// trend writes the page of several results in order of time, or prints it in another format.
func (p *program) trend(args []string, f *pageFlags) error {
	places, timed, err := p.trendPlaces(args, f.baselines)
	if err != nil {
		return err
	}
	options, err := f.options(places[len(places)-1].Results)
	if err != nil {
		return err
	}
	trend, runs := reports.NewTrend(options), 0
	if !timed {
		trend.Note("results without a time, such as baselines, are among them: the order is that of the command line")
	}
	for _, at := range places {
		report, err := reports.Of(at.Results)
		if err != nil {
			return err
		}
		for i := range report.Configurations {
			runs += report.Configurations[i].Runs
		}
		if err := trend.Add(at.Text, at.Manifest.Volatile.Started, report); err != nil {
			return reports.Incomparable(err)
		}
	}
	if runs == 0 {
		return exit.With(exit.NotMeasured, "agentbench run SUITE makes runs", "no runs to show in %s", exit.Some(args))
	}
	if base, compared := trend.Newest(); base != "" {
		trend.Note("agentbench page " + exit.ShellWord(base) + " " + exit.ShellWord(compared) + " shows the runs behind the newest comparison")
	}
	trend.End()
	if f.printed {
		return p.write(trend, &reportFlags{format: f.format, all: true})
	}
	var size int64
	err = p.replaceFile(f.out, func(w io.Writer) error {
		size = 0
		return page.Write(counting{w, &size}, trend, page.Options{Format: f.format})
	})
	if err != nil {
		return exit.With(exit.NotMeasured, "", "--out %s: %w", f.out, err)
	}
	fmt.Fprintf(p.out, "%s: %s, %s\n", page.Visible(f.out), page.Plural(len(places), "result", "results"), page.Bytes(size))
	return nil
}

// trendPlaces opens results, each once, in the order in which they were made. Where one does
// not say when, it is the order of the arguments, and timed is false.
func (p *program) trendPlaces(args []string, baselines string) (places []*results.Place, timed bool, err error) {
	timed = true
	for _, arg := range args {
		found := []string{arg}
		if strings.ContainsAny(arg, "*?[") && !there(arg) {
			if found, err = filepath.Glob(arg); err != nil || len(found) == 0 {
				return nil, false, exit.Usage("a pattern such as 'results/nightly-*' names result folders", "no results match %s", arg)
			}
			found = slices.DeleteFunc(found, func(path string) bool { return isFolder(path) && !results.IsFolder(path) })
			if len(found) == 0 {
				return nil, false, exit.Usage("a pattern such as 'results/nightly-*' names result folders", "no folder that matches %s holds results", arg)
			}
		}
		for _, path := range found {
			at, err := p.openWhole(path, baselines, "a trend has all of them")
			if err != nil {
				return nil, false, err
			}
			if !slices.ContainsFunc(places, at.Same) {
				places, timed = append(places, at), timed && !at.Manifest.Volatile.Started.IsZero()
			}
		}
	}
	if timed {
		slices.SortStableFunc(places, func(a, b *results.Place) int {
			return cmp.Or(a.Manifest.Volatile.Started.Compare(b.Manifest.Volatile.Started), cmp.Compare(a.Path, b.Path))
		})
	}
	return places, timed, nil
}
