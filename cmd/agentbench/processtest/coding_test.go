package processtest

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// The coding agents that are tried, as npm has them. Environment variables name the folders in
// which they were installed.
const (
	codexPackage = "@openai/codex"
	codexVersion = "0.171.0"
	codexFolder  = "AGENTBENCH_CODEX"

	qwenPackage = "@qwen-code/qwen-code"
	qwenVersion = "0.24.4"
	qwenFolder  = "AGENTBENCH_QWEN"
)

// The document says which versions are tried.
func TestCodingAgentsDocumentVersions(t *testing.T) {
	text, err := os.ReadFile("../../../docs/coding-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{codexVersion, qwenVersion} {
		if !bytes.Contains(text, []byte(" "+version+", in CI")) {
			t.Errorf("docs/coding-agents.md does not say that %s was tried", version)
		}
	}
}

// centsPerCall is what a call of the models in testdata/coding.txtar costs.
const centsPerCall = 3

// TestCodingAgents runs real coding agents as users do, without a network: what is held of them
// is held by agentbench, by what their own tools wrote, and by the files that they left.
func TestCodingAgents(t *testing.T) {
	skipLong(t)
	t.Parallel()
	newCoding(t, trial{sandbox: "bubblewrap", tasks: []string{"one", "two"}, trials: 1}).try()
}

// TestCodingAgentsLong tries more tasks in each sandbox, where AGENTBENCH_CODING is set.
func TestCodingAgentsLong(t *testing.T) {
	if os.Getenv("AGENTBENCH_CODING") == "" {
		t.Skip("AGENTBENCH_CODING is not set")
	}
	tasks := strings.Fields("one two three four five six seven eight nine ten eleven twelve")
	for _, sandbox := range []string{"none", "bubblewrap", "container"} {
		t.Run(sandbox, func(t *testing.T) { newCoding(t, trial{sandbox: sandbox, tasks: tasks, trials: 2}).try() })
		t.Run(sandbox+" killed", func(t *testing.T) {
			newCoding(t, trial{sandbox: sandbox, tasks: tasks[:4], trials: 2, spare: 1000}).killed()
		})
	}
}

// trial is where coding agents run, and on how many tasks how often.
type trial struct {
	sandbox string
	tasks   []string
	trials  int
	spare   int // cents of the budget beyond what the runs cost
}

// runs is how many each configuration makes.
func (f trial) runs() int { return len(f.tasks) * f.trials }

// try runs both coding agents on all tasks, whole and cut at their third step.
func (c *coding) try() {
	if said, err := c.agentbench("run", "suite.yaml", "--out", "out", "--cache", "off", "-q"); err != nil {
		c.Fatalf("%v\n%s", err, said)
	}
	runs := c.runs("out")
	for _, program := range []string{"codex", "qwen"} {
		for _, task := range c.tasks {
			for n := 1; n <= c.trials; n++ {
				c.tried(runs, program, fmt.Sprintf("%s/%d", task, n))
			}
		}
	}
	c.spent(runs, 2*c.trial.runs()*(4+2))
	for _, program := range []string{"codex", "qwen"} {
		c.replayed(program, map[string][2]float64{"solved": {0, 1}, "checked": {0, 0}}) // as the runs that were really cut
	}
	c.scored("out", map[string]float64{"solved": 1, "checked": 1}, "codex", "qwen")
	c.scored("out", map[string]float64{"solved": 1, "checked": 0}, "codex-cut", "qwen-cut")
	if left := c.alive(); left != "" {
		c.Errorf("a process outlived its run: %q", left)
	}
}

// tried holds a whole run of a program against one that was cut.
func (c *coding) tried(runs map[string]*record.Run, program, of string) {
	c.Helper()
	whole, cut := runs[program+"/"+of], runs[program+"-cut/"+of]
	if whole == nil || cut == nil {
		c.Fatalf("%s and %s-cut did not both run %s: %v", program, program, of, slices.Sorted(maps.Keys(runs)))
	}
	task, _, _ := strings.Cut(of, "/")
	seen := "canary of " + task + "\n"
	if c.sandbox == "none" { // it sees our files, but not what our processes hold
		seen = ""
	}
	c.called(whole, 4, "")
	c.called(cut, 2, "budget_steps")
	c.wrote(whole, map[string]string{"main.txt": "answer = 42\n", "note.txt": "corrected\nchecked\n", "seen.txt": seen})
	c.wrote(cut, map[string]string{"main.txt": "answer = 42\n", "note.txt": "corrected\n"})
	c.leftTheSame(whole, cut)
}

// TestCodingAgentsAfterAKill kills agentbench while coding agents work: no process is left of them, and the next command makes
// the records that would have been made.
func TestCodingAgentsAfterAKill(t *testing.T) {
	skipLong(t)
	t.Parallel()
	newCoding(t, trial{sandbox: "bubblewrap", tasks: []string{"one"}, trials: 1, spare: 100}).killed()
}

// killed kills the run of the suite once its first run has ended, and runs it to its end.
func (c *coding) killed() {
	child := exec.CommandContext(c.Context(), cmp.Or(c.binary, "agentbench"), "run", "suite.yaml", "--out", "out", "--cache", "off", "-q")
	var said bytes.Buffer
	child.Dir, child.Env, child.Stdout, child.Stderr = c.folder, c.env, &said, &said
	if err := child.Start(); err != nil {
		c.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = child.Wait(); close(ended) }()
	c.until("a run has ended", func() bool {
		select {
		case <-ended:
			c.Fatalf("it ended before it was killed:\n%s", said.String())
		default:
		}
		written, _ := os.ReadFile(filepath.Join(c.folder, "out", "records.jsonl"))
		return bytes.Contains(written, []byte("\n"))
	})
	if c.alive() == "" {
		c.Error("no coding agent works")
	}
	_ = child.Process.Kill()
	<-ended
	c.until("no process is left", func() bool { return c.alive() == "" })
	if made := len(c.runs("out")); made == 0 || made >= 4*c.trial.runs() {
		c.Fatalf("it was killed after %d runs", made)
	}
	if said, err := c.agentbench("run", "suite.yaml", "--out", "out", "--cache", "off", "-q"); err != nil {
		c.Fatalf("%v\n%s", err, said)
	}
	runs := c.runs("out")
	for _, program := range []string{"codex", "qwen"} {
		for _, task := range c.tasks {
			for n := 1; n <= c.trials; n++ {
				c.tried(runs, program, fmt.Sprintf("%s/%d", task, n))
			}
		}
	}
}

func (c *coding) until(what string, is func() bool) {
	c.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("it is not so that %s; %q runs", what, c.alive())
		}
	}
}

// The suite's budget ends a coding agent before the call for which there is no room.
func TestCodingAgentsKeepToTheBudget(t *testing.T) {
	skipLong(t)
	t.Parallel()
	c := newCoding(t, trial{sandbox: "bubblewrap", tasks: []string{"one"}, trials: 1})
	said, err := c.agentbench("run", "one-run.yaml", "--out", "out", "--cache", "off", "-q")
	if failed, ok := err.(*exec.ExitError); !ok || failed.ExitCode() != exit.Stopped {
		t.Fatalf("%v\n%s", err, said)
	}
	runs := c.runs("out")
	run := runs["codex/one/1"]
	if run == nil || run.Outcome.Reason != record.ReasonSuiteBudget {
		t.Fatalf("%+v", run)
	}
	c.spent(runs, 2) // 7 cents are enough for two calls
}

// coding is a folder with the suite, in which agentbench runs as users run it.
type coding struct {
	*testing.T
	trial
	folder string
	binary string // "": the one that tests run
	env    []string
	mark   string // the argument by which a process is known that an agent left behind
}

// marks counts the folders of this process, each of which has a mark of its own.
var marks atomic.Int64

func newCoding(t *testing.T, f trial) *coding {
	t.Helper()
	if said, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no coding agents: bubblewrap: %v %s; apt-get install bubblewrap", err, said)
	}
	c := &coding{T: t, trial: f, folder: t.TempDir(), mark: fmt.Sprintf("%d.%09d", 80_000+os.Getpid()%9999, marks.Add(1)*7919+int64(os.Getpid()))}
	installed := []string{installedAgent(t, codexPackage, codexVersion, codexFolder), installedAgent(t, qwenPackage, qwenVersion, qwenFolder)}
	path := append(installed, os.Getenv("PATH"))
	seen, sandbox, edit := "find /", f.sandbox, editedByTools
	switch f.sandbox {
	case "none": // it sees all files; where its own are, the script of a model cannot know
		seen, sandbox, edit = "false", "{none: accept}", editedByShell
	case "container":
		sandbox = "{container: {image: " + agentsImage(t, installed) + "}}"
		c.binary = staticBinary(t)
	}
	home := filepath.Join(c.folder, "home of the user")
	c.env = append(os.Environ(), "PATH="+strings.Join(path, string(filepath.ListSeparator)), "HOME="+home, "OPENAI_API_KEY=canary of key", "CODEX_HOME="+filepath.Join(home, ".codex"))
	budget := float64(2*f.runs()*(4+2)*centsPerCall+f.spare) / 100
	c.unpack("coding.txtar", "MARK", c.mark, "SANDBOX", sandbox, "EDIT", edit, "SEEN", seen, "TRIALS", fmt.Sprint(f.trials), "BUDGET", fmt.Sprintf("%.2f", budget))
	script, err := os.ReadFile(filepath.Join(c.folder, "look.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range f.tasks {
		c.write("repos/"+task+"/main.txt", "answer = 41\n")
		c.write("repos/"+task+"/secret.txt", "canary of "+task+"\n")
		c.write("repos/"+task+"/look.sh", string(script))
	}
	c.write("home of the user/.codex/auth.json", `{"OPENAI_API_KEY": "canary of home"}`)
	return c
}

// How qwen edits: with its tools, which want whole paths, or with a command.
const (
	editedByTools = `- {name: read_file, arguments: {file_path: /workspace/main.txt}}
            - {name: edit, arguments: {file_path: /workspace/main.txt, old_string: "answer = 41", new_string: "answer = 42"}}
            - {name: write_file, arguments: {file_path: /workspace/note.txt, content: "corrected\n"}}`
	editedByShell = `- {name: run_shell_command, arguments: {is_background: false, command: "sed -i s/41/42/ main.txt; echo corrected >note.txt"}}`
)

// staticBinary is an agentbench that runs in any image.
func staticBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "agentbench")
	build := exec.Command("go", "build", "-o", binary, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return binary
}

// agentsImage is an image with busybox, node, the coding agents, and bash, which qwen runs commands with.
func agentsImage(t *testing.T, installed []string) string {
	t.Helper()
	for _, program := range []string{"podman", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const image = "agentbench-test-agents:" + codexVersion + "-" + qwenVersion
	if exec.Command("podman", "image", "exists", image).Run() == nil {
		return image
	}
	const build = `set -e
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/tmp" "$root/usr/bin"
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in $(busybox --list); do [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"; done
for program in node bash; do
	for file in $(ldd "$(command -v "$program")" | grep -o '/[^ ]*'); do cp --parents -L "$file" "$root"; done
	cp -L "$(command -v "$program")" "$root/usr/bin/$program"
done
n=0
for bin; do
	n=$((n + 1))
	mkdir -p "$root/opt/$n"
	cp -a "$bin/.." "$root/opt/$n/node_modules"
	for command in "$bin"/*; do ln -s "/opt/$n/node_modules/.bin/${command##*/}" "$root/usr/bin/${command##*/}"; done
done
ln -s ../../bin/env "$root/usr/bin/env"
tar -C "$root" -c . | podman import - "$0"`
	if said, err := exec.Command("sh", append([]string{"-c", build, image}, installed...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return image
}

// unpack writes the files of an archive in testdata, in which some words stand for others.
func (c *coding) unpack(archive string, words ...string) {
	c.Helper()
	packed, err := txtar.ParseFile(filepath.Join("../../../testdata", archive))
	if err != nil {
		c.Fatal(err)
	}
	for _, file := range packed.Files {
		c.write(file.Name, strings.NewReplacer(words...).Replace(string(file.Data)))
	}
}

func (c *coding) write(name, text string) {
	c.Helper()
	at := filepath.Join(c.folder, name)
	if err := cmp.Or(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
		c.Fatal(err)
	}
}

// installedAgent is the folder of the commands of a package. The test is skipped where there is none.
func installedAgent(t *testing.T, name, version, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if _, err := exec.LookPath("node"); err != nil || dir == "" {
		t.Skipf("no coding agents: install node, and set %s to a folder with %s %s", variable, name, version)
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	if found, err := os.ReadFile(filepath.Join(dir, "node_modules", name, "package.json")); err != nil || !bytes.Contains(found, []byte(`"version": "`+version+`"`)) {
		t.Fatalf("%s is %s: it holds no %s %s (%v)", variable, dir, name, version, err)
	}
	return bin
}

func (c *coding) agentbench(args ...string) (said []byte, err error) {
	command := exec.CommandContext(c.Context(), cmp.Or(c.binary, "agentbench"), args...)
	command.Dir, command.Env = c.folder, c.env
	return command.CombinedOutput()
}

func (c *coding) runs(out string) map[string]*record.Run {
	c.Helper()
	runs := map[string]*record.Run{}
	for run, err := range record.ReadRuns(filepath.Join(c.folder, out)) {
		if err != nil {
			c.Fatal(err)
		}
		runs[run.ID] = run
	}
	return runs
}

// calls are those of models that a run's program made.
func calls(run *record.Run) (made []record.Call) {
	for i := range run.Iterations {
		for _, call := range run.Iterations[i].Calls {
			if call.Role == record.RoleAgent {
				made = append(made, call)
			}
		}
	}
	return made
}

// called holds the record of a run of one iteration against the calls that its program was to make.
func (c *coding) called(run *record.Run, want int, cut string) {
	c.Helper()
	made := calls(run)
	if len(run.Iterations) != 1 || string(run.Iterations[0].Cut) != cut || len(made) != want {
		c.Fatalf("%s: %d iterations, %d calls, want %d; %+v", run.ID, len(run.Iterations), len(made), want, run.Outcome)
	}
	for i, call := range made {
		if call.Step != i+1 || call.Kind != "main" || call.Conversation != "main" || call.Tree == "" || call.Ended < call.Arrived || call.Usage.Cost != cents(centsPerCall) {
			c.Errorf("%s, call %d: %+v", run.ID, i+1, call)
		}
	}
	if run.Usage.Cost != cents(want*centsPerCall) {
		c.Errorf("%s cost %d, its %d calls %d", run.ID, run.Usage.Cost, want, cents(want*centsPerCall))
	}
}

func cents(n int) record.Money { return record.Money(n) * record.USD / 100 }

// wrote holds the folder that a run left on the disk against what its program was to write.
func (c *coding) wrote(run *record.Run, want map[string]string) {
	c.Helper()
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(c.kept(run), name)); err != nil || string(got) != text {
			c.Errorf("%s left in %s %q (%v), want %q", run.ID, name, got, err, text)
		}
	}
}

func (c *coding) kept(run *record.Run) string {
	return filepath.Join(c.folder, "out", "workspaces", "kept", filepath.FromSlash(run.ID))
}

// leftTheSame holds what a run that was ended at its third call left on the disk, byte for
// byte, against the state that a whole run had when its third call arrived.
func (c *coding) leftTheSame(whole, cut *record.Run) {
	c.Helper()
	third := calls(whole)[2]
	if left := cut.Iterations[0].Workspace; left == nil || left.Tree != third.Tree {
		c.Errorf("%s left another tree than %s had at its third call", cut.ID, whole.ID)
	}
	c.leftAsIn(cut, whole.ID+"@1.3")
}

// leftAsIn holds what a run left on the disk, byte for byte, against a state of a run.
func (c *coding) leftAsIn(run *record.Run, state string) {
	c.Helper()
	out := "state of " + strings.ReplaceAll(run.ID, "/", "-")
	if said, err := c.agentbench("export", "workspace", "out", state, "--out", out); err != nil {
		c.Fatalf("%v\n%s", err, said)
	}
	if differs, err := exec.Command("diff", "-r", filepath.Join(c.folder, out), c.kept(run)).CombinedOutput(); err != nil {
		c.Errorf("%s: %v\n%s", run.ID, err, differs)
	}
}

// spent holds what the calls of the runs cost against how many there are.
func (c *coding) spent(runs map[string]*record.Run, want int) {
	c.Helper()
	var paid record.Money
	made := 0
	for _, run := range runs {
		paid += run.Total().Cost
		made += len(calls(run))
	}
	if made != want || paid != cents(want*centsPerCall) {
		c.Errorf("%d calls, want %d; %d were paid, want %d", made, want, paid, cents(want*centsPerCall))
	}
}

// replayed holds what replay says of smaller limits of steps against what calls cost, and against
// the scores of a limit of one step and of two.
func (c *coding) replayed(configuration string, scores map[string][2]float64) {
	c.Helper()
	said, err := c.agentbench("replay", "out", "--suite", "suite.yaml", "--configuration", configuration, "--parameter", "guards.budget.steps=1..4", "--evaluate", "--table", "configurations", "--format", "csv")
	if err != nil {
		c.Fatalf("%v\n%s", err, said)
	}
	rows, err := csv.NewReader(bytes.NewReader(said)).ReadAll()
	if err != nil || len(rows) < 4 {
		c.Fatalf("%v\n%s", err, said)
	}
	rows, titles := rows[len(rows)-4:], rows[0]
	for steps := 1; steps <= 4; steps++ {
		row := map[string]string{}
		for i, title := range titles {
			row[title] = rows[steps-1][i]
		}
		want := map[string]string{"configuration": fmt.Sprintf("steps=%d", steps), "label": "exact", "calls_mean": fmt.Sprint(steps), "cost_usd_mean": fmt.Sprintf("0.%02d", steps*centsPerCall)}
		if steps <= 2 {
			for name, value := range scores {
				want[name+"_mean"] = fmt.Sprint(value[steps-1])
			}
		}
		for title, value := range want {
			if row[title] != value {
				c.Errorf("%s with %d steps: %s is %q, want %q", configuration, steps, title, row[title], value)
			}
		}
	}
}

func (c *coding) scored(out string, want map[string]float64, configurations ...string) {
	c.Helper()
	found := 0
	for score, err := range record.ReadScores(filepath.Join(c.folder, out)) {
		if err != nil {
			c.Fatal(err)
		}
		if configuration, _, _ := strings.Cut(score.Run, "/"); !slices.Contains(configurations, configuration) {
			continue
		}
		if found++; score.Unscored != "" || score.Value != want[score.Name] {
			c.Errorf("%s: %+v, want %v", score.Run, score, want[score.Name])
		}
	}
	if found != c.trial.runs()*len(want)*len(configurations) {
		c.Errorf("%v have %d scores", configurations, found)
	}
}

// alive is the command line of a process that runs and was started by an agent or for one; "" if there is none.
func (c *coding) alive() string {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		if words, err := os.ReadFile(file); err == nil && (bytes.Contains(words, []byte(c.mark)) || bytes.Contains(words, []byte(c.folder))) {
			return string(bytes.ReplaceAll(words, []byte{0}, []byte{' '}))
		}
	}
	return ""
}

// TestACutLeavesItsSnapshot holds what a program left on the disk that was ended at a limit, byte for byte,
// against the snapshot that was made when the call arrived that was refused. Where AGENTBENCH_CUTS is set, it is how
// often each of 16 limits is tried; else four are tried once.
func TestACutLeavesItsSnapshot(t *testing.T) {
	skipLong(t)
	t.Parallel()
	for _, program := range []string{"bwrap", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	c := &coding{T: t, folder: t.TempDir(), env: os.Environ()}
	trials, limits, want := os.Getenv("AGENTBENCH_CUTS"), "1, 2, 3, 4, 5, 6, 7, 8", 16
	if trials == "" {
		trials, limits, want = "1", "2, 7", 4
	}
	c.unpack("cuts.txtar", "TRIALS", trials, "LIMITS", limits)
	if said, err := c.agentbench("run", "suite.yaml", "--out", "out", "--cache", "off", "-q"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	runs := c.runs("out")
	for _, run := range runs {
		made := calls(run)
		if len(made) == 0 || string(run.Iterations[0].Cut) != "budget_steps" {
			t.Fatalf("%s was not ended at its limit after %d calls: %+v", run.ID, len(made), run.Outcome)
		}
		steps, _ := os.ReadFile(filepath.Join(c.kept(run), "steps"))
		if written := bytes.Count(steps, []byte("\n")); written != len(made) {
			t.Errorf("%s made %d calls and noted %d", run.ID, len(made), written)
		}
		c.leftAsIn(run, run.ID+"@1")
	}
	if len(runs) < want {
		t.Errorf("there are %d runs", len(runs))
	}
}
