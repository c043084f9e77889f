package imports_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
)

// told is what a test wants of a run.
type told struct {
	ID         string
	Reason     record.Reason
	Status     record.Status
	Iterations []step
	Usage      record.Usage
	Elapsed    time.Duration
	Scores     map[string]float64 // of the run; -1: unscored
}

type step struct {
	Output, Tools string
	Usage         record.Usage
	End           time.Duration
}

func tell(i *imports.Imported) told {
	run := i.Run
	t := told{ID: run.ID, Reason: run.Outcome.Reason, Status: run.Outcome.Status, Usage: run.Usage, Elapsed: run.Elapsed, Scores: map[string]float64{}}
	for k := range run.Iterations {
		it := &run.Iterations[k]
		s := step{Output: string(it.Output), End: it.End}
		for _, c := range it.ToolCalls {
			s.Tools += c.Tool + string(c.Arguments) + "=" + string(c.Result)
		}
		s.Usage, _ = it.Spent()
		t.Iterations = append(t.Iterations, s)
	}
	for _, s := range i.Scores {
		if s.Iteration == 0 {
			t.Scores[s.Name] = s.Value
			if s.Unscored != "" {
				t.Scores[s.Name] = -1
			}
		}
	}
	return t
}

func tellAll(all []*imports.Imported) (list []told) {
	for _, i := range all {
		list = append(list, tell(i))
	}
	return list
}

func compare(t *testing.T, got, want []told) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %+v", want[i])
		case i >= len(want):
			t.Errorf("too many: %+v", got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("got  %+v\nwant %+v", got[i], want[i])
		}
	}
}

var inspected = []told{
	{
		ID: "openai%2Fgpt-4o-mini/1/1", Reason: record.ReasonFinalResponse, Status: record.Completed, Elapsed: 2 * time.Second,
		Iterations: []step{
			{Output: `""`, Tools: `add{"a":2,"b":2}="4"`, End: 1500 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 40, OutputTokens: 10, ToolCalls: 1, Unpriced: 1}},
			{Output: `"4"`, End: 2 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 60, OutputTokens: 2, Unpriced: 1}},
		},
		Usage:  record.Usage{Calls: 2, InputTokens: 100, OutputTokens: 12, ToolCalls: 1, Unpriced: 2},
		Scores: map[string]float64{"match": 1, "steps": 2},
	},
	{
		ID: "openai%2Fgpt-4o-mini/1/2", Reason: record.ReasonFinalResponse, Status: record.Completed,
		Iterations: []step{{Output: `"5"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
		Usage:      record.Usage{Calls: 1, Unreported: 1},
		Scores:     map[string]float64{"match": 0, "steps": -1},
	},
	{
		ID: "openai%2Fgpt-4o-mini/long/1", Reason: record.ReasonBudgetTokens, Status: record.Completed,
		Iterations: []step{{Output: `"1"`, Usage: record.Usage{Calls: 1, Unreported: 1}}, {Output: `"2"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
		Usage:      record.Usage{Calls: 2, Unreported: 2},
		Scores:     map[string]float64{"match": 0},
	},
	{ID: "openai%2Fgpt-4o-mini/broken/1", Reason: record.ReasonError, Status: record.Faulted, Scores: map[string]float64{}},
}

func TestInspectJSON(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "inspect")), "testdata/inspect.json"))
	compare(t, got, inspected)
}

// TestInspectEval: an .eval file is a zip file of the same samples.
func TestInspectEval(t *testing.T) {
	text, err := os.ReadFile("testdata/inspect.json")
	if err != nil {
		t.Fatal(err)
	}
	var log map[string]json.RawMessage
	var samples []json.RawMessage
	if err := errors.Join(json.Unmarshal(text, &log), json.Unmarshal(log["samples"], &samples)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.eval")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	put := func(name string, text []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("_journal/start.json", []byte(`{"version": 2}`))
	for i, name := range []string{"1_epoch_1", "1_epoch_2", "long_epoch_1", "broken_epoch_1"} {
		put("samples/"+name+".json", samples[i])
	}
	put("header.json", []byte(`{"eval": `+string(log["eval"])+`}`))
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	got := tellAll(read(t, imports.New(mapping(t, "inspect")), path))
	compare(t, got, inspected)
}

func TestMiniSWEAgent(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "mini-swe-agent")), "testdata/mini.traj.json", "testdata/mini-v1.traj.json"))
	want := []told{
		{
			ID: "anthropic%2Fclaude-sonnet-4/django__django-1/1", Reason: record.ReasonFinalResponse, Status: record.Completed, Elapsed: 10500 * time.Millisecond,
			Iterations: []step{
				{Output: `"Look.\n` + "```mswea_bash_command" + `\nls\n` + "```" + `"`, Tools: `bash{"command":"ls"}="<returncode>0</returncode>\n<output>\nf.py\n</output>"`,
					Usage: record.Usage{Calls: 1, InputTokens: 1000, OutputTokens: 50, ToolCalls: 1, Cost: 10_500_000_000}},
				{Output: `"Done.\n` + "```mswea_bash_command" + `\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n` + "```" + `"`,
					Tools: `bash{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}="diff --git a/f b/f"`, End: 10500 * time.Millisecond,
					Usage: record.Usage{Calls: 1, InputTokens: 1200, OutputTokens: 60, ToolCalls: 1, Cost: 20_000_000_000}},
			},
			Usage:  record.Usage{Calls: 2, InputTokens: 2200, OutputTokens: 110, ToolCalls: 2, Cost: 30_500_000_000},
			Scores: map[string]float64{},
		},
		{ // only the total cost is in the log: the run has it, its iterations do not
			ID: "mini-swe-agent/django__django-2/1", Reason: record.ReasonUnknown, Status: record.Completed,
			Iterations: []step{
				{Output: `"THOUGHT: look\n\n` + "```bash" + `\nls -la\n` + "```" + `"`, Tools: `bash{"command":"ls -la"}="<output>f.py</output>"`, Usage: record.Usage{Calls: 1, ToolCalls: 1, Unreported: 1}},
				{Output: `"I forgot the command."`, Usage: record.Usage{Calls: 1, Unreported: 1}},
			},
			Usage:  record.Usage{Calls: 2, ToolCalls: 1, Cost: 3_010_000_000_000, Uncounted: 2},
			Scores: map[string]float64{"resolved": 0},
		},
	}
	compare(t, got, want)
}

// TestChat: a line that is no JSON is told with its place, a price of 0 is not
// known, arguments that are no JSON stay text.
func TestChat(t *testing.T) {
	text, err := os.ReadFile("testdata/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []told
	var problems []string
	for i, err := range imports.New(mapping(t, "openai-chat")).Read("chat.jsonl", bytes.NewReader(text)) {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		got = append(got, tell(i))
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "chat.jsonl:4: not JSON: ") {
		t.Errorf("problems: %q", problems)
	}
	want := []told{
		{
			ID: "gpt-4o/a/1", Reason: record.ReasonFinalResponse, Status: record.Completed,
			Iterations: []step{
				{Tools: `weather{"city":"Bern"}="rain"`, Usage: record.Usage{Calls: 1, InputTokens: 20, CachedTokens: 16, OutputTokens: 5, ToolCalls: 1, Cost: 1_000_000_000}},
				{Output: `"It rains."`, Usage: record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 4, Unpriced: 1}},
			},
			Usage:  record.Usage{Calls: 2, InputTokens: 50, CachedTokens: 16, OutputTokens: 9, ToolCalls: 1, Cost: 1_000_000_000, Unpriced: 1},
			Scores: map[string]float64{"score": 1},
		},
		{
			ID: "assistant/b/1", Reason: record.ReasonFinalResponse, Status: record.Completed,
			Iterations: []step{{Output: `"hi"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
			Usage:      record.Usage{Calls: 1, InputTokens: 9, OutputTokens: 1, Cost: record.USD / 4},
			Scores:     map[string]float64{},
		},
		{
			ID: "assistant/chat.jsonl:5/1", Reason: record.ReasonUnknown, Status: record.Completed,
			Iterations: []step{{Tools: `f"no json"=`, Usage: record.Usage{Calls: 1, ToolCalls: 1, Unreported: 1}}},
			Usage:      record.Usage{Calls: 1, ToolCalls: 1, Unreported: 1},
			Scores:     map[string]float64{},
		},
	}
	compare(t, got, want)
}

// TestTau2AsItIsWritten: the recorded runs are compacted; this is the form in
// which tau2-bench writes its results.
func TestTau2AsItIsWritten(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "tau2")), "testdata/tau2.json"))
	compare(t, got, []told{{
		ID: "gpt-4.1/7/2", Reason: record.ReasonMaxSteps, Status: record.Completed, Elapsed: 2500 * time.Millisecond,
		Iterations: []step{
			{Output: `{"content":"Hi! How can I help you today?","results":[]}`},
			{Output: `{"content":null,"results":["done"]}`, Tools: `cancel{"id":1}="done"`, End: 2500 * time.Millisecond,
				Usage: record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 2, ToolCalls: 1, Cost: record.USD / 2}},
		},
		Usage:  record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 2, ToolCalls: 1, Cost: record.USD / 2},
		Scores: map[string]float64{"reward": 0},
	}})
}
