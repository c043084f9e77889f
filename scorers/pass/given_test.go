package pass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

const loop = `
loop: l
agent: {model: m}
prompt: "{{ task.input }}"
terminate: {max_iterations: 2}
`

// suite has 6 tasks, t1 to t6, whose targets are their numbers.
const suite = `
suite: s
models: {m: {provider: script, responses: [x], price: free}}
tasks: tasks.jsonl
configurations: [{name: base, loop: l.yaml}, {name: new, loop: l.yaml, set: {terminate.max_iterations: 3}}]
baseline: base
scorers: [%s]
`

const tasks = 6

// load is the suite with these scorers.
func load(t testing.TB, declared string) *spec.Document {
	t.Helper()
	var rows strings.Builder
	for n := range tasks {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"i\", \"target\": \"%d\"}\n", n+1, n+1)
	}
	var files fs.FS = fstest.MapFS{
		"suite.yaml": {Data: []byte(fmt.Sprintf(suite, declared))}, "l.yaml": {Data: []byte(loop)}, "tasks.jsonl": {Data: []byte(rows.String())},
	}
	d, faults := spec.LoadFS(files, "suite.yaml", spec.Options{Env: func(string) string { return "" }})
	must(t, faults.Err())
	return d
}

// outside answers a judge with a score, as long as the budget of calls lasts.
type outside struct {
	asked atomic.Int64
	most  int64
	says  string
	each  func() // at each call
}

func (o *outside) Model(string) (model.Model, error) { return o, nil }
func (o *outside) Program([]string, time.Duration) external.Program {
	return external.Program{}
}
func (*outside) Workspaces(*spec.Loop) (*agent.Workspaces, error) { return nil, nil }

func (o *outside) Endpoint(string, spec.Headers) (external.Endpoint, error) {
	return external.Endpoint{}, errors.New("none")
}
func (o *outside) spent() bool { return o.most > 0 && o.asked.Load() > o.most }

func (o *outside) Call(ctx context.Context, _ *model.Request) (*model.Reply, error) {
	if o.asked.Add(1); o.spent() {
		return nil, errors.New("the budget is spent")
	}
	if o.each != nil {
		o.each()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &model.Reply{Text: o.says, Finish: "stop", Usage: record.Usage{Calls: 1, Cost: 10}}, nil
}

// asked is what the passes of the tests have in common.
func asked(t testing.TB, dir string, d *spec.Document, by *outside) pass.Options {
	t.Helper()
	set, faults := scorers.New(d.Suite.Scorers, scorers.Options{Resolved: d.Suite.Resolved, Outside: by, Baseline: d.Suite.Baseline})
	must(t, faults.Err())
	return pass.Options{Dir: dir, Set: set, Tasks: d.Tasks(), Workers: 3, Spent: by.spent}
}

// run is of a task, with the outputs of its iterations; the last is returned.
func run(configuration string, task string, outputs ...string) *record.Run {
	r := &record.Run{
		Version: record.Version, ID: record.RunID(configuration, task, 1), Configuration: configuration, Task: task, Trial: 1,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Returned: len(outputs)},
	}
	for i, output := range outputs {
		r.Iterations = append(r.Iterations, record.Iteration{N: i + 1, Output: json.RawMessage(`"` + output + `"`)})
	}
	return r
}

// sixRuns are of all tasks, not in their order; those of t1 to t3 are right at
// last.
func sixRuns() (runs []*record.Run) {
	for _, n := range []int{4, 2, 6, 1, 5, 3} {
		last := "wrong"
		if n <= 3 {
			last = fmt.Sprint(n)
		}
		runs = append(runs, run("base", fmt.Sprint("t", n), "no", last))
	}
	return runs
}

func folder(t testing.TB, runs ...*record.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	j, err := record.Create(dir, record.Manifest{Suite: "s"}, record.Options{Delay: time.Nanosecond})
	must(t, err)
	for _, r := range runs {
		must(t, j.Append(r, nil, nil))
	}
	must(t, j.Close())
	return dir
}

// made looks and makes, and gives the pass after that.
func made(t testing.TB, ctx context.Context, o pass.Options) *pass.Pass {
	t.Helper()
	p, err := pass.Look(o)
	must(t, err)
	j, _, err := record.OpenScores(o.Dir, record.Options{Delay: time.Nanosecond})
	must(t, err)
	must(t, errors.Join(p.Make(ctx, j), j.Close()))
	return p
}

func add(t testing.TB, dir, run string, scores ...record.Score) {
	t.Helper()
	j, _, err := record.OpenScores(dir, record.Options{Delay: time.Nanosecond})
	must(t, err)
	must(t, errors.Join(j.AppendScores(run, scores, nil), j.Close()))
}

// shown are the scores of a folder that count, a line each, sorted.
func shown(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	for _, s := range standing(t, dir) {
		line := fmt.Sprintf("%s %s %d %v", s.Run, s.Name, s.Iteration, s.Value)
		if s.Unscored != "" {
			line = fmt.Sprintf("%s %s %d unscored", s.Run, s.Name, s.Iteration)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func standing(t testing.TB, dir string) (all []record.Score) {
	t.Helper()
	of := map[string][]record.Score{}
	for s, err := range record.ReadScores(dir) {
		must(t, err)
		of[s.Run] = append(of[s.Run], s)
	}
	for _, scores := range of {
		all = append(all, record.Standing(scores)...)
	}
	return all
}

// lines is how many lines of scores a folder has.
func lines(t testing.TB, dir string) (n int) {
	t.Helper()
	for _, err := range record.ReadScored(dir) {
		must(t, err)
		n++
	}
	return n
}

func without(tasks iter.Seq2[*spec.Task, error], id string) iter.Seq2[*spec.Task, error] {
	return func(yield func(*spec.Task, error) bool) {
		for task, err := range tasks {
			if err == nil && task.ID == id {
				continue
			}
			if !yield(task, err) {
				return
			}
		}
	}
}

var must = expect.NoError
