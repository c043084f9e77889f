package reports_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

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
		"::warning title=single-pass::1 of 6 runs had a fault (server 1) and are in no number\n",
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
