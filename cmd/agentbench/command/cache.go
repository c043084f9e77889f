package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/spec/source"
)

// defaultCache is the cache of runs that name no result folder.
var defaultCache = filepath.Join("results", cacheName)

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
			if err := f.validate(); err != nil {
				return err
			}
			dir := cacheFolder(args)
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
			return p.prune(cacheFolder(args), most)
		},
	}
	c.Flags().StringVar(&size, "max-size", "", "maximum size of the cache: 500MB, 2GiB, 0")
	return c
}

func cacheFolder(args []string) string {
	if len(args) == 0 {
		return defaultCache
	}
	return args[0]
}

func noCache(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("the cache is next to the result folder, or where --cache-dir says", "no cache found in %s", dir)
	}
	return exit.Unmeasured(unlessClosed(err))
}

// prune shrinks a cache.
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

// cacheName is the folder of the cache, beside result folders.
const cacheName = "cache"

// withoutCaches are folders without the caches beside them, which shards/* names,
// too.
func withoutCaches(dirs []string) []string {
	rest := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return filepath.Base(filepath.Clean(dir)) == cacheName && !results.IsFolder(dir)
	})
	if len(rest) == 0 {
		return dirs
	}
	return rest
}

// openCache gives the cache of a job.
func (p *program) openCache(j *job) *cache.Store {
	dir := j.flags.dir
	if dir == "" {
		dir = filepath.Join(filepath.Dir(filepath.Clean(j.dir)), cacheName)
	}
	return p.cacheAt(dir)
}

// cacheAt is the cache in a folder.
func (p *program) cacheAt(dir string) *cache.Store {
	return cache.Open(dir, cache.Options{Now: p.now, Redact: p.secrets.String, Warn: func(err error) {
		line := fmt.Sprintf("agentbench: warning: %v; the suite continues, but answers are not cached", err)
		if p.isTerminal(p.err) {
			line = overview.ClearLine + line
		}
		fmt.Fprintln(p.err, line)
	}})
}

// tellCache says what the cache saved, where models that are paid for were asked.
func (p *program) tellCache(j *job, m *record.Manifest) {
	s := j.cache.Stats()
	if s.Hits+s.Misses+s.Stored == 0 {
		return
	}
	fmt.Fprintf(p.err, "cache: %s, %s, %d stored", page.Plural(int(s.Hits), "hit", "hits"), page.Plural(int(s.Misses), "miss", "misses"), s.Stored)
	if s.Damaged > 0 {
		fmt.Fprintf(p.err, ", %d damaged", s.Damaged)
	}
	asIf := m.Totals.Used()
	fmt.Fprintf(p.err, "; uncached cost %s, paid %s\n", trajectory.Cost(asIf), trajectory.Cost(m.Volatile.Paid))
}
