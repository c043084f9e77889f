package page

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// writeJUnit writes the checks of a page as JUnit's XML: a suite for each group,
// a case for each check. A case that failed is a failure, one that could not be
// measured an error, and one of which nothing says yes or no is skipped. Each
// case has at most one of them, as most readers of the format demand.
func writeJUnit(w io.Writer, p Page, options Options) error {
	checks := junitChecks(p, options.Cases)
	suites := junitSuites(checks)
	out := bufio.NewWriter(w) // the encoder writes case by case
	out.WriteString(xml.Header)
	x := junit{xml.NewEncoder(out)}
	x.Indent("", "  ")
	root := junitRoot(p, suites)
	if err := x.EncodeToken(root); err != nil {
		return err
	}
	if err := x.cases(p, checks, suites); err != nil {
		return err
	}
	if err := x.EncodeToken(root.End()); err != nil {
		return err
	}
	if err := x.Close(); err != nil {
		return err
	}
	out.WriteString("\n")
	return out.Flush()
}

// junitChecks are the checks of one kind. Where a page has none of that kind, its answer is the only one: readers of the
// format refuse a file without cases.
func junitChecks(p Page, cases string) iter.Seq[Check] {
	return func(yield func(Check) bool) {
		none := true
		for c := range p.Checks() {
			if cases == "thresholds" && c.Score || cases == "scores" && !c.Score {
				continue
			}
			none = false
			if !yield(c) {
				return
			}
		}
		if !none {
			return
		}
		a := p.Answer()
		if a.State == Undecided {
			a.State = Skipped
		}
		yield(Check{Group: "suite", Name: p.Heading().Raw(), State: a.State, Message: a.InOneLine().Raw(), Untimed: true})
	}
}

// junit writes suite after suite, and holds no more than a case.
type junit struct{ *xml.Encoder }

// cases writes the suites with their cases; each group of checks is one.
func (x junit) cases(p Page, checks iter.Seq[Check], suites []junitSuite) (err error) {
	at := -1
	for c := range checks {
		if at < 0 || c.Group != suites[at].group {
			if at >= 0 {
				err = x.end(p, suites, at)
			}
			at++
			if err == nil {
				err = x.begin(p, &suites[at])
			}
		}
		if err == nil {
			err = x.Encode(junitCaseOf(&c))
		}
		if err != nil {
			return err
		}
	}
	if at < 0 {
		return nil
	}
	return x.end(p, suites, at)
}

func (x junit) begin(p Page, s *junitSuite) error {
	if err := x.EncodeToken(s.start()); err != nil {
		return err
	}
	facts := junitProperties{}
	for _, f := range p.Facts(s.group) {
		facts.Property = append(facts.Property, junitProperty{shown(f.Name), shown(f.Value)})
	}
	if len(facts.Property) == 0 {
		return nil
	}
	return x.Encode(facts)
}

// end closes a suite below the warnings about it. Those about the whole are in
// the first one.
func (x junit) end(p Page, suites []junitSuite, at int) error {
	var lines []string
	for about, w := range p.Warned() {
		if about == suites[at].group || about == "" && at == 0 {
			lines = append(lines, shownUpTo(junitText, w.Text().shown()))
		}
	}
	if len(lines) > 0 {
		if err := x.Encode(junitOut{Text: strings.Join(lines, "\n")}); err != nil {
			return err
		}
	}
	return x.EncodeToken(suites[at].start().End())
}

// junitText is how many characters of a message there are at most.
const junitText = 2000

// junitSuite counts the cases of a group.
type junitSuite struct {
	group string
	count map[State]int
	tests int
	time  float64
	// untimed says that the time of a case is unknown, and so the sum.
	untimed bool
}

// junitSuites are the groups of checks, counted.
func junitSuites(checks iter.Seq[Check]) (suites []junitSuite) {
	for c := range checks {
		if last := len(suites) - 1; last < 0 || suites[last].group != c.Group {
			suites = append(suites, junitSuite{group: c.Group, count: map[State]int{}})
		}
		s := &suites[len(suites)-1]
		s.count[c.State]++
		s.tests++
		s.time += c.Seconds
		s.untimed = s.untimed || c.Untimed
	}
	return suites
}

func (s *junitSuite) start() xml.StartElement {
	return s.timed(element("testsuite", "name", shown(s.group), "tests", fmt.Sprint(s.tests), "failures", fmt.Sprint(s.count[Failed]),
		"errors", fmt.Sprint(s.count[Errored]), "skipped", fmt.Sprint(s.count[Skipped])))
}

func junitRoot(p Page, suites []junitSuite) xml.StartElement {
	var all junitSuite
	for _, s := range suites {
		all.tests, all.time, all.untimed = all.tests+s.tests, all.time+s.time, all.untimed || s.untimed
	}
	count := func(of State) string {
		n := 0
		for _, s := range suites {
			n += s.count[of]
		}
		return fmt.Sprint(n)
	}
	return all.timed(element("testsuites", "name", p.Heading().shown(), "tests", fmt.Sprint(all.tests),
		"failures", count(Failed), "errors", count(Errored)))
}

// timed adds the time to an element, if it is known.
func (s *junitSuite) timed(e xml.StartElement) xml.StartElement {
	if !s.untimed {
		e.Attr = append(e.Attr, xml.Attr{Name: xml.Name{Local: "time"}, Value: junitSeconds(s.time)})
	}
	return e
}

// element is the start of an element with pairs of a name and a value.
func element(name string, pairs ...string) xml.StartElement {
	start := xml.StartElement{Name: xml.Name{Local: name}}
	for pair := range slices.Chunk(pairs, 2) {
		start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: pair[0]}, Value: pair[1]})
	}
	return start
}

// junitSeconds has three digits after the point: Jenkins takes no more.
func junitSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// junitCase is a check as XML.
type junitCase struct {
	XMLName   xml.Name    `xml:"testcase"`
	Name      string      `xml:"name,attr"`
	ClassName string      `xml:"classname,attr"`
	Time      string      `xml:"time,attr,omitempty"`
	Failure   *junitWrong `xml:"failure"`
	Error     *junitWrong `xml:"error"`
	Skipped   *junitWrong `xml:"skipped"`
	Out       string      `xml:"system-out,omitempty"`
}

type junitWrong struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitProperties struct {
	XMLName  xml.Name        `xml:"properties"`
	Property []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitOut struct {
	XMLName xml.Name `xml:"system-out"`
	Text    string   `xml:",chardata"`
}

// junitCaseOf makes a case of a check. Texts from outside hold nothing any more
// that XML 1.0 cannot.
func junitCaseOf(c *Check) junitCase {
	out := junitCase{Name: shownUpTo(junitText, c.Name), ClassName: shown(c.Group)}
	if !c.Untimed {
		out.Time = junitSeconds(c.Seconds)
	}
	message := shownUpTo(junitText, c.Message)
	switch c.State {
	case Failed:
		out.Failure = &junitWrong{Type: string(Failed), Message: message, Text: message}
	case Errored:
		out.Error = &junitWrong{Type: string(Errored), Message: message, Text: message}
	case Skipped:
		out.Skipped = &junitWrong{Message: message}
	default:
		out.Out = message
	}
	return out
}
