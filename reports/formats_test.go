package reports_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// judged is a report with thresholds that hold, do not hold, and cannot be judged.
func judged(f *fixture) *reports.Report {
	r := f.collect()
	r.Thresholds = []reports.Verdict{
		{Text: `configurations["default"].scores["close"].mean > 0.5`, OK: true, Detail: `configurations["default"].scores["close"].mean is 0.74`},
		{Text: `configurations["default"].cost_usd.mean < 0.001`, Detail: `configurations["default"].cost_usd.mean is 0.00149`},
		{Text: `configurations["default"].coverage == 1.0`, Err: errors.New("it is <missing>")},
	}
	return r
}

// everyFormat is a page in all formats, each under its name, with every table as
// CSV, and the summary of a step.
func everyFormat(t interface{ Fatal(...any) }, p page.Page, tables []string, width int) map[string]string {
	all := map[string]string{}
	write := func(name string, options page.Options) {
		var out bytes.Buffer
		options.Width = width
		if err := page.Write(&out, p, options); err != nil {
			t.Fatal(err)
		}
		all[name] = out.String()
	}
	for _, format := range page.Formats {
		write(format, page.Options{Format: format})
	}
	for _, table := range tables {
		write("csv of "+table, page.Options{Format: "csv", Tables: []string{table}})
	}
	var summary bytes.Buffer
	if err := page.WriteSummary(&summary, p, page.Options{Format: "markdown"}, 0); err != nil {
		t.Fatal(err)
	}
	all["summary"] = summary.String()
	return all
}

// The same records are the same bytes in every format, in whatever order they
// come.
func TestFormatsDoNotDependOnTheOrderOfRecords(t *testing.T) {
	make := func() *fixture {
		f := coach(4).simulated("default")
		cancelled := *f.signals[7]
		cancelled.Outcome = record.Outcome{Status: record.Cancelled}
		f.signals[7] = &cancelled
		return f
	}
	want := everyFormat(t, judged(make()), reports.TableNames, 100)
	for seed := range uint64(8) {
		f := make()
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		for name, got := range everyFormat(t, judged(f), reports.TableNames, 100) {
			if got != want[name] {
				t.Errorf("%s depends on the order of the records:\n%s", name, pagetest.FirstDifference(got, want[name]))
			}
		}
	}
}

func TestGoldenFormats(t *testing.T) {
	r := judged(coach(24).simulated("default"))
	for name, format := range map[string]string{
		"judged.md": "markdown", "judged.comment.md": "comment", "judged.github.txt": "github", "judged.junit.xml": "junit", "judged.html": "html",
	} {
		pagetest.Golden(t, name, pagetest.Written(t, r, page.Options{Format: format}))
	}
	pagetest.Golden(t, "judged.thresholds.csv", pagetest.Written(t, r, page.Options{Format: "csv", Tables: []string{"thresholds"}}))
}

// Where there is no answer, every format that gives one says so first.
func TestNoAnswerIsNeverYes(t *testing.T) {
	stopped := coach(4).collect()
	stopped.Unanswered = "the suite's budget is spent"
	nothing := one(2).collect()
	for why, r := range map[string]*reports.Report{"the suite's budget is spent": stopped, "no run counts": nothing} {
		for _, format := range []string{"markdown", "comment", "html", "github"} {
			text := strings.ReplaceAll(pagetest.Written(t, r, page.Options{Format: format}), "&#39;", "'")
			if at := strings.Index(text, why); at < 0 || at > 2200 || strings.Contains(text, "✅") {
				t.Errorf("%s does not begin with %q:\n%s", format, why, text)
			}
		}
		if text := pagetest.Written(t, r, page.Options{Format: "junit"}); !strings.Contains(text, "<error ") {
			t.Errorf("JUnit has no error though %s:\n%s", why, text)
		}
	}
}

// A comment is found again by its first line, the same for each run of a suite.
func TestCommentsHaveAMarker(t *testing.T) {
	for suite, want := range map[string]string{
		"coach": "<!-- agentbench report coach -->", "a b": "<!-- agentbench report a-b -->",
		"--> <b>": "<!-- agentbench report b -->", "日本": "<!-- agentbench report  -->",
	} {
		f := one(1)
		f.manifest.Suite = suite
		first, _, _ := strings.Cut(pagetest.Written(t, f.collect(), page.Options{Format: "comment"}), "\n")
		if first != want {
			t.Errorf("the comment on %q begins with %q, want %q", suite, first, want)
		}
	}
}

// A summary has what room is left of 1 MiB; rows are left out, and it says so.
func TestSummariesFit(t *testing.T) {
	r := judged(coach(200))
	for _, before := range []int64{0, 1000 << 10, 1040_000, 1 << 20, 1 << 30} {
		var out bytes.Buffer
		if err := page.WriteSummary(&out, r, page.Options{Format: "markdown"}, before); err != nil {
			t.Fatal(err)
		}
		if before < 1<<20 && int64(out.Len())+before > 1<<20 || before >= 1<<20 && out.Len() > 0 {
			t.Errorf("%d bytes after %d", out.Len(), before)
		}
		if before == 1000<<10 && !strings.Contains(out.String(), " more: --format csv --table ") && !strings.Contains(out.String(), "Too long for Markdown: ") && !strings.Contains(out.String(), "No room for ") {
			t.Errorf("nothing says that rows are left out after %d bytes", before)
		}
	}
}

// Tables that do not fit are cut at whole rows.
func TestMarkdownIsCutAtWholeRows(t *testing.T) {
	f := &fixture{manifest: record.Manifest{Suite: "huge", Tasks: 3, Trials: 1, Scorers: []string{"right"}}}
	for i := range 300 {
		name := fmt.Sprintf("%d %s", i, strings.Repeat("a long name ", 9))
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name, EffectiveMax: 3})
		f.play(i, "1", 1, 2)
	}
	for _, format := range []string{"markdown", "comment"} {
		text := pagetest.Written(t, f.collect(), page.Options{Format: format})
		if len(text) > 60_000 || !strings.Contains(text, " more: --format csv --table configurations\n") {
			t.Errorf("%s has %d bytes, or does not say that rows are left out", format, len(text))
		}
		cells := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			if got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); cells > 0 && got != cells {
				t.Errorf("%s: a row has %d cells, not %d", format, got, cells)
			} else {
				cells = got
			}
		}
	}
}
