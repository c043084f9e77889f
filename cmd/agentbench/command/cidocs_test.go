package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

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
