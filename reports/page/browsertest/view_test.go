package browsertest

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/agentbench/agentbench/engine/record"
)

// viewed runs agentbench view until the test ends, and gives the link.
func viewed(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"view", "--no-open"}, args...)...)
	c.Env = append(os.Environ(), asCommand+"=1")
	var told strings.Builder
	c.Stderr = &told
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Process.Signal(os.Interrupt), c.Wait()); err != nil {
			t.Errorf("view ends with %v: %s", err, told.String())
		}
	})
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(link)
}

// enter opens a link as agentbench view does, by a file that leads there, and waits for the page.
func enter(t *testing.T, link, path, hash string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "open.html")
	if err := os.WriteFile(file, []byte(`<meta http-equiv="refresh" content="0;url=`+link+`">`), 0o600); err != nil {
		t.Fatal(err)
	}
	home, _, _ := strings.Cut(link, "?")
	b := openTab(t, home+path)
	b.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()))
	b.wait(`location.href.startsWith(` + strconv.Quote(home) + `) && location.search === ""`)
	if hash != "" {
		b.do(chromedp.Navigate(home + path + hash))
	}
	return b
}

func TestViewShowsWhatIsOnTheDisk(t *testing.T) {
	link := viewed(t, usual().folder(t))
	b := enter(t, link, "1/", "#run=new%2Ftask-2%2F1&step=2")
	b.wait(`document.querySelector("[aria-current=step]")?.dataset.step === "2" && document.querySelector(".run").innerText.includes("the answer to task 2")`)
	b.goTo("#q=config:new")
	b.wait(summary + `.startsWith("40 of 80 runs")`)
	if is := b.text(`location.href + document.cookie + document.documentElement.outerHTML`); strings.Contains(is, "token=") || b.text("document.cookie") != "" {
		t.Errorf("a script sees the token or the cookie: %.300s", is)
	}
	if is := b.text(`document.querySelector(".live").innerText`); is != "" {
		t.Errorf("complete results are followed: %q", is)
	}
	if status := b.number(`fetch("data/run?side=0&run=nothing").then((answer) => answer.status)`); status != 404 {
		t.Errorf("a run that is not there: %v", status)
	}
	b.forget("404")
}

// Who comes later with the same link sees nothing.
func TestViewIsForOneBrowser(t *testing.T) {
	link := viewed(t, usual().folder(t))
	b := enter(t, link, "1/", "")
	b.wait(ready)
	b.do(chromedp.Navigate(link))
	b.wait(`document.body.innerText.includes("was used already")`)
	b.forget("403")
}

// Runs appear as they finish, and what is shown stays where it was.
func TestViewFollowsAFolder(t *testing.T) {
	s := usual()
	dir := filepath.Join(t.TempDir(), "results")
	m := record.Manifest{
		Suite: "browsed", Tasks: s.tasks, Trials: 1, Scorers: []string{"right"}, Status: record.StateRunning, Totals: record.Totals{Planned: 80},
		Configurations: []record.ConfigurationHead{{Name: "base"}, {Name: "new"}}, Baseline: "base",
	}
	journal, err := record.Create(dir, m, record.Options{Delay: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	finish := func(from, to int) {
		for n := from; n < to; n++ {
			err = errors.Join(err, journal.Append(s.run("new", n), []record.Score{{Name: "right", Value: float64(n % 2)}}, nil))
		}
		if err = errors.Join(err, journal.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	progress := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "progress.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	progress(`["0 of 80 runs","8 in flight","time left unknown"]`)
	b := enter(t, viewed(t, dir), "1/", "#q=config%3Anew")
	b.wait(ready)
	b.wait(`document.querySelector(".live").innerText === "running · 0 of 80 runs · 8 in flight · time left unknown"`)
	finish(0, 30)
	progress(`["30 of 80 runs","8 in flight","3 waiting for rate limit","backing off 2s","$0.05 of $1.00","<b>1m</b> left"]`)
	b.wait(`document.querySelector(".live")?.innerText.includes("30 of 80 runs · 8 in flight · 3 waiting for rate limit · backing off 2s · $0.05 of $1.00 · <b>1m</b> left")`)
	b.wait(summary + `.startsWith("30 of 30 runs") && document.body.dataset.ready === "yes"`)
	b.run(`document.querySelector(".rows").scrollTop = 200`)
	finish(30, 40)
	b.wait(summary + `.startsWith("40 of 40 runs") && document.body.dataset.ready === "yes"`)
	b.wait(`document.querySelector(".rows").scrollTop === 200`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#q=config:new" {
		t.Errorf("the address is %s", is)
	}
	// The intervals of the report are those of the runs so far.
	b.goTo("#")
	b.wait(`document.querySelector("#report").textContent.match(/new[^]*0\.50[^]*0\.3\d–0\.6\d/)`)
	// Who reads a run is not disturbed: a link shows what is new.
	b.goTo("#run=new%2Ftask-1%2F1")
	b.wait(`document.querySelectorAll(".run article").length > 1`)
	b.run(`window.stays = true`)
	m.Status, m.Totals.Completed = record.StateComplete, 40
	if err := errors.Join(journal.WriteManifest(m), journal.Close(), os.Remove(filepath.Join(dir, "progress.json"))); err != nil {
		t.Fatal(err)
	}
	b.wait(`[...document.querySelectorAll("a")].find((a) => a.innerText === "Show the new runs" && !a.hidden)`)
	b.run(`await new Promise((over) => setTimeout(over, 2500))`)
	if !value[bool](b, "window.stays === true") {
		t.Error("the page of a run was loaded anew while it was read")
	}
	b.click(`[...document.querySelectorAll("a")].find((a) => a.innerText === "Show the new runs")`)
	b.wait(`!window.stays && document.querySelector(".live")?.innerText === "" && (` + opened + `) === "Run new/task-1/1"`)
}

// Two results have a list that leads to both and to their comparison.
func TestViewComparesTwo(t *testing.T) {
	s := usual()
	one, other := s.folder(t), s.folder(t)
	b := enter(t, viewed(t, one, other), "", "")
	b.wait(`document.links.length === 4`)
	b.click(`[...document.links].find((link) => link.innerText === "compared with " + ` + strconv.Quote(one) + `)`)
	b.wait(ready + ` && document.body.innerText.includes("160 runs")`)
	b.goTo("#run=new%2Ftask-2%2F1&side=base")
	b.wait(`document.querySelector(".run").innerText.includes("the answer to task 2") && document.querySelector(".copy").innerText.includes(` + strconv.Quote(one) + `)`)
}

// Results that are damaged while they are followed: the page comes anew with what is wrong, and comes back.
func TestViewOfDamagedResults(t *testing.T) {
	dir := usual().folder(t)
	b := enter(t, viewed(t, dir), "1/", "#")
	b.wait(ready + ` && document.querySelector("#report").textContent.includes("80 runs")`)
	path, manifest := filepath.Join(dir, "records.jsonl"), filepath.Join(dir, "manifest.json")
	records, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	put := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	says := func(text string) {
		t.Helper()
		b.wait(ready + fmt.Sprintf(` && document.querySelector("#report").textContent.includes(%q)`, text))
	}
	put(path, append(slices.Clone(records), "garbage\n"...))
	says("Nothing can be shown now: ")
	for _, step := range []struct {
		path string
		text []byte
		says string
	}{{path, records[:len(records)/2+100], "are missing"}, {manifest, head[:len(head)/2], "Nothing can be shown now: "}, {manifest, head, "are missing"}, {path, records, "80 runs"}} {
		put(step.path, step.text)
		b.run("location.reload()") // it would take longer by itself
		says(step.says)
	}
	if is := b.text(`document.querySelector("#report").textContent`); strings.Contains(is, "Nothing can be shown") {
		t.Errorf("of whole results the page says %.600s", is)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b.goTo("#run=new%2Ftask-2%2F1")
	b.wait(`document.querySelector(".run")?.innerText.match(/The texts could not be read: .*records.jsonl: no such file/)`)
	b.goTo("#run=new%2Ftask-2%2F1&with=new%2Ftask-3%2F1")
	b.wait(`document.querySelector(".compare")?.innerText.match(/The texts could not be read: .*records.jsonl: no such file/)`)
	b.goTo("#label=")
	b.wait(`document.querySelector(".label")?.innerText.includes("records.jsonl: no such file")`)
	b.forget("500")
}
