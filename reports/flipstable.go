package reports

import (
	"iter"
	"slices"
	"strings"
)

// flipRow is a flip of a pair.
type flipRow struct {
	pair *Pair
	*Flip
}

// flipsTable lists the tasks whose success changed, those that got worse first.
func flipsTable(c *Comparison) table {
	ids := func(key string, of func(*Flip) []string) field[flipRow] {
		return field[flipRow]{column{key: key, only: machines}, func(row flipRow) cell { return ofName(strings.Join(of(row.Flip), " ")) }}
	}
	fields := []field[flipRow]{
		{column{head: "configuration", key: "configuration", only: c.severalPairs()}, func(row flipRow) cell { return ofName(row.pair.Name) }},
		{column{head: "score", key: "score"}, func(row flipRow) cell { return ofName(row.Score) }},
		{column{head: "task", key: "task"}, func(row flipRow) cell { return ofName(row.Task) }},
		{column{head: "base", key: "base", right: true}, func(row flipRow) cell { return of(row.Base, short) }},
		{column{head: "new", key: "new", right: true}, func(row flipRow) cell { return of(row.New, short) }},
		{column{head: "run", only: people, optional: true}, func(row flipRow) cell { return ofName(row.both()) }},
		{column{head: "base run", only: people, optional: true}, func(row flipRow) cell { return ofName(row.one(row.BaseRuns)) }},
		{column{head: "new run", only: people, optional: true}, func(row flipRow) cell { return ofName(row.one(row.NewRuns)) }},
		ids("base_runs", func(f *Flip) []string { return f.BaseRuns }),
		ids("new_runs", func(f *Flip) []string { return f.NewRuns }),
	}
	t := table{name: "flips", title: "Tasks that flipped", columns: columnsOf(fields), blocks: 1}
	t.rows, t.count = rowsOf(fields, c.flips()), c.countFlips()
	return t
}

// severalPairs says who needs to be told of which pair a row is.
func (c *Comparison) severalPairs() audience {
	if len(c.Pairs) < 2 {
		return machines
	}
	return everyone
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
