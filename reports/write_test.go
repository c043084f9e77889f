package reports_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func TestWriteRefusesWhatIsNotThere(t *testing.T) {
	r := small(1).collect()
	for want, options := range map[string]page.Options{
		`there is no format "pdf"`:   {Format: "pdf"},
		`there is no table "task"`:   {Tables: []string{"task"}},
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
	some, all := coach(24).simulated("default").collect(), coach(24).simulated().collect()
	for _, table := range reports.TableNames[:6] { // thresholds name no configurations
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
