package tune

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a replay, in the order in which people read them.
var ReplayTableNames = []string{"configurations", "unknown", "stops"}

// About is a replay of the suite.
func (r *Replay) About() (kind, suite string) { return "replay", r.Suite }

// Heading says what was recorded.
func (r *Replay) Heading(quote func(string) string) string {
	parts := []string{quote(r.Suite), "recorded: " + recordings(r.Recordings, quote)}
	size := page.Plural(r.Tasks, "task", "tasks")
	if r.Clusters > 0 {
		size += " in " + page.Plural(r.Clusters, "cluster", "clusters")
	}
	parts = append(parts, size, page.Plural(r.Runs, "run", "runs"))
	if r.PricesAsOf != "" {
		parts = append(parts, "prices as of "+quote(r.PricesAsOf))
	}
	return strings.Join(parts, " · ")
}

// mostNamed is how many names a heading lists.
const mostNamed = 3

func recordings(names []string, quote func(string) string) string {
	if len(names) == 0 {
		return "nothing"
	}
	var quoted []string
	for _, name := range names[:min(len(names), mostNamed)] {
		quoted = append(quoted, quote(name))
	}
	if more := len(names) - mostNamed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return strings.Join(quoted, ", ")
}

// namesOf lists models for a note, which quotes them.
func namesOf(models []string) string {
	if len(models) == 0 {
		return "a model"
	}
	return strings.Join(models, ", ")
}

// Answer counts the configurations by their label.
func (r *Replay) Answer(func(string) string) page.Answer {
	counts, of := r.labels()
	switch {
	case r.Runs == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	case of == 0:
		return page.Answer{State: page.Undecided, Text: "no configuration was replayed"}
	case counts[replay.PointExact.String()] == of:
		return page.Answer{State: page.Passed, Text: page.Plural(of, "configuration is exact", "configurations are exact")}
	}
	exact := counts[replay.PointExact.String()]
	verb := "are"
	if exact == 1 || of == 1 {
		verb = "is"
	}
	parts := []string{fmt.Sprintf("%d of %s %s exact", exact, page.Plural(of, "configuration", "configurations"), verb)}
	for _, l := range []replay.Label{replay.Bounded, replay.NeedsCalls, replay.Counterfactual} {
		if n := counts[l.String()]; n > 0 {
			parts = append(parts, labelled(l, n))
		}
	}
	return page.Answer{State: page.Undecided, Text: strings.Join(parts, ", ")}
}

// labelled says of how many configurations a label is.
func labelled(l replay.Label, n int) string {
	verb := "are " + l.String()
	switch {
	case l == replay.NeedsCalls && n == 1:
		verb = "needs calls"
	case l == replay.NeedsCalls:
		verb = "need calls"
	case n == 1:
		verb = "is " + l.String()
	}
	return fmt.Sprintf("%d %s", n, verb)
}

// labels counts the replayed configurations by label.
func (r *Replay) labels() (counts map[string]int, of int) {
	counts = map[string]int{}
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Label != LabelRecorded {
			counts[c.Label]++
			of++
		}
	}
	return counts, of
}

// Remark says where nothing real was measured.
func (r *Replay) Remark(quote func(string) string) string { return SimulatedBy(r.Simulated, quote) }

// SimulatedBy says which models were simulated; "" where none were.
func SimulatedBy(models []string, quote func(string) string) string {
	if len(models) == 0 {
		return ""
	}
	quoted := make([]string, len(models))
	for i, name := range models {
		quoted[i] = quote(name)
	}
	return "simulated by " + strings.Join(quoted, ", ")
}

// Tables are all tables of a replay.
func (r *Replay) Tables(page.Audience) []page.Table {
	return []page.Table{r.configurationsTable(), r.unknownTable(), r.stopsTable()}
}

// WholeWarnings are those on the replay.
func (r *Replay) WholeWarnings() []page.Warning { return Warnings(r.Warnings) }

// Warned are all warnings, those on a configuration with its name.
func (r *Replay) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, n := range r.Warnings {
			if !yield("", n) {
				return
			}
		}
		for i := range r.Configurations {
			for _, n := range r.Configurations[i].Warnings {
				if !yield(r.Configurations[i].Name, n) {
					return
				}
			}
		}
	}
}

// Checks ask of each configuration whether it is exact; that it is not is no
// failure.
func (r *Replay) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		for i := range r.Configurations {
			c := &r.Configurations[i]
			k := page.Check{Group: c.Name, Name: "exact", State: page.Passed, Message: c.told()}
			if c.Label != LabelRecorded && c.Exact+c.Faults < c.Runs {
				k.State = page.Skipped
			}
			if !yield(k) {
				return
			}
		}
	}
}

// told is the configuration in one line.
func (c *Configuration) told() string {
	parts := []string{fmt.Sprintf("%s: %d of %d runs are exact", c.Label, c.Exact, c.Runs)}
	if c.Faults > 0 {
		parts = append(parts, page.Plural(c.Faults, "run", "runs")+" would have a fault")
	}
	for i := range c.Scores {
		if s := &c.Scores[i]; s.Mean.Known() {
			parts = append(parts, fmt.Sprintf("%s %s", s.Name, s.Mean.Exact()))
		} else if s.Bounds.Known() {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", s.Name, s.Bounds.Low.Exact(), s.Bounds.High.Exact()))
		}
	}
	return strings.Join(parts, "; ")
}

// Facts are the parameters of a configuration.
func (r *Replay) Facts(group string) (facts []page.Fact) {
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Name == group {
			for _, p := range c.Params {
				facts = append(facts, page.Fact{Name: p.Path, Value: string(p.Value)})
			}
			return facts
		}
	}
	return nil
}

// WriteJSON writes the replay as one object, whose form is that of Replay.
func (r *Replay) WriteJSON(w io.Writer) error { return WriteObject(w, r) }

// WriteObject writes a page as one object.
func WriteObject(w io.Writer, of any) error {
	text, err := page.EncodeJSON(of, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// JSONSchema describes the JSON of replays in JSON Schema (draft 2020-12).
func ReplayJSONSchema() ([]byte, error) { return reports.SchemaOf[Replay](ReplaySchema) }
