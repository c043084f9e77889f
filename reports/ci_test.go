package reports_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"golang.org/x/net/html"
)

// htmlAllowed are the only elements of a page, and their attributes. None of
// them runs or loads anything.
var htmlAllowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "id", "style": "", "body": "", "header": "", "main": "",
	"h1": "", "h2": "", "p": "class", "div": "class role aria-label tabindex", "table": "", "thead": "", "tbody": "", "tr": "id", "th": "class", "td": "class id data-raw",
	"ul": "class", "li": "class", "nav": "aria-label", "section": "id", "details": "open class", "summary": "", "figure": "id", "figcaption": "",
	"a": "href aria-label tabindex", "svg": "class viewBox width height aria-hidden", "desc": "id", "g": "role aria-labelledby", "defs": "",
	"pattern": "id width height patternUnits", "path": "class d", "circle": "class cx cy r", "rect": "class fill x y width height", "text": "class x y transform",
}

// Links stay in the page, and what SVG is filled with, too.
var (
	fragment   = regexp.MustCompile(`^#[-A-Za-z0-9._~:/=%]*$`)
	localPaint = regexp.MustCompile(`^url\(#(hatch|tile)[1-5]\)$`)
)

// checkHTML finds nothing in a page that a browser would execute or fetch, and no link that
// leads nowhere.
func checkHTML(t interface{ Errorf(string, ...any) }, text string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Errorf("reading the HTML: %v", err)
		return
	}
	policies, style := []string{}, ""
	ids, links := map[string]bool{}, map[string]bool{}
	for node := range root.Descendants() {
		switch node.Type {
		case html.CommentNode:
			t.Errorf("a comment: %q", node.Data)
		case html.ElementNode:
			allowed, ok := htmlAllowed[node.Data]
			if !ok || node.Namespace != "" && node.Namespace != "svg" {
				t.Errorf("an element <%s>", node.Data)
			}
			for _, a := range node.Attr {
				if !slices.Contains(strings.Fields(allowed), a.Key) {
					t.Errorf("<%s> has the attribute %s=%q", node.Data, a.Key, a.Val)
				}
				if a.Key == "href" && !fragment.MatchString(a.Val) {
					t.Errorf("a link to %q", a.Val)
				}
				switch {
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("two elements have the id %q", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				case a.Key == "href":
					links[strings.TrimPrefix(a.Val, "#")] = true
				}
				if a.Key == "fill" && !localPaint.MatchString(a.Val) {
					t.Errorf("a fill of %q", a.Val)
				}
				if a.Key == "http-equiv" && a.Val != "Content-Security-Policy" {
					t.Errorf("http-equiv %q", a.Val)
				}
			}
			if node.Data == "style" && node.FirstChild != nil {
				style += node.FirstChild.Data
			}
			if content, ok := policyOf(node); ok {
				policies = append(policies, content)
			}
		}
	}
	for link := range links {
		if !ids[link] {
			t.Errorf("a link leads to %q, which is not there", link)
		}
	}
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if !slices.Equal(policies, []string{want}) {
		t.Errorf("the policies are %q, want %q", policies, want)
	}
}

func policyOf(node *html.Node) (content string, ok bool) {
	for _, a := range node.Attr {
		ok = ok || a.Key == "http-equiv"
		if a.Key == "content" {
			content = a.Val
		}
	}
	return content, ok
}

// F72, P18: a page holds every row and nothing that a browser executes.
func TestHTMLHoldsTheTables(t *testing.T) {
	text := pagetest.Written(t, judged(coach(24)), page.Options{Format: "html"})
	checkHTML(t, text)
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			count[node.Data]++
		}
	}
	if count["table"] < 7 || count["section"] != count["h2"] || count["tr"] < 24+5+3 || count["th"] == 0 || count["td"] < count["tr"] {
		t.Errorf("elements: %v", count)
	}
	for _, want := range []string{"interview-24", "1 of 3 thresholds cannot be judged"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

var annotation = regexp.MustCompile(`^::(notice|warning|error) title=([^:,\r\n]+)::([^\r\n]+)\n$`)

// checkAnnotations finds nothing but annotations, and not more of them than are
// shown.
func checkAnnotations(t interface{ Errorf(string, ...any) }, text string) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(text) {
		parts := annotation.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("no annotation: %q", line)
			continue
		}
		count[parts[1]]++
		for _, part := range parts[2:] {
			if rest := regexp.MustCompile(`%(25|0D|0A|3A|2C)`).ReplaceAllString(part, ""); strings.Contains(rest, "%") {
				t.Errorf("a bare %% in %q", line)
			}
		}
	}
	for level, n := range count {
		if n > 10 {
			t.Errorf("%d annotations of the level %s", n, level)
		}
	}
	return count
}

func TestAnnotationsAreSummedUp(t *testing.T) {
	for _, failing := range []int{0, 1, 9, 10, 11, 40} {
		r := one(1).collect()
		for i := range failing {
			r.Thresholds = append(r.Thresholds, reports.Verdict{Text: fmt.Sprintf("a > %d", i), Detail: "a is 0"})
		}
		text := pagetest.Written(t, r, page.Options{Format: "github"})
		if got := checkAnnotations(t, text)["error"]; got != min(failing, 10) {
			t.Errorf("%d errors for %d thresholds", got, failing)
		}
		if more := fmt.Sprintf("title=and %d more::", failing-9); strings.Contains(text, more) != (failing > 10) {
			t.Errorf("of %d thresholds:\n%s", failing, text)
		}
	}
}

// GitHub's own escapes.
func TestAnnotationsAreEscaped(t *testing.T) {
	f := one(1)
	f.manifest.Suite = "100%, a:b"
	r := f.collect()
	r.Thresholds = []reports.Verdict{{Text: "x\n::error::y", Detail: "50%0A::set-output name=a::b"}}
	text := pagetest.Written(t, r, page.Options{Format: "github"})
	checkAnnotations(t, text)
	for _, want := range []string{
		`::notice title=100%25%2C a%3Ab · 1 configuration`,
		`::error title=does not hold%3A x\n%3A%3Aerror%3A%3Ay::50%250A::set-output name=a::b` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What puts numbers into question is a warning with the name of what it is about.
func TestAnnotationsWarn(t *testing.T) {
	f := coach(2)
	s := *f.signals[0]
	s.Outcome = record.Outcome{Status: record.Faulted, Error: &record.Error{Class: record.Server}}
	f.signals[0] = &s
	f.manifest.Status = record.StateStopped
	text := pagetest.Written(t, f.collect(), page.Options{Format: "github"})
	for _, want := range []string{
		"::warning title=single-pass::1 of 6 runs had infrastructure errors (server 1) and are excluded from all results\n",
		"::warning title=agentbench::the results are not complete: stopped before the end\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "means are over") {
		t.Errorf("an explanation is a warning:\n%s", text)
	}
}

// element is an element of any XML.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e *element) all(name string) (found []element) {
	for _, child := range e.Children {
		if child.XMLName.Local == name {
			found = append(found, child)
		}
	}
	return found
}

// junitRules are what Jenkins' and Ant's schemas of JUnit have in common: the
// attributes that an element has (those with ! are required) and its children.
var junitRules = map[string]struct{ attrs, children string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite":  {"name! tests! failures! errors! skipped time", "properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name! value!", ""},
	"testcase":   {"name! classname! time", "failure error skipped system-out system-err"},
	"failure":    {"message type!", ""},
	"error":      {"message type!", ""},
	"skipped":    {"message", ""},
	"system-out": {"", ""},
}

var junitTime = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)

// checkJUnit reads JUnit's XML and holds it against the rules.
func checkJUnit(t interface{ Errorf(string, ...any) }, text string) element {
	var root element
	decoder := xml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&root); err != nil {
		t.Errorf("reading the XML: %v", err)
		return root
	}
	if rest := text[decoder.InputOffset():]; strings.TrimSpace(rest) != "" {
		t.Errorf("%q follows the root", rest)
	}
	if root.XMLName.Local != "testsuites" {
		t.Errorf("the root is %s", root.XMLName.Local)
	}
	checkElement(t, &root)
	checkCounts(t, &root)
	return root
}

func checkElement(t interface{ Errorf(string, ...any) }, e *element) {
	name := e.XMLName.Local
	rule, ok := junitRules[name]
	if !ok {
		t.Errorf("there is no element %s", name)
	}
	attrs := strings.Fields(rule.attrs)
	for _, a := range e.Attrs {
		if !slices.Contains(attrs, a.Name.Local) && !slices.Contains(attrs, a.Name.Local+"!") {
			t.Errorf("%s has no attribute %s", name, a.Name.Local)
		}
	}
	for _, a := range attrs {
		if required, is := strings.CutSuffix(a, "!"); is && !slices.ContainsFunc(e.Attrs, func(a xml.Attr) bool { return a.Name.Local == required }) {
			t.Errorf("%s needs the attribute %s", name, required)
		}
	}
	if time := e.attr("time"); time != "" && !junitTime.MatchString(time) {
		t.Errorf("the time %q", time)
	}
	last := 0
	children := strings.Fields(rule.children)
	for i := range e.Children {
		at := slices.Index(children, e.Children[i].XMLName.Local)
		if at < last {
			t.Errorf("%s has no %s there", name, e.Children[i].XMLName.Local)
		}
		last = max(last, at)
		checkElement(t, &e.Children[i])
	}
	if wrong := len(e.all("failure")) + len(e.all("error")) + len(e.all("skipped")); name == "testcase" && wrong > 1 {
		t.Errorf("a case has %d of failure, error and skipped", wrong)
	}
}

// checkCounts adds up what the attributes say.
func checkCounts(t interface{ Errorf(string, ...any) }, root *element) {
	total := map[string]int{}
	for _, suite := range root.all("testsuite") {
		counts := map[string]int{"tests": len(suite.all("testcase"))}
		seconds := 0.0
		for _, c := range suite.all("testcase") {
			counts["failures"] += len(c.all("failure"))
			counts["errors"] += len(c.all("error"))
			counts["skipped"] += len(c.all("skipped"))
			s, _ := strconv.ParseFloat(c.attr("time"), 64)
			seconds += s
		}
		for name, n := range counts {
			total[name] += n
			if suite.attr(name) != strconv.Itoa(n) {
				t.Errorf("%s says %s=%s, and has %d", suite.attr("name"), name, suite.attr(name), n)
			}
		}
		if said, _ := strconv.ParseFloat(suite.attr("time"), 64); said-seconds > 0.1 || seconds-said > 0.1 {
			t.Errorf("%s says time=%v, and has %v", suite.attr("name"), said, seconds)
		}
	}
	for _, name := range []string{"tests", "failures", "errors"} {
		if root.attr(name) != strconv.Itoa(total[name]) {
			t.Errorf("the root says %s=%s, and has %d", name, root.attr(name), total[name])
		}
	}
}

func TestJUnitKeepsToTheSchema(t *testing.T) {
	checkJUnit(t, pagetest.Written(t, judged(coach(24)), page.Options{Format: "junit"}))
	for _, f := range edges() {
		checkJUnit(t, pagetest.Written(t, f.collect(), page.Options{Format: "junit"}))
	}
	checkJUnit(t, pagetest.Written(t, (&fixture{}).collect(), page.Options{Format: "junit"}))
}

// A task is one case of each configuration, whatever became of its trials.
func TestJUnitFoldsTrialsIntoCases(t *testing.T) {
	f := one(8)
	f.manifest.Trials = 3
	fault := func(task string, trial int, status record.Status) {
		s := *f.run(task, trial, 0.5)
		s.Outcome = record.Outcome{Status: status, Error: &record.Error{Class: record.Server}}
		f.signals[len(f.signals)-1] = &s
	}
	for trial := 1; trial <= 3; trial++ {
		f.scored(f.run("passes", trial, 0.5), 0, 1)
		f.scored(f.run("half", trial, 0.5), 0, 0.5)
		fault("faults", trial, record.Faulted)
	}
	for trial, value := range []float64{1, 0} {
		f.scored(f.run("fails", trial+1, 0.5), 0, value)
	}
	fault("fails", 3, record.Faulted)
	f.scored(f.run("both", 1, 0.5), 0, 1)
	fault("both", 2, record.Faulted)
	fault("both", 3, record.Cancelled)
	unscored := f.run("unscored", 1, 0.5)
	f.scores = append(f.scores, record.Score{Run: unscored.ID, Name: "right", Unscored: "no target"})
	f.run("pending", 1, 0.5)

	root := checkJUnit(t, pagetest.Written(t, f.collect(), page.Options{Format: "junit"}))
	got := map[string]string{}
	for _, c := range root.Children[0].all("testcase") {
		inner := c.Children[0]
		message := inner.attr("message")
		if inner.XMLName.Local == "system-out" {
			message = inner.Text
		}
		got[c.attr("name")] = fmt.Sprintf("%s %s: %s", c.attr("time"), inner.XMLName.Local, message)
	}
	want := map[string]string{
		"passes":    "3.000 system-out: right: 3 of 3 runs with success",
		"half":      "3.000 failure: right: 0 of 3 runs with success, mean 0.5",
		"faults":    "0.000 error: with a fault: server 3",
		"fails":     "2.000 failure: right: 1 of 2 runs with success, with a fault: server 1",
		"both":      "1.000 error: right: 1 of 1 run with success, with a fault: server 1, cancelled: 1",
		"unscored":  "1.000 skipped: right could not score 1 run",
		"pending":   "1.000 skipped: right has not judged 1 run yet",
		"(not run)": "0.000 error: 7 of 24 runs were not run",
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: got  %q\nwant %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cases, want %d: %v", len(got), len(want), got)
	}
}

// Without scorers the loop's own belief stands in, as in all tables.
func TestJUnitWithoutScorers(t *testing.T) {
	f := one(2)
	f.manifest.Scorers = nil
	f.run("yes", 1, 0.9).Outcome.Success = true
	f.run("no", 1, 0.1)
	text := pagetest.Written(t, f.collect(), page.Options{Format: "junit"})
	checkJUnit(t, text)
	for _, want := range []string{`<failure type="failed" message="the loop: 0 of 1 run with success">`, `<system-out>the loop: 1 of 1 run with success</system-out>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
