package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench/agentbench/reports/tables"
)

const (
	// markdownBytes is what fits a comment on GitHub, with room to spare.
	markdownBytes = 60_000
	markdownRows  = 100 // of a table other than the configurations
)

func writeMarkdown(w io.Writer, r *Report, options Options) error {
	var out bytes.Buffer
	var notes footnotes
	fmt.Fprintf(&out, "### %s\n", r.heading(code))
	for _, t := range r.wanted(options, people) {
		text, err := markdownTable(r, &t, &notes)
		if err != nil {
			return err
		}
		if out.Len()+len(text) > markdownBytes {
			text = fmt.Sprintf("\n#### %s\n\nToo long for Markdown: --format csv --table %s\n", t.title, t.name)
		}
		out.WriteString(text)
	}
	out.WriteString("\n")
	notes.each(r.wholeWarnings(), code, func(mark, text string) {
		fmt.Fprintf(&out, "- %s\n", strings.TrimSpace(mark+" "+text))
	})
	_, err := w.Write(out.Bytes())
	return err
}

func markdownTable(r *Report, t *table, notes *footnotes) (string, error) {
	limit := markdownRows
	if t.whole {
		limit = 0
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "\n#### %s\n\n", r.titled(t, code))
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

// plainMarkdown escapes what our own texts and names in heads may hold.
func plainMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
		"<", "&lt;", ">", "&gt;", "@", "@\u2060", "#", `\#`, "!", `\!`, "~", `\~`, "://", ":\u2060//", "www.", "www\u2060.").Replace(text)
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
