package page

import (
	"bufio"
	_ "embed"
	"io"
	"strings"
)

// htmlStyle is the only style of the page: its policy names the hash.
//
//go:embed page.css
var htmlStyle string

// htmlRows is how many rows of a table a page has.
const htmlRows = 2000

// htmlSafe keeps a text a text, within elements and within attributes in quotes. It
// replaces what html/template does, which is not used: for a template may name any
// method, the linker would keep all of them, 5 MB.
var htmlSafe = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// htmlWriter writes a page. Errors come with Flush.
type htmlWriter struct{ *bufio.Writer }

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
	w := htmlWriter{bufio.NewWriter(to)}
	w.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>`, htmlPolicy(options.Live), p.Heading(shown))
	_, _ = w.WriteString(htmlStyle)
	w.put("</style>\n")
	options.Live.style(w)
	w.put("</head>\n<body>\n<h1>%s</h1>\n", p.Heading(shown))
	if a := p.Answer(shown); a.State != Skipped {
		w.put("<p class=\"answer %s\">%s</p>\n", string(a.State), a.State.mark()+" "+a.String())
	}
	var notes footnotes
	for _, t := range wanted(p, options, People) {
		w.table(p, &t, &notes)
	}
	w.put("<ul class=\"notes\">\n")
	notes.each(p.WholeWarnings(), shown, func(mark, text string) { w.put("<li>%s %s</li>\n", mark, text) })
	w.put("</ul>\n")
	if err := options.Live.end(w, to); err != nil {
		return err
	}
	w.put("</body>\n</html>\n")
	return w.Flush()
}

func (w htmlWriter) table(p Page, t *Table, notes *footnotes) {
	laid := laidOut(t, htmlRows, notes, shown, func(text string) string { return text })
	w.put("<h2>%s</h2>\n<div class=\"scroll\">\n<table>\n<thead>\n<tr>", titled(p, t, shown))
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
		cell("th", c.Right, c.Name+between+c.Head)
	}
	w.put("</tr>\n</thead>\n<tbody>\n")
	for _, row := range laid.Rows {
		w.put("<tr>")
		for i, text := range row {
			cell("td", laid.Columns[i].Right, text)
		}
		w.put("</tr>\n")
	}
	w.put("</tbody>\n</table>\n</div>\n")
	if more := t.more(len(laid.Rows), shown); more != "" {
		w.put("<p class=\"more\">%s</p>\n", more)
	}
}

// htmlPolicy lets nothing be loaded or run but the style, and what is live, by their hashes.
func htmlPolicy(live *Live) string {
	scripts, styles := live.policy()
	return "default-src 'none'; style-src " + hashSource(htmlStyle) + styles + scripts + "; base-uri 'none'; form-action 'none'"
}
