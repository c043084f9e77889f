package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// defaultCache is the cache of runs that name no result folder.
var defaultCache = filepath.Join("results", results.Cache)

func (p *program) cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "cache",
		Short:   "Inspect and prune the response cache",
		GroupID: "look",
		Args:    arguments(0, 0, "list or prune"),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.cacheListCommand(), p.cachePruneCommand())
	return c
}

func (p *program) cacheListCommand() *cobra.Command {
	var each bool
	var f reportFlags
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List what the cache holds, by model (default: " + defaultCache + ")",
		Args:  arguments(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := append(args, defaultCache)[0]
			damaged := func(err error) { fmt.Fprintln(p.err, "agentbench:", err) }
			if each {
				return noCache(dir, overview.CacheEntries(p.out, dir, damaged))
			}
			sheet, err := overview.Cache(dir, damaged)
			if err != nil {
				return noCache(dir, err)
			}
			return p.write(sheet, &f)
		},
	}
	c.Flags().BoolVar(&each, "entries", false, "list every entry, in tab-separated columns")
	f.declare(c, overview.CacheTables)
	return c
}

func (p *program) cachePruneCommand() *cobra.Command {
	var size string
	c := &cobra.Command{
		Use:   "prune [DIR] --max-size SIZE",
		Short: "Remove the least recently used entries until the cache fits",
		Args:  arguments(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			most, err := source.Size(size)
			if err != nil {
				return exit.Usage("agentbench cache prune --max-size 500MB", "--max-size: %w", err)
			}
			return p.prune(append(args, defaultCache)[0], most)
		},
	}
	c.Flags().StringVar(&size, "max-size", "", "maximum size of the cache: 500MB, 2GiB, 0")
	return c
}

func noCache(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("the cache is next to the result folder, or where --cache-dir says", "no cache found in %s", dir)
	}
	return exit.Unmeasured(unlessClosed(err))
}

func (p *program) prune(dir string, most int64) error {
	done, err := cache.Prune(dir, most, p.now())
	if err != nil {
		return noCache(dir, err)
	}
	fmt.Fprintf(p.out, "%s: removed %s, %s; kept %s, %s\n", dir,
		page.Plural(done.Removed, "entry", "entries"), page.Bytes(done.RemovedBytes),
		page.Plural(done.Kept, "entry", "entries"), page.Bytes(done.KeptBytes))
	return nil
}

// beside is the folder of the cache for what goes to a result folder.
func (f *cacheFlags) beside(dir string) string {
	return cmp.Or(f.dir, filepath.Join(filepath.Dir(filepath.Clean(dir)), results.Cache))
}

// cacheAt is the cache in a folder.
func (p *program) cacheAt(dir string) *cache.Store {
	return cache.Open(dir, cache.Options{Now: p.now, Redact: p.secrets.String, Warn: func(err error) {
		p.interject(fmt.Sprintf("agentbench: warning: %v; the suite continues, but answers are not cached", err))
	}})
}

// interject writes a line to stderr while progress may be shown there.
func (p *program) interject(line string) {
	if p.isTerminal(p.err) {
		line = overview.ClearLine + line
	}
	p.note(line)
}

// tellEffort says what the cache saved in this session, where models that are paid for were asked, and what was spent.
func (p *program) tellEffort(j *job, m *record.Manifest, effort *reports.Effort) {
	if s := j.cache.Stats(); s.Hits+s.Misses+s.Stored > 0 {
		fmt.Fprintf(p.err, "cache: %s, %s, %d stored", page.Plural(int(s.Hits), "hit", "hits"), page.Plural(int(s.Misses), "miss", "misses"), s.Stored)
		if s.Damaged > 0 {
			fmt.Fprintf(p.err, ", %d damaged", s.Damaged)
		}
		fmt.Fprintln(p.err)
	}
	switch spent := j.ledger.Spent(); {
	case effort != nil:
		p.tellSpent(effort, &j.Suite.Budget)
	case len(m.Simulated) == 0 && spent.Total.Cost > 0:
		fmt.Fprintln(p.err, overview.Spent(spent, &j.Suite.Budget))
	}
}

func (p *program) tellSpent(effort *reports.Effort, of *spec.SuiteBudget) {
	fmt.Fprintln(p.err, overview.Spent(effort.Ledger, of)+effort.Uncached())
}
