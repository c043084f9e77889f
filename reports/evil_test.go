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

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
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
	for char, n := range map[string]int{"a": 1 << 20, "`": 1 << 14, "|": 1 << 14, "<": 1 << 14, "\x00": 1 << 14, "\xff": 1 << 14, "日": 1 << 14, "@": 1 << 14} {
		name := strings.Repeat(char, n)
		all := everyFormat(t, infested(name), nil, 100)
		for _, format := range []string{"terminal", "markdown", "comment", "github", "junit", "html", "summary"} {
			if most := map[bool]int{true: 100_000, false: 60_000}[format == "junit"]; len(all[format]) > most {
				t.Errorf("%s of names of many %q has %d bytes", format, char, len(all[format]))
			}
		}
		checkFormats(t, name, all)
	}
}
