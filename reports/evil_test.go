package reports_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
	"pgregory.net/rapid"
)

// evil are names that try to get out of their cell.
var evil = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\rb", "a\nb", "a\tb", "a\x00b", "\u202eabc", "zero\u200bwidth", "\xff\xfe",
	"a|b", "`code`", "``", "`@everyone`", "``[x](y)`", "`a` | <b>", "[x](javascript:alert(1))", "![i](http://evil.example/i.png)", "@everyone", "<script>alert(1)</script>",
	"=1+1", "+1", "-1", "@SUM(A1)", "＝1", `"quoted"`, "a;=1", "a,b", "日本語", "🚀👩‍👩‍👧", "", " ", strings.Repeat("long", 100), "\u0085next", "\u2028line", "\u3164",
	"-->", "<!--", "</details>", "</style><script>alert(1)</script>", "]]>", "&lt;b&gt;", "&#64;everyone", "{{.}}", `" onload="alert(1)`, "javascript:alert(1)",
	"data:text/html,x", "http://evil.example", "#1", "\\`x", "a\\|b", "::error::x", "::stop-commands::x", "%0A::error::x", "##[error]x", "\tx", "\rx", "\ufffe\uffff",
	"\u2066x\u2069", "\ufeff", "x\U000e0041", "\x9b31m", "\u009b31m",
}

// infested has an evil name wherever a name can come from outside.
func infested(name string) *reports.Report {
	f := one(1)
	f.manifest.Suite, f.manifest.Baseline = name, name
	f.manifest.Configurations[0].Name, f.manifest.Configurations[0].Aliases = name, []string{name}
	f.manifest.Configurations[0].Phases = []record.PhaseHead{{Name: name, Limit: 2}}
	f.manifest.Scorers, f.manifest.Simulated = []string{name}, []string{name}
	s := f.run(name, 1, 0.5, 0.6)
	s.Configuration, s.Simulated = name, true
	s.Outcome.Reason, s.Outcome.Fired, s.Outcome.Class = record.ReasonWhen(name), name, record.Class(name)
	s.Iterations[0].Phase = name
	f.scores = append(f.scores, record.Score{Run: s.ID, Name: name, Unscored: name})
	fault := *s
	fault.ID, fault.Outcome = "fault", record.Outcome{Status: record.Faulted, Error: &record.Error{Class: record.ErrorClass(name)}}
	f.signals = append(f.signals, &fault)
	r := f.collect()
	r.Thresholds = []reports.Verdict{{Text: name, Detail: name}, {Text: name, Err: errors.New(name)}}
	return r
}

// F71 to F74, P18: no format holds what a terminal, a spreadsheet, a browser, a
// reader of Markdown, or a runner of CI obeys.
func TestNoFormatObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		r := infested(name)
		checkFormats(t, name, everyFormat(t, r, reports.TableNames, 120))
		r.Unanswered = name
		checkFormats(t, name, everyFormat(t, r, reports.TableNames, 60))
	}
}

type reporter interface{ Errorf(string, ...any) }

// named puts the name in question before what is wrong with it.
type named struct {
	reporter
	format, name string
}

func (n named) Errorf(format string, args ...any) {
	n.reporter.Errorf("%s with the name %q: "+format, append([]any{n.format, n.name[:min(len(n.name), 200)]}, args...)...)
}

// checkFormats holds each format against what its readers obey.
func checkFormats(t reporter, name string, all map[string]string) {
	for format, text := range all {
		n := named{t, format, name}
		switch {
		case strings.HasPrefix(format, "csv"):
			checkCSV(n, text)
			text = strings.ReplaceAll(text, "\r\n", "\n")
		case format == "json":
			if !json.Valid([]byte(text)) {
				n.Errorf("no JSON")
			}
		case format == "html":
			checkHTML(n, text)
		case format == "junit":
			checkJUnit(n, text)
		case format == "github":
			checkAnnotations(n, text)
		case format == "terminal":
			checkCommands(n, text)
		default:
			checkMarkdown(n, text)
		}
		checkPlain(n, text)
	}
}

func checkPlain(t reporter, text string) {
	for _, r := range text {
		if r != '\n' && r != ' ' && !unicode.IsPrint(r) || r == '\u3164' {
			t.Errorf("it holds %U", r)
			return
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("it is not UTF-8")
	}
}

// checkCSV finds no formula behind any usual separator.
func checkCSV(t reporter, text string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Errorf("reading the CSV: %v in %q", err, text)
	}
	for _, row := range rows {
		for _, field := range row {
			if strings.IndexAny(field, "=+@") == 0 || strings.HasPrefix(field, "-") && strings.Trim(field, "-.0123456789e") != "" {
				t.Errorf("a formula in the CSV: %q", field)
			}
		}
	}
}

// checkCommands finds no line that a runner of GitHub takes for a command.
func checkCommands(t reporter, text string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("a command: %q", line)
		}
	}
}

// own are the lines of HTML that a comment has of its own.
var own = regexp.MustCompile(`^(<!-- agentbench (report|diff|replay|tune|calibrate) [A-Za-z0-9._-]* -->|<details><summary>[A-Za-z (),]+</summary>|</details>)\n$`)

// checkMarkdown finds no link, image, mention or HTML, and no name that leaves its
// cell.
func checkMarkdown(t reporter, text string) {
	cells := 0 // of the table's first row
	for line := range strings.Lines(text) {
		got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			got = 0
		case cells > 0 && got != cells:
			t.Errorf("a row has %d cells, not %d: %q", got, cells, line)
		}
		cells = got
		if own.MatchString(line) {
			continue
		}
		if outside := outsideCode(line); strings.ContainsAny(outside, "@<[]!") || strings.Contains(outside, "://") {
			t.Errorf("this stands outside code: %q", outside)
		}
	}
}

// outsideCode leaves out code spans as CommonMark reads them.
func outsideCode(line string) string {
	var out strings.Builder
	for line != "" {
		open := len(line) - len(strings.TrimLeft(line, "`"))
		if open == 0 {
			out.WriteByte(line[0])
			line = line[1:]
			continue
		}
		end := closingFence(line[open:], open)
		if end < 0 {
			out.WriteString(line[:open])
			line = line[open:]
			continue
		}
		line = line[open+end+open:]
	}
	return out.String()
}

func closingFence(text string, length int) int {
	for at := 0; at < len(text); at++ {
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == length {
			return at
		}
		at += max(0, run-1)
	}
	return -1
}

func TestNoNameGetsThrough(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom(evil)), func(all []string) string { return strings.Join(all, "") }),
			rapid.StringMatching("[`|\\\\@<>!:#%= \n\\[\\]()*_-]{0,12}"),
		).Draw(rt, "name")
		checkFormats(rt, name, everyFormat(rt, infested(name), reports.TableNames, rapid.IntRange(1, 200).Draw(rt, "width")))
	})
}

// A megabyte of one character takes no more room than people can bear.
func TestNamesWithoutEnd(t *testing.T) {
	t.Parallel()
	for char, n := range map[string]int{"a": 1 << 20, "`": 1 << 14, "|": 1 << 14, "<": 1 << 14, "\x00": 1 << 14, "\xff": 1 << 14, "日": 1 << 14, "@": 1 << 14} {
		name := strings.Repeat(char, n)
		all := everyFormat(t, infested(name), nil, 100)
		for _, format := range []string{"terminal", "markdown", "comment", "github", "junit", "html", "summary"} {
			if most := map[bool]int{true: 100_000, false: 60_000}[format == "junit" || format == "html"]; len(all[format]) > most {
				t.Errorf("%s of names of many %q has %d bytes", format, char, len(all[format]))
			}
		}
		checkFormats(t, name, all)
	}
}

// infestedCalibration has an evil name wherever a name can come from outside.
func infestedCalibration(name string) *calibrate.Calibration {
	return &calibrate.Calibration{
		Suite: name, Scorer: name, Simulated: []string{name}, Labels: 3, Scored: 2, Units: 2,
		Agreement:     []calibrate.Agreement{{Between: "scorer and label", Pairs: 2, Same: page.Known(1)}},
		Confusion:     calibrate.Confusion{Levels: []string{name, "b" + name}, Counts: [][]int{{1, 0}, {0, 1}}},
		Disagreements: []calibrate.Disagreement{{Name: name, Explanation: name}},
		Notes:         []calibrate.Note{{Kind: calibrate.NoScores, Count: 1, Of: 3, More: name}, {Kind: calibrate.OneLabel, Name: name}, {Kind: calibrate.Rare, Name: name, Count: 1, Of: 3}, {Kind: calibrate.OneScore, Name: name}},
	}
}

// P18: what holds for reports holds for the page of calibrate.
func TestNoFormatOfCalibrationsObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		c := infestedCalibration(name)
		checkFormats(t, name, everyFormat(t, c, calibrate.TableNames, 120))
		checkFormats(t, name, everyFormat(t, c, nil, 60))
	}
}

// infestedReplay has an evil name wherever a name can come from outside.
func infestedReplay(name string) *tune.Replay {
	value, err := json.Marshal(name)
	if err != nil {
		panic(err)
	}
	return &tune.Replay{
		Suite: name, Tasks: 1, Runs: 2, Recordings: []string{name, name, name, name}, Scorers: []string{name}, Simulated: []string{name}, PricesAsOf: name,
		Configurations: []tune.Configuration{{
			Name: name, Params: []record.Param{{Path: name, Value: value}}, Recording: name, Label: "needs calls", Runs: 2, Exact: 1, Branches: 1,
			Scores:   []tune.Score{{Name: name, Scored: 2}},
			Stops:    []tune.StopCount{{Name: name, Reason: record.ReasonWhen(name), Fired: name, Runs: 1}},
			Warnings: []tune.ReplayNote{{Kind: tune.ReturnUnscored, Name: name, Count: 1, Of: 2}, {Kind: tune.Branching, Count: 1, Of: 2, More: name}},
		}},
		Warnings: []tune.ReplayNote{{Kind: tune.Against, Name: name}},
	}
}

// P18: what holds for reports holds for the pages of replay and tune.
func TestNoFormatOfReplaysObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		for _, p := range []page.Page{infestedReplay(name)} {
			checkFormats(t, name, everyFormat(t, p, tune.ReplayTableNames, 120))
			checkFormats(t, name, everyFormat(t, p, nil, 60))
		}
	}
}

// infestedTuning has an evil name wherever a name can come from outside.
func infestedTuning(name string) *tune.Tuning {
	choice := tune.Choice{Configuration: infestedReplay(name).Configurations[0]}
	step := tune.Step{Value: name, Label: "exact"}
	return &tune.Tuning{
		Suite: name, Simulated: []string{name}, PricesAsOf: name, Tasks: 1, Runs: 2,
		Terms:       tune.Terms{Objective: name, Score: name, Cost: name, WhyCost: name, Constraints: []string{name}, FoldsBy: name},
		Tried:       tune.Tried{Candidates: 2, Exact: 1, Bounded: 1, WhyNotExact: name},
		Recommended: &choice, Recording: &choice, Why: name, WhyNone: name,
		Changes:    []tune.Change{{Path: name, From: name, To: name}},
		Against:    []tune.Versus{{What: "today", Name: name, All: []compare.Difference{{Quantity: compare.Quantity{Name: name}}}, Saved: []tune.Saving{{Quantity: name}}}},
		Validation: &tune.Validation{Folds: []tune.Fold{{Name: name, Why: name, HeldOut: tune.Counted{Runs: 1}}}},
		Front:      []tune.FrontRow{{Name: name}},
		Limits:     []tune.LimitUse{{Of: "today", Path: name, Advice: tune.Raise, Step: &step}},
		Ranges:     []tune.RangeHint{{Of: "today", Path: name, Hint: "planning"}},
		Curve:      []tune.CurveStep{{Iteration: 1}},
		Notes:      []tune.Note{{Kind: tune.OtherCost, Name: name, More: name}, {Kind: tune.ExcludedBy, Name: name, Count: 1, Of: 2}, {Kind: tune.OneStep, Name: name, Count: 1, Of: 2, More: "3"}},
	}
}

func TestNoFormatOfTuningsObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		p := infestedTuning(name)
		checkFormats(t, name, everyFormat(t, p, tune.TableNames, 120))
		p.Recommended = nil
		checkFormats(t, name, everyFormat(t, p, nil, 60))
	}
}
