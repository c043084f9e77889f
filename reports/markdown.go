package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench/agentbench/reports/tables"
)

const (
	// markdownBytes and markdownNoteBytes together fit a comment on GitHub, which
	// may have 65,536 characters.
	markdownBytes     = 52_000
	markdownNoteBytes = 8_000
	markdownRows      = 100 // of a table
)

func writeMarkdown(w io.Writer, p Page, options Options) error {
	var out bytes.Buffer
	var notes footnotes
	fmt.Fprintf(&out, "### %s\n", p.heading(code))
	for _, t := range wanted(p, options, people) {
		text, err := fittingTable(p, &t, &notes, markdownBytes-out.Len())
		if err != nil {
			return err
		}
		out.WriteString(text)
	}
	out.WriteString("\n")
	out.WriteString(markdownNotes(p, &notes))
	_, err := w.Write(out.Bytes())
	return err
}

// fittingTable has as many rows as fit so many bytes, or says that none do.
func fittingTable(p Page, t *table, notes *footnotes, room int) (string, error) {
	before := *notes
	for _, rows := range []int{markdownRows, markdownRows / 5} {
		*notes = before
		text, err := markdownTable(p, t, rows, notes)
		if err != nil || len(text) <= room {
			return text, err
		}
	}
	*notes = before
	return fmt.Sprintf("\n#### %s\n\nToo long for Markdown: --format csv --table %s\n", t.title, t.name), nil
}

func markdownNotes(p Page, notes *footnotes) string {
	var out strings.Builder
	left := 0
	notes.each(p.wholeWarnings(), code, func(mark, text string) {
		if out.Len()+len(text) > markdownNoteBytes {
			left++
			return
		}
		fmt.Fprintf(&out, "- %s\n", strings.TrimSpace(mark+" "+text))
	})
	if left > 0 {
		fmt.Fprintf(&out, "- … and %s: --format json\n", plural(left, "more note", "more notes"))
	}
	return out.String()
}

func markdownTable(p Page, t *table, limit int, notes *footnotes) (string, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "\n#### %s\n\n", titled(p, t, code))
	laid := laidOut(t, limit, notes, codeInTable, plainMarkdown)
	if err := tables.Markdown(&out, laid); err != nil {
		return "", err
	}
	if left := t.count - len(laid.Rows); left > 0 {
		fmt.Fprintf(&out, "\n… and %s: --format csv --table %s\n", plural(left, "more row", "more rows"), t.name)
	}
	return out.String(), nil
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

// codeInTable also escapes what would end the cell.
func codeInTable(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// plainMarkdown escapes what our own texts may hold.
func plainMarkdown(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;").Replace(text)
}

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
