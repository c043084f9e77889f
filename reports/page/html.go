package page

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

// htmlStyle is the only style of the page: its policy names the hash.
//
//go:embed page.css
var htmlStyle string

// htmlRows is how many rows of a table a page has, htmlFirstRows how many of its first
// table.
const htmlRows, htmlFirstRows = 2000, 20

// A table with more rows or columns than these is closed until a reader opens it; fewer
// rows where charts show them.
const openRows, openColumns, besideCharts = 25, 12, 8

// A table of more columns than these is too wide for paper.
const printedColumns = 26

// printedAs is the class of a table that is small on paper, or not there.
func printedAs(columns int) string {
	switch {
	case columns > printedColumns:
		return ` class="vast"`
	case columns > openColumns:
		return ` class="wide"`
	}
	return ""
}

// htmlSafe keeps a text a text, within elements and within attributes in quotes. It
// replaces what html/template does, which is not used: for a template may name any
// method, the linker would keep all of them, 5 MB.
var htmlSafe = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// htmlWriter writes a page. Errors come with Flush.
type htmlWriter struct {
	*bufio.Writer
	ids    map[string]bool // of rows that were written
	coming map[string]bool // of tables, and of rows that they have further below
}

// put writes markup, in which each %s stands for a text.
func (w htmlWriter) put(markup string, texts ...string) {
	for _, text := range texts {
		before, after, _ := strings.Cut(markup, "%s")
		_, _ = w.WriteString(before)
		_, _ = htmlSafe.WriteString(w, text)
		markup = after
	}
	_, _ = w.WriteString(markup)
}

// writeHTML writes one file that needs no other one: nothing from the network, no script
// but that of a live page, and a policy that forbids all others.
func writeHTML(to io.Writer, p Page, options Options) error {
	w := htmlWriter{bufio.NewWriter(to), map[string]bool{}, map[string]bool{}}
	heading := p.Heading().shown()
	w.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>`, htmlPolicy(options.Live), heading)
	_, _ = w.WriteString(htmlStyle)
	w.put("</style>\n")
	options.Live.style(w)
	w.put("</head>\n<body>\n<header>\n<h1>%s</h1>\n", heading)
	w.answer(p, options)
	tables, charts := wanted(p, options, People), chartsOf(p)
	w.contents(tables)
	w.put("</header>\n<main>\n")
	if len(charts) > 0 {
		_, _ = w.WriteString(hatchings)
	}
	var notes footnotes
	collected := w.collect(tables)
	for i := range tables {
		t := &tables[i]
		of := slices.DeleteFunc(slices.Clone(charts), func(c Chart) bool { return c.Beside != t.Name })
		w.section(p, t, &collected[i], of, &notes)
	}
	w.put("<section id=\"notes\">\n<h2>Notes</h2>\n<ul class=\"notes\">\n")
	for i, note := range notes {
		w.note(superscript(i+1), note.warnings, options)
	}
	for _, whole := range p.WholeWarnings() {
		w.note("", []Warning{whole}, options)
	}
	w.put("</ul>\n</section>\n</main>\n")
	if err := options.Live.end(w, to); err != nil {
		return err
	}
	w.put("</body>\n</html>\n")
	return w.Flush()
}

// note is a footnote. Where runs can be browsed, links list those that it is about.
func (w htmlWriter) note(mark string, warnings []Warning, options Options) {
	w.put("<li>%s %s", mark, warnings[0].Text().shown())
	linked := map[string]bool{}
	for _, warning := range warnings {
		about, is := warning.(Listed)
		if !is || options.Live == nil {
			continue
		}
		if of, fragment := about.Listed(); fragment != "" && !linked[fragment] {
			linked[fragment] = true
			w.put(` · <a href="#%s">%s</a>`, fragment, "runs of "+shown(of))
		}
	}
	w.put("</li>\n")
}

func chartsOf(p Page) []Chart {
	if of, ok := p.(Charted); ok {
		return of.Charts()
	}
	return nil
}

// answer is what the first screen of a terminal says, or where a page has no summary the
// answer alone.
func (w htmlWriter) answer(p Page, options Options) {
	of, ok := p.(Summarised)
	if !ok || len(options.Tables) > 0 {
		w.state(p.Answer())
		return
	}
	w.state(p.Answer())
	s := of.Summary()
	if s.Table.Count > 0 {
		columns, rows := s.Table.collected(People, htmlFirstRows)
		w.grid(s.Table.Keys, "At a glance", columns, rows, &footnotes{}) // its cells have none
		if left := s.Table.Count - len(rows); left > 0 {
			w.put("<p class=\"more\">%s</p>\n", fmt.Sprintf("… and %d more", left))
		}
	}
	if len(s.Serious)+len(s.Lines) == 0 {
		return
	}
	w.put("<ul class=\"facts\">\n")
	for _, serious := range s.Serious {
		w.put("<li class=\"serious\">⚠ %s</li>\n", serious.shown())
	}
	for _, line := range s.Lines {
		w.put("<li>%s</li>\n", line.shown())
	}
	w.put("</ul>\n")
}

func (w htmlWriter) state(a Answer) {
	if a.State == Skipped {
		return
	}
	w.put("<div class=\"answer %s\">\n<p>%s</p>\n", string(a.State), a.State.mark()+" "+a.Text.shown())
	for _, more := range a.More {
		w.put("<p class=\"line\">%s</p>\n", more.shown())
	}
	w.put("</div>\n")
}

// contents are links to all sections.
func (w htmlWriter) contents(tables []Table) {
	w.put("<nav aria-label=\"Contents\">\n")
	for i := range tables {
		w.put("<a href=\"#%s\">%s</a>\n", tables[i].Name, tables[i].Name)
	}
	w.put("<a href=\"#notes\">notes</a>\n</nav>\n")
}

// collectedTable is what a page has of a table.
type collectedTable struct {
	columns []Column
	rows    [][]Cell
}

// collect reads all tables, and notes their ids and those of their rows, to which charts lead.
func (w htmlWriter) collect(tables []Table) []collectedTable {
	all := make([]collectedTable, len(tables))
	for i := range tables {
		of := &all[i]
		of.columns, of.rows = tables[i].collected(People, htmlRows)
		w.coming[tables[i].Name] = true
		for _, row := range of.rows {
			w.coming[rowID(of.columns, row)] = true
		}
	}
	return all
}

// section is a table with its charts.
func (w htmlWriter) section(p Page, t *Table, of *collectedTable, charts []Chart, notes *footnotes) {
	title := titled(p, t).shown()
	w.put("<section id=\"%s\">\n<h2>%s</h2>\n", t.Name, title)
	if len(charts) > 0 {
		w.put("<div class=\"charts\">\n")
		for i := range charts {
			w.figure(&charts[i])
		}
		w.put("</div>\n")
	}
	columns, rows := of.columns, of.rows
	open := " open"
	if len(rows) > openRows || len(columns) > openColumns || len(charts) > 0 && len(rows) > besideCharts {
		open = ""
	}
	size := Plural(t.Count, "row", "rows") + ", " + Plural(len(columns), "column", "columns")
	w.put("<details"+printedAs(len(columns))+open+"><summary>%s</summary>\n", "Table "+t.Name+": "+size)
	w.grid(t.Keys, title, columns, rows, notes)
	if more := t.more(len(rows), shown); more != "" {
		w.put("<p class=\"more\">%s</p>\n", more)
	}
	w.put("</details>\n</section>\n")
}

// grid writes the rows of a table.
func (w htmlWriter) grid(keys int, title string, columns []Column, rows [][]Cell, notes *footnotes) {
	laid := laidWith(keys, columns, rows, notes, shown, verbatim)
	w.put("<div class=\"scroll\" role=\"group\" aria-label=\"%s\" tabindex=\"0\">\n<table>\n<thead>\n<tr>", title)
	cell := func(name string, right bool, text string) {
		if w.put("<" + name); right {
			w.put(` class="right"`)
		}
		w.put(">%s</"+name+">", text)
	}
	for _, c := range laid.Columns {
		between := ""
		if c.Name != "" && c.Head != "" {
			between = "\n"
		}
		name := "th"
		if c.Name+c.Head == "" { // a reader of screens would look for the head
			name = "td"
		}
		cell(name, c.Right, c.Name+between+c.Head)
	}
	w.put("</tr>\n</thead>\n<tbody>\n")
	for i, row := range laid.Rows {
		if id := rowID(columns, rows[i]); id != "" && !w.ids[id] {
			w.ids[id] = true
			w.put("<tr id=\"%s\">", id)
		} else {
			w.put("<tr>")
		}
		for at, text := range row {
			cell("td", laid.Columns[at].Right, text)
		}
		w.put("</tr>\n")
	}
	w.put("</tbody>\n</table>\n</div>\n")
}

// filters are the words of the filter language for the columns that name runs.
var filters = map[string]string{"configuration": "config", "task": "task"}

// rowID is the fragment of the runs that a row is of, "" where it names none.
func rowID(columns []Column, row []Cell) string {
	var terms []string
	for i, c := range columns {
		name, ok := row[i].Raw.(string)
		switch {
		case row[i].Runs != nil:
			terms = append(terms, row[i].Runs...)
		case ok && filters[c.Key] != "" && row[i].Foreign:
			terms = append(terms, Term(filters[c.Key], name))
		}
	}
	if terms == nil {
		return ""
	}
	return Filter(terms...)
}

// htmlPolicy lets nothing be loaded or run but the style, and what is live, by their hashes.
func htmlPolicy(live *Live) string {
	scripts, styles := live.policy()
	return "default-src 'none'; style-src " + hashSource(htmlStyle) + styles + scripts + "; base-uri 'none'; form-action 'none'"
}
