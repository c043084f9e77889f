package reports_test

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// evil are names that try to get out of their cell.
var evil = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\rb", "a\nb", "a\tb", "a\x00b", "\u202eabc", "zero\u200bwidth", "\xff\xfe",
	"a|b", "`code`", "``", "`@everyone`", "``[x](y)`", "`a` | <b>", "[x](javascript:alert(1))", "![i](http://evil.example/i.png)", "@everyone", "<script>alert(1)</script>",
	"=1+1", "+1", "-1", "@SUM(A1)", "＝1", `"quoted"`, "a;=1", "a,b", "日本語", "🚀👩‍👩‍👧", "", " ", strings.Repeat("long", 100), "\u0085next", "\u2028line", "\u3164",
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
	return f.collect()
}

// F71, F73, P18: no format holds what a terminal or a spreadsheet obeys.
func TestNoFormatObeysNames(t *testing.T) {
	for _, name := range evil {
		r := infested(name)
		for _, format := range []string{"terminal", "markdown", "json"} {
			checkPlain(t, format, name, written(t, r, reports.Options{Format: format, Width: 120}))
		}
		for _, table := range reports.TableNames {
			text := written(t, r, reports.Options{Format: "csv", Tables: []string{table}})
			checkPlain(t, "csv", name, strings.ReplaceAll(text, "\r\n", "\n"))
			checkCSV(t, text)
		}
		if text := written(t, r, reports.Options{Format: "json"}); !json.Valid([]byte(text)) {
			t.Errorf("JSON with the name %q is not valid", name)
		}
	}
}

func checkPlain(t interface{ Errorf(string, ...any) }, format, name, text string) {
	for _, r := range text {
		if r != '\n' && r != ' ' && !unicode.IsPrint(r) || r == '\u3164' {
			t.Errorf("%s with the name %q holds %U", format, name, r)
			return
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("%s with the name %q is not UTF-8", format, name)
	}
}

// checkCSV finds no formula behind any usual separator.
func checkCSV(t *testing.T, text string) {
	t.Helper()
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

// F74: names make no links, images, mentions and cells.
func TestMarkdownKeepsNamesInTheirCells(t *testing.T) {
	for _, name := range evil {
		cells := 0 // of the table's first row
		for line := range strings.Lines(written(t, infested(name), reports.Options{Format: "markdown"})) {
			got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			switch {
			case !strings.HasPrefix(line, "|"):
				got = 0
			case cells > 0 && got != cells:
				t.Errorf("with the name %q a row has %d cells, not %d: %q", name, got, cells, line)
			}
			cells = got
			if outside := outsideCode(line); strings.ContainsAny(outside, "@<[]!") {
				t.Errorf("with the name %q this stands outside code: %q", name, outside)
			}
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
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(rt, "name")
		r := infested(name)
		for _, format := range []string{"terminal", "markdown", "json"} {
			checkPlain(rt, format, name, written(t, r, reports.Options{Format: format, Width: rapid.IntRange(1, 200).Draw(rt, "width")}))
		}
	})
}
