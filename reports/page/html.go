package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var htmlText string

// htmlStyle is the only style of the page: its policy names the hash.
//
//go:embed page.css
var htmlStyle string

// htmlRows is how many rows of a table a page has.
const htmlRows = 2000

// htmlPage is what the template is filled with. All texts in it are escaped by
// html/template; the style alone is our own.
type htmlPage struct {
	Policy  string
	Style   template.CSS
	Heading string
	Answer  *htmlAnswer // nil: nothing to answer
	Tables  []htmlTable
	Notes   [][2]string // mark and text
}

type htmlAnswer struct{ State, Text string }

type htmlTable struct {
	Title   string
	Columns []GridColumn
	Rows    [][]htmlCell
	More    string
}

type htmlCell struct {
	Text  string
	Right bool
}

// writeHTML writes one file that needs no other one: no script, nothing from
// the network, and a policy that forbids both.
func writeHTML(w io.Writer, p Page, options Options) error {
	page := htmlPage{Policy: htmlPolicy(), Style: template.CSS(htmlStyle), Heading: p.Heading(shown)}
	if a := p.Answer(shown); a.State != Skipped {
		page.Answer = &htmlAnswer{string(a.State), a.State.mark() + " " + a.String()}
	}
	var notes footnotes
	for _, t := range wanted(p, options, People) {
		page.Tables = append(page.Tables, htmlTableOf(p, &t, &notes))
	}
	notes.each(p.WholeWarnings(), shown, func(mark, text string) { page.Notes = append(page.Notes, [2]string{mark, text}) })
	parsed, err := template.New("page").Parse(htmlText)
	if err != nil {
		return fmt.Errorf("reading the template: %w", err)
	}
	out := bufio.NewWriter(w) // the template writes piece by piece
	if err := parsed.Execute(out, page); err != nil {
		return err
	}
	return out.Flush()
}

func htmlTableOf(p Page, t *Table, notes *footnotes) htmlTable {
	laid := laidOut(t, htmlRows, notes, shown, func(text string) string { return text })
	out := htmlTable{Title: titled(p, t, shown), Columns: laid.Columns}
	for _, row := range laid.Rows {
		cells := make([]htmlCell, len(row))
		for i, text := range row {
			cells[i] = htmlCell{text, laid.Columns[i].Right}
		}
		out.Rows = append(out.Rows, cells)
	}
	out.More = t.more(len(laid.Rows), shown)
	return out
}

// htmlPolicy lets nothing be loaded or run but the style, by its hash.
func htmlPolicy() string {
	sum := sha256.Sum256([]byte(htmlStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}
