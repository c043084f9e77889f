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
	a := p.Answer(shown)
	writeAnnotation(out, "notice", p.Heading(shown), a.String())
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
			doubts.add(about, warning.Text(shown))
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
