package browsertest

import (
	"bytes"
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
