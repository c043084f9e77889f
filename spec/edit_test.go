package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

const editSuite = `# the suite
suite: s
tasks: [{input: x}]
models: {m: {provider: script, responses: [a]}}
configurations:
  - {name: plain, loop: a.loop.yaml}   # as it is
  - name: wide
    loop: a.loop.yaml
    set:
      terminate.max_iterations: 9      # wide
      terminate.no_improvement.patience: off
`

const editLoop = `loop: a
agent: {model: m}
prompt: |
  {{ task.input }}

  Be brief.
evaluate: {confidence: "0.5"}
terminate:
  # why three
  max_iterations: 3   # three
  confidence: {threshold: 0.85}
guards: {absolute_max_iterations: 20}
`

// onDisk writes a suite and its loop, and loads it.
func onDisk(t interface {
	Helper()
	Fatal(...any)
}, dir, suite, loop string) *Document {
	t.Helper()
	for name, text := range map[string]string{"s.yaml": suite, "a.loop.yaml": loop} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	d := opened(t, filepath.Join(dir, "s.yaml"), Options{})
	return d
}

func TestEditChangesTheValueWhereItStands(t *testing.T) {
	alone := strings.Replace(editSuite, "  - {name: plain, loop: a.loop.yaml}   # as it is\n", "", 1)
	bare := strings.Replace(alone, "      terminate.max_iterations: 9      # wide\n", "", 1)
	short := strings.Replace(editLoop, "  max_iterations: 3   # three\n", "", 1) + "max_iterations: 4 # short\n"
	none := [2]string{}
	for name, c := range map[string]struct {
		suite, loop, configuration string
		set                        []string
		inSuite, inLoop            [2]string // what is replaced by what
	}{
		"in the set": {editSuite, editLoop, "wide", []string{"max_iterations=7"}, [2]string{"max_iterations: 9 ", "max_iterations: 7 "}, none},
		"in the loop file, as the other configuration has its own": {editSuite, editLoop, "plain", []string{"terminate.max_iterations=2"},
			none, [2]string{"max_iterations: 3 ", "max_iterations: 2 "}},
		"added to the set, as the other configuration reads the loop file": {editSuite, editLoop, "plain", []string{"terminate.confidence.threshold=0.9"},
			[2]string{"loop: a.loop.yaml}   #", "loop: a.loop.yaml, set: {terminate.confidence.threshold: 0.9}}   #"}, none},
		"added to a set": {editSuite, editLoop, "wide", []string{"terminate.confidence.threshold=0.9"},
			[2]string{"      terminate.no_improvement", "      terminate.confidence.threshold: 0.9\n      terminate.no_improvement"}, none},
		"a condition that is missing": {editSuite, editLoop, "plain", []string{"terminate.no_improvement.patience=2"},
			none, [2]string{"  confidence: {th", "  no_improvement: {patience: 2}\n  confidence: {th"}},
		"what is so already": {editSuite, editLoop, "plain", []string{"terminate.max_iterations=3"}, none, none},
		"in the set and the loop file": {alone, short, "wide", []string{"max_iterations=7", "terminate.confidence.threshold=0.9"},
			[2]string{"max_iterations: 9 ", "max_iterations: 7 "}, [2]string{"threshold: 0.85", "threshold: 0.9"}},
		"the short form in the loop file": {bare, short, "wide", []string{"terminate.max_iterations=7"}, none, [2]string{"max_iterations: 4 #", "max_iterations: 7 #"}},
	} {
		edited, err := onDisk(t, t.TempDir(), c.suite, c.loop).Edit(c.configuration, assigned(t, c.set...)...)
		must(t, err)
		got := map[string]string{"s.yaml": c.suite, "a.loop.yaml": c.loop}
		for _, e := range edited {
			got[filepath.Base(e.File.Name)] = string(e.Text)
		}
		for file, want := range map[string]string{"s.yaml": replaced(c.suite, c.inSuite), "a.loop.yaml": replaced(c.loop, c.inLoop)} {
			if got[file] != want {
				t.Errorf("%s: %s is\n%s\nwant\n%s", name, file, got[file], want)
			}
		}
	}
}

func replaced(text string, by [2]string) string {
	if by[0] == "" {
		return text
	}
	return strings.Replace(text, by[0], by[1], 1)
}

func TestEditSaysWhyNot(t *testing.T) {
	swept := strings.Replace(editSuite, "    set:\n      terminate.max_iterations: 9      # wide\n      terminate.no_improvement.patience: off\n", "    sweep: {terminate.max_iterations: [1, 2]}\n", 1)
	for name, c := range map[string]struct{ suite, loop, configuration, set, want string }{
		"a sweep":          {swept, editLoop, "wide@max_iterations=1", "max_iterations=7", "wide@max_iterations=1 is one of a sweep, so it has no values of its own in the suite"},
		"no configuration": {editSuite, editLoop, "plan", "max_iterations=7", `the suite has no configuration "plan"`},
		"a wrong path":     {editSuite, editLoop, "plain", "terminate.confidense.threshold=0.7", `--set:1:11: unknown condition "confidense"`},
		"an anchor": {editSuite, strings.Replace(editLoop, "confidence: {threshold: 0.85}", "confidence: &c {threshold: 0.85}", 1),
			"wide", "terminate.confidence.threshold=0.7", ""},
		"anchors everywhere": {strings.Replace(editSuite, "- {name: plain", "- &p {name: plain", 1), strings.Replace(editLoop, "confidence: {threshold: 0.85}", "confidence: &c {threshold: 0.85}", 1),
			"plain", "terminate.confidence.threshold=0.7", "a.loop.yaml:11:18: an anchor repeats this value in several places"},
	} {
		_, err := onDisk(t, t.TempDir(), c.suite, c.loop).Edit(c.configuration, assigned(t, c.set)...)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	_, err := (&Document{Suite: &Suite{}}).Edit("plain")
	var edit *EditError
	if !errors.As(err, &edit) || edit.Hint == "" {
		t.Errorf("what is not on disk: %v", err)
	}
}

// An edited file, loaded, is the loaded file with the parameters set. Package source holds that only the lines of the values differ.
func TestEditLoadsAsWith(t *testing.T) {
	dir := t.TempDir()
	propertytest.Check(t, func(t *rapid.T) {
		suite, loop := editSuite, drawLoop(t)
		configuration := rapid.SampledFrom([]string{"plain", "wide"}).Draw(t, "configuration")
		d := onDisk(t, dir, suite, loop)
		var params []Assignment
		for range rapid.IntRange(1, 3).Draw(t, "params") {
			a, faults := drawSetting(t).Assign("--set")
			must(t, faults.Err())
			params = append(params, a)
		}
		wanted, _ := d.Suite.Configuration(configuration).Loop.With(params...)
		if wanted == nil {
			t.Skip("such a loop is refused")
		}
		edited, err := d.Edit(configuration, params...)
		if err != nil {
			t.Fatalf("%v\n%s", err, loop)
		}
		texts := map[string]string{"s.yaml": suite, "a.loop.yaml": loop}
		for _, e := range edited {
			texts[filepath.Base(e.File.Name)] = string(e.Text)
		}
		again := onDisk(t, dir, texts["s.yaml"], texts["a.loop.yaml"])
		if got := again.Suite.Configuration(configuration); got.Hash != wanted.Hash() {
			t.Fatalf("%s\nbecame\n%s", loop, texts["a.loop.yaml"])
		}
	})
}

// drawLoop writes a loop in one of the ways in which people write them.
func drawLoop(t *rapid.T) string {
	pick := func(label string, ways ...string) string { return rapid.SampledFrom(ways).Draw(t, label) }
	text := "loop: a  # é文\n" + pick("pattern", "", "pattern: confidence\n", "pattern: improvement # p\n") +
		"agent: {model: m}\n" + pick("prompt", "prompt: x\n", "prompt: |\n  {{ task.input }}\n\n  # no comment\n", "prompt: >-\n    x\n    y\n\n") +
		"evaluate:\n  confidence: '0.5'\n" +
		pick("terminate", "", "max_iterations: 4 # short\n", "terminate: {max_iterations: 3}\n", "terminate:\n    max_iterations: \"3\"\n",
			"terminate:\n  # why\n  max_iterations: 5\n  no_improvement:\n    patience: 2  # two\n    min_delta: 0.1\n",
			"terminate:\n  any:\n    - max_iterations: 4\n    - confidence: {threshold: 0.7}   # c\n",
			"terminate: {any: [{max_iterations: 4}, {name: quick, timeout: 60s}]}\n",
			"terminate:\n  timeout: 60s\n  confidence: off\n") +
		pick("guards", "", "guards: {absolute_max_iterations: 20, stagnation: {window: 2}}\n", "guards:\n  absolute_max_iterations: 30   # far\n")
	text = strings.Replace(text, `"3"`, "3", 1)
	if rapid.Bool().Draw(t, "crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if rapid.Bool().Draw(t, "no final newline") {
		text = strings.TrimRight(text, "\r\n")
	}
	if rapid.Bool().Draw(t, "bom") {
		text = "\ufeff" + text
	}
	return text
}

func drawSetting(t *rapid.T) Setting {
	return rapid.SampledFrom([]Setting{
		{"terminate.max_iterations", "6"}, {"max_iterations", "2"}, {"terminate.max_iterations", "off"},
		{"terminate.confidence.threshold", "0.9"}, {"terminate.confidence.threshold", "off"}, {"terminate.confidence.min_iterations", "2"},
		{"terminate.no_improvement.patience", "3"}, {"terminate.no_improvement.patience", "off"}, {"terminate.no_improvement.min_delta", "0.25"},
		{"terminate.timeout.after", "90s"}, {"terminate.timeout", "30s"}, {"guards.absolute_max_iterations", "12"},
		{"guards.stagnation.window", "4"}, {"guards.budget.tokens", "5000"}, {"agent.temperature", "0.5"},
	}).Draw(t, "setting")
}

// A path below a kind that only a condition of another name is of declares one,
// which is then the one that the path means.
func TestSettingAConditionTwiceIsSettingItOnce(t *testing.T) {
	const loop = "loop: a\nagent: {model: m}\nprompt: x\nterminate: {any: [{max_iterations: 4}, {name: quick, timeout: 60s}]}\n"
	d := onDisk(t, t.TempDir(), editSuite, loop)
	var params []Assignment
	for range 2 {
		a, faults := (Setting{Path: "terminate.timeout.after", Value: "90s"}).Assign("--set")
		must(t, faults.Err())
		params = append(params, a)
	}
	once, _ := d.Suite.Configuration("plain").Loop.With(params[:1]...)
	twice, _ := d.Suite.Configuration("plain").Loop.With(params...)
	if len(twice.Terminate.Any) != 3 || twice.Terminate.Any[2].Name != "timeout" || once.Hash() != twice.Hash() {
		t.Errorf("%d conditions, the last of which is called %q", len(twice.Terminate.Any), twice.Terminate.Any[len(twice.Terminate.Any)-1].Name)
	}
}

// The file of a loop is changed by itself, comments and layout stay.
func TestEditOfALoop(t *testing.T) {
	dir := t.TempDir()
	onDisk(t, dir, editSuite, editLoop)
	open := func() *Document {
		d := opened(t, filepath.Join(dir, "a.loop.yaml"), Options{})
		return d
	}
	edited, err := open().Edit("", assigned(t, "max_iterations=5", "terminate.confidence.threshold=0.85")...)
	if err != nil || len(edited) != 1 || string(edited[0].Text) != strings.Replace(editLoop, "max_iterations: 3 ", "max_iterations: 5 ", 1) {
		t.Fatalf("%v, %v", err, edited)
	}
	must(t, ReplaceFiles(edited))
	if edited, err = open().Edit("", assigned(t, "max_iterations=5")...); err != nil || len(edited) > 0 {
		t.Errorf("%v, %v", err, edited)
	}
	if _, err := open().Edit("", assigned(t, "nosuch.path=3")...); err == nil {
		t.Error("it has no such path")
	}
}

// Files are replaced whole, all of them or none: not where one has changed since.
func TestReplaceFiles(t *testing.T) {
	dir := t.TempDir()
	d := onDisk(t, dir, editSuite, editLoop)
	edited, err := d.Edit("wide", assigned(t, "max_iterations=7", "terminate.confidence.threshold=0.9")...)
	must(t, err)
	loop, err := d.Edit("plain", assigned(t, "max_iterations=2")...)
	must(t, err)
	file, link := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "real.yaml")
	must(t, errors.Join(os.Rename(file, link), os.Symlink("real.yaml", file), os.Chmod(link, 0o640), os.WriteFile(filepath.Join(dir, "a.loop.yaml"), []byte("# mine\n"+editLoop), 0o644)))
	if err := ReplaceFiles(append(edited, loop...)); err == nil || !strings.Contains(err.Error(), "a.loop.yaml has changed in the meantime") {
		t.Errorf("the error is %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != editSuite {
		t.Errorf("one file was replaced:\n%s", text)
	}
	must(t, ReplaceFiles(edited))
	info, err := os.Stat(link)
	if text, _ := os.ReadFile(link); err != nil || string(text) != string(edited[0].Text) || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v:\n%s", err, info.Mode(), text)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".agentbench-*")); len(names) > 0 {
		t.Errorf("left over: %v", names)
	}
}
