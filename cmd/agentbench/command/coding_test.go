package command

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
	"testing"

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

// centsPerCall is what a call of the models in testdata/coding.txtar costs.
const centsPerCall = 3

// TestCodingAgents runs real coding agents as users do, without a network: what is held of them
// is held by agentbench, by what their own tools wrote, and by the files that they left.
func TestCodingAgents(t *testing.T) {
	c := newCoding(t)
	if said, err := c.agentbench("run", "suite.yaml", "--out", "out", "--cache", "off", "-q"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	runs := c.runs("out")
	for _, program := range []string{"codex", "qwen"} {
		for _, task := range []string{"one", "two"} {
			whole, cut := runs[program+"/"+task+"/1"], runs[program+"-cut/"+task+"/1"]
			if whole == nil || cut == nil {
				t.Fatalf("%s and %s-cut did not both run task %s: %v", program, program, task, slices.Sorted(maps.Keys(runs)))
			}
			c.called(whole, 4, "")
			c.called(cut, 2, "budget_steps")
			c.wrote(whole, map[string]string{"main.txt": "answer = 42\n", "note.txt": "corrected\nchecked\n", "seen.txt": "canary of " + task + "\n"})
			c.wrote(cut, map[string]string{"main.txt": "answer = 42\n", "note.txt": "corrected\n"})
			c.leftTheSame(whole, cut)
		}
	}
	c.spent(runs, 4*4+4*2)
	for _, program := range []string{"codex", "qwen"} {
		c.replayed(program, map[string][2]float64{"solved": {0, 1}, "checked": {0, 0}}) // as the runs that were really cut
	}
	c.scored("out", map[string]float64{"solved": 1, "checked": 1}, "codex", "qwen")
	c.scored("out", map[string]float64{"solved": 1, "checked": 0}, "codex-cut", "qwen-cut")
	if left := c.alive(); left != "" {
		t.Errorf("a process outlived its run: %q", left)
	}
}

// The suite's budget ends a coding agent before the call for which there is no room.
func TestCodingAgentsKeepToTheBudget(t *testing.T) {
	c := newCoding(t)
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
	folder string
	env    []string
	mark   string // the argument by which a process is known that an agent left behind
}

func newCoding(t *testing.T) *coding {
	t.Helper()
	skipLong(t)
	if said, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no coding agents: bubblewrap: %v %s; apt-get install bubblewrap", err, said)
	}
	c := &coding{T: t, folder: t.TempDir(), mark: fmt.Sprintf("%d.%09d", 80_000+os.Getpid()%9999, len(t.TempDir())*7919+os.Getpid())}
	path := []string{
		installedAgent(t, codexPackage, codexVersion, codexFolder), installedAgent(t, qwenPackage, qwenVersion, qwenFolder), os.Getenv("PATH"),
	}
	home := filepath.Join(c.folder, "home of the user")
	c.env = append(os.Environ(), "PATH="+strings.Join(path, string(filepath.ListSeparator)), "HOME="+home, "OPENAI_API_KEY=canary of key", "CODEX_HOME="+filepath.Join(home, ".codex"))
	archive, err := txtar.ParseFile("../../../testdata/coding.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(archive.Files, txtar.File{Name: "home of the user/.codex/auth.json", Data: []byte(`{"OPENAI_API_KEY": "canary of home"}`)}) {
		text := strings.NewReplacer("MARK", c.mark, "WORKSPACE", "/workspace").Replace(string(file.Data))
		at := filepath.Join(c.folder, file.Name)
		if err := cmp.Or(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return c
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
	command := exec.CommandContext(c.Context(), "agentbench", args...)
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
	state := strings.ReplaceAll(cut.ID, "/", "-")
	if said, err := c.agentbench("export", "workspace", "out", whole.ID+"@1.3", "--out", state); err != nil {
		c.Fatalf("%v\n%s", err, said)
	}
	if differs, err := exec.Command("diff", "-r", filepath.Join(c.folder, state), c.kept(cut)).CombinedOutput(); err != nil {
		c.Errorf("%s: %v\n%s", cut.ID, err, differs)
	}
}

// spent holds what the runs say that they paid against the calls that they made.
func (c *coding) spent(runs map[string]*record.Run, want int) {
	c.Helper()
	var paid record.Money
	made := 0
	for _, run := range runs {
		paid += run.Volatile.Paid.Cost
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
	said, err := c.agentbench("replay", "out", "--configuration", configuration, "--sweep", "guards.budget.steps=1..4", "--evaluate", "--table", "configurations", "--format", "csv")
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
	if found != 2*len(want)*len(configurations) {
		c.Errorf("%v have %d scores", configurations, found)
	}
}

// alive is the command of a process that an agent left behind and that still runs; "": there is none.
func (c *coding) alive() string {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		if words, err := os.ReadFile(file); err == nil && bytes.Contains(words, []byte(c.mark)) {
			return string(bytes.ReplaceAll(words, []byte{0}, []byte{' '}))
		}
	}
	return ""
}
