package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// intercode are the 1,234 recorded runs of InterCode, and a loop that would have
// recorded them.
type intercode struct {
	loop  *spec.Loop
	runs  []replay.Recorded
	turns [][]turn // by run
	// declared are conditions by their text.
	declared map[string]*spec.Condition
}

// turn is what a plain reading of the log says of an iteration.
type turn struct {
	reward float64
	action string
}

func loadInterCode(t testing.TB) *intercode {
	t.Helper()
	d, faults := spec.Load("../../suites/mappings/intercode.yaml", spec.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	im, all := imports.New(d.Import), &intercode{declared: map[string]*spec.Condition{}}
	for _, name := range []string{"sql_multiturn_gpt-4_10_turns", "bash_multiturn_gpt-4_10_turns_fs_1", "bash_multiturn_gpt-4_10_turns_fs_2", "bash_multiturn_gpt-4_10_turns_fs_3", "bash_multiturn_gpt-4_10_turns_fs_4"} {
		all.read(t, im, "intercode/ic_"+name+".json")
	}
	recorded, err := im.Recorded(im.Configurations()[0])
	if err != nil {
		t.Fatal(err)
	}
	all.loop = recorded.Loop
	return all
}

func (c *intercode) read(t testing.TB, im *imports.Importer, path string) {
	f, err := os.Open(recordingtest.File(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for imported, err := range im.Read(filepath.Base(path), f) {
		if err != nil {
			t.Fatal(err)
		}
		c.runs = append(c.runs, replay.Recorded{Run: imported.Run, Task: imported.Task})
		var turns []turn
		for i := range imported.Run.Iterations {
			it := &imported.Run.Iterations[i]
			var output struct{ Action string }
			if err := json.Unmarshal(it.Output, &output); err != nil {
				t.Fatal(err)
			}
			turns = append(turns, turn{it.Evaluation.Confidence, output.Action})
		}
		c.turns = append(c.turns, turns)
	}
}

// table evaluates the points on the runs.
func (c *intercode) table(p *replay.Points) *replay.Table {
	endless, tracer := replay.New(c.loop, replay.Endless(c.loop), replay.Options{}), p.Tracer()
	traces := make([]*replay.Trace, len(c.runs))
	for i := range c.runs {
		path := endless.Path(context.Background(), nil, c.runs[i].Run, c.runs[i].Task)
		trace := tracer.Trace(&path)
		traces[i] = &trace
	}
	return tracer.Table(traces, make([]int, len(traces)))
}

// solved counts the runs, of one, that have solved their task by the best reward so far.
func (c *intercode) solved(run, made int) int {
	if slices.ContainsFunc(c.turns[run][:made], func(t turn) bool { return t.reward >= 1 }) {
		return 1
	}
	return 0
}

// counted are the steps, the solved tasks and the stops under each configuration, by
// what a cursor says that changes.
func (c *intercode) counted(p *replay.Points, configurations []replay.Configuration, visit func(i, steps, solved, stops int)) {
	cursor := c.table(p).Cursor()
	steps, solved, stops := 0, 0, 0
	add := func(run int, end replay.End, times int) {
		if end == 0 {
			steps += times * len(c.turns[run])
			return
		}
		steps, solved, stops = steps+times*int(end), solved+times*c.solved(run, int(end)), stops+times
	}
	for run := range c.runs {
		add(run, 0, 1)
	}
	for i := range configurations {
		for _, change := range cursor.Move(&configurations[i]) {
			add(change.Run, change.Before, -1)
			add(change.Run, change.After, 1)
		}
		visit(i, steps, solved, stops)
	}
}

// rule stops a run as soon as a reward is reached, or a lower one and there was no
// improvement for a while, or an action was repeated, or at a maximum.
type rule struct {
	high, low       float64
	patience, times int
	maximum         int
}

// rules are 20 x 20 x 5 x 5 x 10 of them.
func rules() (all []rule) {
	for high := range 20 {
		for low := range 20 {
			for patience := range 5 {
				for times := range 5 {
					for maximum := range 10 {
						all = append(all, rule{0.05 * float64(high+1), 0.05 * float64(low), patience + 1, times + 2, maximum + 1})
					}
				}
			}
		}
	}
	return all
}

// The parts of rules in the words of a loop.
const (
	threshold = "confidence: {threshold: %v}"
	patience  = "no_improvement: {patience: %v}"
	times     = "repeated: {of: output.action, times: %v}"
	maximum   = "max_iterations: %v"
)

// nodes are those of the parts of rules.
type nodes struct{ thresholds, patience, times, maxima []replay.Node }

func (c *intercode) nodes(t testing.TB, p *replay.Points) (n nodes) {
	all := func(count int, format string, of func(int) any) (made []replay.Node) {
		for i := range count {
			made = append(made, p.Condition(c.condition(t, fmt.Sprintf(format, of(i)))))
		}
		return made
	}
	n.thresholds = all(21, threshold, func(i int) any { return 0.05 * float64(i) })
	n.patience = all(5, patience, func(i int) any { return i + 1 })
	n.times = all(5, times, func(i int) any { return i + 2 })
	n.maxima = all(10, maximum, func(i int) any { return i + 1 })
	return n
}

// grid makes configurations of the rules, in their order: any of these, with all
// of two nested in it.
func (c *intercode) grid(t testing.TB, p *replay.Points) []replay.Configuration {
	n, all := c.nodes(t, p), make([]replay.Configuration, 0, 100_000)
	for high := range 20 {
		for low := range 20 {
			for patience := range n.patience {
				both := p.All(n.thresholds[low], n.patience[patience])
				for times := range n.times {
					tree := []replay.Node{n.thresholds[high+1], both, n.times[times]}
					for maximum := range n.maxima {
						all = append(all, replay.Configuration{Tree: tree, Maxima: n.maxima[maximum : maximum+1]})
					}
				}
			}
		}
	}
	return all
}

func (c *intercode) condition(t testing.TB, text string) *spec.Condition {
	t.Helper()
	if known := c.declared[text]; known != nil {
		return known
	}
	files := fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m, reply: json}\nprompt: p\nevaluate: {confidence: '0.5'}\nterminate: {any: [{" + text + "}]}\n")}}
	d, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range d.Loop.Terminate.Any {
		if strings.HasPrefix(text, string(d.Loop.Terminate.Any[i].Kind)) {
			c.declared[text] = &d.Loop.Terminate.Any[i]
			return c.declared[text]
		}
	}
	t.Fatal(text)
	return nil
}

// stop is the turn after which a rule ends a run of InterCode, by plain counters.
func (r *rule) stop(turns []turn) int {
	best, bad, same := -1.0, 0, 0
	for i, turn := range turns {
		bad++
		if i == 0 || turn.reward > best {
			best, bad = turn.reward, 0
		}
		same++
		if i == 0 || turn.action != turns[i-1].action {
			same = 1
		}
		if turn.reward >= 1 || turn.reward >= r.high || turn.reward >= r.low && bad >= r.patience || same >= r.times || i+1 >= r.maximum {
			return i + 1
		}
	}
	return len(turns)
}

// All of 100,000 configurations are counted on InterCode as plain counters count
// them; some, spread over all values, are also counted as the reference replays them.
func TestConfigurationsOnInterCode(t *testing.T) {
	t.Parallel()
	c, rules := loadInterCode(t), rules()
	p := replay.NewPoints(c.loop)
	const apart = 499 // prime, so that the fast values change, too
	c.counted(p, c.grid(t, p), func(i, gotSteps, gotSolved, gotStops int) {
		steps, solved := 0, 0
		for run, turns := range c.turns {
			made := rules[i].stop(turns)
			steps += made
			solved += c.solved(run, made)
		}
		if gotSteps != steps || gotSolved != solved {
			t.Fatalf("%+v: %d steps and %d solved, want %d and %d", rules[i], gotSteps, gotSolved, steps, solved)
		}
		if i%apart > 0 {
			return
		}
		reference, steps, solved, exact := replay.New(c.loop, c.loopOf(t, &rules[i]), replay.Options{}), 0, 0, 0
		for run := range c.runs {
			r := reference.Run(context.Background(), c.runs[run].Run, c.runs[run].Task)
			steps += r.Iterations
			if r.Verdict == replay.Exact {
				exact++
				solved += c.solved(run, r.Iterations)
			}
		}
		if gotSteps != steps || gotSolved != solved || gotStops != exact {
			t.Fatalf("%+v: %d steps, %d solved and %d stops, want %d, %d and %d", rules[i], gotSteps, gotSolved, gotStops, steps, solved, exact)
		}
	})
}

// loopOf is the loop of InterCode under a rule.
func (c *intercode) loopOf(t testing.TB, r *rule) *spec.Loop {
	condition := func(format string, value any) spec.Condition { return *c.condition(t, fmt.Sprintf(format, value)) }
	both := []spec.Condition{condition(threshold, r.low), condition(patience, r.patience)}
	l := replay.Endless(c.loop)
	l.Terminate.Any = []spec.Condition{condition(threshold, r.high), {Kind: spec.KindAll, Nested: both}, condition(times, r.times), condition(maximum, r.maximum)}
	return l
}
