package tune

import (
	"io"
	"iter"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a tuning, in the order in which people read them.
var TableNames = []string{
	"choice", "changes", "differences", "front", "folds", "neighbours", "limits", "stops", "curve", "ranges", "excluded", "unknown", "all",
}

// About is a tuning of the suite.
func (t *Tuning) About() (kind, suite string) { return "tune", t.Suite }

// Heading says what was tried on what.
func (t *Tuning) Heading(quote func(string) string) string {
	size := page.Plural(t.Tasks, "task", "tasks")
	if t.Clusters > 0 {
		size += " in " + page.Plural(t.Clusters, "cluster", "clusters")
	}
	tried := page.Plural(t.Tried.Candidates, "configuration tried", "configurations tried")
	parts := []string{quote(t.Suite)}
	if t.Tuned != "" {
		parts = append(parts, "configuration "+quote(t.Tuned))
	}
	parts = append(parts, size, page.Plural(t.Runs, "recorded run", "recorded runs"), tried)
	if t.PricesAsOf != "" {
		parts = append(parts, "prices as of "+quote(t.PricesAsOf))
	}
	return strings.Join(parts, " · ")
}

// Remark says where nothing real was measured.
func (t *Tuning) Remark(quote func(string) string) string {
	return SimulatedBy(t.Simulated, quote)
}

// Tables are all tables of a tuning.
func (t *Tuning) Tables(page.Audience) []page.Table {
	return []page.Table{
		t.choiceTable(), t.changesTable(), t.differencesTable(), t.frontTable(), t.foldsTable(), t.neighboursTable(),
		t.limitsTable(), t.stopsTable(), t.curveTable(), t.rangesTable(), t.excludedTable(), t.unknownTable(), t.allTable(),
	}
}

// WholeWarnings are all notes but those in cells.
func (t *Tuning) WholeWarnings() []page.Warning { return Warnings(t.wholeNotes()) }

// Warned are all notes on the tuning, and those on its configurations.
func (t *Tuning) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, n := range t.wholeNotes() {
			if !yield("", n) {
				return
			}
		}
		for row := range t.choices() {
			for _, n := range row.Warnings {
				if !yield(row.Name, n) {
					return
				}
			}
		}
	}
}

// checkGroup is the group of the only check of a tuning.
const checkGroup = "tune"

// Checks ask whether there is something to recommend.
func (t *Tuning) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		a := t.Answer(func(text string) string { return text })
		yield(page.Check{Group: checkGroup, Name: "recommended", State: a.State, Message: a.String(), Loud: true})
	}
}

// Facts are the parameters that are recommended.
func (t *Tuning) Facts(group string) (facts []page.Fact) {
	if group != checkGroup || t.Recommended == nil {
		return nil
	}
	facts = append(facts, page.Fact{Name: "configuration", Value: t.Recommended.Name})
	for _, p := range t.Recommended.Params {
		facts = append(facts, page.Fact{Name: p.Path, Value: string(p.Value)})
	}
	return facts
}

// WriteJSON writes the tuning as one object, whose form is that of Tuning.
func (t *Tuning) WriteJSON(w io.Writer) error { return WriteObject(w, t) }

// JSONSchema describes the JSON of tunings in JSON Schema (draft 2020-12).
func JSONSchema() ([]byte, error) { return reports.SchemaOf[Tuning](Schema) }
