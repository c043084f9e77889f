package page

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// annotations is how many of a level GitHub shows of a step.
const annotations = 10

// writeGitHub writes annotations as GitHub's workflow commands: a notice with
// the answer, an error for each check that is worth one, and the warnings that
// put the numbers into question. What is more than GitHub shows is summed up in
// the last one.
func writeGitHub(w io.Writer, p Page, _ Options) error {
	out := bufio.NewWriter(w)
	writeAnnotation(out, "notice", p.Heading().shown(), p.Answer().InOneLine().shown())
	failures := newAnnotations("error")
	for c := range p.Checks() {
		if c.Loud && (c.State == Failed || c.State == Errored) {
			failures.add(loudTitle(&c), c.Message)
		}
	}
	failures.write(out)
	doubts := newAnnotations("warning")
	for about, warning := range p.Warned() {
		if warning.Serious() {
			doubts.add(about, warning.Text().shown())
		}
	}
	doubts.write(out)
	return out.Flush()
}

func loudTitle(c *Check) string {
	if c.Group == Thresholds {
		return c.State.does() + ": " + c.Name
	}
	return c.Name + " of " + c.Group
}

// does is what a threshold in that state does.
func (s State) does() string {
	if s == Failed {
		return "does not hold"
	}
	return "cannot be judged"
}

// level are the annotations of one level, as many as are shown.
type level struct {
	name  string
	shown [][2]string // title and message
	count int
}

func newAnnotations(name string) *level { return &level{name: name} }

func (l *level) add(title, message string) {
	if l.count++; len(l.shown) < annotations {
		l.shown = append(l.shown, [2]string{title, message})
	}
}

func (l *level) write(out io.Writer) {
	for i, one := range l.shown {
		if more := l.count - i; i == annotations-1 && more > 1 {
			one = [2]string{fmt.Sprintf("and %d more", more), "the summary and --format junit list all of them"}
		}
		writeAnnotation(out, l.name, one[0], one[1])
	}
}

// writeAnnotation writes a workflow command. Its texts have no line feeds any
// more; GitHub's own escapes are those of its toolkit.
func writeAnnotation(out io.Writer, level, title, message string) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	title = shownUpTo(annotationTitle, title)
	if title == "" {
		title = "agentbench"
	}
	if message = shownUpTo(annotationText, message); message == "" {
		message = title
	}
	fmt.Fprintf(out, "::%s title=%s::%s\n", level, property.Replace(title), data.Replace(message))
}

// How many characters of an annotation there are at most.
const (
	annotationTitle = 200
	annotationText  = 2000
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
	if a := p.Answer(); a.State == Skipped {
		fmt.Fprintf(&m, "### %s\n", inMarkdown(p.Heading()))
	} else {
		fmt.Fprintf(&m, "### %s %s\n\n", a.State.mark(), inMarkdown(a.Text))
		for _, more := range a.More {
			fmt.Fprintf(&m, "- %s\n", inMarkdown(more))
		}
		if len(a.More) > 0 {
			m.WriteString("\n")
		}
		fmt.Fprintln(&m, inMarkdown(p.Heading()))
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
