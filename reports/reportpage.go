package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

func (r *Report) About() (kind, suite string) { return "report", r.Suite }

// Heading is what a reader needs to know before the first table.
func (r *Report) Heading() page.Words { return r.headed(r.comparedWith()) }

// headed is the heading with a baseline; "": without.
func (r *Report) headed(baseline string) page.Words {
	var parts []string
	if r.Incomplete != "" {
		parts = append(parts, "incomplete: "+page.Foreign(r.Incomplete))
	}
	parts = append(parts, page.Foreign(r.Suite), page.Plural(len(r.Configurations), "configuration", "configurations"))
	size := Size(r.TaskCount, r.Clusters)
	if r.Trials > 1 {
		size += fmt.Sprintf(" × %d trials", r.Trials)
	}
	parts = append(parts, size, page.Plural(r.runCount(), "run", "runs"))
	if baseline != "" {
		parts = append(parts, "baseline "+page.Foreign(baseline))
	}
	if r.PricesAsOf != "" {
		parts = append(parts, "prices as of "+page.Foreign(r.PricesAsOf))
	}
	return page.Words(strings.Join(parts, " · "))
}

func (r *Report) Lacks() string { return r.Incomplete }

// Size is how many tasks there are, in how many clusters if in any.
func Size(tasks, clusters int) string {
	size := page.Plural(tasks, "task", "tasks")
	if clusters > 0 {
		size += " in " + page.Plural(clusters, "cluster", "clusters")
	}
	return size
}

// comparedWith is the baseline: the one that was asked for, else the suite's.
func (r *Report) comparedWith() string {
	if d := r.Differences; d != nil && len(d.Pairs) > 0 && d.Pairs[0].Base.Where != "" {
		return d.Pairs[0].Base.Where
	}
	return r.Baseline
}

func (r *Report) runCount() (n int) {
	for c := range r.each() {
		n += c.Runs
	}
	return n
}

func (r *Report) Remark() page.Words {
	if !r.allSimulated() {
		return ""
	}
	return page.SimulatedBy(r.Simulated)
}

// Tables are all tables of a report, in the order in which people read them.
func (r *Report) Tables(of page.Audience) []page.Table {
	tasks := tasksTable
	if of == page.Machines {
		tasks = taskRowsTable
	}
	return []page.Table{
		configurationsTable(r), metricsTable(r), r.differencesTable(), r.front().table(r.scoreDigits()), curveTable(r), stepsTable(r), stopsTable(r), limitsTable(r), calibrationTable(r), tasks(r),
		thresholdsTable(r.Thresholds),
	}
}

// compare looks for differences from the baseline, once. Where there is nothing
// to compare there are none.
func (r *Report) compare() {
	if r.compared || r.Differences != nil || r.runs == nil {
		return
	}
	r.compared = true
	r.Differences, _ = DiffBaseline(r, DiffOptions{Options: r.Options})
	if r.Differences != nil {
		r.Differences.DropFlips()
	}
}

// differencesTable has rows where there is a baseline.
func (r *Report) differencesTable() page.Table {
	r.compare()
	c := r.Differences
	if c == nil {
		c = &Comparison{}
	}
	t := differencesTable(c)
	t.Title = "Differences from the baseline"
	return t
}

// Warned are all warnings, those on a configuration with its name.
func (r *Report) Warned() iter.Seq2[string, page.Warning] {
	all, simulated := NotedOn(nil, "", r.WholeWarnings()), r.allSimulated()
	for c := range r.each() {
		all = NotedOn(all, c.Name, slices.DeleteFunc(slices.Clone(c.Warnings), func(w Warning) bool {
			return w.Kind == SimulatedModel && simulated // which is among the others
		}))
	}
	return all.Each
}

// Noted are warnings with the name of what they are on, "" for those on the whole.
type Noted []noted

type noted struct {
	on string
	page.Warning
}

// NotedOn adds warnings on something.
func NotedOn[W page.Warning](all Noted, on string, warnings []W) Noted {
	for _, w := range warnings {
		all = append(all, noted{on, w})
	}
	return all
}

// Each yields them in their order.
func (n Noted) Each(yield func(string, page.Warning) bool) {
	for _, one := range n {
		if !yield(one.on, one.Warning) {
			return
		}
	}
}

// TableNames are the tables of a report, in the order in which people read them.
var TableNames = []string{"configurations", "metrics", "differences", "front", "curve", "steps", "stops", "limits", "calibration", "tasks", page.Thresholds}

// WholeWarnings are the warnings on the report, that nothing real was measured
// the first of them.
func (r *Report) WholeWarnings() []page.Warning {
	whole := page.Warnings(r.Warnings)
	if r.allSimulated() {
		at := slices.IndexFunc(r.Configurations, func(c Configuration) bool { return c.Simulated })
		whole = append(r.Configurations[at].notesOf("", SimulatedModel), whole...)
	}
	return whole
}

// WriteJSON writes the whole report as one object with the tasks in "tasks",
// which are made one by one. Its form is that of Report, Configuration and
// Task; "schema" names it.
func (r *Report) WriteJSON(w io.Writer) error {
	r.compare()
	r.front()
	head, err := page.EncodeJSON(r, "")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n  \"tasks\": [")
	separator := "\n    "
	for task := range r.Tasks() {
		text, err := page.EncodeJSON(task, "    ")
		if err != nil {
			return err
		}
		out.WriteString(separator)
		out.Write(text)
		separator = ",\n    "
	}
	out.WriteString("\n  ]\n}\n")
	return out.Flush()
}

// JSONSchema describes the JSON of reports, and DiffJSONSchema that of
// comparisons, in JSON Schema (draft 2020-12). They are made from the types that
// are written. Further fields may come without a new number of the schema.
func JSONSchema() ([]byte, error) { return schemaOf(Schema, reflect.TypeFor[wholeReport]()) }

// DiffJSONSchema is the schema of comparisons.
func DiffJSONSchema() ([]byte, error) { return schemaOf(DiffSchema, reflect.TypeFor[Comparison]()) }

// SchemaOf is the schema of the JSON of another page, made from its type.
func SchemaOf[T any](name string) ([]byte, error) { return schemaOf(name, reflect.TypeFor[T]()) }

// wholeReport is what writeJSON writes.
type wholeReport struct {
	*Report
	Tasks []Task `json:"tasks"`
}

// closedLists are the types of a closed list of words.
var closedLists = map[reflect.Type][]any{
	reflect.TypeFor[record.State]():       {record.StateRunning, record.StateComplete, record.StateStopped, record.StateFailed},
	reflect.TypeFor[page.State]():         {page.Passed, page.Failed, page.Errored},
	reflect.TypeFor[compare.Verdict]():    {compare.Better, compare.Worse, compare.Same, compare.CannotTell},
	reflect.TypeFor[compare.Correction](): {compare.NoCorrection, compare.Holm, compare.BenjaminiHochberg},
}

func schemaOf(name string, of reflect.Type) ([]byte, error) {
	return schemaWith(name, of, map[string]any{})
}

// schemaWith has schemas of some structs that differ from those of their types.
func schemaWith(name string, of reflect.Type, definitions map[string]any) ([]byte, error) {
	s := schemas{definitions: definitions}
	schema := s.object(of)
	maps.Copy(schema, map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": s.definitions,
		"title": name,
	})
	schema["properties"].(map[string]any)["schema"] = map[string]any{"const": name}
	return json.MarshalIndent(schema, "", "  ")
}

// Writes has what a type writes as JSON in place of its own fields.
type Writes interface{ Writes() any }

// schemas writes the schemas of Go types; structs become definitions.
type schemas struct{ definitions map[string]any }

func (s *schemas) of(t reflect.Type) map[string]any {
	if other, ok := reflect.Zero(t).Interface().(Writes); ok && t.Kind() == reflect.Struct {
		t = reflect.TypeOf(other.Writes())
	}
	switch t {
	case reflect.TypeFor[page.Value](), reflect.TypeFor[compare.Number]():
		return map[string]any{"type": []string{"number", "null"}}
	case reflect.TypeFor[page.Range]():
		end := s.of(reflect.TypeFor[page.Value]())
		return map[string]any{"type": []string{"array", "null"}, "items": end, "minItems": 2, "maxItems": 2}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	}
	if list := closedLists[t]; list != nil {
		return map[string]any{"enum": list}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		if s.definitions[t.Name()] == nil {
			s.definitions[t.Name()] = true // it may hold itself
			s.definitions[t.Name()] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "integer"}
}

// object is the schema of a struct. What is not left out when it is empty is
// required.
func (s *schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous || name == "-" {
			continue
		}
		omitted := strings.Contains(options, "omit")
		if field.Type == reflect.TypeFor[page.Estimate]() {
			keys := page.IntervalKeys(field)
			required = append(append(required, name), keys...)
			of := reflect.TypeFor[page.Value]()
			if properties[name] = s.of(of); len(keys) == 1 {
				of = reflect.TypeFor[page.Range]()
			}
			for _, key := range keys {
				properties[key] = s.of(of)
			}
			continue
		}
		properties[name] = s.of(field.Type)
		if field.Type.Kind() == reflect.Pointer && !omitted {
			properties[name] = map[string]any{"anyOf": []any{properties[name], map[string]any{"type": "null"}}}
		}
		if !omitted {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
