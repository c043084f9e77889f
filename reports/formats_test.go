package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
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
	t.Parallel()
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
			if _, body, ok := strings.Cut(text, "<body>"); ok { // behind the style
				text = body
			}
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

func TestWriteRefusesWhatIsNotThere(t *testing.T) {
	r := small(1).collect()
	for want, options := range map[string]page.Options{
		`unknown format "pdf"`:       {Format: "pdf"},
		`unknown table "task"`:       {Tables: []string{"task"}},
		`a CSV file holds one table`: {Format: "csv", Tables: []string{"tasks", "stops"}},
	} {
		if err := page.Write(io.Discard, r, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %s", options, err, want)
		}
	}
}

type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteTellsThatItCouldNot(t *testing.T) {
	t.Parallel()
	r := coach(24).collect()
	for _, format := range page.Formats {
		for _, left := range []int{0, 100, 5000} {
			err := page.Write(&full{left: left}, r, page.Options{Format: format})
			if left < len(pagetest.Written(t, r, page.Options{Format: format})) && !errors.Is(err, errFull) {
				t.Errorf("%s to a disk with %d bytes left: error %v", format, left, err)
			}
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	r := coach(24).simulated("default").collect()
	for width := 80; width <= 240; width += 8 {
		for line := range strings.Lines(pagetest.Written(t, r, page.Options{Width: width})) {
			if got := page.Width(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("at %d columns a line has %d: %s", width, got, line)
			}
		}
	}
}

func TestTerminalShowsTwentyTasksAndSaysSo(t *testing.T) {
	text := pagetest.Written(t, coach(24).collect(), page.Options{Tables: []string{"tasks"}})
	if !strings.Contains(text, "\ninterview-20 ") || strings.Contains(text, "interview-21") || !strings.Contains(text, "… and 4 more: --format csv --table tasks") {
		t.Errorf("got\n%s", text)
	}
	rows, err := csv.NewReader(strings.NewReader(pagetest.Written(t, coach(24).collect(), page.Options{Format: "csv", Tables: []string{"tasks"}}))).ReadAll()
	if err != nil || len(rows) != 1+24*5 {
		t.Errorf("the CSV has %d rows, %v; want one for each task and configuration", len(rows), err)
	}
}

// F74: a comment on GitHub may have 65,536 characters.
func TestMarkdownFitsAComment(t *testing.T) {
	f := &fixture{manifest: record.Manifest{Suite: "huge", Tasks: 3, Trials: 1, Scorers: []string{"right"}}}
	for i := range 500 {
		name := fmt.Sprintf("configuration %d with %s", i, strings.Repeat("a long name ", 8))
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name, EffectiveMax: 3})
		for task := range 1 + i%3 {
			f.play(i, fmt.Sprint(task), 1, 2)
		}
	}
	if n := len(pagetest.Written(t, f.collect(), page.Options{Format: "markdown"})); n > 65_536 {
		t.Errorf("%d bytes", n)
	}
}

func TestSimulatedNamesStandWhereTheirNumbersDo(t *testing.T) {
	some, all := coach(24).calling().simulated("default").collect(), coach(24).calling().simulated().collect()
	for _, table := range reports.TableNames[:7] { // thresholds name no configurations
		for _, format := range []string{"terminal", "markdown"} {
			text := pagetest.Written(t, some, page.Options{Format: format, Width: 200, Tables: []string{table}})
			if !strings.Contains(text, "default¹") && !strings.Contains(text, "default`¹") && !strings.Contains(text, "]¹") && !strings.Contains(text, "]`¹") {
				t.Errorf("%s as %s does not mark the simulated configuration:\n%s", table, format, text)
			}
			if text := pagetest.Written(t, all, page.Options{Format: format, Tables: []string{table}}); strings.Count(text, "simulated by") < 2 {
				t.Errorf("%s as %s does not say in its title that all is simulated:\n%s", table, format, text)
			}
		}
		rows, err := csv.NewReader(strings.NewReader(pagetest.Written(t, some, page.Options{Format: "csv", Tables: []string{table}}))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			if simulated := strings.Contains(strings.Join(row, ","), "toy"); simulated != strings.Contains(strings.Join(row[:3], ","), "default") {
				t.Errorf("%s as CSV: %v", table, row)
			}
		}
	}
}

func TestJSONHasNullsForMissingNumbers(t *testing.T) {
	for name, f := range edges() {
		text := pagetest.Written(t, f.collect(), page.Options{Format: "json"})
		var report struct {
			Schema         string
			Configurations []struct {
				Cost map[string]any `json:"cost_usd"`
			}
		}
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
		if report.Schema != reports.Schema || strings.Contains(text, "NaN") {
			t.Errorf("%s: schema %q in\n%s", name, report.Schema, text)
		}
		cost := report.Configurations[1].Cost["mean"]
		if wantNull := name == "unpriced" || name == "no runs" || name == "all faults"; (cost == nil) != wantNull {
			t.Errorf("%s: the cost is %v", name, cost)
		}
	}
}

// gatedDiff is the comparison of two reports, of which worse scores fail.
func gatedDiff(t *testing.T, base, new *reports.Report, options reports.DiffOptions) *reports.Comparison {
	c, err := reports.Diff(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	c.FailOn = reports.FailOnWorse
	for i := range c.Pairs {
		for d := range c.Pairs[i].Differences {
			c.Pairs[i].Differences[d].Gated = c.Pairs[i].Differences[d].Score
		}
	}
	return c
}

// worse is a comparison in which a configuration has a worse score and is slower.
func worse(t *testing.T) *reports.Comparison {
	base, new := coach(24), coach(24)
	for i := range new.scores {
		s := &new.scores[i]
		if s.Name == "close" && strings.HasPrefix(s.Run, "default/") && draw("worse", s.Run) < 0.6 {
			s.Value = 0
		}
	}
	for _, s := range new.signals {
		if s.Configuration == "default" {
			s.Elapsed *= 2 // which is not gated
		}
	}
	return gatedDiff(t, base.collect(), new.collect(), reports.DiffOptions{BaseName: "before", NewName: "after"})
}

func TestComparisonsHaveAllFormats(t *testing.T) {
	c := worse(t)
	c.Thresholds = judged(coach(1)).Thresholds
	all := everyFormat(t, c, reports.DiffTableNames, 100)
	checkFormats(t, "", all)
	for name, format := range map[string]string{"diff.comment.md": "comment", "diff.github.txt": "github", "diff.junit.xml": "junit", "diff.html": "html"} {
		pagetest.Golden(t, name, all[format])
	}
}

// A comment begins with what there is to say, and shows no table twice.
func TestCommentsAreShort(t *testing.T) {
	options := reports.DiffOptions{BaseConfiguration: "single-pass", NewConfiguration: "phased"}
	one := pagetest.Written(t, gatedDiff(t, coach(6).collect(), coach(6).collect(), options), page.Options{Format: "comment"})
	if strings.Contains(one, "<summary>Differences</summary>") || strings.Count(one, "| `cost_usd` ") != 1 || !strings.Contains(one, "\n### ") {
		t.Errorf("of one pair:\n%s", one)
	}
	if all := pagetest.Written(t, worse(t), page.Options{Format: "comment"}); !strings.Contains(all, "<summary>Differences</summary>") {
		t.Errorf("of all pairs, which are more than 20 rows:\n%s", all)
	}
	report := pagetest.Written(t, coach(2).collect(), page.Options{Format: "comment"})
	if _, rest, _ := strings.Cut(report, "\n"); !strings.HasPrefix(rest, "### `interview-coach` · 5 configurations") {
		t.Errorf("of a report without thresholds:\n%s", report)
	}
}

// The same records are the same bytes, in whatever order those of either side come.
func TestComparisonsDoNotDependOnTheOrderOfRecords(t *testing.T) {
	shuffled := func(seed uint64) *reports.Report {
		f := coach(6)
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		return f.collect()
	}
	options := reports.DiffOptions{BaseConfiguration: "single-pass", NewConfiguration: "phased"}
	want := everyFormat(t, gatedDiff(t, coach(6).collect(), coach(6).collect(), options), reports.DiffTableNames, 100)
	for seed := range uint64(5) {
		for name, got := range everyFormat(t, gatedDiff(t, shuffled(seed), shuffled(seed+100), options), reports.DiffTableNames, 100) {
			if got != want[name] {
				t.Errorf("%s depends on the order of the records:\n%s", name, pagetest.FirstDifference(got, want[name]))
			}
		}
	}
}

// Of the differences only gated ones fail; one that nobody can tell is no yes.
func TestComparisonsAreChecked(t *testing.T) {
	c := worse(t)
	root := checkJUnit(t, pagetest.Written(t, c, page.Options{Format: "junit"}))
	got := map[compare.Verdict]string{}
	for _, pair := range c.Pairs {
		for _, suite := range root.all("testsuite") {
			if suite.attr("name") != pair.Name {
				continue
			}
			for i, d := range pair.Differences {
				kind := suite.all("testcase")[i].Children[0].XMLName.Local
				verdict := d.Verdict
				if d.Verdict == compare.Worse && !d.Gated {
					verdict = "worse, not gated"
				}
				if before, ok := got[verdict]; ok && before != kind {
					t.Errorf("%s is %s and %s", verdict, before, kind)
				}
				got[verdict] = kind
			}
		}
	}
	if got[compare.Worse] != "failure" || got[compare.Same] != "system-out" || got["worse, not gated"] != "system-out" {
		t.Errorf("the verdicts are %v", got)
	}
	for format, want := range map[string]string{
		"comment": "### ❌ `close` of `default` is worse\n", "github": "::close of default is worse\n", "html": "❌ close of default is worse</p>",
	} {
		if text := pagetest.Written(t, c, page.Options{Format: format}); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", format, want, text[:min(len(text), 3000)])
		}
	}
	c.FailOn = reports.FailOnNothing
	if text := pagetest.Written(t, c, page.Options{Format: "junit"}); strings.Contains(text, "<failure") {
		t.Error("what is not to fail is a failure")
	}
	c.Unanswered = "half of it is missing"
	if text := pagetest.Written(t, c, page.Options{Format: "comment"}); !strings.Contains(text, "### ⚠ `half of it is missing`\n") {
		t.Errorf("the comment does not say that there is no answer:\n%s", text[:500])
	}
}

// F71 to F74, P18: comparisons obey names no more than reports do.
func TestNoComparisonObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		if strings.TrimSpace(name) == "" {
			continue
		}
		base, new := infested(name), infested(name)
		c := gatedDiff(t, base, new, reports.DiffOptions{
			BaseName: name, NewName: name, Spec: []reports.SpecDifference{{Path: name, Base: name, New: name}},
		})
		c.Thresholds = base.Thresholds
		c.Pairs[0].Flips = []reports.Flip{{Score: name, Flip: compare.Flip{Task: name}, BaseRuns: []string{name}, NewRuns: []string{name}}}
		checkFormats(t, name, everyFormat(t, c, reports.DiffTableNames, 80))
		c.Unanswered = name
		checkFormats(t, name, everyFormat(t, c, reports.DiffTableNames, 80))
	}
}

func TestReportsKeepToTheirSchema(t *testing.T) {
	schema := pagetest.Schema(t, reports.JSONSchema)
	all := map[string]*reports.Report{
		"coach": judged(coach(24).simulated("default")), "nothing": (&fixture{manifest: record.Manifest{Status: record.StateStopped}}).collect(), "hostile": infested("\x1b[31m\xff"),
	}
	for name, f := range edges() {
		all[name] = f.collect()
	}
	for name, r := range all {
		pagetest.Validate(t, schema, name, pagetest.Written(t, r, page.Options{Format: "json"}))
	}
}

func TestComparisonsKeepToTheirSchema(t *testing.T) {
	schema := pagetest.Schema(t, reports.DiffJSONSchema)
	c := worse(t)
	c.Thresholds = judged(coach(1)).Thresholds
	c.Spec = append(c.Spec, reports.SpecDifference{Path: "a", Base: "1"})
	pagetest.Validate(t, schema, "coach", pagetest.Written(t, c, page.Options{Format: "json"}))
	small, other := small(3), small(3)
	other.scores = nil
	pagetest.Validate(t, schema, "without scores", pagetest.Written(t, gatedDiff(t, small.collect(), other.collect(), reports.DiffOptions{}), page.Options{Format: "json"}))
}

// What is required is there, and has its type.
func TestSchemasRefuse(t *testing.T) {
	schema := pagetest.Schema(t, reports.JSONSchema)
	text := pagetest.Written(t, small(2).collect(), page.Options{Format: "json"})
	for name, change := range map[string]func(map[string]any){
		"another schema":   func(r map[string]any) { r["schema"] = "agentbench/report/2" },
		"no tasks":         func(r map[string]any) { delete(r, "tasks") },
		"an unknown state": func(r map[string]any) { r["status"] = "fine" },
		"a count in words": func(r map[string]any) { r["task_count"] = "two" },
		"no list":          func(r map[string]any) { r["configurations"] = nil },
	} {
		var report map[string]any
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		if schema.Validate(report) == nil {
			t.Errorf("%s is fine", name)
		}
	}
}

func TestGolden(t *testing.T) {
	r := coach(24).simulated("default").collect()
	for name, options := range map[string]page.Options{
		"coach.80.txt":             {},
		"coach.200.txt":            {Width: 200},
		"coach.color.txt":          {Width: 100, Color: true, Tables: []string{"stops"}},
		"coach.md":                 {Format: "markdown"},
		"coach.configurations.csv": {Format: "csv"},
		"coach.curve.csv":          {Format: "csv", Tables: []string{"curve"}},
		"coach.stops.csv":          {Format: "csv", Tables: []string{"stops"}},
		"coach.limits.csv":         {Format: "csv", Tables: []string{"limits"}},
		"coach.calibration.csv":    {Format: "csv", Tables: []string{"calibration"}},
		"coach.tasks.csv":          {Format: "csv", Tables: []string{"tasks"}},
		"coach.json":               {Format: "json"},
	} {
		pagetest.Golden(t, name, pagetest.Written(t, r, options))
	}
	calling := coach(24).calling().collect()
	pagetest.Golden(t, "coach.steps.txt", pagetest.Written(t, calling, page.Options{Width: 120, Tables: []string{"steps"}}))
	pagetest.Golden(t, "coach.steps.csv", pagetest.Written(t, calling, page.Options{Format: "csv", Tables: []string{"steps"}}))
}

// edges are folders in which something is missing.
func edges() map[string]*fixture {
	unpriced := small(2)
	unpriced.signals[3].Usage.Unpriced = 2
	unscored := small(2)
	unscored.scores = unscored.scores[2:]
	unscored.scores[1].Unscored, unscored.scores[1].Value = "no target", 0
	faults := small(2)
	for _, s := range faults.signals {
		s.Outcome = record.Outcome{Status: record.Faulted, Class: record.ByFault, Error: &record.Error{Class: record.Server}}
	}
	none := small(2)
	none.signals, none.scores, none.manifest.Status = nil, nil, record.StateStopped
	unjudged := small(3)
	unjudged.manifest.Scorers, unjudged.scores = nil, nil
	failing := small(2)
	for i := range failing.scores {
		failing.scores[i].Value = 0
	}
	return map[string]*fixture{
		"no runs": none, "all faults": faults, "unpriced": unpriced, "unscored": unscored,
		"one task": small(1), "no scorers": unjudged, "no success": failing, "simulated": small(2).simulated(),
	}
}

// small is two configurations on some tasks, one trial, two iterations a run.
func small(tasks int) *fixture {
	f := &fixture{manifest: record.Manifest{
		Suite: "small", Status: record.StateComplete, Tasks: tasks, Trials: 1, Scorers: []string{"right"},
		Configurations: []record.ConfigurationHead{
			{Name: "once", MaxIterations: 1, EffectiveMax: 1}, {Name: "twice", MaxIterations: 2, EffectiveMax: 2},
		},
	}}
	for c := range f.manifest.Configurations {
		for task := range tasks {
			f.play(c, string(rune('a'+task)), 1, 2)
		}
	}
	kept := f.scores[:0]
	for _, s := range f.scores {
		if s.Name == "close" {
			s.Name = "right"
			kept = append(kept, s)
		}
	}
	f.scores = kept
	return f
}

func TestGoldenEdges(t *testing.T) {
	all := edges()
	var out strings.Builder
	for _, name := range []string{
		"no runs", "all faults", "unpriced", "unscored", "one task", "no scorers", "no success", "simulated",
	} {
		out.WriteString("===== " + name + "\n" + pagetest.Written(t, all[name].collect(), page.Options{Width: 100}))
	}
	pagetest.Golden(t, "edges.txt", out.String())
}
