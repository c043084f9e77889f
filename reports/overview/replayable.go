package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// replayability is what can be said of a parameter of some configurations before
// anything runs.
type replayability struct {
	replay.Parameter
	of    []string // the configurations that it is said of; nil: all that there are
	file  string   // that declares it
	alone bool     // no other file is shown
}

// replayable analyses the parameters of a loop, or of all configurations of a
// suite: those of tune, in their order, and the others.
func replayable(d *spec.Document) (ofTune, others []replayability) {
	if d.Loop != nil {
		for _, p := range replay.Analyse(d.Loop) {
			others = append(others, replayability{Parameter: p})
		}
		return nil, others
	}
	if d.Suite == nil {
		return nil, nil
	}
	ofTune = tuned(d.Suite)
	for _, row := range together(d.Suite, replay.Analyse) {
		if !slices.ContainsFunc(ofTune, func(r replayability) bool { return r.Path == row.Path }) {
			others = append(others, row)
		}
	}
	return ofTune, others
}

// tuned analyses the parameters of tune, in each configuration that has a place
// for them.
func tuned(s *spec.Suite) (rows []replayability) {
	if s.Tune == nil {
		return nil
	}
	for p := range page.EachOf(s.Tune.Parameters) {
		rows = append(rows, together(s, func(l *spec.Loop) []replay.Parameter {
			if !p.Value.FitsInto(l, p.Key) {
				return nil
			}
			return []replay.Parameter{replay.AnalysePath(l, p.Key)}
		})...)
	}
	return rows
}

// together analyses every configuration, and says once what holds of several.
func together(s *spec.Suite, analyse func(*spec.Loop) []replay.Parameter) (rows []replayability) {
	var order []string
	said := map[string][]replayability{}
	for c := range page.EachOf(s.Resolved) {
		for _, p := range analyse(c.Loop) {
			known, there := said[p.Path]
			if !there {
				order = append(order, p.Path)
			}
			at := slices.IndexFunc(known, func(r replayability) bool { return r.Parameter == p })
			if at < 0 {
				known, at = append(known, replayability{Parameter: p}), len(known)
			}
			known[at].of = append(known[at].of, c.Name)
			said[p.Path] = known
		}
	}
	for _, path := range order {
		of := said[path]
		if len(of) == 1 && len(of[0].of) == len(s.Resolved) {
			of[0].of = nil // all are meant
		}
		rows = append(rows, of...)
	}
	return rows
}

// ReplayTables are the tables of Replayable.
var ReplayTables = []string{"files", "tune", "parameters"}

// Checked is a document without faults.
type Checked struct {
	*spec.Document
	File, Kind, Name, About string
}

// Files is a page of documents without faults, each of which is a row.
func Files(checked []Checked) *page.Sheet {
	return &page.Sheet{Kind: "check", Head: page.Saying(page.Plural(len(checked), "file", "files") + " without faults"), List: []page.Table{
		page.TableOf("files", "Files", []page.Field[Checked]{
			{Column: page.Column{Head: "file", Key: "file"}, Cell: func(c Checked) page.Cell { return page.Name(c.File) }},
			{Column: page.Column{Head: "kind", Key: "kind"}, Cell: func(c Checked) page.Cell { return page.Text(c.Kind) }},
			{Column: page.Column{Head: "name", Key: "name"}, Cell: func(c Checked) page.Cell { return page.Name(c.Name) }},
			{Column: page.Column{Head: "about", Key: "about", Prose: true}, Cell: func(c Checked) page.Cell { return page.Text(c.About) }},
			{Column: page.Column{Head: "warnings", Key: "warnings", Right: true}, Cell: func(c Checked) page.Cell { return page.Count(len(c.Warnings)) }},
		}, slices.Values(checked)),
	}}
}

// Replayable is a page of how far a recorded run answers for other values of the
// parameters of documents, those of tune first.
func Replayable(checked []Checked) *page.Sheet {
	var tunes, others []replayability
	for _, c := range checked {
		ofTune, rest := replayable(c.Document)
		for _, part := range []struct {
			to   *[]replayability
			rows []replayability
		}{{&tunes, ofTune}, {&others, rest}} {
			for _, row := range part.rows {
				row.file, row.alone = c.File, len(checked) == 1
				*part.to = append(*part.to, row)
			}
		}
	}
	all := slices.Concat(tunes, others)
	sheet := &page.Sheet{Kind: "check", Head: page.Saying("how far recorded runs answer for other values of " + page.Plural(len(all), "parameter", "parameters"))}
	for _, t := range []page.Table{
		page.TableOf("tune", "Parameters of tune", replayFields, slices.Values(tunes)), page.TableOf("parameters", "Parameters", replayFields, slices.Values(others)),
	} {
		if t.Count > 0 || t.Name == "parameters" && len(sheet.List) == 0 {
			sheet.List = append(sheet.List, t)
		}
	}
	for _, c := range []struct {
		class replay.Class
		means string
	}{ // from the best to the worst
		{replay.Replayed, "a recorded run that is long enough answers for another value"},
		{replay.JudgedAgain, "the same once its outputs are judged again, without calls"},
		{replay.Partly, "some runs answer, the others need calls from a point on"},
		{replay.Calls, "another value has to be run"},
	} {
		if slices.ContainsFunc(all, func(r replayability) bool { return r.Class == c.class }) {
			sheet.Notes = append(sheet.Notes, page.Saying(fmt.Sprintf("%s: %s", c.class, c.means)))
		}
	}
	return sheet
}

var replayFields = []page.Field[replayability]{
	{Column: page.Column{Head: "file", Key: "file", Optional: true}, Cell: func(r replayability) page.Cell {
		c := page.Name(r.file)
		if r.alone {
			c.Text = ""
		}
		return c
	}},
	{Column: page.Column{Head: "parameter", Key: "parameter"}, Cell: func(r replayability) page.Cell { return page.Name(r.Path) }},
	{Column: page.Column{Head: "replay", Key: "replay", Prose: true}, Cell: func(r replayability) page.Cell { return page.Text(string(r.Class)) }},
	{Column: page.Column{Head: "why", Key: "why", Prose: true}, Cell: func(r replayability) page.Cell {
		return page.Name(r.sentence())
	}},
}

// sentence is why, and of which configurations, where not of all.
func (r *replayability) sentence() string {
	if r.of == nil {
		return r.Why
	}
	const shown = 3
	names := strings.Join(r.of[:min(shown, len(r.of))], ", ")
	if more := len(r.of) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s (%s)", r.Why, names)
}

// Check is a document that has no faults, and the number of its tasks, where it is a suite.
func Check(d *spec.Document, file string, tasks int) Checked {
	switch {
	case d.Loop != nil:
		return Checked{d, file, "loop", d.Loop.Name, aboutLoop(d.Loop)}
	case d.Import != nil:
		return Checked{d, file, "import", d.Import.Name, ""}
	}
	s, trials := d.Suite, max(1, d.Suite.Trials)
	return Checked{d, file, "suite", s.Name, strings.Join([]string{
		page.Plural(tasks, "task", "tasks"), page.Plural(len(s.Resolved), "configuration", "configurations"),
		page.Plural(trials, "trial", "trials"), page.Plural(len(s.Scorers), "scorer", "scorers"),
		page.Plural(tasks*trials*len(s.Resolved), "run", "runs"),
	}, ", ")}
}

func aboutLoop(l *spec.Loop) string {
	var parts []string
	if l.Pattern != spec.PatternNone {
		parts = append(parts, "pattern "+string(l.Pattern))
	}
	if n := len(l.Phases); n > 0 {
		parts = append(parts, page.Plural(n, "phase", "phases"))
	}
	if n := len(l.Strategies); n > 0 {
		parts = append(parts, page.Plural(n, "strategy", "strategies"))
	}
	limit, _, _ := l.EffectiveMax()
	if limit == 0 {
		return strings.Join(append(parts, "no limit of its own"), ", ")
	}
	return strings.Join(append(parts, "at most "+page.Plural(limit, "iteration", "iterations")), ", ")
}
