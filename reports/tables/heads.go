package tables

import "strings"

// terminalHead is the head with its name broken to a bearable width.
func (c *Column) terminalHead() string {
	switch {
	case c.Name == "":
		return c.Head
	case c.Head == "":
		return strings.Join(breakName(c.Name, least, ""), "\n")
	}
	return strings.Join(append(breakName(c.Name, least, ""), c.Head), "\n")
}

// heads are the heads of the block's columns. Those with fewer lines stand
// beside the last lines of the others.
func (b *block) heads(t *Table) []string {
	lines := b.headLines(t)
	heads := make([]string, len(b.columns))
	for i, c := range b.columns {
		head := t.Columns[c].terminalHead()
		heads[i] = strings.Repeat("\n", lines-countLines(head)) + head
	}
	return heads
}

func (b *block) headLines(t *Table) (lines int) {
	for _, c := range b.columns {
		lines = max(lines, countLines(t.Columns[c].terminalHead()))
	}
	return lines
}

func countLines(text string) int { return strings.Count(text, "\n") + 1 }
