package temporal

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/results"
)

// workspaceSuite has a program that calls a model, edits files and is judged by tests, some
// of which it never sees. In the other configuration it fails.
const workspaceSuite = `suite: fix
tasks:
  - {id: two, input: "Repair the list.", vars: {list: "bug\nbug\n"}}
  - {id: mail@example, input: "Repair the list.", vars: {list: "bug\nfine\nbug\nbug\n"}}
models: {m: {provider: script, price: free, responses: [good], after_last: repeat}}
configurations:
  - {name: fix, loop: fix.loop.yaml}
  - {name: lazy, loop: fix.loop.yaml, set: {terminate.max_iterations: 1}}
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

// A suite whose programs work in folders of their own is the one that one machine makes, with the states
// that its runs name.
func TestWorkersMakeTheSameWorkspaces(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	for sandbox, store := range map[string]func(testing.TB) func(string) string{"none": nil, "bubblewrap": s3, "container": nil} {
		t.Run(sandbox, func(t *testing.T) {
			if sandbox == "container" {
				onDemand(t)
				sandbox = "{container: {image: " + busyboxImage(t) + "}}"
			}
			if _, err := exec.LookPath("bwrap"); sandbox == "bubblewrap" && err != nil {
				t.Skip(err)
			}
			s := newSite(t, sharedServer, workspaceFiles(sandbox))
			if err := os.Chmod(filepath.Join(s.dir, "suite/seed/README"), 0o664); err != nil { // as with another umask
				t.Fatal(err)
			}
			if store != nil {
				s.inBucket(store(t))
			}
			s.startWorker(0, "--concurrency", "2")
			s.startWorker(1, "--concurrency", "2")
			s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
			s.must(s.byWorkers("there"))
			s.alike("here", "there", 4, timeless)
			s.undamaged("there")
			if left, err := results.Leftovers(filepath.Join(s.dir, "suite", "there")); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			for _, dir := range []string{"here", "there"} { // a state can be restored
				s.must(s.command("export", "workspace", dir, "fix/mail@example/1@1.2", "--out", filepath.Join(s.dir, dir)))
			}
			if here, there := s.files(filepath.Join(s.dir, "here")), s.files(filepath.Join(s.dir, "there")); len(here) < 4 || !maps.Equal(here, there) {
				t.Errorf("a state has %v here, %v there", here, there)
			}
		})
	}
}
