package page

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"
)

// markdownBytes fits a comment on GitHub, which may have 65,536 characters;
// summaryBytes a step's summary, which may have 1 MiB.
const (
	markdownBytes = 60_000
	summaryBytes  = 1<<20 - 1024
	notesShare    = 8 // the notes get one part of so many
	markdownRows  = 100
	summaryRows   = 1000
)

// markdown is a document of a size that is bounded.
type markdown struct {
	bytes.Buffer
	page  Page
	notes footnotes
	room  int // in bytes
	rows  int // of a table
	// without are the tables for which there was no room.
	without []string
}

func writeMarkdown(w io.Writer, p Page, options Options) error {
	m := markdown{page: p, room: markdownBytes, rows: markdownRows}
	if err := m.all(options); err != nil {
		return err
	}
	_, err := w.Write(m.Bytes())
	return err
}

// WriteSummary writes Markdown for the summary of a step on GitHub, below what
// was written there before. It writes nothing where there is no room.
func WriteSummary(w io.Writer, p Page, options Options, before int64) error {
	m := markdown{page: p, room: summaryBytes - int(min(before, summaryBytes)), rows: summaryRows}
	if err := m.all(options); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	if m.Len() > m.room {
		return nil
	}
	if _, err := w.Write(append(m.Bytes(), '\n')); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

// all is the whole page.
func (m *markdown) all(options Options) error {
	fmt.Fprintf(m, "### %s\n", inMarkdown(m.page.Heading()))
	if a := m.page.Answer(); a.State != Skipped {
		fmt.Fprintf(m, "\n%s %s\n", a.State.mark(), inMarkdown(a.InOneLine()))
	}
	for _, t := range wanted(m.page, options, People) {
		head := fmt.Sprintf("\n#### %s\n\n", inMarkdown(titled(m.page, &t)))
		text, err := m.fitting(head, &t, m.body()-m.Len())
		if err != nil {
			return err
		}
		m.WriteString(text)
	}
	m.end()
	return nil
}

// end says what there was no room for, and writes the notes.
func (m *markdown) end() {
	m.WriteString("\n")
	if len(m.without) > 0 {
		fmt.Fprintf(m, "No room for %s: --format csv --table %s\n\n", strings.Join(m.without, ", "), m.without[0])
	}
	m.writeNotes()
}

// body is what there is of the room without the notes.
func (m *markdown) body() int { return m.room - m.room/notesShare }

// fitting is the table below its head with as many rows as fit so many bytes, or
// says that not even one does.
func (m *markdown) fitting(head string, t *Table, room int) (text string, err error) {
	before := m.notes
	render := func(rows int) string {
		m.notes = before
		rendered, failed := m.table(head, t, rows)
		if failed != nil {
			err = failed
		}
		return rendered
	}
	most := min(m.rows, max(1, t.Count))
	if text = render(most); len(text) <= room || err != nil {
		return text, err
	}
	fit := sort.Search(most, func(rows int) bool { return len(render(rows+1)) > room })
	if fit > 0 {
		return render(fit), err
	}
	m.notes = before
	if text = fmt.Sprintf("%sToo long for Markdown: --format csv --table %s\n", head, t.Name); len(text) > room {
		text, m.without = "", append(m.without, t.Name)
	}
	return text, err
}

// table is the first rows of a table below its head, and how many are left out.
func (m *markdown) table(head string, t *Table, rows int) (string, error) {
	out := bytes.NewBufferString(head)
	laid := laidOut(t, rows, &m.notes, codeInTable, plainMarkdown)
	if err := Markdown(out, laid); err != nil {
		return "", err
	}
	if more := t.more(len(laid.Rows), plainMarkdown); more != "" {
		fmt.Fprintf(out, "\n%s\n", more)
	}
	return out.String(), nil
}

// writeNotes writes the footnotes, as many as there is room for.
func (m *markdown) writeNotes() {
	left := 0
	m.notes.each(m.page.WholeWarnings(), func(mark string, text Words) {
		line := fmt.Sprintf("- %s\n", strings.TrimSpace(mark+" "+text.with(code, plainMarkdown)))
		if left > 0 || m.Len()+len(line)+100 > m.room {
			left++
			return
		}
		m.WriteString(line)
	})
	if left > 0 {
		fmt.Fprintf(m, "- … and %s: --format json\n", Plural(left, "more note", "more notes"))
	}
}

// mark shows a state at a glance.
func (s State) mark() string {
	switch s {
	case Passed:
		return "✅"
	case Failed:
		return "❌"
	case Errored:
		return "⚠"
	case Undecided:
		return "❔"
	}
	return "·"
}

// code makes a text from outside a code span, in which Markdown obeys nothing:
// no link, image, mention, HTML or emphasis.
func code(text string) string {
	text = shown(text)
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// inMarkdown are words of which our own are fit for Markdown as they are.
func inMarkdown(w Words) string { return w.with(code, verbatim) }

// codeInTable also escapes what would end the cell.
func codeInTable(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// plainMarkdown escapes what our own texts may hold.
func plainMarkdown(text string) string {
	return markdownSafe.Replace(text)
}

var markdownSafe = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;")

func longestRun(text string, of byte) (longest int) {
	run := 0
	for i := range len(text) {
		if run++; text[i] != of {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
