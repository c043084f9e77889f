package reports

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

func (c *Comparison) about() (kind, suite string) { return "diff", c.Suite }

// heading names both sides, and says how many tasks are compared.
func (c *Comparison) heading(quote func(string) string) string {
	if len(c.Pairs) != 1 {
		return quote(c.Suite) + " · " + plural(len(c.Pairs), "configuration", "configurations") + " compared with " + c.against(quote)
	}
	p := &c.Pairs[0]
	how := "not paired"
	if p.How.Paired {
		how = plural(p.How.Tasks, "task", "tasks") + " paired"
		if p.How.Runs > p.How.Tasks {
			how = fmt.Sprintf("%s, %d runs", how, p.How.Runs)
		}
	}
	return quote(c.Suite) + " · " + p.Base.named(quote) + " → " + p.New.named(quote) + " · " + how
}

// against is what several configurations are compared with.
func (c *Comparison) against(quote func(string) string) string {
	if len(c.Pairs) == 0 {
		return "nothing"
	}
	first := &c.Pairs[0].Base
	for i := range c.Pairs {
		if c.Pairs[i].Base.Configuration != first.Configuration {
			return cmp.Or(quote(first.Where), "the base")
		}
	}
	return first.named(quote)
}

func (s *PairSide) named(quote func(string) string) string {
	if s.Where == "" {
		return quote(s.Configuration)
	}
	return quote(s.Where + ":" + s.Configuration)
}

// remark says where nothing real was measured.
func (c *Comparison) remark(quote func(string) string) string {
	if !c.allSimulated() {
		return ""
	}
	quoted := make([]string, len(c.Simulated))
	for i, name := range c.Simulated {
		quoted[i] = quote(name)
	}
	return "simulated by " + strings.Join(quoted, ", ")
}

// allSimulated says that no number comes from a real model.
func (c *Comparison) allSimulated() bool {
	for i := range c.Pairs {
		sides := 0
		for _, w := range c.Pairs[i].Warnings {
			sides += number(w.Kind == SimulatedModel)
		}
		if sides < 2 {
			return false
		}
	}
	return len(c.Pairs) > 0 && len(c.Simulated) > 0
}

// warningsOf are the warnings on a pair, without what holds for all of them.
func (c *Comparison) warningsOf(p *Pair) []Warning {
	if !c.allSimulated() {
		return p.Warnings
	}
	return slices.DeleteFunc(slices.Clone(p.Warnings), func(w Warning) bool { return w.Kind == SimulatedModel })
}

// tables are all tables of a comparison, in the order in which people read
// them.
func (c *Comparison) tables(audience) []table {
	return []table{differencesTable(c), flipsTable(c), specTable(c), thresholdsTable(c.Thresholds)}
}

// wholeWarnings are those on a pair, too, where it is the only one and no cell
// names it.
func (c *Comparison) wholeWarnings() []note {
	var whole []Warning
	if c.allSimulated() {
		whole = append(whole, Warning{Kind: SimulatedModel, Name: strings.Join(c.Simulated, ", ")})
	}
	if len(c.Pairs) == 1 {
		whole = append(whole, c.warningsOf(&c.Pairs[0])...)
	}
	return asNotes(append(whole, c.Warnings...))
}

// warned are all warnings, those on a pair with its name.
func (c *Comparison) warned() iter.Seq2[string, note] {
	return func(yield func(string, note) bool) {
		for _, w := range c.Warnings {
			if !yield("", w) {
				return
			}
		}
		for i := range c.Pairs {
			for _, w := range c.Pairs[i].Warnings {
				if !yield(c.Pairs[i].Name, w) {
					return
				}
			}
		}
	}
}

func (c *Comparison) writeJSON(w io.Writer) error {
	text, err := encode(c, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// DiffTableNames are the tables of a comparison, in the order in which people read
// them.
var DiffTableNames = []string{"differences", "flips", "spec", thresholdsGroup}
