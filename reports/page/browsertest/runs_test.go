package browsertest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// What tests read of a run and of runs side by side.
const (
	runText     = `document.querySelector(".run").innerText`
	compared    = `document.querySelector(".compare").innerText`
	onStep      = `document.querySelector(".run [aria-current=step]")?.dataset.step ?? ""`
	differences = `document.querySelectorAll(".compare .pair:not(.heads) > .name").length`
)

func TestARunIsAConversationWithAllThatHappened(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#run=new%2Ffilings%2F1")
	b.wait(`document.querySelectorAll(".run article").length > 1`)
	text := b.text(runText)
	for _, want := range []string{
		"iteration 1 · execution", "prompt\nWhat did they earn?", "step 1 1 call, 100 tokens in, 20 out", "thinking\nI need the filings.", "reply\nLet me see.", `calls` + "\n" + `search {"for":"filings"}`,
		"gave\ntwo filings", "1 message pruned", "confidence", "✓ has a number", "limit\n3 of 3 used", "vote\nkind: 1.00 (it is right)", "vote\nstrict: 0.25 (says the strict one)", "judges disagree onhelpful",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	for kind, name := range map[string]string{"user": "prompt", "agent": "reply", "tool": "calls", "judgement": "vote", "event": "limit"} {
		if !value[bool](b, `[...document.querySelectorAll(".run .`+kind+` h3")].some((h3) => h3.innerText === "`+name+`")`) {
			t.Errorf("no %s is told as %s", name, kind)
		}
	}
}

func TestAProgramsStepsAndDiffAreShown(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#run=new%2Frepair%2F1&step=2")
	b.wait(onStep + ` === "2"`)
	text := b.text(runText)
	for _, want := range []string{"main · m · 1 call", "sub1 · m · 1 call", "call main · side · m · 1 call", "1 file changed, +1 -1 since the seed", "cut\ncancelled in flight by timeout"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	more, less := b.text(`document.querySelector(".run pre .more").innerText`), b.text(`document.querySelector(".run pre .less").innerText`)
	if strings.TrimSpace(more) != "+\treturn a + b" || strings.TrimSpace(less) != "-\treturn a - b" {
		t.Errorf("the diff has %q and %q", more, less)
	}
}

// Equal parts are folded, the first difference is marked, and arguments are compared word by word.
func TestRunsSideBySide(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#run=base%2Ffilings%2F1")
	b.click(`[...document.querySelectorAll(".beside a")].find((a) => a.innerText === "new")`)
	b.wait(compared + `.includes("first difference")`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#run=base/filings/1&with=new/filings/1" {
		t.Errorf("the address is %s", is)
	}
	if name := b.text(`document.querySelector(".compare .first > .name").innerText`); name != "first difference · difference 1: calls, step 2" {
		t.Errorf("the first difference is %q", name)
	}
	marks := b.text(`[...document.querySelectorAll(".compare .first del, .compare .first ins")].map((mark) => mark.nodeName + " " + mark.innerText).join()`)
	if marks != "DEL 2024,INS 2023" {
		t.Errorf("of the arguments %s is marked", marks)
	}
	if n := b.number(differences); n != 4 { // the call, the output, the score and a vote
		t.Errorf("%v differences are shown: %s", n, b.text(compared))
	}
	if strings.Contains(b.text(compared), "I need the filings.") {
		t.Error("equal parts are not folded")
	}
	b.click(`document.querySelector(".compare summary")`)
	b.wait(compared + `.includes("I need the filings.")`)
	b.keys("j")
	b.wait(`document.activeElement.classList.contains("first") && location.hash.endsWith("&step=2")`)
	b.keys("jj")
	b.wait(`document.activeElement.getAttribute("aria-label").startsWith("difference 3")`)
	b.keys("k")
	b.wait(`document.activeElement.getAttribute("aria-label").startsWith("difference 2: output, step 3")`)
	b.click(`document.querySelector(".compare .heads a")`)
	b.wait(opened + ` === "Run base/filings/1"`)
	b.keys("\x1b")
	b.wait(`!document.querySelector(".compare").hidden`)
}

func TestALinkLandsOnADifference(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#run=base%2Ffilings%2F1&with=new%2Ffilings%2F1&step=3")
	b.wait(`document.activeElement.getAttribute("aria-label")?.startsWith("difference 2: output, step 3")`)
	b.goTo("#run=base%2Ffilings%2F1&with=base%2Ffilings%2F2")
	b.wait(compared + `.includes("The texts of these runs are equal.")`)
	b.goTo("#run=base%2Ffilings%2F1&with=base%2Ffilings%2F9")
	b.wait(compared + `.includes("No run base/filings/9")`)
}

func TestThreeRunsSideBySide(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#run=base%2Frepair%2F1&with=new%2Frepair%2F1&with=new%2Frepair%2F2")
	b.wait(compared + `.includes("3 runs side by side") && ` + differences + ` > 0`)
	if text := b.text(`document.querySelector(".compare .first").innerText`); !strings.Contains(text, "call main") || !strings.Contains(text, "A\n\nnot here") {
		t.Errorf("the first difference is %s", text)
	}
	if n := b.number(`document.querySelectorAll(".compare .first .side").length`); n != 3 {
		t.Errorf("it has %v sides", n)
	}
}

// The base and the new side of a comparison have runs of the same id.
func TestBothSidesOfAComparisonSideBySide(t *testing.T) {
	base, newest := usual(), usual()
	base.configurations, newest.configurations = []string{"base"}, []string{"base"}
	newest.output = func(n int) string { return "another answer" }
	b := open(t, write(t, base.folder(t), newest.folder(t)), "#run=base%2Ftask-1%2F1")
	b.click(`[...document.querySelectorAll(".beside a")].find((a) => a.innerText === "base")`)
	b.wait(compared + `.includes("first difference")`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#run=base/task-1/1&with=base/base/task-1/1" {
		t.Errorf("the address is %s", is)
	}
	marks := b.text(`document.querySelector(".compare .first").innerText`)
	if !strings.Contains(marks, "another answer") || !strings.Contains(marks, "the answer to task 1") {
		t.Errorf("the first difference is %s", marks)
	}
}

func TestKeysGoToFlips(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=config:new&sort=run")
	b.wait(rowsShown + ` > 5`)
	flips := b.text(`[...document.querySelectorAll(".rows tbody tr:not(.space)")].filter((row) => /lost|won/.test(row.innerText)).map((row) => row.querySelector("a").innerText).join()`)
	want := strings.Split(flips, ",")
	b.keys("nnp")
	current := `document.querySelector(".rows [aria-current] a").innerText`
	first := 0
	if is := b.text(`document.querySelector(".rows tbody tr:not(.space) a").innerText`); is == want[0] {
		first = 1 // the row that n starts from has a flip
	}
	b.wait(current + ` === ` + strconv.Quote(want[first]))
	b.keys("\r")
	b.wait(opened + ` === "Run ` + want[first] + `"`)
	b.keys("n")
	b.wait(opened + ` === "Run ` + want[first+1] + `"`)
	b.keys("p")
	b.wait(opened + ` === "Run ` + want[first] + `"`)
	b.click(`[...document.querySelectorAll(".beside a")].find((a) => a.innerText === "base")`)
	b.wait(`document.querySelector(".compare:not([hidden]) .count-of-differences")`)
	b.keys("n")
	task := strings.TrimPrefix(want[first+1], "new/")
	b.wait(`decodeURIComponent(location.hash) === "#run=new/` + task + `&with=base/` + task + `"`)
}

func TestRunsWhoseJudgesDisagree(t *testing.T) {
	b := open(t, write(t, conversations(t)), "#q=split:helpful")
	b.wait(summary + `.startsWith("2 of 8 runs")`)
	b.goTo("#q=!split:h*")
	b.wait(summary + `.startsWith("6 of 8 runs")`)
	b.goTo("#q=split:nobody")
	b.wait(summary + `.startsWith("0 of 8 runs")`)
	b.goTo("#q=")
	b.click(`[...document.querySelectorAll(".terms a")].find((a) => a.innerText.startsWith("split:helpful 2"))`)
	b.wait(summary + `.startsWith("2 of 8 runs")`)
}

// clipboard is what a button with that text copies.
func (b *tab) clipboard(button string) string {
	b.t.Helper()
	b.allowClipboard()
	b.click(`[...document.querySelectorAll("section:not([hidden]) button")].find((it) => it.innerText === "` + button + `")`)
	b.wait(`[...document.querySelectorAll("section:not([hidden]) button")].some((it) => it.innerText === "copied")`)
	return b.text("navigator.clipboard.readText()")
}

func TestARunIsCopied(t *testing.T) {
	dir := conversations(t)
	file := write(t, dir)
	const run = "#run=new%2Ffilings%2F1"
	if command := open(t, file, run).clipboard("copy"); command != "agentbench show "+dir+" new/filings/1" {
		t.Errorf("copied is %s", command)
	}
	markdown := open(t, file, run).clipboard("copy Markdown")
	for _, want := range []string{"# Run new/filings/1\n", "- helpful: 0.62\n", "## iteration 1 · execution\n", "**prompt**\n\n```\nWhat did they earn?\n```\n"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("%q is missing in %s", want, markdown)
		}
	}
	var copied struct {
		Run    string
		Scores map[string]float64
		Texts  struct{ Iterations []struct{ Parts []any } }
	}
	if err := json.Unmarshal([]byte(open(t, file, run).clipboard("copy JSON")), &copied); err != nil {
		t.Fatal(err)
	}
	if copied.Run != "new/filings/1" || copied.Scores["helpful"] != 0.625 || len(copied.Texts.Iterations[0].Parts) < 5 {
		t.Errorf("copied is %+v", copied)
	}
}

// A text cannot leave its fence, and a name cannot become Markdown.
func TestCopiedTextsStayTexts(t *testing.T) {
	s := usual()
	s.configurations = []string{"a b'; rm -rf $HOME", "[x](http://e)"}
	s.output = func(int) string { return "```\n# out\n````" }
	b := open(t, write(t, s.folder(t)), "#run="+strings.ReplaceAll(record.RunID(s.configurations[0], "task-1", 1), "%", "%25"))
	markdown := b.clipboard("copy Markdown")
	if !strings.Contains(markdown, "`````\n```\n# out\n````\n`````") {
		t.Errorf("the fences are too short: %s", markdown)
	}
	b.goTo("#run=base")
	b.goTo("#run=" + strings.ReplaceAll(record.RunID(s.configurations[0], "task-1", 1), "%", "%25"))
	b.wait(opened + `.startsWith("Run a")`)
	if command := b.text(`document.querySelector(".copy code").innerText`); !strings.HasSuffix(command, ` 'a%20b'\'';%20rm%20-rf%20$HOME/task-1/1'`) {
		t.Errorf("the command is %s", command)
	}
}

// The list's CSV has the fence of that of reports.
func TestTheListIsCopiedAsCSV(t *testing.T) {
	s := usual()
	s.configurations = []string{"=1+1", `say "x"`}
	b := open(t, write(t, s.folder(t)), "#q=%22%2Ftask-3%2F%22")
	csv := b.clipboard("copy CSV")
	want := `"run","right","status","stop","flip","iterations","cost","tokens","latency"` + "\r\n" +
		`"'=1+1/task-3/1",1,"completed","passed","",4,0.016,452,4` + "\r\n" +
		`"say%20""x""/task-3/1",1,"completed","passed","",4,0.016,452,4` + "\r\n"
	if csv != want {
		t.Errorf("copied is\n%s\nwant\n%s", csv, want)
	}
}
