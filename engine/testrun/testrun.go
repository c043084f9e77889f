// Package testrun reads what runners of tests print. Read tells which tests ran and which of them
// failed, as far as the runner prints JUnit XML, go test -json or TAP, and what the next
// iteration is told of it.
//
// It is no stable API.
package testrun

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Result is what a run of tests shows.
type Result struct {
	Passed bool     // the runner exited with 0
	Tests  int      // that ran and count: skipped ones do not; 0: the output names none
	Failed []string // their names, in the order in which they ended
	// Output is what a person would read of it: of formats for programs, what the failed
	// tests said.
	Output string
}

// Share is the share of the tests that pass, from 0 to 1. Where the output names no tests
// it is 1 for a run that passed, and 0 for one that did not. A run that failed is below 1.
func (r *Result) Share() float64 {
	switch passing := r.Tests - len(r.Failed); {
	case r.Passed:
		return 1
	case r.Tests == 0:
		return 0
	case passing == r.Tests: // something failed beside them
		return float64(passing) / float64(r.Tests+1)
	default:
		return float64(passing) / float64(r.Tests)
	}
}

// feedback is how many bytes of the output the next iteration is told.
const feedback = 4 << 10

// Feedback is the end of the output of a run that failed, "" of one that passed.
func (r *Result) Feedback() string {
	if r.Passed {
		return ""
	}
	text := strings.TrimRight(r.Output, " \t\r\n")
	if len(text) > feedback {
		text = text[len(text)-feedback:]
		if _, whole, found := strings.Cut(text, "\n"); found {
			text = whole
		}
		text = "...\n" + strings.TrimLeftFunc(text, func(c rune) bool { return c == utf8.RuneError })
	}
	return text
}

// Read reads what a runner printed. Its format is found by what stands in it.
func Read(stdout, stderr []byte, passed bool) Result {
	r := Result{Passed: passed}
	for _, read := range []func([]byte) (Result, bool){goTest, junit, tap} {
		if found, ok := read(stdout); ok {
			found.Passed = passed
			found.Output = joined(found.Output, text(stderr))
			return found
		}
	}
	r.Output = joined(text(stdout), text(stderr))
	return r
}

func text(printed []byte) string { return strings.ToValidUTF8(string(printed), "\uFFFD") }

func joined(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if part = strings.TrimRight(part, "\n"); part != "" {
			b.WriteString(part + "\n")
		}
	}
	return b.String()
}

// goTest reads the events of go test -json. A test with subtests is what these are; a
// package that fails without a failed test, for instance because it does not compile, is a
// test that failed.
func goTest(stdout []byte) (r Result, ok bool) {
	type event struct{ Action, Package, ImportPath, Test, Output string }
	type test struct{ name, verdict, output string }
	var order []*test
	tests := map[string]*test{}
	failing := map[string]bool{} // packages with a failed test
	of := func(name string) *test {
		if tests[name] == nil {
			tests[name] = &test{name: name}
			order = append(order, tests[name])
		}
		return tests[name]
	}
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, len(stdout)+1)
	var beside strings.Builder
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" || e.Package == "" && e.ImportPath == "" {
			beside.WriteString(text(lines.Bytes()) + "\n")
			continue
		}
		ok = true
		name := e.Package + e.ImportPath
		if e.Test != "" {
			name += " " + e.Test
		}
		t := of(name)
		t.output += e.Output
		switch e.Action {
		case "pass", "fail", "skip":
			t.verdict = e.Action
			failing[e.Package] = failing[e.Package] || e.Action == "fail" && e.Test != ""
		}
	}
	if !ok {
		return r, false
	}
	parents := map[string]bool{}
	for name := range tests {
		for at := strings.LastIndexByte(name, '/'); at > strings.IndexByte(name, ' ') && strings.Contains(name, " "); at = strings.LastIndexByte(name, '/') {
			name = name[:at]
			parents[name] = true
		}
	}
	failedBelow := func(parent string) bool {
		return slices.ContainsFunc(order, func(t *test) bool { return t.verdict == "fail" && strings.HasPrefix(t.name, parent+"/") })
	}
	var said strings.Builder
	for _, t := range order {
		isPackage := !strings.Contains(t.name, " ")
		failed := t.verdict == "fail" && !(isPackage && failing[t.name])
		if failed {
			said.WriteString(t.output)
		}
		switch {
		case parents[t.name] && !failed, isPackage && !failed, t.verdict == "skip", t.verdict == "" && isPackage:
		case parents[t.name] && failedBelow(t.name):
		case failed, t.verdict == "": // one that never ended
			r.Tests++
			r.Failed = append(r.Failed, t.name)
		default:
			r.Tests++
		}
	}
	for _, t := range order {
		if t.verdict == "" && !strings.Contains(t.name, " ") {
			said.WriteString(t.output) // of a build
		}
	}
	r.Output = joined(beside.String(), said.String())
	return r, true
}

// junit reads JUnit XML, which may stand among other output.
func junit(stdout []byte) (r Result, ok bool) {
	at := bytes.Index(stdout, []byte("<testsuite"))
	if at < 0 {
		return r, false
	}
	type outcome struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var said strings.Builder
	decoder := xml.NewDecoder(bytes.NewReader(stdout[at:]))
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, from io.Reader) (io.Reader, error) { return from, nil }
	for {
		token, err := decoder.Token()
		if err != nil {
			break // what stands behind the report, or its cut end
		}
		start, opens := token.(xml.StartElement)
		if !opens || start.Name.Local != "testcase" {
			continue
		}
		var test struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			Failure []outcome `xml:"failure"`
			Error   []outcome `xml:"error"`
			Skipped *outcome  `xml:"skipped"`
		}
		ok = true
		if err := decoder.DecodeElement(&test, &start); err != nil {
			test.Error = append(test.Error, outcome{Message: "the report is cut here"})
		}
		if test.Skipped != nil {
			continue
		}
		r.Tests++
		name := strings.TrimPrefix(test.Class+" "+test.Name, " ")
		wrong := append(test.Failure, test.Error...)
		if len(wrong) > 0 {
			r.Failed = append(r.Failed, name)
		}
		for _, w := range wrong {
			said.WriteString("FAIL " + name + "\n" + joined(w.Message, strings.TrimSpace(w.Text)))
		}
	}
	r.Output = said.String()
	return r, ok
}

var (
	tapPlan = regexp.MustCompile(`^1\.\.(\d+)`)
	tapTest = regexp.MustCompile(`^(not )?ok\b\s*(\d+)?\s*-?\s*([^#]*)(#.*)?$`)
)

// tap reads the Test Anything Protocol. Tests of the plan that did not run have failed;
// those of subtests are what their parent says.
func tap(stdout []byte) (r Result, ok bool) {
	planned, seen := -1, 0
	version := false
	for line := range strings.Lines(text(stdout)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "TAP version") {
			version = true
		}
		if plan := tapPlan.FindStringSubmatch(line); plan != nil {
			planned, _ = strconv.Atoi(plan[1])
			continue
		}
		m := tapTest.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		seen++
		directive := strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(m[4], "#")))
		if strings.HasPrefix(directive, "SKIP") || strings.HasPrefix(directive, "TODO") {
			continue
		}
		r.Tests++
		if m[1] != "" {
			r.Failed = append(r.Failed, strings.TrimSpace(m[2]+" "+strings.TrimSpace(m[3])))
		}
	}
	if planned < 0 && !(version && seen > 0) {
		return Result{}, false
	}
	for n := seen + 1; n <= min(planned, seen+10_000); n++ {
		r.Tests++
		r.Failed = append(r.Failed, fmt.Sprintf("%d (did not run)", n))
	}
	r.Output = text(stdout)
	return r, true
}
