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
	"github.com/agentbench/agentbench/engine/stop"
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
	must(t, err)
	all.loop = recorded.Loop
	return all
}

func (c *intercode) read(t testing.TB, im *imports.Importer, path string) {
	f, err := os.Open(recordingtest.File(t, path))
	must(t, err)
	defer f.Close()
	for imported, err := range im.Read(filepath.Base(path), f) {
		must(t, err)
		c.runs = append(c.runs, replay.Recorded{Run: imported.Run, Task: imported.Task})
		var turns []turn
		for i := range imported.Run.Iterations {
			it := &imported.Run.Iterations[i]
			var output struct{ Action string }
			must(t, json.Unmarshal(it.Output, &output))
			turns = append(turns, turn{it.Evaluation.Confidence, output.Action})
		}
		c.turns = append(c.turns, turns)
	}
}

// solved counts the runs, of one, that have solved their task by the best reward so far.
func (c *intercode) solved(run, made int) int {
	if slices.ContainsFunc(c.turns[run][:made], func(t turn) bool { return t.reward >= 1 }) {
		return 1
	}
	return 0
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

func (c *intercode) condition(t testing.TB, text string) *spec.Condition {
	t.Helper()
	if known := c.declared[text]; known != nil {
		return known
	}
	files := fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m, reply: json}\nprompt: p\nevaluate: {confidence: '0.5'}\nterminate: {any: [{" + text + "}]}\n")}}
	d, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	must(t, faults.Err())
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

// Configurations are counted by masks on InterCode as plain counters count
// them; some, spread over all values, are also counted as the reference replays them.
func TestConfigurationsOnInterCode(t *testing.T) {
	t.Parallel()
	c, rules, limits := loadInterCode(t), rules(), replay.NewLimits(loadInterCode(t).loop)
	const every, apart = 101, 53 // prime, so that all values change
	var configurations []stop.Configuration
	for i := 0; i < len(rules); i += every {
		configuration, err := limits.Configuration(c.loopOf(t, &rules[i]))
		must(t, err)
		configurations = append(configurations, configuration)
	}
	endless, watcher := replay.New(c.loop, replay.Endless(c.loop), replay.Options{}), limits.Watcher()
	courses := make([]replay.Course, len(c.runs))
	for run := range c.runs {
		courses[run] = watcher.Course(new(endless.Path(context.Background(), nil, c.runs[run].Run, c.runs[run].Task)))
	}
	for k := range configurations {
		rule := &rules[k*every]
		gotSteps, gotSolved, gotStops, steps, solved := 0, 0, 0, 0, 0
		for run, turns := range c.turns {
			n, _ := courses[run].Stop(&configurations[k])
			r := courses[run].Result(n, false)
			if gotSteps += r.Iterations; r.Verdict == replay.Exact {
				gotSolved, gotStops = gotSolved+c.solved(run, r.Iterations), gotStops+1
			}
			made := rule.stop(turns)
			steps, solved = steps+made, solved+c.solved(run, made)
		}
		if gotSteps != steps || gotSolved != solved {
			t.Fatalf("%+v: %d steps and %d solved, want %d and %d", rule, gotSteps, gotSolved, steps, solved)
		}
		if k%apart > 0 {
			continue
		}
		reference, steps, solved, exact := replay.New(c.loop, c.loopOf(t, rule), replay.Options{}), 0, 0, 0
		for run := range c.runs {
			r := reference.Run(context.Background(), c.runs[run].Run, c.runs[run].Task)
			steps += r.Iterations
			if r.Verdict == replay.Exact {
				exact++
				solved += c.solved(run, r.Iterations)
			}
		}
		if gotSteps != steps || gotSolved != solved || gotStops != exact {
			t.Fatalf("%+v: %d steps, %d solved and %d stops, want %d, %d and %d", rule, gotSteps, gotSolved, gotStops, steps, solved, exact)
		}
	}
}

// loopOf is the loop of InterCode under a rule.
func (c *intercode) loopOf(t testing.TB, r *rule) *spec.Loop {
	condition := func(format string, value any) spec.Condition { return *c.condition(t, fmt.Sprintf(format, value)) }
	both := []spec.Condition{condition(threshold, r.low), condition(patience, r.patience)}
	l := replay.Endless(c.loop)
	l.Terminate.Any = []spec.Condition{condition(threshold, r.high), {Kind: spec.KindAll, Nested: both}, condition(times, r.times), condition(maximum, r.maximum)}
	return l
}

// must ends a test at an error.
func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
