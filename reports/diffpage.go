package reports

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// About is a diff of the new side's suite.
func (c *Comparison) About() (kind, suite string) { return "diff", c.Suite }

// Heading names both sides, and says how many tasks are compared.
func (c *Comparison) Heading(quote func(string) string) string {
	if c.Incomplete != "" {
		return "incomplete: " + quote(c.Incomplete) + " · " + c.compared(quote)
	}
	return c.compared(quote)
}

func (c *Comparison) compared(quote func(string) string) string {
	if len(c.Pairs) != 1 {
		return quote(c.Suite) + " · " + page.Plural(len(c.Pairs), "configuration", "configurations") + " compared with " + c.against(quote)
	}
	p := &c.Pairs[0]
	how := "not paired"
	if p.How.Paired {
		how = page.Plural(p.How.Tasks, "task", "tasks") + " paired"
		if p.How.Runs > p.How.Tasks {
			how = fmt.Sprintf("%s, %d runs", how, p.How.Runs)
		}
	}
	return quote(c.Suite) + " · " + p.Base.named(quote) + " → " + p.New.named(quote) + " · " + how
}

// Lacks says what is not here, of either side.
func (c *Comparison) Lacks() string { return c.Incomplete }

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

// Remark says where nothing real was measured.
func (c *Comparison) Remark(quote func(string) string) string {
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

// Tables are all tables of a comparison, in the order in which people read
// them.
func (c *Comparison) Tables(page.Audience) []page.Table {
	return []page.Table{differencesTable(c), sequentialTable(c), c.front().table(scoreDifference), flipsTable(c), specTable(c), thresholdsTable(c.Thresholds)}
}

// WholeWarnings are those on a pair, too, where it is the only one and no cell
// names it.
func (c *Comparison) WholeWarnings() []page.Warning {
	var whole []Warning
	if c.allSimulated() {
		whole = append(whole, Warning{Kind: SimulatedModel, Name: strings.Join(c.Simulated, ", ")})
	}
	if len(c.Pairs) == 1 {
		whole = append(whole, c.warningsOf(&c.Pairs[0])...)
	}
	return asNotes(append(whole, c.Warnings...))
}

// Warned are all warnings, those on a pair with its name.
func (c *Comparison) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
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

// WriteJSON writes the comparison as one object, whose form is that of Comparison.
func (c *Comparison) WriteJSON(w io.Writer) error {
	c.front()
	text, err := page.EncodeJSON(c, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// DiffTableNames are the tables of a comparison, in the order in which people read
// them.
var DiffTableNames = []string{"differences", "sequential", "front", "flips", "spec", page.Thresholds}
