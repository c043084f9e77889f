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
	for i := range c.Pairs {
		simulated := func(w Warning) bool { return w.Kind == SimulatedModel }
		if !slices.ContainsFunc(c.Pairs[i].Warnings, simulated) {
			return ""
		}
	}
	quoted := make([]string, len(c.Simulated))
	for i, name := range c.Simulated {
		quoted[i] = quote(name)
	}
	if len(quoted) == 0 {
		return ""
	}
	return "simulated by " + strings.Join(quoted, ", ")
}

// tables are all tables of a comparison, in the order in which people read
// them.
func (c *Comparison) tables(audience) []table {
	return []table{differencesTable(c), flipsTable(c), specTable(c)}
}

func (c *Comparison) verdicts() []Verdict { return c.Thresholds }

func (c *Comparison) answer(func(string) string) answer { return answerOf(c.verdicts()) }

// wholeWarnings are those on a pair, too, where it is the only one and no cell
// names it.
func (c *Comparison) wholeWarnings() []Warning {
	if len(c.Pairs) == 1 {
		return slices.Concat(c.Pairs[0].Warnings, c.Warnings)
	}
	return c.Warnings
}

// warned are all warnings, those on a pair with its name.
func (c *Comparison) warned() iter.Seq2[string, Warning] {
	return func(yield func(string, Warning) bool) {
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

// checks are the differences of each pair.
func (c *Comparison) checks() iter.Seq[check] { return func(func(check) bool) {} }

func (c *Comparison) facts(string) []fact { return nil }

func (c *Comparison) writeJSON(w io.Writer) error {
	text, err := encode(c, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
