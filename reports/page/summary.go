package page

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Summarised is a page whose answer fits on the first screen of a terminal.
type Summarised interface {
	Summary() Summary
}

// Summary is the answer of a page in at most [SummaryLines] lines of 80 columns.
type Summary struct {
	// Head is the line before all others, State what is answered.
	Head  Words
	State Answer
	// Table has as many columns as fit. Its rows are all there are; of those that
	// have no room, the last of Shares.Order are left out.
	Table Table
	// Serious are warnings that a reader of the table must know, Lines what else the
	// page says, the most important first. What has no room is counted.
	Serious, Lines []Words
	// Next are commands that say more, with "all" the one that shows everything.
	Next []Command
}

// Command is a command line and what it is for. Short names it in words where there is no
// line, or it takes more than two lines of the screen; "": it never does.
type Command struct {
	For         string
	Line, Short Words
}

// SummaryLines is how many lines a summary has at most.
const SummaryLines = 15

// leastTable is how many lines of the table there is always room for: its head and
// two rows.
const leastTable = 3

// leastRows is how many rows of its table a summary shows even where warnings
// then have no room.
const leastRows = 5

func writeSummary(w io.Writer, p Page, s Summary, options Options) error {
	t := terminal{width: options.columns(), color: options.Color}
	t.heading(s.Head.shown())
	end := t.part(func(end *terminal) {
		for _, next := range s.Next {
			end.command(next)
		}
	})
	t.state(&s.State, SummaryLines-end.lines()-leastTable)
	room := SummaryLines - t.lines() - end.lines()
	table, err := t.summaryTable(&s, room)
	if err != nil {
		return err
	}
	t.out.Write(table.out.Bytes())
	t.facts(&s, room-table.lines())
	t.out.Write(end.out.Bytes())
	_, err = NewFence(w).Write(t.out.Bytes())
	return err
}

// state is the answer, in the colour of its state, and those of its sentences that fit
// into so many lines.
func (t *terminal) state(a *Answer, room int) {
	if a.State == Skipped {
		return
	}
	t.paragraph("", a.Text.shown(), map[State]string{Passed: good, Failed: bad, Errored: bad}[a.State])
	for _, more := range a.More {
		if part := t.part(func(part *terminal) { part.paragraph("", more.shown(), "") }); t.lines()+part.lines() <= room {
			t.out.Write(part.out.Bytes())
		}
	}
}

// command writes a command that can be copied as it is: a line that is broken ends in
// what a shell continues.
func (t *terminal) command(c Command) {
	const indent, continues, most = "  ", " \\", 2
	lines := []string{c.For + ": " + c.Line.shown()}
	if Width(lines[0]) > t.width {
		lines = wrapWords(lines[0], t.width-len(indent+continues))
	}
	if c.Short != "" && (c.Line == "" || len(lines) > most) {
		t.paragraph("", c.For+": "+c.Short.shown(), "")
		return
	}
	t.line(strings.Join(lines, continues+"\n"+indent))
}

// wrapWords breaks a command between the words that a shell sees, but not between a flag
// and its value.
func wrapWords(command string, width int) (lines []string) {
	words := []string{""}
	for part := range strings.SplitSeq(command, " ") {
		last := &words[len(words)-1]
		switch {
		case strings.Count(*last, "'")%2 == 1, strings.HasPrefix(*last, "--") && !strings.ContainsAny(*last, "= ") && !strings.HasPrefix(part, "-"): // a quote, or a flag with its value
			*last += " " + part
		case *last == "":
			*last = part
		default:
			words = append(words, part)
		}
	}
	line := words[0]
	for _, word := range words[1:] {
		if Width(line)+1+Width(word) > width {
			lines, line = append(lines, line), word
		} else {
			line += " " + word
		}
	}
	return append(lines, line)
}

// part is something written apart, to know how many lines it takes.
func (t *terminal) part(write func(*terminal)) *terminal {
	part := &terminal{width: t.width, color: t.color}
	write(part)
	return part
}

func (t *terminal) lines() int { return bytes.Count(t.out.Bytes(), []byte("\n")) }

// summaryTable is the table with as many rows as there is room for, the best one among them.
func (t *terminal) summaryTable(s *Summary, room int) (part *terminal, err error) {
	least := max(1, s.Table.best()+1)
	for rows := s.Table.Count; ; rows-- {
		facts := min(2, len(s.Serious)+len(s.Lines))
		if rows <= leastRows {
			facts = min(1, len(s.Serious))
		}
		part = t.part(func(part *terminal) { err = part.rows(s, rows) })
		if err != nil || rows <= least || part.lines()+facts <= room {
			return part, err
		}
	}
}

// rows writes so many rows, in one block.
func (t *terminal) rows(s *Summary, rows int) error {
	if s.Table.Count == 0 {
		return nil
	}
	of := &s.Table
	if t.width < wideTerminal {
		of = of.slim()
	}
	laid := laidOut(of, rows, &t.notes, shown, verbatim)
	if t.color {
		laid.dress = t.dressed
	}
	_, err := Terminal(&t.out, laid, Screen{Width: t.width, Blocks: 1, Head: func(line string) string { return t.dressed(line, faint) }})
	if left := s.Table.Count - rows; left > 0 {
		t.paragraph("  ", fmt.Sprintf("… and %d more", left), faint)
	}
	return err
}

// facts writes the serious warnings and the lines for which there is room, and how
// many warnings have none.
func (t *terminal) facts(s *Summary, room int) {
	all := slices.Concat(s.Serious, s.Lines)
	for i, fact := range all {
		serious := i < len(s.Serious)
		mark, look := "  ", ""
		if serious {
			mark, look = "! ", warned
		}
		part := t.part(func(part *terminal) { part.paragraph(mark, fact.shown(), look) })
		last := serious && i+1 < len(s.Serious) // another warning comes, which may have no room
		if part.lines() > room || last && part.lines() == room {
			if left := len(s.Serious) - i; left > 0 && room > 0 {
				more := Plural(left, "warning", "warnings")
				if i > 0 {
					more = Plural(left, "more warning", "more warnings")
				}
				t.paragraph("! ", more+": --all", warned)
				return
			}
			continue
		}
		t.out.Write(part.out.Bytes())
		room -= part.lines()
	}
}

// Bar is a share from 0 to 1 as a bar of so many characters.
func Bar(share float64, width int) string {
	eighths := int(min(1, max(0, share))*float64(8*width) + 0.5)
	bar := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[part-1])
	}
	return bar + strings.Repeat("░", width-Width(bar))
}

// Spark is a bar for each value, as high as its share in the greatest. What is not
// above 0 has the lowest.
func Spark(values []float64) string {
	const heights = "▁▂▃▄▅▆▇█"
	bars, most := []rune(heights), slices.Max(append([]float64{0}, values...))
	var spark strings.Builder
	for _, value := range values {
		at := 0
		if most > 0 && value > 0 {
			at = min(len(bars)-1, int(value/most*float64(len(bars)-1)+0.5))
		}
		spark.WriteRune(bars[at])
	}
	return spark.String()
}
