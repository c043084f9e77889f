package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// printedBy runs a command on a very wide terminal and gives what it prints.
func printedBy(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1", "COLUMNS=2000")
	var out, told bytes.Buffer
	c.Stdout, c.Stderr = &out, &told
	if err := c.Run(); err != nil && c.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %v: %s", args, err, told.String())
	}
	return out.String()
}

// numeric are the numbers of a text, each with its sign and its unit.
var numeric = regexp.MustCompile(`[-+−×]?\$?\d[\d,.]*(?:[eE][-+]?\d+)?[%a-zA-Z]*`)

// numbersIn are the numbers of a table, sorted.
func numbersIn(text string) []string {
	all := numeric.FindAllString(text, -1)
	slices.Sort(all)
	return all
}

// sections are the tables of a page as texts, by their titles.
func (b *tab) sections() map[string]string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`JSON.stringify(Object.fromEntries([...document.querySelectorAll("section[id]")].filter((section) => section.querySelector(":scope > details table"))
		.map((section) => [section.querySelector("h2").textContent, [...section.querySelectorAll(":scope > details :is(th, td)")].map((cell) => cell.textContent).join(" ")])))`))
	if err != nil {
		b.t.Fatal(err)
	}
	var all map[string]string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// charted is a number in the own table of a chart.
type charted struct {
	Chart, Text, Raw string
	Beaten           bool // it is of a configuration that the front beats
}

// inCharts are the numbers of the own tables of fronts, curves and maps.
func (b *tab) inCharts() (all []charted) {
	b.t.Helper()
	text := b.text(`JSON.stringify([...document.querySelectorAll('figure:is([id^="chart-front"], [id^="chart-curve"], [id^="chart-map"]) details td[data-raw], figure:is([id^="chart-front"], [id^="chart-curve"]) details tbody td')]
		.map((cell) => ({ Chart: cell.closest("figure").id, Text: cell.textContent, Raw: cell.dataset.raw ?? "", Beaten: cell.closest("tr").textContent.includes("beaten by") })))`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(c charted) bool { return !quantity.MatchString(c.Text) })
}

// exactly are the numbers of JSON.
var exactly = regexp.MustCompile(`-?\d+(\.\d+)?(e-?\d+)?`)

// quantity is a cell that is a number, an interval, or a number with what else is to be said of it.
var quantity = regexp.MustCompile(`^[-+−≥]?\$?\d[\d.,]*[%a-zA-Z]?( s)?($|[–…,])`)

// compareCharts reports numbers of charts that a terminal has in none of its tables. Whiskers of the front of a tuning, and what it
// beats, are in no table: JSON has them.
func (b *tab) compareCharts(name, printed, exact string, charts ...string) {
	b.t.Helper()
	is, formed, compared := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, number := range numbersIn(printed) {
		is[strings.TrimRight(number, ",.")] = true
	}
	for _, number := range exactly.FindAllString(exact, -1) {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, form := range []string{"%.3f", "%.2f", "$%.5f"} {
			formed[fmt.Sprintf(form, x)] = true
		}
	}
	for _, c := range b.inCharts() {
		kind := regexp.MustCompile(`^chart-[a-z]+(-[a-z]+)?`).FindString(c.Chart)
		compared[kind]++
		first, _, _ := strings.Cut(c.Text, ", ")
		inJSON := exact != "" && strings.HasPrefix(kind, "chart-front") && (c.Beaten || strings.Contains(first, "–"))
		for _, number := range numbersIn(first) {
			if number = strings.TrimRight(number, ",."); !is[number] && !(inJSON && formed[number]) {
				b.t.Errorf("%s: %s has %s (in %q), the terminal has not", name, c.Chart, number, c.Text)
			}
		}
	}
	for _, chart := range charts {
		if compared[chart] < 4 {
			b.t.Errorf("%s: %d numbers of %s are compared", name, compared[chart], chart)
		}
	}
	b.t.Logf("%s: charts have %v", name, compared)
}

// inTerminal is the table of a title, as a terminal has it.
func inTerminal(t *testing.T, printed, title string) string {
	t.Helper()
	lines := strings.Split(printed, "\n")
	at := slices.Index(lines, title)
	if at < 0 {
		t.Fatalf("the terminal has no table %q", title)
	}
	var rows []string
	for _, line := range lines[at+1:] {
		if strings.TrimSpace(line) == "" {
			break
		}
		rows = append(rows, line)
	}
	return strings.Join(rows, "\n")
}

// All tables of the terminal are on the page, and all of their numbers, and no other.
func TestThePageHasTheNumbersOfTheTerminal(t *testing.T) {
	s := usual()
	s.tasks = 20                                                            // a terminal shows no more tasks
	s.task = func(n int) string { return "task-" + strings.Repeat("x", n) } // a terminal shows a name once for several rows
	one := s.folder(t)
	s.tasks = 16
	two := s.folder(t)
	quickstart, tuned := filepath.Join(t.TempDir(), "quickstart"), filepath.Join(t.TempDir(), "tune.html")
	agentbench(t, "run", "quickstart", "-q", "--out", quickstart)
	tune := []string{"tune", quickstart, "--suite", "quickstart", "--configuration", "default", "--all"}
	for name, c := range map[string]struct {
		page    func() *tab
		printed string
	}{
		"report":    {func() *tab { return open(t, write(t, one), "") }, printedBy(t, "report", one, "--all")},
		"diff":      {func() *tab { return open(t, write(t, one, two), "") }, printedBy(t, "diff", one, two, "--all", "--fail-on", "none")},
		"tune":      {func() *tab { return open(t, tuned, "") }, printedBy(t, append(tune, "--page", tuned)...)},
		"calibrate": {func() *tab { return openPlain(t, calibrated(t)) }, calibratedBy(t)},
	} {
		b, printed := c.page(), c.printed
		sections := b.sections()
		if len(sections) < 2 {
			t.Fatalf("%s: the page has the tables %q", name, sections)
		}
		compared := 0
		for title, text := range sections {
			is, want := numbersIn(text), numbersIn(inTerminal(t, printed, title))
			compared += len(is)
			if !slices.Equal(is, want) {
				t.Errorf("%s: %s: the page has\n%q\nthe terminal\n%q", name, title, is, want)
			}
		}
		if compared < 30 {
			t.Errorf("%s: only %d numbers are compared", name, compared)
		}
		t.Logf("%s: %d numbers in %d tables", name, compared, len(sections))
		switch name {
		case "report":
			b.compareCharts(name, printed, "", "chart-front-cost", "chart-front-latency", "chart-curve-cost") // its iterations have no scores
		case "tune":
			every := printed + printedBy(t, append(tune, "--table", "all", "--format", "markdown")...) // a terminal has some rows
			b.compareCharts(name, every, printedBy(t, append(tune[:len(tune)-1], "--format", "json")...), "chart-front-cost", "chart-front-latency", "chart-map", "chart-curve-score", "chart-curve-cost")
		}
	}
}

// The list has the numbers of agentbench show, run by run.
func TestTheListHasTheNumbersOfShow(t *testing.T) {
	dir := usual().folder(t)
	b := open(t, write(t, dir), "#q=config%3Anew&sort=run")
	b.wait(rowsShown + ` > 5`)
	cells := b.rows()
	tokens := int(b.number(`[...document.querySelectorAll(".rows th")].findIndex((head) => head.innerText.startsWith("tokens"))`)) // which show has not
	shown := map[string][]string{}
	for line := range strings.Lines(printedBy(t, "show", dir, "--limit", "0")) {
		if words := strings.Fields(line); len(words) > 0 {
			shown[words[0]] = words[1:]
		}
	}
	if len(cells) < 10 {
		t.Fatalf("%d rows are compared", len(cells))
	}
	for _, row := range cells {
		for at, cell := range row {
			if words := strings.Fields(cell); at > 0 && at != tokens && len(words) == 1 && numeric.MatchString(cell) && !slices.ContainsFunc(shown[row[0]], func(word string) bool { return plain(word) == plain(cell) }) {
				t.Errorf("%s: the list has %q, show has %q", row[0], cell, shown[row[0]])
			}
		}
	}
}

// plain is a number without its unit.
func plain(text string) string { return strings.Trim(text, "$s ") }

// rows are the cells of the rows in sight.
func (b *tab) rows() (cells [][]string) {
	b.t.Helper()
	text := b.text(`JSON.stringify([...document.querySelectorAll(".rows tbody tr:not(.space)")].map((row) => [...row.cells].map((cell) => cell.textContent)))`)
	if err := json.Unmarshal([]byte(text), &cells); err != nil {
		b.t.Fatal(err)
	}
	return cells
}
