package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/spec/source"
)

// yamlOf reads YAML into maps and lists.
func yamlOf(t *testing.T, name string, text []byte) map[string]any {
	t.Helper()
	tree, faults := source.Parse(source.NewFile(name, text))
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return plainMap(tree.Plain())
}

func plainMap(value any) map[string]any {
	plain, _ := unordered(value).(map[string]any)
	return plain
}

func unordered(value any) any {
	switch v := value.(type) {
	case *source.Object:
		m := map[string]any{}
		for i, key := range v.Keys {
			m[key] = unordered(v.Values[i])
		}
		return m
	case []any:
		for i := range v {
			v[i] = unordered(v[i])
		}
	}
	return value
}

// valueAt walks maps and lists by keys and places.
func valueAt(value any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[key]
		case int:
			list, _ := value.([]any)
			if key >= len(list) {
				return nil
			}
			value = list[key]
		}
	}
	return value
}

// action runs action.yml as GitHub would.
type action struct {
	t       *testing.T
	yaml    map[string]any
	dir     string // the workspace
	values  map[string]string
	path    string
	printed bytes.Buffer
}

func newAction(t *testing.T, dir string, with map[string]string) *action {
	t.Helper()
	text, err := os.ReadFile("../../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("agentbench")
	if err != nil {
		t.Fatal(err)
	}
	a := &action{t: t, yaml: yamlOf(t, "action.yml", text), dir: dir, path: os.Getenv("PATH"), values: map[string]string{"github.action_path": "unused"}}
	inputs, _ := a.yaml["inputs"].(map[string]any)
	for name := range inputs {
		a.values["inputs."+name], _ = valueAt(inputs, name, "default").(string)
	}
	a.values["inputs.binary"] = program
	for name, value := range with {
		if inputs[name] == nil {
			t.Fatalf("the action has no input %q", name)
		}
		a.values["inputs."+name] = value
	}
	return a
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z0-9_.-]+) *\}\}`)

// expand puts the values of expressions into a text.
func (a *action) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(match string) string {
		return a.values[expression.FindStringSubmatch(match)[1]]
	})
}

// run runs all steps and gives the exit code of the last one that failed.
func (a *action) run() (code int) {
	a.t.Helper()
	steps, _ := valueAt(a.yaml, "runs", "steps").([]any)
	for _, step := range steps {
		if a.wanted(step) {
			if failed := a.step(step); failed != 0 {
				code = failed
			}
		}
	}
	return code
}

// wanted decides the conditions that the action has.
func (a *action) wanted(step any) bool {
	condition, _ := valueAt(step, "if").(string)
	switch code := a.values["steps.run.outputs.exit-code"]; condition {
	case "", "always()":
		return true
	case "inputs.baseline != '' && (steps.run.outputs.exit-code == '0' || steps.run.outputs.exit-code == '1')":
		return a.values["inputs.baseline"] != "" && (code == "0" || code == "1")
	default:
		a.t.Fatalf("the test does not know the condition %q", condition)
		return false
	}
}

func (a *action) step(step any) int {
	a.t.Helper()
	script, _ := valueAt(step, "run").(string)
	if shell := valueAt(step, "shell"); shell != "bash" || script == "" {
		a.t.Fatalf("a step has the shell %v and the script %q", shell, script)
	}
	files := a.t.TempDir()
	env := []string{"PATH=" + a.path, "HOME=" + files, "RUNNER_TEMP=" + files, "GITHUB_STEP_SUMMARY=" + filepath.Join(a.dir, "summary.md")}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_PATH"} {
		env = append(env, name+"="+filepath.Join(files, name))
	}
	declared, _ := valueAt(step, "env").(map[string]any)
	for name, value := range declared {
		text, _ := value.(string)
		env = append(env, name+"="+a.expand(text))
	}
	code := a.bash(script, env)
	a.take(step, filepath.Join(files, "GITHUB_OUTPUT"))
	if added, err := os.ReadFile(filepath.Join(files, "GITHUB_PATH")); err == nil {
		a.path = strings.TrimSpace(string(added)) + ":" + a.path
	}
	return code
}

// bash runs a script as GitHub does.
func (a *action) bash(script string, env []string) int {
	a.t.Helper()
	file := filepath.Join(a.t.TempDir(), "step.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		a.t.Fatal(err)
	}
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", file)
	c.Dir, c.Env, c.Stdout, c.Stderr = a.dir, env, &a.printed, &a.printed
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		a.t.Fatal(err)
	}
	return 0
}

// take reads the outputs of a step.
func (a *action) take(step any, file string) {
	id, _ := valueAt(step, "id").(string)
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		a.values["steps."+id+".outputs."+name] = value
	}
}

func needsBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
}

// suiteFolder is a workspace with a suite and a baseline of it.
func suiteFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	typed(t, 0, nil, "init", dir)
	typed(t, 0, nil, "run", filepath.Join(dir, "suite.yaml"), "-q", "--out", filepath.Join(dir, "first"))
	typed(t, 0, nil, "baseline", "set", "main", filepath.Join(dir, "first"), "--baselines", filepath.Join(dir, "baselines"))
	return dir
}

func TestActionIsWellFormed(t *testing.T) {
	needsBash(t)
	a := newAction(t, t.TempDir(), nil)
	inputs, _ := a.yaml["inputs"].(map[string]any)
	for name := range inputs {
		if text, _ := valueAt(inputs, name, "description").(string); len(text) < 20 || !strings.HasSuffix(text, ".") {
			t.Errorf("the input %s is described as %q", name, text)
		}
	}
	steps, _ := valueAt(a.yaml, "runs", "steps").([]any)
	if valueAt(a.yaml, "runs", "using") != "composite" || len(steps) < 4 {
		t.Fatalf("it has %d steps", len(steps))
	}
	for _, step := range steps {
		script, _ := valueAt(step, "run").(string)
		check := exec.Command("bash", "-n")
		check.Stdin = strings.NewReader(script)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", valueAt(step, "name"), err, said)
		}
		// What comes from outside reaches a script as a variable, never as its text.
		if strings.Contains(script, "${{") {
			t.Errorf("%v has an expression in its script", valueAt(step, "name"))
		}
		values, _ := valueAt(step, "env").(map[string]any)
		for name := range values {
			if !strings.Contains(script, "$"+name) && !strings.Contains(script, "${"+name) {
				t.Errorf("%v does not use %s", valueAt(step, "name"), name)
			}
		}
	}
}

func TestActionRunsASuite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	needsBash(t)
	made := suiteFolder(t)
	for _, c := range []struct {
		name string
		with map[string]string
		want int
		said string // in what is printed
	}{
		{"a suite", map[string]string{"suite": "suite.yaml"}, 0, "::notice title=quickstart"},
		{"as the baseline", map[string]string{"suite": "suite.yaml", "baseline": "main", "diff-args": "--margin 0.3 --margin 50%"}, 0, "compared with `?baselines/main.jsonl"},
		{"worse than the baseline", map[string]string{"suite": "suite.yaml", "baseline": "main", "args": " --set terminate.max_iterations=1\n --quiet "}, 1, "worse"},
		{"a threshold that does not hold", map[string]string{"suite": "suite.yaml", "args": "--threshold configurations.default.runs<0"}, 1, "does not hold"},
		{"no such suite", map[string]string{"suite": "sweet.yaml", "baseline": "main"}, 2, "file not found: sweet.yaml"},
		{"a spec that is wrong", map[string]string{"suite": "wrong.yaml"}, 3, "wrong.yaml:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte("suite: wrong\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := newAction(t, dir, c.with)
			code := a.run()
			if code != c.want || a.values["steps.answer.outputs.exit-code"] != string(rune('0'+c.want)) || !regexp.MustCompile(c.said).MatchString(a.printed.String()) {
				t.Fatalf("exit code %d, %q; it printed\n%s", code, a.values["steps.answer.outputs.exit-code"], a.printed.String())
			}
			if c.want > 1 {
				return
			}
			for file, want := range map[string]string{"summary.md": "`quickstart`", "results/comment.md": "<!-- agentbench ", "results/junit.xml": "<testsuites", "results/ci/manifest.json": `"status": "complete"`} {
				text, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil || !strings.Contains(string(text), want) {
					t.Errorf("%s: %v\n%s", file, err, text)
				}
			}
		})
	}
}

// A program that was downloaded is used only if it is the one that was meant.
func TestActionChecksWhatItDownloads(t *testing.T) {
	skipLong(t)
	t.Parallel()
	needsBash(t)
	for _, tool := range []string{"curl", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool)
		}
	}
	program, err := exec.LookPath("agentbench")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	for sha, want := range map[string]int{hex.EncodeToString(sum[:]): 0, strings.Repeat("0", 64): 1, "": 1} {
		a := newAction(t, t.TempDir(), map[string]string{"binary": "", "url": "file://" + program, "sha256": sha})
		if code := a.step(valueAt(a.yaml, "runs", "steps", 0)); code != want || strings.Contains(a.printed.String(), "(go1.") != (want == 0) {
			t.Errorf("sha256 %q: exit code %d\n%s", sha, code, a.printed.String())
		}
	}
}

func TestActionTakesARelease(t *testing.T) {
	skipLong(t)
	t.Parallel()
	needsBash(t)
	for _, tool := range []string{"curl", "sha256sum", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("there is no " + tool)
		}
	}
	releases := t.TempDir()
	folder := filepath.Join(releases, "v1.2.3")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho released \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "agentbench"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(folder, "agentbench_1.2.3_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	if said, err := exec.Command("tar", "-czf", archive, "-C", folder, "agentbench").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	right := hex.EncodeToString(sum[:])
	for sums, fine := range map[string]bool{right + "  " + filepath.Base(archive) + "\n": true, strings.Repeat("0", 64) + "  " + filepath.Base(archive) + "\n": false, "": false} {
		if err := os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(sums), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"1.2.3", "v1.2.3"} {
			a := newAction(t, t.TempDir(), map[string]string{"binary": "", "version": version, "releases": "file://" + releases})
			code := a.step(valueAt(a.yaml, "runs", "steps", 0))
			if (code == 0) != fine || fine && !strings.Contains(a.printed.String(), "released version") {
				t.Errorf("version %s, checksums %q: exit code %d\n%s", version, sums, code, a.printed.String())
			}
		}
	}
}

// ciBlocks are the YAML blocks of docs/ci.md by the names in their first lines.
func ciBlocks(t *testing.T) map[string]map[string]any {
	t.Helper()
	named := map[string]map[string]any{}
	for _, b := range blocks(readDoc(t, "ci.md")) {
		if b.language != "yaml" {
			continue
		}
		name, ok := strings.CutPrefix(b.lines[0], "# ")
		if !ok {
			t.Fatalf("a YAML block does not start with its file's name: %q", b.lines[0])
		}
		named[name] = yamlOf(t, name, []byte(strings.Join(b.lines, "\n")+"\n"))
	}
	return named
}

// TestCIConsole runs the commands of docs/ci.md, in their order.
func TestCIConsole(t *testing.T) {
	text := readDoc(t, "ci.md")
	t.Chdir(t.TempDir())
	commands := 0
	for _, b := range blocks(text) {
		if b.language == "console" {
			commands += runAll(t, b.lines)
		}
	}
	if commands < 7 {
		t.Errorf("found %d commands", commands)
	}
}

// shell runs a script and gives its exit code and what it printed.
func shell(t *testing.T, dir, script string, env ...string) (int, string) {
	t.Helper()
	c := exec.Command("sh", "-ec", script)
	c.Dir, c.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	said, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(said)
}

func script(value any) string {
	lines, _ := value.([]any)
	var texts []string
	for _, line := range lines {
		text, _ := line.(string)
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

func TestCIOnGitLab(t *testing.T) {
	skipLong(t)
	t.Parallel()
	pipeline := ciBlocks(t)[".gitlab-ci.yml"]
	dir := suiteFolder(t)
	jobs, _ := valueAt(pipeline, "agentbench", "parallel").(int64)
	for i := range jobs {
		code, said := shell(t, dir, script(valueAt(pipeline, "agentbench", "script")), fmt.Sprint("CI_NODE_INDEX=", i+1), fmt.Sprint("CI_NODE_TOTAL=", jobs))
		if code != 0 || !strings.Contains(said, fmt.Sprintf("shard %d of %d", i+1, jobs)) {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	code, said := shell(t, dir, script(valueAt(pipeline, "compare", "script")))
	if code != 0 || !strings.Contains(said, "merged shards 1, 2 and 3 of 3: 1080 runs") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	junit, _ := valueAt(pipeline, "compare", "artifacts", "reports", "junit").(string)
	for _, file := range []string{"results/comment.md", junit} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// runActions runs the steps of a job on GitHub that are agentbench's action.
func runActions(t *testing.T, dir string, job any, matrix string) (exits []int, last *action) {
	t.Helper()
	steps, _ := valueAt(job, "steps").([]any)
	for _, step := range steps {
		if uses, _ := valueAt(step, "uses").(string); !strings.HasPrefix(uses, "agentbench/agentbench@") {
			continue
		}
		with := map[string]string{}
		given, _ := valueAt(step, "with").(map[string]any)
		for name, value := range given {
			with[name] = strings.ReplaceAll(fmt.Sprint(value), "${{ matrix.shard }}", matrix)
		}
		last = newAction(t, dir, with)
		exits = append(exits, last.run())
	}
	return exits, last
}

func TestCIOnGitHub(t *testing.T) {
	skipLong(t)
	t.Parallel()
	needsBash(t)
	files := ciBlocks(t)
	dir := suiteFolder(t)
	compare := valueAt(files[".github/workflows/agentbench.yml"], "jobs", "compare")
	exits, a := runActions(t, dir, compare, "")
	if fmt.Sprint(exits) != "[0]" {
		t.Fatalf("exit codes %v\n%s", exits, a.printed.String())
	}
	sharded := files[".github/workflows/agentbench-shards.yml"]
	shards, _ := valueAt(sharded, "jobs", "shard", "strategy", "matrix", "shard").([]any)
	for _, shard := range shards {
		exits, a := runActions(t, dir, valueAt(sharded, "jobs", "shard"), fmt.Sprint(shard))
		if fmt.Sprint(exits) != "[0]" || !strings.Contains(a.printed.String(), fmt.Sprintf("shard %v of %d, ", shard, len(shards))) {
			t.Fatalf("exit codes %v\n%s", exits, a.printed.String())
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "results", "ci")); err != nil { // of the other workflow
		t.Fatal(err)
	}
	exits, a = runActions(t, dir, valueAt(sharded, "jobs", "merge"), "")
	if fmt.Sprint(exits) != "[0]" || !strings.Contains(a.printed.String(), "merged shards 1, 2 and 3 of 3") {
		t.Fatalf("exit codes %v\n%s", exits, a.printed.String())
	}
}

// The comment of an earlier push is found by its marker and replaced.
func TestCIComment(t *testing.T) {
	skipLong(t)
	t.Parallel()
	needsBash(t)
	dir := suiteFolder(t)
	typed(t, 0, nil, "report", filepath.Join(dir, "first"), "--write", "comment="+filepath.Join(dir, "comment.md"))
	steps, _ := valueAt(ciBlocks(t)[".github/workflows/agentbench.yml"], "jobs", "compare", "steps").([]any)
	for _, step := range steps {
		text, _ := valueAt(step, "run").(string)
		if text == "" {
			continue
		}
		// A gh that lists what the environment holds and notes what it is asked.
		gh := "#!/bin/sh\necho \"$*\" >>asked\ncase \"$*\" in *--jq*) echo \"$COMMENTS\" ;; esac\n"
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(gh), 0o700); err != nil {
			t.Fatal(err)
		}
		for before, want := range map[string]string{
			"":   "api --silent repos/o/r/issues/7/comments --field body=@comment.md",
			"42": "api --silent --method PATCH repos/o/r/issues/comments/42 --field body=@comment.md",
		} {
			env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "COMMENT=comment.md", "PULL=7", "GITHUB_REPOSITORY=o/r", "COMMENTS=" + before}
			if code := (&action{t: t, dir: dir}).bash(text, env); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
			if lines := strings.Split(strings.TrimSpace(string(asked)), "\n"); lines[len(lines)-1] != want || !strings.Contains(string(asked), "<!-- agentbench report quickstart -->") {
				t.Errorf("it asked\n%s\nwant last\n%s", asked, want)
			}
		}
	}
}

func TestCIOnKubernetes(t *testing.T) {
	skipLong(t)
	t.Parallel()
	files := ciBlocks(t)
	run, compare := files["agentbench-run.yaml"], files["agentbench-compare.yaml"]
	shards, _ := valueAt(run, "spec", "completions").(int64)
	container := valueAt(run, "spec", "template", "spec", "containers", 0)
	if valueAt(run, "spec", "completionMode") != "Indexed" || environment(container)["AGENTBENCH_SHARDS"] != strconv.FormatInt(shards, 10) || shards < 2 {
		t.Errorf("%d completions, the environment %v", shards, environment(container))
	}
	if grace, _ := valueAt(run, "spec", "template", "spec", "terminationGracePeriodSeconds").(int64); grace <= 50 {
		t.Errorf("the pod is killed after %d s, before --grace ends", grace)
	}
	dir := suiteFolder(t)
	results := "RESULTS=" + filepath.Join(dir, "volume")
	for i := range shards {
		code, said := inContainer(t, dir, container, results, fmt.Sprint("JOB_COMPLETION_INDEX=", i))
		if code != 0 || !strings.Contains(said, fmt.Sprintf("shard %d of %d, ", i+1, shards)) {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	code, said := inContainer(t, dir, valueAt(compare, "spec", "template", "spec", "containers", 0), results)
	if code != 0 || !strings.Contains(said, "merged shards 1, 2, 3 and 4 of 4: 1080 runs") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for _, file := range []string{"junit.xml", "comment.md", "ci/manifest.json"} {
		if _, err := os.Stat(filepath.Join(dir, "volume", file)); err != nil {
			t.Error(err)
		}
	}
	for _, job := range []any{run, compare} {
		if valueAt(job, "apiVersion") != "batch/v1" || valueAt(job, "kind") != "Job" || valueAt(job, "spec", "template", "spec", "restartPolicy") != "Never" {
			t.Errorf("%v is no Job", job)
		}
	}
}

// environment are the variables of a container that have values.
func environment(container any) map[string]string {
	found := map[string]string{}
	list, _ := valueAt(container, "env").([]any)
	for _, entry := range list {
		name, _ := valueAt(entry, "name").(string)
		if value, ok := valueAt(entry, "value").(string); ok {
			found[name] = value
		}
	}
	return found
}

// inContainer runs what a container would, with other values of its variables.
func inContainer(t *testing.T, dir string, container any, env ...string) (int, string) {
	t.Helper()
	if command := script(valueAt(container, "command")); command != "sh\n-ec" {
		t.Fatalf("the command is %q", command)
	}
	var all []string
	for name, value := range environment(container) {
		all = append(all, name+"="+value)
	}
	return shell(t, dir, script(valueAt(container, "args")), append(all, env...)...)
}
