package reports

import (
	"io"
	"iter"
)

func (c *Comparison) about() (kind, suite string) { return "diff", c.Suite }

// heading names both sides.
func (c *Comparison) heading(quote func(string) string) string { return quote(c.Suite) }

func (c *Comparison) remark(func(string) string) string { return "" }

// tables are all tables of a comparison, in the order in which people read
// them.
func (c *Comparison) tables(audience) []table { return nil }

func (c *Comparison) verdicts() []Verdict { return nil }

func (c *Comparison) answer(func(string) string) answer { return answerOf(c.verdicts()) }

func (c *Comparison) wholeWarnings() []Warning { return c.Warnings }

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
