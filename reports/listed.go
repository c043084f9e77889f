package reports

import (
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// listed is a warning about runs of a configuration that a page can list.
type listed struct {
	Warning
	of    string
	terms []string
}

// Listed are the configuration, and the filter of the runs.
func (w listed) Listed() (of, fragment string) { return w.of, page.Filter(w.terms...) }

// about is the warning with the runs of a configuration that it is about, where it is about runs
// that a filter finds. Of are the terms for all runs of the configuration.
func (w Warning) about(name string, of []string) page.Warning {
	terms := w.terms()
	if of == nil || terms == nil {
		return w
	}
	return listed{w, name, slices.Concat(of, terms)}
}

// terms find the runs of a configuration that the warning counts; nil: none do.
func (w Warning) terms() []string {
	const counts = "!status:fault"
	switch w.Kind {
	case Faults:
		return []string{"status:fault"}
	case AgentFailed:
		return []string{"status:failed"}
	case Unscored, NotScored:
		return []string{"!" + page.Compared(w.Name, ">=", 0), "!" + page.Compared(w.Name, "<", 0), counts}
	case Untimed:
		return []string{"!" + page.Compared("latency", ">=", 0), counts}
	}
	return nil
}

// notesOn are the warnings on a pair. Runs of a result that is not on the page cannot be listed.
func (c *Comparison) notesOn(p *Pair) (notes []page.Warning) {
	for _, w := range c.warningsOf(p) {
		side, other := &p.New, &p.Base
		if w.Side == "base" {
			side, other = other, side
		}
		of := []string{page.Term("config", side.Configuration)}
		switch {
		case w.Side == "" || side.Where != "" && other.Where == "":
			of = nil
		case side.Where != "":
			of = append(of, page.Term("side", w.Side))
		}
		notes = append(notes, w.about(w.Side, of))
	}
	return notes
}
