package processtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/spec"
)

// Whatever calls a program makes one after the other, of its main conversation, of sub-agents, and beside them: a live run under a
// limit is the replay of the recorded run without it. Which limits of an iteration need calls is held, too.
func TestALimitedRunIsTheReplayOfTheWholeOne(t *testing.T) {
	skipLong(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	exact := map[string]int{}
	propertytest.CheckCases(t, 60, func(r *rapid.T) {
		l := &planned{coding: &coding{T: t, folder: t.TempDir(), env: os.Environ()}}
		l.draw(r)
		if said, err := l.agentbench("run", "suite.yaml", "--out", "out", "--cache", "off", "-q"); err != nil {
			r.Fatalf("%v\n%s", err, said)
		}
		l.open()
		defer l.shared.Close()
		for i, limit := range l.limits {
			head, _ := l.folder.Manifest.Configuration(fmt.Sprintf("c%d", i)) // equal ones are made once
			live, whole := l.live[head.Name+"/a/1"], l.live["whole/a/1"]
			result, made := l.replayed(fmt.Sprintf("c%d", i), whole)
			if made == nil { // an iteration that ends earlier leads to others
				if !strings.Contains(limit, "max_steps") || result.Verdict != replay.Branches || len(live.Iterations) < result.At {
					r.Fatalf("plan %q, %s: %s at %d: %s", l.plan, limit, result.Verdict, result.At, result.Why)
				}
				continue
			}
			kind, _, _ := strings.Cut(strings.TrimPrefix(limit, "guards.budget."), ":")
			exact[kind]++
			if got, want := l.shown(live), l.shown(made); got != want {
				r.Fatalf("plan %q, %s: live\n%s\nreplayed\n%s", l.plan, limit, got, want)
			}
		}
	})
	for _, kind := range []string{"steps", "tokens", "cost_usd", "agent.max_steps", "guards.repeated"} {
		if exact[kind] == 0 {
			t.Errorf("no limit of %s was held: %v", kind, exact)
		}
	}
}

// planned is a folder with runs of a program without a limit, and under some.
type planned struct {
	*coding
	plan   string
	limits []string // as set has them
	live   map[string]*record.Run
	folder *results.Folder
	parts  *engine.Parts
	shared engine.Shared
}

// draw makes a suite: which calls the program makes, and the limits of its configurations. A main call is m, one of a sub-agent s or
// t, one beside them x; ok lets the tests pass.
func (l *planned) draw(r *rapid.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"m", "m", "m", "s", "s", "t", "x", "ok"}), 2, 9).Draw(r, "plan")
	l.plan = "m " + strings.Join(words, " ")
	number := func(name string, least, most int) string {
		return fmt.Sprint(rapid.IntRange(least, most).Draw(r, name))
	}
	kinds := []string{"steps", "max_steps", "both", "tokens", "cost", "repeated", "repeated"}
	named := rapid.SampledFrom([]string{"", "-H X-Session-Id:main"}).Draw(r, "named")
	if named != "" && !slices.Contains(words, "x") {
		kinds = append(kinds, "main_steps", "main_steps") // else a call without a name begins another conversation
	}
	for range 6 {
		hard := rapid.SampledFrom([]string{", guards.budget.hard: true", ""}).Draw(r, "hard")
		l.limits = append(l.limits, map[string]string{
			"main_steps": "agent.max_steps: " + number("main_steps", 1, 6) + ", agent.steps_of: main",

			"steps":     "guards.budget.steps: " + number("steps", 1, 9),
			"max_steps": "agent.max_steps: " + number("max_steps", 1, 6),
			"both":      "agent.max_steps: " + number("max_steps", 1, 6) + ", guards.budget.steps: " + number("steps", 1, 9),
			"tokens":    "guards.budget.tokens: " + number("tokens", 50, 2500) + hard,
			"cost":      "guards.budget.cost_usd: 0.00" + number("cost", 1000, 9999) + hard,
			"repeated":  "guards.repeated: {of: step.text, scope: step, times: 2, window: " + number("window", 2, 5) + "}",
		}[rapid.SampledFrom(kinds).Draw(r, "kind")])
	}
	configurations := ""
	for i, limit := range l.limits {
		configurations += fmt.Sprintf("  - {name: c%d, loop: agent.loop.yaml, set: {%s}}\n", i, limit)
	}
	l.unpack("limits.txtar", "PLAN", l.plan, "NAMED", named, "CONFIGURATIONS", configurations, "ITERATIONS", number("iterations", 1, 2),
		"OUTPUT", rapid.SampledFrom([]string{"", "output: workspace.diff", "output: size(workspace.added) + size(stdout)"}).Draw(r, "output"))
}

func (l *planned) open() {
	l.Helper()
	out := filepath.Join(l.coding.folder, "out")
	m, err := record.ReadManifest(out)
	if err != nil {
		l.Fatal(err)
	}
	if l.folder, err = results.Open(&record.Results{Path: out, Manifest: m}, nil); err != nil {
		l.Fatal(err)
	}
	l.parts, err = engine.NewParts(l.folder.Document, engine.BuildOptions{
		Getenv: os.Getenv, Shared: &l.shared, Workspaces: filepath.Join(out, results.Workspaces), Recorded: true,
	})
	if err != nil {
		l.Fatal(err)
	}
	l.live = l.runs("out")
}

// replayed is the whole run as a configuration would have made it.
func (l *planned) replayed(configuration string, whole *record.Run) (replay.Result, *record.Run) {
	l.Helper()
	var task *spec.Task
	for one, err := range l.folder.Tasks() {
		if err != nil {
			l.Fatal(err)
		}
		task = one
	}
	makes := l.parts.Replaying(&results.Snapshots{}, true)
	return makes(l.folder.Loop("whole"), l.folder.Loop(configuration)).AsIf(l.Context(), whole, task)
}

// shown is all of a run but its times.
func (l *planned) shown(run *record.Run) string {
	outcome, err := json.Marshal(run.Outcome)
	if err != nil {
		l.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%+v %+v\n", outcome, run.Usage, run.Judging)
	for i := range run.Iterations {
		it := &run.Iterations[i]
		text += fmt.Sprintf("%d cut by %q, skipped %v, error %v, output %s", it.N, it.Cut, it.Skipped, it.Error, it.Output)
		if it.Workspace != nil {
			text += ", left " + it.Workspace.Tree
		}
		if it.Evaluation != nil {
			text += fmt.Sprintf(", passed %v, confidence %v", it.Evaluation.Passed, it.Evaluation.Confidence)
		}
		text += "\n"
		for _, c := range it.Calls {
			if c.Role != record.RoleJudge { // a state that was not evaluated live is evaluated by tests that are no calls of the replay
				text += fmt.Sprintf("  %s %s %s %d %s %+v\n", c.Role, c.Conversation, c.Kind, c.Step, c.Tree, c.Usage)
			}
		}
		for _, s := range it.Steps {
			text += fmt.Sprintf("  step of call %d, %d tools: %s\n", s.Call, s.Tools, s.Text)
		}
	}
	return text
}
