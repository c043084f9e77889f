package reports

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// flipRow is a flip of a pair.
type flipRow struct {
	pair *Pair
	*Flip
}

// flipsTable lists the tasks whose success changed, those that got worse first.
func flipsTable(c *Comparison) page.Table {
	ids := func(key string, of func(*Flip) []string) page.Field[flipRow] {
		return page.Field[flipRow]{Column: page.Column{Key: key, Only: page.Machines}, Cell: func(row flipRow) page.Cell {
			return page.Name(strings.Join(of(row.Flip), " "))
		}}
	}
	fields := []page.Field[flipRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration", Only: c.severalPairs()}, Cell: func(row flipRow) page.Cell {
			return page.Name(row.pair.Name)
		}},
		{Column: page.Column{Head: "score", Key: "score"}, Cell: func(row flipRow) page.Cell { return page.Name(row.Score) }},
		{Column: page.Column{Head: "task", Key: "task"}, Cell: func(row flipRow) page.Cell { return page.Name(row.Task) }},
		{Column: page.Column{Head: "base", Key: "base", Right: true}, Cell: func(row flipRow) page.Cell {
			return page.Number(row.Base, page.Short)
		}},
		{Column: page.Column{Head: "new", Key: "new", Right: true}, Cell: func(row flipRow) page.Cell { return page.Number(row.New, page.Short) }},
		{Column: page.Column{Head: "run", Only: page.People, Optional: true}, Cell: func(row flipRow) page.Cell { return page.Name(row.both()) }},
		{Column: page.Column{Head: "base run", Only: page.People, Optional: true}, Cell: func(row flipRow) page.Cell {
			return page.Name(row.one(row.BaseRuns))
		}},
		{Column: page.Column{Head: "new run", Only: page.People, Optional: true}, Cell: func(row flipRow) page.Cell {
			return page.Name(row.one(row.NewRuns))
		}},
		ids("base_runs", func(f *Flip) []string { return f.BaseRuns }),
		ids("new_runs", func(f *Flip) []string { return f.NewRuns }),
	}
	t := page.Table{Name: "flips", Title: "Tasks that flipped", Columns: page.ColumnsOf(fields), Blocks: 1}
	t.Rows, t.Count, t.Shares = page.RowsOf(fields, c.flips()), c.countFlips(), c.shareFlips()
	return t
}

// shareFlips has each configuration and score show its worst where not all flips
// can be shown: what got worse comes before what got better, and of each as many
// before any shows more.
func (c *Comparison) shareFlips() *page.Shares {
	type place struct {
		better, round int
		change        float64
	}
	var places []place
	var pairs []*Pair
	for i := range c.Pairs {
		met := map[string]int{}
		for f := range c.Pairs[i].Flips {
			flip := &c.Pairs[i].Flips[f]
			p := place{change: -math.Abs(flip.New.Number - flip.Base.Number)}
			if !flip.worse {
				p.better = 1
			}
			of := fmt.Sprint(p.better, flip.Score)
			p.round, met[of] = met[of], met[of]+1
			places, pairs = append(places, p), append(pairs, &c.Pairs[i])
		}
	}
	s := &page.Shares{Order: make([]int, len(places)), Group: func(at int) string {
		if len(c.Pairs) < 2 {
			return ""
		}
		return pairs[at].Name
	}}
	for at := range s.Order {
		s.Order[at] = at
	}
	slices.SortFunc(s.Order, func(a, b int) int {
		x, y := places[a], places[b]
		return cmp.Or(cmp.Compare(x.better, y.better), cmp.Compare(x.round, y.round), cmp.Compare(x.change, y.change), cmp.Compare(a, b))
	})
	return s
}

// severalPairs says who needs to be told of which pair a row is.
func (c *Comparison) severalPairs() page.Audience {
	if len(c.Pairs) < 2 {
		return page.Machines
	}
	return page.Everyone
}

func (c *Comparison) flips() iter.Seq[flipRow] {
	return func(yield func(flipRow) bool) {
		for i := range c.Pairs {
			for f := range c.Pairs[i].Flips {
				if !yield(flipRow{&c.Pairs[i], &c.Pairs[i].Flips[f]}) {
					return
				}
			}
		}
	}
}

func (c *Comparison) countFlips() (n int) {
	for i := range c.Pairs {
		n += len(c.Pairs[i].Flips)
	}
	return n
}

// both are the ids of the runs where they are the same on both sides, as in two
// folders of one suite; one are those of a side where they are not.
func (f *Flip) both() string {
	if !slices.Equal(f.BaseRuns, f.NewRuns) {
		return ""
	}
	return brackets(f.BaseRuns)
}

func (f *Flip) one(runs []string) string {
	if slices.Equal(f.BaseRuns, f.NewRuns) {
		return ""
	}
	return brackets(runs)
}

// brackets tells the first and the last of the runs of a task: default/t/1…3.
func brackets(ids []string) string {
	if len(ids) < 2 {
		return strings.Join(ids, "")
	}
	last := ids[len(ids)-1]
	return ids[0] + "…" + last[strings.LastIndexByte(last, '/')+1:]
}
