package reports

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// allSimulated says that no number comes from a real model.
func (r *Report) allSimulated() bool {
	return !slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Runs > 0 && !c.Simulated }) &&
		slices.ContainsFunc(r.Configurations, func(c Configuration) bool { return c.Simulated })
}

// nameCell names a configuration, with the warnings that are about all of its
// numbers.
func (r *Report) nameCell(c *Configuration) page.Cell {
	warnings := c.warningsOf("", MixedLoops)
	if len(c.Aliases) > 0 {
		warnings = append(warnings, Warning{Kind: SameAs, Name: c.Name, More: strings.Join(c.Aliases, ", ")})
	}
	if !r.allSimulated() {
		warnings = append(warnings, c.warningsOf("", SimulatedModel)...)
	}
	return page.Name(c.Name, asNotes(warnings)...)
}

// nameFields name a row's configuration and, for machines, the simulated models
// that its numbers come from.
func nameFields[T any](r *Report, of func(T) *Configuration) []page.Field[T] {
	return []page.Field[T]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(row T) page.Cell { return r.nameCell(of(row)) }},
		{Column: page.Column{Key: "simulated", Only: page.Machines}, Cell: func(row T) page.Cell { return page.Name(of(row).simulatedBy()) }},
	}
}

func (c *Configuration) simulatedBy() string {
	for _, w := range c.warningsOf("", SimulatedModel) {
		return w.Name
	}
	return ""
}

// warningsOf are the configuration's warnings of some kinds; about one scorer
// where that is named.
func (c *Configuration) warningsOf(scorer string, kinds ...WarningKind) (found []Warning) {
	for _, w := range c.Warnings {
		if slices.Contains(kinds, w.Kind) && (scorer == "" || scorer == w.Name) {
			found = append(found, w)
		}
	}
	return found
}

// notesOf are the warnings of some kinds, as warningsOf has them, for a cell.
func (c *Configuration) notesOf(scorer string, kinds ...WarningKind) []page.Warning {
	return asNotes(c.warningsOf(scorer, kinds...))
}

// asNotes are warnings as a page has them.
func asNotes(warnings []Warning) []page.Warning {
	notes := make([]page.Warning, len(warnings))
	for i, w := range warnings {
		notes[i] = w
	}
	return notes
}
