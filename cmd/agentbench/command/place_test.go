package command

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// neighbour is a place whose runs are made as a worker makes them, but in this process.
type neighbour struct {
	host   *Host
	change func(*Recipe)
	began  int
	made   []string
}

func (n *neighbour) place() Place {
	return Place{
		Name: "beside", Flags: func(f *pflag.FlagSet) { f.String("door", "", "where it is") },
		Open:     n.open,
		Commands: func(h *Host) []*cobra.Command { n.host = h; return []*cobra.Command{{Use: "worker"}} },
	}
}

func (n *neighbour) open(ctx context.Context, s *Submission) (PlacedExecutor, error) {
	if n.change != nil {
		n.change(&s.Recipe)
	}
	prepared, err := n.host.Prepare(ctx, &s.Recipe, Folders{Suite: s.Folder, Workspaces: filepath.Join(s.Dir, "w"), Cache: filepath.Join(s.Dir, "c")})
	return &placed{n, s, prepared}, err
}

type placed struct {
	*neighbour
	submission *Submission
	prepared   *Prepared
}

func (p *placed) Begin(context.Context) error { p.began++; return nil }

func (p *placed) Close() error { p.prepared.Close(); return nil }

// Execute implements engine.Executor. What a run leaves behind travels as a line.
func (p *placed) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], _ engine.RunFunc, deliver engine.DeliverFunc) error {
	return engine.Pool{Workers: 1}.Execute(ctx, items, func(ctx context.Context, item plan.Item) *record.Run {
		p.submission.Started(item)
		p.made = append(p.made, item.ID)
		run, err := p.prepared.Run(ctx, p.submission.Recipe.Configurations[item.Configuration], item.Task.ID, item.Trial, p.submission.Observe)
		if err != nil {
			panic(err)
		}
		line, err := p.prepared.Encode(run)
		if err != nil {
			panic(err)
		}
		travelled, err := record.DecodeRun(line)
		if err != nil {
			panic(err)
		}
		if states := p.prepared.States(); states != nil {
			if err := p.submission.States.Join(states); err != nil {
				panic(err)
			}
		}
		return travelled
	}, deliver)
}

// A suite can be run at a place; what cannot, is told before anything is run.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // what a suite from stdin names stands there
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a.loop.yaml", "loop: a\nagent: {model: m}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 2}\n")
	write("w.loop.yaml", "loop: w\nagent: {command: [sh, -c, 'echo >made'], timeout: 1m}\nworkspace: {}\nterminate: {max_iterations: 1}\n")
	suite := "suite: s\ntasks: [{id: one, input: a}, {id: two, input: b}]\nmodels: {m: {provider: simulate, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}}\nconfigurations: [{name: a, loop: %.loop.yaml}]\n"
	plain, work := write("suite.yaml", strings.ReplaceAll(suite, "%", "a")), write("work.yaml", strings.ReplaceAll(suite, "%", "w"))
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := &neighbour{}
	agentbench := func(args ...string) (said string, code int) {
		var out, errs bytes.Buffer
		env := map[string]string{"PATH": os.Getenv("PATH")}
		code = run(t.Context(), args, func(name string) string { return env[name] }, strings.NewReader(strings.ReplaceAll(suite, "%", "a")), &out, &errs, n.place())
		return out.String() + errs.String(), code
	}
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	if said, code := agentbench("run", plain, "-q", "--out", here); code != 0 || len(n.made) > 0 {
		t.Fatalf("here: exit code %d, %v made elsewhere: %s", code, n.made, said)
	}
	if said, code := agentbench("run", plain, "-q", "--executor", "beside", "--out", there); code != 0 || len(n.made) != 2 || n.began != 1 {
		t.Fatalf("there: exit code %d, %v made elsewhere, begun %d times: %s", code, n.made, n.began, said)
	}
	for run, err := range record.ReadRuns(here) {
		if err != nil {
			t.Fatal(err)
		}
		other, err := record.Find(there, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		one, oneErr := record.EncodeRun(run.WithoutVolatile(), record.Options{})
		two, twoErr := record.EncodeRun(other.WithoutVolatile(), record.Options{})
		if err := errors.Join(oneErr, twoErr); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs there: %v", run.ID, err)
		}
	}
	if said, code := agentbench("run", work, "-q", "--executor", "beside", "--out", filepath.Join(dir, "work")); code != 0 {
		t.Fatalf("with workspaces: exit code %d: %s", code, said)
	}
	if damage, err := results.DamagedStates(t.Context(), filepath.Join(dir, "work")); err != nil || len(damage.Faults)+len(damage.Lost) > 0 {
		t.Errorf("the states of the workspaces: %+v, %v", damage, err)
	}
	if said, code := agentbench("show", filepath.Join(dir, "work"), "a/one/1", "--diff"); code != 0 || !strings.Contains(said, "made") {
		t.Errorf("exit code %d: %s", code, said)
	}
	n.change = func(r *Recipe) { r.SpecHash = "other" }
	for want, args := range map[string][]string{
		"a suite from stdin has no folder that workers could get": {"run", "-", "--executor", "beside"},
		"the suite is another one on this machine":                {"run", plain, "--executor", "beside", "--out", filepath.Join(dir, "no")},
		"--executor nowhere: unknown value":                       {"run", plain, "--executor", "nowhere"},
	} {
		if said, code := agentbench(args...); code == 0 || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d: %s; want %q", args[1:], code, said, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); err == nil {
		t.Error("there is a result folder of a suite that could not run")
	}
}
