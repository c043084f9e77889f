package browsertest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const labelText = `document.querySelector(".label").innerText`

// agentbench runs a command and gives what it prints.
func agentbench(t *testing.T, args ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), asCommand+"=yes")
	var out, wrong bytes.Buffer
	command.Stdout, command.Stderr = &out, &wrong
	if err := command.Run(); err != nil {
		t.Fatalf("%q: %v: %s%s", args, err, out.String(), wrong.String())
	}
	return out.String()
}

// labelled records a suite of six tasks whose answers are right or wrong.
func labelled(t *testing.T, scorer string) (suite, results string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": `
suite: labelled
tasks: {list: [{id: a, input: "What is 1?", target: one}, {id: b, input: "What is 2?", target: two}, {id: c, input: "What is 3?", target: one}, {id: d, input: "What is 4?", target: two}, {id: e, input: "What is 5?", target: one}, {id: f, input: "What is 6?", target: one}]}
models: {good: {provider: script, responses: [one]}}
configurations: [{name: secret-name, loop: once.loop.yaml}]
scorers: [` + scorer + `]
`,
		"once.loop.yaml": "loop: once\nagent: {model: good}\nprompt: \"{{ task.input }}\"\nterminate: {max_iterations: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	suite, results = filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "results")
	agentbench(t, "run", suite, "--out", results, "--quiet", "--all")
	return suite, results
}

// A person labels outputs on the page, and calibrate reads the labels.
func TestLabelsOfAPageAreReadByCalibrate(t *testing.T) {
	suite, results := labelled(t, "{name: right, type: exact}")
	b := open(t, write(t, results), "#label=right")
	into := b.downloads()
	var order []string
	for n := range 6 {
		b.wait(labelText + `.includes("` + string(rune('0'+n)) + ` of 6") && document.querySelector(".label article") !== null`)
		text := b.text(labelText)
		if strings.Contains(text, "secret-name") || strings.Contains(text, "1.00") {
			t.Errorf("a configuration or a score is shown: %s", text)
		}
		task := b.text(`document.querySelector(".label h2").innerText`)
		if !strings.Contains(text, "What is ") || !strings.Contains(text, "output\none") {
			t.Errorf("the page shows %s", text)
		}
		order = append(order, strings.TrimPrefix(task, "task "))
		if strings.Contains("task a task c task e", task) {
			b.keys("y")
		} else {
			b.keys("n")
		}
	}
	b.wait(labelText + `.includes("These were all outputs.")`)
	if slices.IsSorted(order) {
		t.Errorf("the order is %q", order)
	}
	b.click(`[...document.querySelectorAll(".label button")].find((it) => it.innerText === "download labels.csv")`)
	labels := b.downloaded(into, "labels.csv")
	written, err := os.ReadFile(labels)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(written); !strings.HasPrefix(text, "run,label\r\n") || !strings.Contains(text, `"secret-name/f/1","no"`+"\r\n") || strings.Count(text, "\n") != 7 {
		t.Errorf("the labels are %s", text)
	}
	said := agentbench(t, "calibrate", suite, "--labels", labels, "--scorer", "right", "--results", results, "--quiet")
	if !strings.Contains(said, "6 labels (yes or no)") || !strings.Contains(said, "agreement 0.83") { // they differ on f alone
		t.Errorf("calibrate says %s", said)
	}
}

// The keys of a range are its numbers. A label can be changed, and outlives the page.
func TestLabelsOfARange(t *testing.T) {
	_, results := labelled(t, "{name: grade, type: cel, expr: 'output == target ? 5 : 2', range: [1, 5]}")
	file := write(t, results)
	b := open(t, file, "#label=grade&seed=3")
	b.wait(`document.querySelectorAll(".choices button").length === 5`)
	first := b.text(`document.querySelector(".label h2").innerText`)
	b.keys("4")
	b.wait(labelText + `.includes("1 of 6")`)
	b.keys("k")
	b.wait(`document.querySelector(".label h2").innerText === "` + first + `" && document.querySelector(".choices [aria-pressed=true]")?.innerText.startsWith("4")`)
	b.keys("2")
	b.wait(labelText + `.includes("1 of 6") && document.querySelector(".label h2").innerText !== "` + first + `"`)
	if csv := b.clipboard("copy labels"); csv != "run,label\r\n\"secret-name/"+strings.TrimPrefix(first, "task ")+"/1\",\"2\"\r\n" {
		t.Errorf("the labels are %q", csv)
	}
	again := open(t, file, "#label=grade&seed=3")
	again.wait(labelText + `.includes("1 of 6")`)
	if is := again.text(`document.querySelector(".label h2").innerText`); is == first {
		t.Error("what was labelled is shown again")
	}
}

// Labels and links name runs by their ids, so that they are those of the same runs after shards are merged
// and scores are made anew.
func TestLabelsSurviveAMerge(t *testing.T) {
	suite, whole := labelled(t, "{name: right, type: exact}")
	merged := filepath.Join(t.TempDir(), "merged")
	var shards []string
	for _, shard := range []string{"1/2", "2/2"} {
		shards = append(shards, filepath.Join(t.TempDir(), "shard"))
		agentbench(t, "run", suite, "--shard", shard, "--out", shards[len(shards)-1], "--quiet", "--all")
	}
	// A person labels what one run of the suite left behind.
	b := open(t, write(t, whole), "#label=right&seed=2")
	into := b.downloads()
	for n := range 6 {
		b.wait(labelText + `.includes("` + string(rune('0'+n)) + ` of 6") && document.querySelector(".label article") !== null`)
		b.keys(map[bool]string{true: "y", false: "n"}[n%2 == 0])
	}
	b.click(`[...document.querySelectorAll(".label button")].find((it) => it.innerText === "download labels.csv")`)
	labels := b.downloaded(into, "labels.csv")
	const link = "#run=secret-name%2Fc%2F1&step=1"
	b.goTo(link)
	b.wait(`document.querySelector("[aria-current=step]") && (` + opened + `) === "Run secret-name/c/1"`)
	text := `document.querySelector(".run").innerText.replace(/^agentbench show .*$/m, "")`
	was := b.text(text)
	said := agentbench(t, "calibrate", suite, "--labels", labels, "--scorer", "right", "--results", whole, "--quiet", "--format", "csv")

	agentbench(t, append([]string{"merge", "--out", merged, "--quiet", "--all"}, shards...)...)
	edited, err := os.ReadFile(suite)
	if err == nil {
		err = os.WriteFile(suite, bytes.Replace(edited, []byte("type: exact"), []byte("type: cel, expr: 'output == target'"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(merged, "scores.jsonl"))
	agentbench(t, "score", merged, suite, "--quiet")
	after, err2 := os.ReadFile(filepath.Join(merged, "scores.jsonl"))
	if errors.Join(err, err2) != nil || bytes.Count(after, []byte("\n")) != 6+bytes.Count(before, []byte("\n")) {
		t.Fatalf("%v, %v: the runs were not scored anew: %s", err, err2, after)
	}
	again := open(t, write(t, merged), link)
	again.wait(`document.querySelector("[aria-current=step]") && (` + opened + `) === "Run secret-name/c/1"`)
	if is := again.text(text); is != was {
		t.Errorf("the run is\n%s\nwant\n%s", is, was)
	}
	if is := agentbench(t, "calibrate", suite, "--labels", labels, "--scorer", "right", "--results", merged, "--quiet", "--format", "csv"); is != said || !strings.Contains(is, "6") {
		t.Errorf("of merged results calibrate says\n%s\nwant\n%s", is, said)
	}
}
