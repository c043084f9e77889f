package browsertest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// browsed are pages with a script that commands write of the quickstart and of the usual suite, by
// what they show.
func browsed(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	first, shorter := file("first"), usual()
	shorter.tasks = 30
	agentbench(t, "run", "quickstart", "-q", "--out", first, "--page", file("report.html"))
	agentbench(t, append(tuned(first), "--page", file("tune.html"))...)
	return map[string]string{
		"report": file("report.html"), "tune": file("tune.html"),
		"diff of two configurations": write(t, first+":single-pass", first+":default"),
		"diff of two results":        write(t, usual().folder(t), shorter.folder(t)),
	}
}

// tuned is a command that tries three parameters on recorded runs of quickstart.
func tuned(results string) []string {
	return []string{
		"tune", results, "--suite", "quickstart", "--configuration", "default", "--parameter", "terminate.max_iterations=1,2,3,4,5",
		"--parameter", "terminate.confidence.threshold=0.75,0.85,0.95", "--parameter", "terminate.no_improvement.patience=1,2,off",
	}
}

// reached is where a link of a chart leads to: to so many runs, or to a row that is in sight.
type reached struct {
	Hash, Tip, Row string
	Note           string // that the link stands in
	Runs           int
}

// mostFollowed are the links of a chart, or of a list, that are clicked on.
const mostFollowed = 10

// followed clicks on links in each of the elements that a selector finds, one after the other.
func (b *tab) followed(in string) (all []reached) {
	b.t.Helper()
	text := b.text(`(async () => {
		const went = (by) => new Promise((ended) => { addEventListener("hashchange", () => setTimeout(ended), { once: true }); by(); });
		const all = [];
		const some = (links) => links.filter((link, at) => at % Math.ceil(links.length / ` + fmt.Sprint(mostFollowed) + `) === 0);
		for (const link of [...document.querySelectorAll("` + in + `")].flatMap((one) => some([...one.querySelectorAll("a")]))) {
			if (location.hash) await went(() => { location.hash = ""; });
			await went(() => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })));
			const at = { Hash: decodeURIComponent(location.hash), Tip: link.textContent, Note: link.closest("li")?.textContent ?? "", Row: "", Runs: 0 };
			const list = document.querySelector(".list"), row = document.querySelector(":target")?.getBoundingClientRect();
			if (list?.offsetParent) at.Runs = Number(document.querySelector(".summary").innerText.split(" of ")[0].replace(",", ""));
			else if (row?.width > 0 && row.bottom > 0 && row.top < innerHeight) at.Row = document.querySelector(":target").innerText;
			all.push(at);
		}
		return JSON.stringify(all);
	})()`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// saidRuns is how many runs a mark stands for, where it says so.
var saidRuns = regexp.MustCompile(`, ([\d,]+) runs?$|^[a-z ]+, runs ([\d,]+), `)

// Each mark leads to its runs. A replayed configuration has none: its mark leads to its row.
func TestMarksLeadToTheirRuns(t *testing.T) {
	for name, file := range browsed(t) {
		b := open(t, file, "")
		counted, rows := 0, 0
		for _, at := range b.followed("figure svg") {
			said := saidRuns.FindStringSubmatch(at.Tip)
			switch {
			case at.Runs == 0 && at.Row == "":
				t.Errorf("%s: %s of %s leads to nothing", name, at.Tip, at.Hash)
			case at.Runs == 0:
				rows++
				if name != "tune" {
					t.Errorf("%s: %s of %s leads to no run but to %s", name, at.Tip, at.Hash, at.Row)
				}
			case said != nil:
				if n, _ := strconv.Atoi(strings.ReplaceAll(said[1]+said[2], ",", "")); n != at.Runs {
					t.Errorf("%s: %s leads to %d runs", name, at.Tip, at.Runs)
				}
				counted++
			}
		}
		if least := map[string][2]int{"report": {8, 0}, "tune": {0, 15}}[name]; counted < least[0] || rows < least[1] {
			t.Errorf("%s: %d marks with a number of runs and %d rows, want at least %d", name, counted, rows, least)
		}
	}
}

// Marks of pages without a script lead to rows, or to the table that says more.
func TestMarksLeadToRowsWithoutAScript(t *testing.T) {
	for _, at := range openPlain(t, calibrated(t)).followed("figure svg") {
		if at.Row == "" {
			t.Errorf("%s of %s leads to nothing", at.Tip, at.Hash)
		}
	}
}

// calibrated is the page of a calibration in which scorer and labels disagree.
func calibrated(t *testing.T) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "calibration.html")
	if err := os.WriteFile(page, []byte(calibratedBy(t, "--format", "html")), 0o600); err != nil {
		t.Fatal(err)
	}
	return page
}

// calibratedBy is what calibrate prints of it.
func calibratedBy(t *testing.T, flags ...string) string {
	t.Helper()
	suite, results := labelled(t, "{name: right, type: exact}")
	labels := "run,label\n"
	for n, task := range "abcdef" {
		labels += fmt.Sprintf("secret-name/%c/1,%s\n", task, []string{"yes", "yes", "no"}[n%3])
	}
	path := filepath.Join(t.TempDir(), "labels.csv")
	if err := os.WriteFile(path, []byte(labels), 0o600); err != nil {
		t.Fatal(err)
	}
	return printedBy(t, append([]string{"calibrate", suite, "--labels", path, "--results", results, "--scorer", "right", "-q"}, flags...)...)
}

// openPlain opens a page that has no script.
func openPlain(t *testing.T, file string) *tab {
	t.Helper()
	address := (&url.URL{Scheme: "file", Path: file}).String()
	b := openTab(t, address)
	b.do(chromedp.Navigate(address))
	b.wait(`document.querySelector("#notes")`)
	return b
}
