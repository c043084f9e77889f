package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// What tests read of a page.
const (
	rowsShown = `[...document.querySelectorAll(".rows tbody tr:not(.space)")].length`
	firstRow  = `document.querySelector(".rows tbody tr:not(.space)").innerText`
	summary   = `document.querySelector(".summary").innerText`
	opened    = `document.querySelector(".run h1")?.innerText ?? ""`
)

func TestAPageOpensWithItsReport(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "")
	if text := b.text("document.body.innerText"); !strings.Contains(text, "browsed · 2 configurations") || !strings.Contains(text, "80 runs") {
		t.Errorf("the page says %.300s", text)
	}
	if b.number(`document.querySelectorAll("#report table").length`) < 3 {
		t.Error("the report has no tables")
	}
	b.goTo("#q=")
	b.wait(`document.querySelector(".summary").innerText.startsWith("80 of 80 runs")`)
	if b.number(rowsShown) < 10 || b.number(`document.querySelector("#report").offsetHeight`) != 0 {
		t.Error("the runs are not shown alone")
	}
}

// The report says of the same runs what the list does.
func TestTheListHasTheNumbersOfTheReport(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=config%3Anew")
	b.wait(summary + `.startsWith("40 of 80 runs")`)
	says := b.text(summary)
	row := b.text(`[...document.querySelectorAll("#report tbody tr")].find((row) => row.firstChild.textContent.startsWith("new")).textContent`)
	_, mean, _ := strings.Cut(says, "mean right ")
	mean, _, _ = strings.Cut(mean, " ")
	_, cost, _ := strings.Cut(says, "mean cost ")
	cost, _, _ = strings.Cut(cost, " ")
	if mean == "" || cost == "" || !strings.Contains(row, mean[:4]) || !strings.Contains(row, cost) {
		t.Errorf("the list says %q, the report %q", says, row)
	}
}

func TestFilterAndAddressAgree(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=")
	b.do(pressed("/"))
	b.wait(`document.activeElement.id === "filter"`)
	b.keys("status:failed config:new")
	b.wait(summary + `.startsWith("8 of 80 runs")`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#q=status:failed config:new" {
		t.Errorf("the address is %s", is)
	}
	for filter, runs := range map[string]int{
		"score<1": 27, "right=1": 53, "!score<1": 53, "iterations>=3": 40, "cost>0.1": 12, "task:task-1": 2, "task:task-1*": 22, `"task-39"`: 2,
		"flip:lost": 14, "flip:won": 13, "confidence>=0.8": 20, "!confidence>=0.8": 60, "believed=1": 64, "!status:failed stop:passed": 64, "stop:nothing": 0, `config:"new"`: 40, "nonsense:x": 0, "cost>much": 0,
	} {
		b.goTo("#q=" + strings.NewReplacer("%", "%25", `"`, "%22", "<", "%3C", " ", "%20").Replace(filter))
		b.wait(fmt.Sprintf(`document.querySelector("#filter").value === %q`, filter))
		if is := b.text(summary); !strings.HasPrefix(is, fmt.Sprint(runs, " of 80 runs")) {
			t.Errorf("%s: want %d runs, the page says %s", filter, runs, is)
		}
		said := b.text(`document.querySelector(".bar .wrong").innerText`) != ""
		if wrong := strings.Contains(filter, "nonsense") || strings.Contains(filter, "much"); said != wrong {
			t.Errorf("%s: an error is told: %v", filter, said)
		}
	}
}

func TestTermsAreLinks(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=config%3Anew")
	b.click(`[...document.querySelectorAll(".terms a")].find((a) => a.innerText.startsWith("status:failed"))`)
	b.wait(summary + `.startsWith("8 of 80 runs")`)
	b.click(`document.querySelector(".terms .given")`)
	b.wait(summary + `.startsWith("16 of 80 runs")`)
	if is := b.text("decodeURIComponent(location.hash)"); is != "#q=status:failed" {
		t.Errorf("the address is %s", is)
	}
}

func TestBackAndForward(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "")
	b.goTo("#q=status:failed")
	b.wait(summary + `.startsWith("16 of 80 runs")`)
	b.goTo("#q=flip:lost")
	b.wait(summary + `.startsWith("14 of 80 runs")`)
	b.click(`document.querySelector(".rows a")`)
	b.wait(opened + ` !== ""`)
	id := b.text(opened)
	back, forward := "history.back()", "history.forward()"
	for _, step := range []struct{ by, then string }{
		{back, summary + `.startsWith("14 of 80 runs") && document.querySelector(".run").hidden`}, {back, summary + `.startsWith("16 of 80 runs")`},
		{back, `!document.querySelector("#report").hidden`}, {forward, summary + `.startsWith("16 of 80 runs") && document.querySelector("#report").hidden`},
		{forward, summary + `.startsWith("14 of 80 runs")`}, {forward, fmt.Sprintf(`!document.querySelector(".run").hidden && (%s) === %q`, opened, id)},
	} {
		b.run(step.by)
		b.wait(step.then)
	}
}

func TestALinkLandsOnItsStep(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#run=new%2Ftask-23%2F1&step=3")
	b.wait(`document.querySelector("[aria-current=step]")?.dataset.step === "3"`)
	if is := b.text(opened); is != "Run new/task-23/1" {
		t.Errorf("opened is %q", is)
	}
	if at := b.number(`document.querySelector("[aria-current=step]").getBoundingClientRect().top`); at < -1 || at > 700 {
		t.Errorf("the step is at %v of the window", at)
	}
	text := b.text(`document.querySelector(".run").innerText`)
	for _, want := range []string{"agentbench show ", " new/task-23/1", "iteration 3 · execution", "thinking 3", "the answer to task 23", "search", "because <b>of</b> it", "passed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %.1500s", want, text)
		}
	}
	b.goTo("#run=new%2Fnothing%2F1")
	b.wait(`document.querySelector(".run").innerText.includes("No run new/nothing/1")`)
}

func TestKeys(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=config:new")
	b.wait(rowsShown + ` > 5`)
	b.keys("jjk")
	b.wait(`document.querySelector(".rows [aria-current]").getAttribute("aria-rowindex") === "3"`)
	b.keys("\r")
	b.wait(`document.querySelectorAll(".run article").length > 1`)
	b.keys("j")
	b.wait(`location.hash.endsWith("&step=1")`)
	b.keys("j")
	b.wait(`location.hash.endsWith("&step=2") && document.querySelector("[aria-current=step]").dataset.step === "2"`)
	b.keys("k")
	b.wait(`location.hash.endsWith("&step=1")`)
	b.keys("?")
	b.wait(`document.querySelector("dialog").open`)
	b.keys("\x1b")
	b.wait(`!document.querySelector("dialog").open && !document.querySelector(".run").hidden`)
	b.keys("\x1b")
	b.wait(`document.querySelector(".run").hidden && location.hash === "#q=config:new"`)
	b.keys("\x1b")
	b.wait(`!document.querySelector("#report").hidden`)
}

func TestSort(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "#q=config:new")
	b.wait(rowsShown + ` > 5`)
	by := func(name string) {
		b.click(fmt.Sprintf(`[...document.querySelectorAll(".rows th button")].find((button) => button.innerText.startsWith(%q))`, name))
	}
	by("run")
	b.wait(firstRow + `.startsWith("new/task-0/1")`)
	if second := b.text(`document.querySelectorAll(".rows tbody tr:not(.space)")[2].innerText`); !strings.HasPrefix(second, "new/task-2/1") {
		t.Errorf("names are not in their natural order: %q", second)
	}
	by("cost")
	b.wait(firstRow + `.includes("$0.0010")`)
	b.keys("\r") // the button still has the focus
	b.wait(firstRow + `.includes("$0.16") && document.querySelector("th[aria-sort=descending]").innerText.startsWith("cost")`)
	if is := b.text("location.hash"); is != "#q=config%3Anew&sort=-cost" {
		t.Errorf("the address is %s", is)
	}
}

// Rows come into sight as one scrolls, and no others are in the document.
func TestRowsAreThereWhereTheyAreSeen(t *testing.T) {
	s := usual()
	s.tasks = 1500
	b := open(t, write(t, s.folder(t)), "#q=config:new")
	b.wait(rowsShown + ` > 5`)
	b.run(`document.querySelector(".rows").scrollTop = 1e9`)
	b.wait(`[...document.querySelectorAll(".rows tbody tr:not(.space)")].at(-1).innerText.startsWith("new/task-999/1")`)
	if n := b.number(rowsShown); n > 100 {
		t.Errorf("%v rows are in the document", n)
	}
	if left := b.text(`document.querySelector("nav").innerText`); !strings.Contains(left, "3,000 runs") {
		t.Errorf("the page says %q", left)
	}
}

// hostile are texts that would do something, were they more than texts.
var hostile = []string{
	`<script>window.owned = 1</script>`, `<img src=x onerror="window.owned=1">`, `"><svg onload=window.owned=1>`, `</script><script>window.owned=1</script>`,
	`javascript:window.owned=1`, `' onmouseover='window.owned=1`, `{{constructor.constructor("window.owned=1")()}}`, `<!--<script>`, `]]>`, `&lt;b&gt;`,
	`<iframe srcdoc="<script>parent.owned=1</script>">`, `<base href=//evil.example/>`, `<style>*{display:none}</style>`, "\u202Egnp.exe", `__proto__`, `</textarea></pre><b>`, `#q=&run=x`, `%E0%A4%A`,
}

// hostileFolder has them in every name and every text: each task has another one.
func hostileFolder(t *testing.T) string {
	t.Helper()
	s := usual()
	s.tasks = len(hostile)
	s.configurations = []string{`<b onclick=owned=1>"base"</b>`, `</script><script>owned=1</script>`}
	s.task = func(n int) string { return hostile[n] }
	s.output = s.task
	s.scorer = `<img src=x onerror=owned=1> "right"`
	tasks, err := json.Marshal(hostileTasks())
	if err != nil {
		t.Fatal(err)
	}
	s.declares = fmt.Sprintf(`tasks: %s, scorers: [{name: %q, type: judge, model: m, rubric: r, choices: {"<b>good</b>": 1, "</script><img src=x onerror=owned=1>": 0}}]`, tasks, s.scorer)
	s.change = func(run *record.Run, n int) {
		text, it := hostile[n], &run.Iterations[0]
		it.Prompt, it.Phase, it.Strategy, it.Adaptation, it.Cut = text, text, text, text, text
		it.Steps = []record.Step{{Text: text, Thinking: text + " thought", Call: 1, Tools: 1, User: text}}
		it.ToolCalls = []record.ToolCall{{Tool: text, Server: text, Arguments: quoted(text), Result: quoted(text), Error: &record.Error{Class: "tool", Message: text}}}
		it.Evaluation.Feedback, it.Evaluation.Fault, it.Evaluation.Checks[0].Error = text, text, text
		it.Workspace = &record.Workspace{Tree: "0", Changed: []string{text}, Diff: "+" + text + "\n-" + text + "\n", Left: []string{text}}
		it.Calls[0].Conversation, it.Calls[0].Kind, it.Calls[0].Model, it.Calls[0].Stderr = text, record.MainCall, text, text
		run.Outcome.Reason, run.Outcome.Fired, run.Outcome.Held = record.Reason(text), text, []string{text}
		if run.Configuration != s.configurations[0] {
			run.Outcome.Error = &record.Error{Class: record.ErrorClass(text), Message: text}
		}
	}
	s.votes = func(n int) []record.Vote {
		return []record.Vote{{Judge: hostile[n], Criterion: hostile[n], Value: 1, Answer: hostile[n], Explanation: hostile[n]}, {Judge: "b", Criterion: hostile[n], Unscored: hostile[n]}, {Judge: "c", Criterion: hostile[n], Explanation: hostile[n]}}
	}
	return s.folder(t)
}

func hostileTasks() (tasks []map[string]string) {
	for _, text := range hostile {
		tasks = append(tasks, map[string]string{"id": text, "input": text})
	}
	return tasks
}

func TestHostileTextsStayTexts(t *testing.T) {
	file := write(t, hostileFolder(t))
	b := open(t, file, "#q=")
	b.wait(rowsShown + ` > 5`)
	b.run(`window.ids = [...document.querySelectorAll(".rows td a")].map((a) => a.getAttribute("href"))`)
	elements := `["SCRIPT", "IMG", "IFRAME", "SVG", "STYLE", "BASE", "B"].map((name) => document.body.querySelectorAll(name).length).join(" ")`
	before := b.text(elements)
	for at := range len(hostile) {
		b.run(fmt.Sprintf("location.hash = ids[%d]", at))
		b.wait(fmt.Sprintf(`document.querySelectorAll(".run article").length > 1 && (%s) === "Run " + decodeURIComponent(ids[%d].slice(5)).replace("\u202e", "\\u202e")`, opened, at))
		b.run(fmt.Sprintf(`location.hash = ids[%d] + "&with=" + ids[%d].slice(5)`, at, at+len(hostile)))
		b.wait(`!document.querySelector(".compare").hidden && document.querySelector(".compare .first, .compare .equal")`)
		b.run(`document.querySelectorAll(".compare summary").forEach((it) => it.click())`)
	}
	for _, hash := range []string{"#map=", "#label=", "#label=&seed=2", "#q=split:*&sort=-stop", "#q=%3Cimg%20src=x%20onerror=owned=1%3E", "#map=%3Cb%3E&q=%3Cb%3E:1&sort=%3Cb%3E", "#label=%3Cb%3E&seed=%3Cb%3E", "#run=%3Cb%3E&with=%3Cb%3E&step=%3Cb%3E"} {
		b.goTo(hash)
		b.wait(`document.querySelector("main section:not([hidden])").innerText.length > 10`)
	}
	if after := b.text(elements); after != before {
		t.Errorf("elements of %s became %s", before, after)
	}
	if is := b.text("String(window.owned)"); is != "undefined" {
		t.Errorf("a text was run: %s", is)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range hostile[:4] {
		if strings.Contains(string(written), text) {
			t.Errorf("the file has %s as it is", text)
		}
	}
}

// The harness sees what it looks for.
func TestWhatMustNotHappenIsSeen(t *testing.T) {
	b := open(t, write(t, usual().folder(t)), "")
	b.run(`setTimeout(() => { throw new Error("thrown") }); document.body.append(Object.assign(document.createElement("img"), {src: "http://127.0.0.1:1/x.png"})); try { document.body.innerHTML = "<b>x</b>" } catch {}`)
	b.wait(`document.images.length === 1`)
	b.run(`new Promise((resolve) => setTimeout(resolve, 200))`)
	wrong := b.takeWrong()
	for _, kind := range []string{"exception: ", "console: \"policy: img-src", "console: \"policy: require-trusted-types-for"} {
		if !slices.ContainsFunc(wrong, func(text string) bool { return strings.HasPrefix(text, kind) }) {
			t.Errorf("%s is not seen in %q", kind, wrong)
		}
	}
}
