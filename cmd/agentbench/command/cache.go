package command

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

// defaultCache is the cache of runs that name no result folder.
var defaultCache = filepath.Join("results", cacheName)

func (p *program) cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "cache",
		Short:   "Look after the answers that were paid for",
		GroupID: "look",
		Args:    arguments(0, 0, "list or prune"),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.cacheListCommand(), p.cachePruneCommand())
	return c
}

func (p *program) cacheListCommand() *cobra.Command {
	var each bool
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "Say what a cache holds (default: " + defaultCache + ")",
		Args:  arguments(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := cacheFolder(args)
			if each {
				return p.listEntries(dir)
			}
			return p.listModels(dir)
		},
	}
	c.Flags().BoolVar(&each, "entries", false, "one line an entry, in columns parted by tabs")
	return c
}

func (p *program) cachePruneCommand() *cobra.Command {
	var size string
	c := &cobra.Command{
		Use:   "prune [DIR] --max-size SIZE",
		Short: "Remove what was not used for longest until the cache is small enough",
		Args:  arguments(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			most, err := parseSize(size)
			if err != nil {
				return exit.Usage("agentbench cache prune --max-size 500MB", "--max-size: %w", err)
			}
			return p.prune(cacheFolder(args), most)
		},
	}
	c.Flags().StringVar(&size, "max-size", "", "how much may stay: 500MB, 2GiB, 0")
	return c
}

func cacheFolder(args []string) string {
	if len(args) == 0 {
		return defaultCache
	}
	return args[0]
}

// entriesOf gives the entries that can be read, and tells of the others.
func (p *program) entriesOf(dir string, yield func(*cache.Listed)) error {
	for e, err := range cache.List(dir) {
		switch {
		case err == nil:
			yield(&e)
		case cache.IsDamaged(err):
			fmt.Fprintln(p.err, "agentbench:", err)
		default:
			return noCache(dir, err)
		}
	}
	return nil
}

func noCache(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Usage("the cache is beside the result folder, or where --cache-dir put it", "there is no cache in %s", dir)
	}
	return exit.Unmeasured(err)
}

// kept is what a cache holds of one model.
type kept struct {
	model        string
	entries      int
	bytes        int64
	usage        record.Usage
	oldest, used time.Time
}

func (k *kept) add(e *cache.Listed) {
	k.entries, k.bytes, k.usage = k.entries+1, k.bytes+e.Bytes, k.usage.Plus(e.Usage)
	if k.oldest.IsZero() || e.Created.Before(k.oldest) {
		k.oldest = e.Created
	}
	if e.Used.After(k.used) {
		k.used = e.Used
	}
}

// listModels prints what the cache holds of each model.
func (p *program) listModels(dir string) error {
	models, total := map[string]*kept{}, kept{}
	err := p.entriesOf(dir, func(e *cache.Listed) {
		name := e.Provider + " " + e.Model
		if models[name] == nil {
			models[name] = &kept{model: name}
		}
		models[name].add(e)
		total.add(e)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %s, %s\n", dir, page.Plural(total.entries, "entry", "entries"), page.Bytes(total.bytes))
	if total.entries == 0 {
		return nil
	}
	fmt.Fprintln(p.out)
	if _, err := page.Terminal(p.out, keptTable(models), page.Screen{Width: p.width(p.out)}); unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	return nil
}

func keptTable(models map[string]*kept) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "model"}, {Head: "entries", Right: true}, {Head: "size", Right: true},
		{Head: "tokens", Right: true}, {Head: "cost", Right: true}, {Head: "oldest"}, {Head: "last used"},
	}}
	const day = "2006-01-02"
	byName := func(a, b *kept) int { return cmp.Compare(a.model, b.model) }
	for _, k := range slices.SortedFunc(maps.Values(models), byName) {
		t.Rows = append(t.Rows, []string{
			page.Visible(k.model), fmt.Sprint(k.entries), page.Bytes(k.bytes),
			fmt.Sprint(k.usage.Tokens()), trajectory.Cost(k.usage), k.oldest.UTC().Format(day), k.used.UTC().Format(day),
		})
	}
	return t
}

// listEntries prints every entry as it is read.
func (p *program) listEntries(dir string) error {
	out := bufio.NewWriter(p.out)
	fmt.Fprintln(out, "key\tmodel\ttask\ttrial\tn\tfinish\ttokens\tbytes\tcreated\tused")
	err := p.entriesOf(dir, func(e *cache.Listed) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\t%s\n", e.Key, cell(e.Model), cell(e.Task), e.Trial, e.N,
			cell(e.Finish), e.Usage.Tokens(), e.Bytes, e.Created.UTC().Format(time.RFC3339), e.Used.UTC().Format(time.RFC3339))
	})
	if failed := unlessClosed(out.Flush()); err == nil && failed != nil {
		return exit.Unmeasured(failed)
	}
	return err
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

// cell keeps a text within its column.
func cell(text string) string { return page.Visible(text) }

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
	fmt.Fprintf(p.err, "cache: %s, %s, %d stored", page.Plural(int(s.Hits), "hit", "hits"), page.Plural(int(s.Misses), "miss", "misses"), s.Stored)
	if s.Damaged > 0 {
		fmt.Fprintf(p.err, ", %d damaged", s.Damaged)
	}
	asIf := m.Totals.Used()
	fmt.Fprintf(p.err, "; cost as if nothing were cached %s, paid %s\n", trajectory.Cost(asIf), trajectory.Cost(m.Volatile.Paid))
}

// units are those of sizes, the longer names first.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// parseSize reads a number of bytes: 1000, 500MB, 1.5GiB.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, errors.New("want a size")
	}
	number, unit := text, int64(1)
	for _, u := range units {
		if before, ok := cutSuffixFold(text, u.name); ok {
			number, unit = before, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n >= 0 && n*float64(unit) < 1<<62) {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return int64(n * float64(unit)), nil
}

func cutSuffixFold(text, suffix string) (before string, found bool) {
	at := len(text) - len(suffix)
	if at < 0 || !strings.EqualFold(text[at:], suffix) {
		return text, false
	}
	return text[:at], true
}
