package page

import (
	"fmt"
	"io"
	"strings"
)

const (
	commentColumns = 9
	commentRows    = 20
)

// writeComment writes Markdown for a comment on a pull request: a marker by
// which an earlier comment is found and replaced, the answer, one small table,
// and all tables folded.
func writeComment(w io.Writer, p Page, options Options) error {
	m := markdown{page: p, room: markdownBytes, rows: markdownRows}
	fmt.Fprintf(&m, "%s\n", marker(p))
	if a := p.Answer(code); a.State == Skipped {
		fmt.Fprintf(&m, "### %s\n", p.Heading(code))
	} else {
		fmt.Fprintf(&m, "### %s %s\n\n%s\n", a.State.mark(), a.String(), p.Heading(code))
	}
	m.refused()
	small, whole := p.Tables(People)[0].narrow(commentColumns)
	if err := m.small(small); err != nil {
		return err
	}
	for _, t := range wanted(p, options, People) {
		if t.Name == small.Name && whole && t.Count <= commentRows {
			continue // it stands above
		}
		if err := m.fold(&t); err != nil {
			return err
		}
	}
	m.end()
	_, err := w.Write(m.Bytes())
	return err
}

// marker is the first line of a comment. It is the same for all results of a
// suite, and holds nothing that could end it.
func marker(p Page) string {
	kind, suite := p.About()
	words := strings.FieldsFunc(cut(suite, longestName), func(r rune) bool {
		return r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return fmt.Sprintf("<!-- agentbench %s %s -->", kind, strings.Join(words, "-"))
}

// refused lists the thresholds that do not hold.
func (m *markdown) refused() {
	listed, left := 0, 0
	for c := range m.page.Checks() {
		if c.Group != Thresholds {
			break
		}
		if c.State == Passed {
			continue
		}
		if m.Len() > m.room/4 {
			left++
			continue
		}
		if listed == 0 {
			m.WriteString("\n")
		}
		listed++
		fmt.Fprintf(m, "- %s %s: %s\n", c.State.mark(), code(c.Name), code(c.Message))
	}
	if left > 0 {
		fmt.Fprintf(m, "- … and %d more\n", left)
	}
}

// small writes the table that is always open.
func (m *markdown) small(t Table) error {
	rows := m.rows
	m.rows = commentRows
	text, err := m.fitting("\n", &t, m.body()/2)
	m.rows = rows
	m.WriteString(text)
	return err
}

// fold writes a table that opens by a click, if there is room for some of it.
func (m *markdown) fold(t *Table) error {
	const end = "\n</details>\n"
	head := fmt.Sprintf("\n<details><summary>%s</summary>\n\n", t.Title)
	text, err := m.fitting(head, t, m.body()-m.Len()-len(end))
	if text != "" {
		m.WriteString(text + end)
	}
	return err
}

// narrow is the table with its first columns only, and whether these are all.
func (t *Table) narrow(columns int) (narrowed Table, all bool) {
	var few []int
	shown := 0
	for i, c := range t.Columns {
		if c.Only == Machines {
			continue
		}
		if shown++; !c.Minor && len(few) < columns {
			few = append(few, i)
		}
	}
	return *t.picked(few), len(few) == shown
}
