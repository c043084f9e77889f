package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
)

// cacheFlags say what of the cache a run may use, and where it is.
type cacheFlags struct {
	mode cache.Mode
	text string
	dir  string
}

func (f *cacheFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.text, "cache", string(cache.On), "paid answers: "+strings.Join(cache.Modes, ", ")+" (only: make no call at all)")
	c.Flags().StringVar(&f.dir, "cache-dir", "", "folder of the cache (default: cache, beside the result folder)")
	// It fails only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("cache", cobra.FixedCompletions(cache.Modes, cobra.ShellCompDirectiveNoFileComp))
}

func (f *cacheFlags) validate() (err error) {
	if f.mode, err = cache.ParseMode(f.text); err != nil {
		return usage(didYouMean(f.text, cache.Modes, "there are: "+strings.Join(cache.Modes, ", ")), "%w", err)
	}
	return nil
}

// cacheName is the folder of the cache, beside result folders.
const cacheName = "cache"

// withoutCaches are folders without the caches beside them, which shards/* names,
// too.
func withoutCaches(dirs []string) []string {
	rest := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return filepath.Base(filepath.Clean(dir)) == cacheName && !resultFolder(dir)
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
		line := fmt.Sprintf("agentbench: warning: %v; the suite goes on, but its answers are not kept", err)
		if p.isTerminal(p.err) {
			line = clearLine + line
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
	fmt.Fprintf(p.err, "cache: %s, %s, %d stored", count(int(s.Hits), "hit", "hits"), count(int(s.Misses), "miss", "misses"), s.Stored)
	if s.Damaged > 0 {
		fmt.Fprintf(p.err, ", %d damaged", s.Damaged)
	}
	asIf := m.Totals.Used()
	fmt.Fprintf(p.err, "; cost as if nothing were cached %s, paid %s\n", costOf(asIf), costOf(m.Volatile.Paid))
}
