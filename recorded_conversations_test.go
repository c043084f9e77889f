package agentbench

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// conversation is one of the recordings, of either kind.
type conversation struct {
	ID       any       `json:"task_id"`
	Trial    int       `json:"trial"`
	Reward   float64   `json:"reward"`
	Traj     []message `json:"traj"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Calls   []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Function  *struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// spoken is what was said and called, step by step.
type spoken struct {
	texts, users      []string
	calls, args, gave []string
	callsOf           []int // of each step
	reward            float64
}

func (c *conversation) spoken() spoken {
	s := spoken{reward: c.Reward}
	messages := c.Messages
	if c.Traj != nil {
		messages = c.Traj[2:] // the system prompt and what the conversation begins with
	}
	for _, m := range messages {
		text := ""
		if m.Content != nil {
			text = *m.Content
		}
		switch m.Role {
		case "assistant":
			s.texts, s.callsOf = append(s.texts, text), append(s.callsOf, len(m.Calls))
			for _, call := range m.Calls {
				name, arguments := call.Name, string(call.Arguments)
				if call.Function != nil {
					name, arguments = call.Function.Name, call.Function.Arguments
				}
				s.calls, s.args = append(s.calls, name), append(s.args, arguments)
			}
		case "user":
			s.users = append(s.users, text)
		case "tool":
			s.gave = append(s.gave, text)
		}
	}
	return s
}

// conversations are the recordings of a file by the ids of their tasks.
func conversations(t *testing.T, file string) map[string]spoken {
	t.Helper()
	var list []conversation
	text := recordingtest.Read(t, file)
	var within struct {
		Simulations []conversation `json:"simulations"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		if err := json.Unmarshal(text, &within); err != nil {
			t.Fatal(err)
		}
		list = within.Simulations
	}
	all := map[string]spoken{}
	for i := range list {
		id := fmt.Sprint(list[i].ID)
		if list[i].Traj != nil {
			id = fmt.Sprintf("%v-%d", list[i].ID, list[i].Trial)
		}
		all[id] = list[i].spoken()
	}
	return all
}

// runs is a journal that keeps whole records, by configuration and task.
type runs struct {
	mutex sync.Mutex
	kept  map[string]map[string]*record.Run
}

func (r *runs) Append(run *record.Run, _ []record.Score, done func(error)) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.kept[run.Configuration] == nil {
		r.kept[run.Configuration] = map[string]*record.Run{}
	}
	r.kept[run.Configuration][run.Task] = run
	done(nil)
	return nil
}

func runConversations(t *testing.T, suite string) (*spec.Document, map[string]map[string]*record.Run) {
	t.Helper()
	recordingtest.Folder(t)
	doc, p, e := assembled(t, filepath.Join("testdata", "recorded", suite))
	journal := &runs{kept: map[string]map[string]*record.Run{}}
	e.Executor, e.Journal = engine.Pool{Workers: 4}, journal
	if _, err := e.Run(t.Context(), p, doc.Tasks()); err != nil {
		t.Fatal(err)
	}
	return doc, journal.kept
}

// walked says in what a run is not what was recorded, as far as it went.
func walked(run *record.Run, want *spoken) error {
	if len(run.Iterations) != 1 {
		return fmt.Errorf("%d iterations, %+v", len(run.Iterations), run.Outcome)
	}
	it := &run.Iterations[0]
	var texts, users, calls []string
	for i, step := range it.Steps {
		texts = append(texts, step.Text)
		if step.User != "" {
			users = append(users, step.User)
		}
		if step.Tools != want.callsOf[i] {
			return fmt.Errorf("step %d has %d calls, want %d", i+1, step.Tools, want.callsOf[i])
		}
	}
	for i, call := range it.ToolCalls {
		calls = append(calls, call.Tool)
		var gave string
		if err := json.Unmarshal(call.Result, &gave); err != nil || gave != want.gave[i] || call.Error != nil {
			return fmt.Errorf("call %d of %s gave %s, %v, want %q", i+1, call.Tool, call.Result, call.Error, want.gave[i])
		}
		if !sameJSON(call.Arguments, []byte(want.args[i])) {
			return fmt.Errorf("call %d of %s has the arguments %s, want %s", i+1, call.Tool, call.Arguments, want.args[i])
		}
	}
	for _, list := range []struct {
		what      string
		got, want []string
	}{{"replies", texts, want.texts}, {"turns of the user", users, want.users}, {"calls", calls, want.calls}} {
		if len(list.got) > len(list.want) || strings.Join(list.got, "\x00") != strings.Join(list.want[:len(list.got)], "\x00") {
			return fmt.Errorf("%s: %q, want %q", list.what, list.got, list.want)
		}
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// limited is what a limit makes of the recordings, as expected.json has it.
type limited struct {
	Times      int `json:"times"`
	K          int `json:"k"`
	Successes  int `json:"successes"`
	TotalSteps int `json:"total_steps"`
	RunsCut    int `json:"runs_cut"`
}

// expected is what two other programs make of the recordings.
type expected struct {
	Calls  []limited `json:"repeated_tool_call"`
	Errors []limited `json:"consecutive_errors"`
	Steps  []limited `json:"max_steps"`
}

// count adds up what runs are worth: a conversation that was cut is worth nothing.
func count(all map[string]*record.Run, recorded map[string]spoken) (got limited) {
	for task, run := range all {
		said := recorded[task]
		steps := len(run.Iterations[0].Steps)
		got.TotalSteps += steps
		if steps < len(said.texts) {
			got.RunsCut++
		} else if said.reward >= 1 {
			got.Successes++
		}
	}
	return got
}

// Recorded conversations are walked to their ends, and guards over steps fire where
// two other programs say: live, and in replays of the whole ones.
func TestRecordedConversations(t *testing.T) {
	var want struct {
		Tau  expected `json:"taubench_gpt-4o_airline"`
		Tau2 expected `json:"tau2_claude-sonnet-4-5_airline"`
	}
	if err := json.Unmarshal(recordingtest.Read(t, "expected.json"), &want); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		suite, file string
		runs        int
		want        expected
	}{
		{"taubench.suite.yaml", "taubench/gpt-4o-airline.json", 200, want.Tau},
		{"tau2.suite.yaml", "tau2/claude-sonnet-4-5_airline.json", 50, want.Tau2},
	} {
		t.Run(c.suite, func(t *testing.T) {
			recorded := conversations(t, c.file)
			doc, live := runConversations(t, c.suite)
			wide := configuration(doc, "whole")
			if len(live["whole"]) != c.runs || len(recorded) != c.runs {
				t.Fatalf("%d runs of %d recordings, want %d", len(live["whole"]), len(recorded), c.runs)
			}
			for task, run := range live["whole"] {
				said := recorded[task]
				if err := walked(run, &said); err != nil {
					t.Errorf("%s: %v", task, err)
				} else if it := &run.Iterations[0]; len(it.Steps) != len(said.texts) || len(it.ToolCalls) != len(said.calls) {
					t.Errorf("%s: %d steps and %d calls, want %d and %d", task, len(it.Steps), len(it.ToolCalls), len(said.texts), len(said.calls))
				}
			}
			checked := 0
			for i := range doc.Suite.Resolved {
				tight := &doc.Suite.Resolved[i]
				limits, ok := c.want.of(tight)
				if !ok {
					continue
				}
				checked++
				got := count(live[tight.Name], recorded)
				if got.TotalSteps != limits.TotalSteps || got.RunsCut != limits.RunsCut || got.Successes != limits.Successes {
					t.Errorf("%s: %+v, want %+v", tight.Name, got, limits)
				}
				replayed(t, doc, wide, tight, live)
			}
			if checked != len(doc.Suite.Resolved)-1 {
				t.Errorf("%d of %d limits are expected", checked, len(doc.Suite.Resolved)-1)
			}
		})
	}
}

func configuration(doc *spec.Document, name string) *spec.Resolved {
	for i := range doc.Suite.Resolved {
		if doc.Suite.Resolved[i].Name == name {
			return &doc.Suite.Resolved[i]
		}
	}
	return nil
}

// replayed fails where a replay of the whole conversations is not the live run.
func replayed(t *testing.T, doc *spec.Document, wide, tight *spec.Resolved, live map[string]map[string]*record.Run) {
	t.Helper()
	replay := engine.Replay(wide.Loop, tight.Loop)
	for task, err := range doc.Tasks() {
		if err != nil {
			t.Fatal(err)
		}
		want := live[tight.Name][task.ID]
		r, got := replay.AsIf(t.Context(), live["whole"][task.ID], task)
		if got == nil || !reflect.DeepEqual(got.Outcome, want.Outcome) || len(got.Iterations[0].Steps) != len(want.Iterations[0].Steps) || got.Usage != want.Usage {
			t.Errorf("%s of %s: replay %s %s %+v, live %+v", tight.Name, task.ID, r.Verdict, r.Why, r.Outcome, want.Outcome)
		}
	}
}

// of finds what is expected of a configuration: by the guard that it turns on.
func (e *expected) of(c *spec.Resolved) (want limited, found bool) {
	at := func(list []limited, limit int) (limited, bool) {
		i := slices.IndexFunc(list, func(l limited) bool { return l.Times == limit || l.K == limit })
		if i < 0 {
			return limited{}, false
		}
		return list[i], true
	}
	g := &c.Loop.Guards
	switch errors, steps := &g.Consecutive[0], &g.Consecutive[1]; {
	case !g.Stagnation.Window.Off:
		return at(e.Calls, g.Stagnation.Window.Value)
	case !errors.Times.Off:
		return at(e.Errors, errors.Times.Value)
	case !steps.Times.Off:
		return at(e.Steps, steps.Times.Value)
	}
	return limited{}, false
}
