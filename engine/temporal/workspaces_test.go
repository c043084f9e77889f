package temporal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// workspaceSuite has a program that calls a model, edits files and is judged by tests, some
// of which it never sees. In the other configuration it fails.
const workspaceSuite = `suite: fix
tasks:
  - {id: two, input: "Repair the list.", vars: {list: "bug\nbug\n"}}
  - {id: one, input: "Repair the list.", vars: {list: "fine\nbug\n"}}
  - {id: mail@example, input: "Repair the list.", vars: {list: "bug\nfine\nbug\nbug\n"}}
models: {m: {provider: script, price: free, responses: [good], after_last: repeat}}
configurations:
  - {name: fix, loop: fix.loop.yaml}
  - {name: lazy, loop: fix.loop.yaml, set: {terminate.max_iterations: 1}}
trials: 2
scorers:
  - {name: solved, type: test, command: [sh, -c, '! grep bug list.txt']}
  - {name: hidden, type: test, command: [sh, hidden.sh], overlay: '{"hidden.sh": "grep -q good list.txt && test -d empty && test -e results/expected"}'}
concurrency: 4
`

const workspaceLoop = `loop: fix
workspace:
  from: '"seed"'
  files: '{"list.txt": task.vars.list}'
  setup: {command: [sh, prepare.sh]}
  snapshot: step
  keep: failed
  sandbox: SANDBOX
agent:
  models: {default: m}
  command: [sh, fix.sh, "{{ prompt }}"]
prompt: "{{ task.input }} {{ feedback }}"
evaluate:
  test: [sh, -c, '! grep bug list.txt']
  checks:
    - {name: keeps the list, expr: '!("list.txt" in workspace.deleted)', feedback: do not delete list.txt}
terminate: {max_iterations: 3}
`

// fixProgram replaces one bug by the model's word, and touches a file before it asks again. It
// needs no more than busybox has.
const fixProgram = `ask() {
	body='{"model":"m","messages":[{"role":"user","content":"'"$1"'"}]}'
	if command -v curl >/dev/null; then
		curl -s -f -H "Authorization: Bearer $OPENAI_API_KEY" -d "$body" "$OPENAI_BASE_URL/chat/completions"
	else
		wget -q -O - --header "Authorization: Bearer $OPENAI_API_KEY" --post-data "$body" "$OPENAI_BASE_URL/chat/completions"
	fi | sed 's/.*"content":"\([^"]*\)".*/\1/'
}
word=$(ask first)
echo "asked for $1" >asked.txt
ask again >/dev/null
list=$(awk -v word="$word" '!n && sub(/bug/, word) {n = 1} 1' list.txt)
echo "$list" >list.txt
`

// busyboxImage is an image with nothing but busybox; the test skips where there can be none.
func busyboxImage(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"podman", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const image = "agentbench-test-worker"
	if exec.Command("podman", "image", "exists", image).Run() == nil {
		return image
	}
	const build = `set -e; mkdir "$0/bin"; cp "$(command -v busybox)" "$0/bin/busybox"; for a in $(busybox --list); do [ $a = busybox ] || ln -s busybox "$0/bin/$a"; done; tar -C "$0" -c . | podman import - "$1"`
	if said, err := exec.Command("sh", "-c", build, t.TempDir(), image).CombinedOutput(); err != nil {
		t.Skipf("this system makes no image: %v: %s", err, said)
	}
	return image
}

func workspaceFiles(sandbox string) map[string]string {
	return map[string]string{
		"suite.yaml": workspaceSuite, "fix.loop.yaml": strings.ReplaceAll(workspaceLoop, "SANDBOX", sandbox), "fix.sh": fixProgram,
		"prepare.sh": "mkdir -p empty && echo prepared >prepared.txt", "seed/results/expected": "", "seed/manifest.json": "{}", "seed/README": strings.Repeat("what all runs have\n", 1000),
	}
}

// A suite whose programs work in folders of their own is the one that one machine makes, and so
// is all that can be done with it later.
func TestWorkspacesElsewhereAreAsHere(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	for sandbox, byBucket := range map[string]bool{"none": false, "bubblewrap": true, "container": false} {
		t.Run(sandbox, func(t *testing.T) {
			if sandbox == "container" {
				onDemand(t)
				sandbox = "{container: {image: " + busyboxImage(t) + "}}"
			}
			if _, err := exec.LookPath("bwrap"); sandbox == "bubblewrap" && err != nil {
				t.Skip(err)
			}
			s := newSite(t, false, workspaceFiles(sandbox))
			if err := os.Chmod(filepath.Join(s.dir, "suite/seed/README"), 0o664); err != nil { // as with another umask
				t.Fatal(err)
			}
			if byBucket {
				s.inBucket(s3(t))
			}
			s.startWorker(0, "--concurrency", "2")
			s.startWorker(1, "--concurrency", "2")
			s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
			s.must(s.elsewhere("there"))
			if here, there := s.records("here", timeless), s.records("there", timeless); len(here) != 12 || !maps.Equal(here, there) {
				t.Errorf("%d runs here, %d there, or they differ: %s", len(here), len(there), firstDifference(here, there))
			}
			if !slices.Equal(s.scores("here"), s.scores("there")) {
				t.Error("the scores differ")
			}
			s.undamaged("there")
			if sandbox != "none" && sandbox != "bubblewrap" { // what comes is the same, and would take many minutes
				return
			}
			for _, shard := range []string{"1", "2"} {
				s.must(s.elsewhere("shard"+shard, "--shard", shard+"/2"))
			}
			s.must(s.command("merge", "shard1", "shard2", "--out", "merged"))
			s.undamaged("merged")
			if left, err := results.Leftovers(filepath.Join(s.dir, "suite", "there")); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			for _, args := range []string{
				"show DIR fix/two/1 --diff", "show DIR fix/two/1 --files OUT", "export workspace DIR fix/mail@example/2@1 --out OUT",
				"export workspace DIR fix/two/1@1.2 --out OUT", "score DIR suite.yaml --again", "score DIR suite.yaml --at step", "score DIR --again",
				"replay DIR --set terminate.max_iterations=1", "repair DIR --prune", "show DIR fix/two/1 --diff",
			} {
				s.same(args)
			}
			for _, w := range s.workers {
				if err := w.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				_ = w.Wait()
			}
			s.keptOnly("lazy/two/", "lazy/mail@example/")
		})
	}
}

// inBucket makes the store a bucket.
func (s *site) inBucket(variables func(string) string) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
		s.env = append(s.env, name+"="+variables(name))
	}
	s.store = "s3://bench/some/prefix"
}

// undamaged holds the states of a folder to what its runs name.
func (s *site) undamaged(out string) {
	s.Helper()
	if damage, err := results.DamagedStates(s.Context(), filepath.Join(s.dir, "suite", out)); err != nil || !damage.None() {
		s.Errorf("%s: %+v, %v", out, damage, err)
	}
}

// took is a time, a size or a share of one that two folders do not have in common.
var took = regexp.MustCompile(`\s+(\([0-9]+%\)|[-<]*[0-9.]+(%| ?(ms|µs|s|bytes|kB|MB)\b))`)

// same runs a command on the results of both places, and compares what it says and writes.
func (s *site) same(args string) {
	s.Helper()
	var said [2]string
	var wrote [2]map[string]string
	for i, dir := range []string{"here", "there"} {
		out := filepath.Join(s.TempDir(), "out")
		c := s.command(strings.Fields(strings.NewReplacer("DIR", dir, "OUT", out).Replace(args))...)
		text, err := c.CombinedOutput()
		said[i] = took.ReplaceAllString(strings.NewReplacer(dir, "DIR", out, "OUT").Replace(string(text)), " TIME") + fmt.Sprint(err)
		wrote[i] = s.files(out)
	}
	if said[0] != said[1] {
		s.Errorf("%s: here\n%s\nthere\n%s", args, said[0], said[1])
	}
	if strings.Contains(args, "OUT") && len(wrote[0]) < 4 || !maps.Equal(wrote[0], wrote[1]) {
		s.Errorf("%s: here %d files, there %d, or they differ: %s", args, len(wrote[0]), len(wrote[1]), said[0])
	}
}

// files are the contents of those below a folder, with their modes.
func (s *site) files(dir string) map[string]string {
	s.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		found[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			found[name] += string(text)
			return err
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return found
}

// keptOnly holds what workers that have ended left of runs on their machine.
func (s *site) keptOnly(runs ...string) {
	s.Helper()
	kept := map[string]bool{}
	for n := range s.workers {
		for name := range s.files(filepath.Join(s.dir, fmt.Sprint("w", n), "runs")) {
			if !strings.HasSuffix(name, "/list.txt") {
				continue
			}
			_, run, in := strings.Cut(name, "/workspaces/kept/")
			if !in {
				s.Errorf("worker %d left %s", n, name)
			}
			kept[run] = true
		}
	}
	for _, run := range runs {
		if !kept[run+"1/list.txt"] || !kept[run+"2/list.txt"] {
			s.Errorf("the workspaces of %s are not kept: %v", run, kept)
		}
	}
	if len(kept) != 2*len(runs) {
		s.Errorf("%v are kept", kept)
	}
}

// firstDifference tells where records differ.
func firstDifference(here, there map[string]string) string {
	for _, id := range slices.Sorted(maps.Keys(here)) {
		if here[id] != there[id] {
			return "\n" + here[id] + "\n" + there[id]
		}
	}
	return ""
}

// What was recorded there answers what would have been with fewer steps, as if it had been recorded here.
func TestStepsOfProgramsElsewhere(t *testing.T) {
	s := newSite(t, false, map[string]string{"suite.yaml": ""})
	s.startWorker(0)
	s.must(s.command("run", "coding", "-q", "--out", "here"))
	s.must(s.command(append([]string{"run", "coding", "--executor", "temporal", "-q", "--out", "there"}, s.there()...)...))
	if here, there := s.records("here", timeless), s.records("there", timeless); len(here) == 0 || !maps.Equal(here, there) {
		t.Errorf("%d runs here, %d there, or they differ: %s", len(here), len(there), firstDifference(here, there))
	}
	for _, args := range []string{"score DIR coding --at step", "report DIR --table steps", "replay DIR:steps-8 --sweep guards.budget.steps=1..8 --table configurations"} {
		s.same(args)
	}
}

// A workspace may begin with a commit of the repository that the suite's folder is.
func TestARepositoryTravels(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	s := newSite(t, false, map[string]string{
		"suite.yaml":  "suite: s\ntasks: [{id: t, input: i}]\nconfigurations: [{name: a, loop: a.loop.yaml}]\n",
		"a.loop.yaml": "loop: a\nworkspace: {from: {git: '{{ \".\" }}', ref: main}}\nagent: {command: [ls]}\nprompt: p\nterminate: {max_iterations: 1}\n",
		"file":        "committed",
	})
	for _, args := range []string{"init -q -b main", "add -A", "-c user.name=a -c user.email=a@example.com commit -q -m a"} {
		c := exec.Command(git, strings.Fields(args)...)
		c.Dir = filepath.Join(s.dir, "suite")
		s.must(c)
	}
	s.startWorker(0)
	s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
	s.must(s.elsewhere("there"))
	if here, there := s.records("here", timeless), s.records("there", timeless); len(here) != 1 || !maps.Equal(here, there) {
		t.Errorf("they differ: %s", firstDifference(here, there))
	}
}

// Runs that a second signal cancels leave whole states, too; the same command makes them again.
func TestInterruptedWorkspaces(t *testing.T) {
	const runs = 8
	signals := t.TempDir()
	s := newSite(t, false, map[string]string{
		"tasks.jsonl": tasks(runs), "a.loop.yaml": strings.ReplaceAll(`loop: a
workspace: {files: '{"log.txt": task.input + "\n"}'}
agent: {command: [sh, -c, "test $1 = 0 || test -e $2/go || sleep 600; echo $1 >>log.txt", sh, "{{ iteration }}", SIGNALS]}
prompt: p
terminate: {max_iterations: 2}
`, "SIGNALS", signals),
		"suite.yaml": "suite: s\ntasks: tasks.jsonl\nconfigurations: [{name: a, loop: a.loop.yaml}]\nconcurrency: 4\n",
	})
	s.startWorker(0)
	c := s.elsewhere("there", "--events", "events.jsonl")
	var said safe
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "all that are in progress have a state", func() bool {
		text, _ := os.ReadFile(filepath.Join(s.dir, "suite/events.jsonl"))
		return strings.Count(string(text), `"event":"iteration_completed"`) == 4
	})
	for _, heard := range []string{"stopping", "cancel"} {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		await(t, heard, func() bool { return said.has(heard) || c.ProcessState != nil })
	}
	if err, ok := errors.AsType[*exec.ExitError](c.Wait()); !ok || err.ExitCode() != 4 {
		t.Errorf("%v: %s", err, said.String())
	}
	s.undamaged("there")
	cancelled := 0
	for run, err := range record.ReadRuns(filepath.Join(s.dir, "suite/there")) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Outcome.Status == record.Cancelled && run.Iterations[0].Workspace != nil {
			cancelled++
		}
	}
	if cancelled != 4 {
		t.Errorf("%d cancelled runs have a state, want 4", cancelled)
	}
	if err := os.WriteFile(filepath.Join(signals, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.must(s.elsewhere("there"))
	s.undamaged("there")
	if n := len(s.records("there", timeless)); n < runs {
		t.Errorf("%d of %d runs are there", n, runs)
	}
}

// A worker that is lost with its disk loses the runs that were in progress, and no more: the states
// of the others are in the store.
func TestAWorkerWhoseDiskIsGone(t *testing.T) {
	const runs = 6
	begun, hanging, goOn := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "hanging"), filepath.Join(t.TempDir(), "go")
	s := newSite(t, false, map[string]string{
		"tasks.jsonl": tasks(runs), "a.loop.yaml": strings.NewReplacer("BEGUN", begun, "HANGING", hanging, "GO", goOn).Replace(`loop: a
workspace: {files: '{"log.txt": task.input + "\n"}'}
agent: {command: [sh, -c, "cat log.txt >>BEGUN; test $(wc -l <BEGUN) -le 3 || test -e GO || { echo >>HANGING; sleep 600; }; echo done >>log.txt"]}
prompt: p
terminate: {max_iterations: 1}
`),
		"suite.yaml": "suite: s\ntasks: tasks.jsonl\nconfigurations: [{name: a, loop: a.loop.yaml}]\nconcurrency: 2\n",
	})
	s.startWorker(0)
	c := s.elsewhere("there")
	var said safe
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timesBegun := func() map[string]int {
		text, _ := os.ReadFile(begun)
		times := map[string]int{}
		for line := range strings.Lines(string(text)) {
			times[strings.TrimSpace(line)]++
		}
		return times
	}
	await(t, "two runs hang, the others are done", func() bool {
		text, _ := os.ReadFile(hanging)
		return len(text) == 2 && s.done("there") >= 2 && len(timesBegun()) == s.done("there")+2
	})
	done := s.records("there", timeless)
	_ = s.workers[0].Process.Kill()
	_ = s.workers[0].Wait()
	if err := errors.Join(os.RemoveAll(filepath.Join(s.dir, "w0")), os.WriteFile(goOn, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	s.startWorker(1)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	s.undamaged("there")
	if n := len(s.records("there", timeless)); n != runs {
		t.Errorf("%d of %d runs are there", n, runs)
	}
	all := 0
	for task, times := range timesBegun() {
		all += times
		if _, before := done["a/t"+strings.TrimPrefix(task, "task ")+"/1"]; before && times != 1 {
			t.Errorf("%s was made %d times", task, times)
		}
	}
	if all != runs+2 || len(done) < 2 {
		t.Errorf("%d runs were begun for %d; %d were done before", all, runs, len(done))
	}
}

// Workers that are lost in the middle of such runs leave nothing behind, and lose no state.
func TestWorkspacesOfLostWorkers(t *testing.T) {
	const runs = 24
	s := newSite(t, true, map[string]string{
		"tasks.jsonl": tasks(runs), "a.loop.yaml": `loop: a
workspace: {files: '{"log.txt": task.input + "\n"}', setup: {command: [sh, -c, "echo set up >>log.txt"]}}
agent: {command: [sh, -c, "sleep 0.2; echo $1 >>log.txt; cp log.txt copy-$1.txt; echo '{\"quality\": 0.7}'", sh, "{{ iteration }}"], reply: json}
prompt: "{{ task.input }}"
evaluate: {test: [sh, -c, "test $(wc -l <log.txt) = 5"]}
terminate: {max_iterations: 3}
`,
		"suite.yaml": `suite: lost
tasks: tasks.jsonl
configurations: [{name: a, loop: a.loop.yaml}]
scorers: [{name: solved, type: test, command: [sh, -c, "test -e copy-3.txt"]}]
concurrency: 8
`,
	})
	s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
	for n := range 2 {
		s.startWorker(n, "--concurrency", "4")
	}
	kills := s.troubled(runs, 2*time.Second, 4)
	if here, there := s.records("here", timeless), s.records("there", timeless); len(here) != runs || !maps.Equal(here, there) {
		t.Errorf("%d runs here, %d there, or they differ: %s", len(here), len(there), firstDifference(here, there))
	}
	if !slices.Equal(s.scores("here"), s.scores("there")) {
		t.Error("the scores differ")
	}
	s.undamaged("there")
	if kills == 0 {
		t.Error("no worker was killed")
	}
	t.Logf("%d workers killed", kills)
	for n, w := range s.workers {
		_ = w.Process.Kill()
		_ = w.Wait()
		s.startWorker(n)
		await(t, "the worker clears what those before it left", func() bool { return len(s.files(filepath.Join(s.dir, fmt.Sprint("w", n), "runs"))) <= 1 })
	}
}
