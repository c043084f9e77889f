package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A baseline has the numbers of its runs, and says that it has no texts.
func TestThePageOfABaseline(t *testing.T) {
	baselines := filepath.Join(t.TempDir(), "baselines")
	agentbench(t, "baseline", "set", "main", usual().folder(t), "--baselines", baselines, "--allow-incomplete")
	b := open(t, write(t, filepath.Join(baselines, "main.jsonl")), "#q=")
	b.wait(summary + `.startsWith("80 of 80 runs · mean right ")`)
	b.click(`document.querySelector(".rows a")`)
	b.wait(`document.querySelector(".run").innerText.includes("A baseline file has no texts.")`)
	b.show("#map=", ".map td a")
}

// unscored is a suite without scorers.
const unscored = `suite: unscored
tasks: {list: [{id: a, input: "1"}, {id: b, input: "2"}], targets: optional}
models: {m: {provider: script, responses: [one]}}
configurations: [{name: plain, loop: once.loop.yaml}]
`

// Results without scores have the list, the map by cost, runs, and nothing to label.
func TestThePageOfResultsWithoutScores(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"suite.yaml": unscored, "once.loop.yaml": once} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := filepath.Join(dir, "results")
	agentbench(t, "run", filepath.Join(dir, "suite.yaml"), "-q", "--out", results)
	b := open(t, write(t, results), "#q=")
	b.wait(summary + `.startsWith("2 of 2 runs")`)
	if links := b.text(`document.querySelector("nav").innerText`); strings.Contains(links, "Label") {
		t.Errorf("there is something to label: %s", links)
	}
	b.show("#map=", ".map td a")
	if by := b.text(`document.querySelector("select").value`); by != "cost" {
		t.Errorf("the map is by %s", by)
	}
	b.show("#run=plain%2Fa%2F1", ".run article.ending")
	b.goTo("#label=right")
	b.wait(`document.querySelector(".label").innerText.length > 10`)
}
