package overview

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

// CacheTables are the tables of Cache.
var CacheTables = []string{"models"}

// kept is what a cache holds of one model.
type kept struct {
	provider, model string
	entries         int
	bytes           int64
	usage           record.Usage
	oldest, used    time.Time
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

// Cache is the page of what a cache holds of each model. Entries that cannot be read go
// to damaged.
func Cache(dir string, damaged func(error)) (*page.Sheet, error) {
	models, total := map[[2]string]*kept{}, kept{}
	err := eachEntry(dir, damaged, func(e *cache.Listed) {
		name := [2]string{e.Provider, e.Model}
		if models[name] == nil {
			models[name] = &kept{provider: e.Provider, model: e.Model}
		}
		models[name].add(e)
		total.add(e)
	})
	if err != nil {
		return nil, err
	}
	sorted := slices.SortedFunc(maps.Values(models), func(a, b *kept) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.model, b.model))
	})
	return &page.Sheet{
		Kind: "cache", Suite: dir,
		Head: page.Words(fmt.Sprintf("%s: %s, %s", page.Foreign(dir), page.Plural(total.entries, "entry", "entries"), page.Bytes(total.bytes))),
		List: []page.Table{page.TableOf("models", "Models", cacheFields, slices.Values(sorted))},
	}, nil
}

var cacheFields = []page.Field[*kept]{
	{Column: page.Column{Head: "model", Only: page.People}, Cell: func(k *kept) page.Cell { return page.Name(k.provider + " " + k.model) }},
	{Column: page.Column{Key: "provider", Only: page.Machines}, Cell: func(k *kept) page.Cell { return page.Name(k.provider) }},
	{Column: page.Column{Key: "model", Only: page.Machines}, Cell: func(k *kept) page.Cell { return page.Name(k.model) }},
	{Column: page.Column{Head: "entries", Key: "entries", Right: true}, Cell: func(k *kept) page.Cell { return whole(int64(k.entries)) }},
	{Column: page.Column{Head: "size", Key: "bytes", Right: true}, Cell: func(k *kept) page.Cell { return page.Cell{Text: page.Bytes(k.bytes), Raw: int(k.bytes)} }},
	{Column: page.Column{Head: "tokens", Key: "tokens", Right: true}, Cell: func(k *kept) page.Cell { return whole(k.usage.Tokens()) }},
	{Column: page.Column{Head: "cost", Key: "cost_usd", Right: true}, Cell: func(k *kept) page.Cell { return trajectory.CostCell(k.usage) }},
	{Column: page.Column{Head: "oldest", Key: "oldest"}, Cell: func(k *kept) page.Cell { return day(k.oldest) }},
	{Column: page.Column{Head: "last used", Key: "last_used"}, Cell: func(k *kept) page.Cell { return day(k.used) }},
}

func day(at time.Time) page.Cell {
	return page.Cell{Text: at.UTC().Format(time.DateOnly), Raw: at.UTC().Format(time.RFC3339)}
}

// CacheEntries writes every entry of a cache as it is read, in columns separated by tabs.
func CacheEntries(to io.Writer, dir string, damaged func(error)) error {
	out := bufio.NewWriter(to)
	fmt.Fprintln(out, "key\tmodel\ttask\ttrial\tn\tfinish\ttokens\tbytes\tcreated\tused")
	err := eachEntry(dir, damaged, func(e *cache.Listed) {
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\t%s\n", e.Key, page.Visible(e.Model), page.Visible(e.Task), e.Trial, e.N,
			page.Visible(e.Finish), e.Usage.Tokens(), e.Bytes, e.Created.UTC().Format(time.RFC3339), e.Used.UTC().Format(time.RFC3339))
	})
	return cmp.Or(err, out.Flush())
}

func eachEntry(dir string, damaged func(error), yield func(*cache.Listed)) error {
	for e, err := range cache.List(dir) {
		switch {
		case err == nil:
			yield(&e)
		case errors.Is(err, cache.ErrDamaged):
			damaged(err)
		default:
			return err
		}
	}
	return nil
}
