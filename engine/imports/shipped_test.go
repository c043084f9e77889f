package imports_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
)

// told is what a test wants of a run, which completed with a final response, has no scores and
// used what its iterations did where nothing else is said.
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
	for i := range want {
		w := &want[i]
		w.Reason, w.Status = cmp.Or(w.Reason, record.ReasonFinalResponse), cmp.Or(w.Status, record.Completed)
		if w.Scores == nil {
			w.Scores = map[string]float64{}
		}
		if w.Usage == (record.Usage{}) {
			for _, s := range w.Iterations {
				w.Usage = w.Usage.Plus(s.Usage)
			}
		}
	}
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
		ID: "openai%2Fgpt-4o-mini/1/1", Elapsed: 2 * time.Second,
		Iterations: []step{
			{Output: `"I add."`, Tools: `add{"a":2,"b":2}="four, or 4"`, End: 1500 * time.Millisecond,
				Usage: record.Usage{Calls: 1, InputTokens: 40, CachedTokens: 10, CacheWriteTokens: 5, OutputTokens: 10, ReasoningTokens: 4, ToolCalls: 1, Cost: record.USD / 4}},
			{Output: `"4"`, End: 2 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 60, OutputTokens: 2, Unpriced: 1}},
		},
		Scores: map[string]float64{"match": 1, "steps": 2},
	},
	{
		ID: "openai%2Fgpt-4o-mini/1/2", Elapsed: 3500 * time.Millisecond,
		Iterations: []step{{Output: `"5"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
		Usage:      record.Usage{Calls: 1, InputTokens: 7, OutputTokens: 2, Unpriced: 1},
		Scores:     map[string]float64{"match": 0, "steps.n": 1, "nan": -1},
	},
	{
		ID: "openai%2Fgpt-4o-mini/long/1", Reason: record.ReasonBudgetTokens,
		Iterations: []step{{Output: `"1"`, Usage: record.Usage{Calls: 1, Unreported: 1}}, {Output: `"2"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
		Scores:     map[string]float64{"match": 0},
	},
	{ID: "openai%2Fgpt-4o-mini/broken/1", Reason: record.ReasonError, Status: record.Faulted},
}

func TestInspectJSON(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "inspect")), "testdata/inspect.json"))
	compare(t, got, inspected)
}

// member is a member of a zip file, by a method of compression.
type member struct {
	name   string
	text   []byte
	method uint16
}

// zipped writes a zip file.
func zipped(t testing.TB, name string, members ...member) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	must(t, err)
	z := zip.NewWriter(f)
	z.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err == nil {
			_, err = w.Write(m.text)
		}
		must(t, err)
	}
	must(t, errors.Join(z.Close(), f.Close()))
	return path
}

// TestInspectEval: an .eval file is a zip file of the same samples, compressed by zstd since 2026. One whose
// evaluation did not end has no header; of a sample that was written twice the last is meant.
func TestInspectEval(t *testing.T) {
	text, err := os.ReadFile("testdata/inspect.json")
	must(t, err)
	var log map[string]json.RawMessage
	var samples []json.RawMessage
	parsed := bytes.ReplaceAll(text, []byte("NaN"), []byte("null"))
	must(t, errors.Join(json.Unmarshal(parsed, &log), json.Unmarshal(log["samples"], &samples)))
	names := []string{"1_epoch_1", "1_epoch_2", "long_epoch_1", "broken_epoch_1"}
	for _, method := range []uint16{zip.Deflate, zstd.ZipMethodWinZip} {
		for _, header := range []string{"header.json", "_journal/start.json"} {
			members := []member{{"samples/1_epoch_1.json", []byte(`{"id": "old"}`), method}, {"_journal/summaries/1.json", []byte(`[]`), method}}
			for i, name := range names {
				members = append(members, member{"samples/" + name + ".json", samples[i], method})
			}
			members = append(members, member{header, []byte(`{"eval": ` + string(log["eval"]) + `}`), method})
			im := imports.New(mapping(t, "inspect"))
			compare(t, tellAll(read(t, im, zipped(t, "log.eval", members...))), inspected)
			if got := im.Notes().Replaced; got != 1 {
				t.Errorf("%d members were replaced, want 1", got)
			}
		}
	}
}

// TestInspectLimits: the limits of the evaluation are those that replay needs.
func TestInspectLimits(t *testing.T) {
	const sample = `{"id": 1, "epoch": 1, "input": "", "messages": [], "limit": {"type": "turn", "limit": 2}, "events": [
		{"event": "model", "timestamp": "2026-01-02T10:00:00Z", "completed": "2026-01-02T10:00:01Z", "output": {"choices": [{"message": {"content": "a"}}]}},
		{"event": "model", "timestamp": "2026-01-02T10:00:01Z", "completed": "2026-01-02T10:00:05Z", "output": {"choices": [{"message": {"content": "b"}}]}}]}`
	im := imports.New(mapping(t, "inspect"))
	for i, err := range im.Read("f.json", strings.NewReader(`{"eval": {"model": "m", "config": {"turn_limit": 2, "time_limit": 60, "token_limit": 1000, "cost_limit": 0.5}}, "samples": [`+sample+`]}`)) {
		must(t, err)
		if i.Run.Outcome.Reason != record.ReasonMaxIterations || i.Run.Outcome.Limit != 2 {
			t.Errorf("%+v", i.Run.Outcome)
		}
	}
	recorded, err := im.Recorded("m")
	must(t, err)
	if l := recorded.Loop; l.Guards.Budget == nil || l.Guards.Budget.Tokens != 1000 || l.Guards.Budget.CostUSD != 0.5 {
		t.Errorf("%+v", l.Guards)
	}
}

func TestZipFilesThatAreWrong(t *testing.T) {
	header := member{"header.json", []byte(`{"eval": {"model": "m"}}`), zip.Deflate}
	bomb := append(append([]byte(`{"id": "`), bytes.Repeat([]byte{'0'}, 70<<20)...), `"}`...)
	whole, err := os.ReadFile(zipped(t, "whole.eval", header, member{"samples/1.json", []byte(`{"id": 1}`), zip.Deflate}))
	must(t, err)
	cut := filepath.Join(t.TempDir(), "cut.eval")
	broken := filepath.Join(t.TempDir(), "broken.eval")
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte("samples/1.json"))+len("samples/1.json")+3] ^= 0x55
	must(t, errors.Join(os.WriteFile(cut, whole[:len(whole)-30], 0o600), os.WriteFile(broken, damaged, 0o600)))
	good := member{"samples/2.json", []byte(`{"id": 2, "epoch": 1, "input": "", "messages": []}`), zip.Deflate}
	for path, want := range map[string]string{
		zipped(t, "bomb.eval", header, member{"samples/1.json", bomb, zip.Deflate}, good):               "bytes expand to more than 67",
		zipped(t, "bomb.zstd.eval", header, member{"samples/1.json", bomb, zstd.ZipMethodWinZip}, good): "bytes expand to more than 67",
		zipped(t, "no-header.eval", good): "the zip file has no member header.json, _journal/start.json",
		zipped(t, "no-json.eval", header, member{"samples/1.json", []byte(`{"id": `), zip.Deflate}, good): "samples/1.json:1: the file ends inside a value",
		cut:    "the zip file is cut off or damaged",
		broken: "samples/1.json:",
	} {
		f, err := os.Open(path)
		must(t, err)
		defer f.Close()
		var problems []string
		runs := 0
		for _, err := range imports.New(mapping(t, "inspect")).Read(filepath.Base(path), f) {
			if runs++; err != nil {
				problems, runs = append(problems, err.Error()), runs-1
			}
		}
		if len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("%s: %q", filepath.Base(path), problems)
		}
		if others := strings.HasPrefix(filepath.Base(path), "bomb") || strings.HasPrefix(filepath.Base(path), "no-json"); others != (runs == 1) {
			t.Errorf("%s: %d runs", filepath.Base(path), runs)
		}
	}
}

func TestMiniSWEAgent(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "mini-swe-agent")), "testdata/mini.traj.json", "testdata/mini-v1.traj.json"))
	want := []told{
		{
			ID: "anthropic%2Fclaude-sonnet-4/django__django-1/1", Elapsed: 10500 * time.Millisecond,
			Iterations: []step{
				{Output: `"Look.\n` + "```mswea_bash_command" + `\nls\n` + "```" + `"`, Tools: `bash{"command":"ls"}="<returncode>0</returncode>\n<output>\nf.py\n</output>"`,
					Usage: record.Usage{Calls: 1, InputTokens: 1000, OutputTokens: 50, ToolCalls: 1, Cost: 10_500_000_000}},
				{Output: `"Done.\n` + "```mswea_bash_command" + `\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n` + "```" + `"`,
					Tools: `bash{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}="diff --git a/f b/f"`, End: 10500 * time.Millisecond,
					Usage: record.Usage{Calls: 1, InputTokens: 1200, OutputTokens: 60, ToolCalls: 1, Cost: 20_000_000_000}},
			},
		},
		{ // only the total cost is in the log: the run has it, its iterations do not
			ID: "mini-swe-agent/django__django-2/1", Reason: record.ReasonUnknown,
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

// The tokens of a transcript are those that the live client counts: reasoning that a server counts beside the other output is output,
// as is what the total alone tells. A total that counts cached input twice adds none.
func TestChatCountsReasoningBeside(t *testing.T) {
	for usage, want := range map[string]record.Usage{
		`{"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`:                                           {InputTokens: 32, OutputTokens: 103, ReasoningTokens: 94},
		`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":{"reasoning_tokens":94}}`: {InputTokens: 32, CachedTokens: 6, OutputTokens: 103, ReasoningTokens: 94},
		`{"prompt_tokens":20,"completion_tokens":198,"total_tokens":623}`:                                                                                               {InputTokens: 20, OutputTokens: 603, ReasoningTokens: 405},
		`{"prompt_tokens":20,"completion_tokens":4,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":3}}`:                                                      {InputTokens: 20, CachedTokens: 3, OutputTokens: 4},
		`{"prompt_tokens":20,"completion_tokens":4,"total_tokens":9}`:                                                                                                   {InputTokens: 20, OutputTokens: 4},
	} {
		want.Calls, want.Unpriced = 1, 1
		for place, line := range map[string]string{
			"a message": `{"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"!","usage":` + usage + `}]}`,
			"the run":   `{"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"!"}],"usage":` + usage + `}`,
		} {
			for i, err := range imports.New(mapping(t, "openai-chat")).Read("chat.jsonl", strings.NewReader(line)) {
				if err != nil || i.Run.Usage != want {
					t.Errorf("%s of %s: %+v, %v", usage, place, i, err)
				}
			}
		}
	}
}

// TestChat: a line that is no JSON is told with its place, a price of 0 is not
// known, arguments that are no JSON stay text.
func TestChat(t *testing.T) {
	text, err := os.ReadFile("testdata/chat.jsonl")
	must(t, err)
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
			ID: "gpt-4o/a/1",
			Iterations: []step{
				{Tools: `weather{"city":"Bern"}="rain"`, Usage: record.Usage{Calls: 1, InputTokens: 20, CachedTokens: 16, OutputTokens: 5, ToolCalls: 1, Cost: 1_000_000_000}},
				{Output: `"It rains."`, Usage: record.Usage{Calls: 1, InputTokens: 30, OutputTokens: 4, Unpriced: 1}},
			},
			Scores: map[string]float64{"score": 1},
		},
		{
			ID:         "assistant/b/1",
			Iterations: []step{{Output: `"hi"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
			Usage:      record.Usage{Calls: 1, InputTokens: 9, OutputTokens: 1, Cost: record.USD / 4},
		},
		{
			ID: "assistant/chat.jsonl:5/1", Reason: record.ReasonUnknown,
			Iterations: []step{{Tools: `f"no json"=`, Usage: record.Usage{Calls: 1, ToolCalls: 1, Unreported: 1}}},
		},
	}
	compare(t, got, want)
}

// TestTau2AsItIsWritten: the recorded runs are compacted; this is the form in
// which tau2-bench writes its results.
func TestTau2AsItIsWritten(t *testing.T) {
	got := tellAll(read(t, imports.New(mapping(t, "tau2")), "testdata/tau2.json"))
	compare(t, got, []told{{
		ID: "gpt-4.1/7/2", Reason: record.ReasonMaxSteps, Elapsed: 2500 * time.Millisecond,
		Iterations: []step{
			{Output: `{"content":"Hi! How can I help you today?","results":[]}`},
			{Output: `{"content":null,"results":["done"]}`, Tools: `cancel{"id":1}="done"`, End: 2500 * time.Millisecond,
				Usage: record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 2, ToolCalls: 1, Cost: record.USD / 2}},
		},
		Scores: map[string]float64{"reward": 0},
	}})
}

// TestTranscriptsAndTraces: what the mappings of transcripts, spans and session logs know. A message of Claude Code is
// written as a line a block, each with the usage so far; what a subagent says in between does not part it.
func TestTranscriptsAndTraces(t *testing.T) {
	for _, c := range []struct {
		mapping, file     string
		problems, orphans int
		thinking          string // of the first iteration
		want              []told
	}{
		{"otel", "otel.json", 0, 0, "Look.", []told{
			{
				ID: "clerk:gpt-4o/conv-1/1", Elapsed: 6 * time.Second,
				Iterations: []step{
					{Output: `""`, Tools: `weather{"city":"Bern"}="rain"`, End: 2 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 40, OutputTokens: 10, ReasoningTokens: 3, ToolCalls: 1, Unpriced: 1}},
					{Output: `"It rains."`, End: 6 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 60, CachedTokens: 32, OutputTokens: 4, Unpriced: 1}},
				},
				Scores: map[string]float64{"relevance": 0.75},
			},
			{
				ID: "gpt-4/aa/1", Reason: record.ReasonUnknown, Elapsed: time.Second,
				Iterations: []step{{Output: `"Hello"`, End: time.Second, Usage: record.Usage{Calls: 1, InputTokens: 9, OutputTokens: 1, Unpriced: 1}}},
			},
		}},
		{"langfuse", "langfuse.jsonl", 0, 0, "", []told{
			{
				ID: "gpt-4o/t1/1", Elapsed: 5 * time.Second,
				Iterations: []step{
					{Tools: `weather{"city":"Bern"}="rain"`, End: 1500 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 40, OutputTokens: 10, ToolCalls: 1, Unpriced: 1}},
					{Output: `"It rains."`, End: 5 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 52, CachedTokens: 32, OutputTokens: 4, Cost: record.USD / 4}},
				},
				Scores: map[string]float64{"relevance": 0.75, "tone": -1},
			},
			{
				ID: "gpt-4o/t2/1", Reason: record.ReasonUnknown,
				Iterations: []step{{Usage: record.Usage{Calls: 1, Unreported: 1}}},
			},
		}},
		{"anthropic", "anthropic.jsonl", 0, 1, "Look.", []told{
			{
				ID: "claude-sonnet-5/a/1",
				Iterations: []step{
					{Output: `""`, Tools: `weather{"city":"Bern"}="rain"time{}="noon"`,
						Usage: record.Usage{Calls: 1, InputTokens: 42, CachedTokens: 20, CacheWriteTokens: 4, CacheWrite1hTokens: 8, OutputTokens: 9, ToolCalls: 2, Unpriced: 1}},
					{Output: `"It rains."`, Usage: record.Usage{Calls: 1, Unreported: 1}},
				},
				Scores: map[string]float64{"score": 1},
			},
			{
				ID: "assistant/b/1", Reason: record.ReasonUnknown,
				Iterations: []step{{Output: `"Hel"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
			},
		}},
		{"openai-responses", "responses.jsonl", 0, 0, "Look.", []told{
			{
				ID: "gpt-5/a/1",
				Iterations: []step{
					{Output: `""`, Tools: `weather{"city":"Bern"}="rain"time"no json"="noon"`, Usage: record.Usage{Calls: 1, ToolCalls: 2, Unreported: 1}},
					{Output: `"It rains."`, Usage: record.Usage{Calls: 1, InputTokens: 50, CachedTokens: 32, OutputTokens: 4, Unpriced: 1}},
				},
			},
			{
				ID: "gpt-5/resp_1/1", Reason: record.ReasonUnknown,
				Iterations: []step{{Output: `"Hel"`, Usage: record.Usage{Calls: 1, Unreported: 1}}},
				Usage:      record.Usage{Calls: 1, InputTokens: 9, OutputTokens: 2, ReasoningTokens: 1, Unpriced: 1},
			},
		}},
		// A session of codex 0.171.0 (codex exec) with agentbench mock as its model; long texts are cut, folders renamed.
		{"codex", "codex-0.171.0.jsonl", 0, 0, "I list the files first.", []told{{
			ID: "codex:m/01a21db4-9696-78a3-aeac-23b848c825e5/1", Elapsed: 541 * time.Millisecond,
			Iterations: []step{
				{Output: `""`, Tools: `exec_command{"cmd":"echo Paris > a.txt; ls"}="Chunk ID: c257fd\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\na.txt\nb.txt\n"`,
					End: 420 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 9544, OutputTokens: 18, ReasoningTokens: 6, ToolCalls: 1, Unpriced: 1}},
				{Output: `"The capital is Paris."`, End: 541 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 9590, OutputTokens: 8, ReasoningTokens: 3, Unpriced: 1}},
			},
		}}},
		// A session of qwen-code 0.15.10 (qwen -p), made in the same way.
		{"qwen-code", "qwen-code-0.15.10.jsonl", 0, 0, "I list the files first.", []told{{
			ID: "qwen-code:m/587d28ef-0e7e-4738-a9cd-c3716d00dfb9/1", Elapsed: 935 * time.Millisecond,
			Iterations: []step{
				{Output: `""`, Tools: `list_directory{"path":"/work"}="Listed 1 item(s) in /work:\n---\nb.txt"`, End: 274 * time.Millisecond,
					Usage: record.Usage{Calls: 1, InputTokens: 18997, OutputTokens: 16, ToolCalls: 1, Unpriced: 1}},
				{Output: `"The capital is Paris."`, End: 935 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 19018, OutputTokens: 8, Unpriced: 1}},
			},
		}}},
		{"codex", "codex.jsonl", 0, 0, "Look.", []told{{
			ID: "codex:gpt-5/0199-aa/1", Elapsed: 3500 * time.Millisecond,
			Iterations: []step{
				{Output: `""`, Tools: `shell{"command":["ls"]}="f.go"`, End: 2 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 100, CachedTokens: 64, OutputTokens: 10, ReasoningTokens: 4, ToolCalls: 1, Unpriced: 1}},
				{Output: `"Fixed."`, End: 3500 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 120, CachedTokens: 100, OutputTokens: 5, Unpriced: 1}},
			},
		}}},
		{"claude-code", "claude-code.jsonl", 1, 0, "Look.", []told{{
			ID: "claude-code:claude-sonnet-5/s-1/1", Elapsed: 7 * time.Second,
			Iterations: []step{
				{Output: `""`, Tools: `Task{"prompt":"find"}="f.go"Read{"file":"f.go"}="package f"`, End: 4500 * time.Millisecond,
					Usage: record.Usage{Calls: 1, InputTokens: 153, CachedTokens: 50, CacheWrite1hTokens: 100, OutputTokens: 40, ToolCalls: 2, Unpriced: 1}},
				{Output: `"It is f.go."`, End: 4500 * time.Millisecond, Usage: record.Usage{Calls: 1, InputTokens: 7, OutputTokens: 2, Unpriced: 1}},
				{Output: `"Fixed."`, End: 7 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 175, CachedTokens: 150, CacheWriteTokens: 20, OutputTokens: 6, Unpriced: 1}},
			},
		}}},
		{"qwen-code", "qwen-code.jsonl", 0, 0, "Look.", []told{{
			ID: "qwen-code:qwen3/q-1/1", Elapsed: 5 * time.Second,
			Iterations: []step{
				{Output: `""`, Tools: `read_file{"path":"f.go"}="package f"`, End: 2 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 100, CachedTokens: 64, OutputTokens: 10, ReasoningTokens: 4, ToolCalls: 1, Unpriced: 1}},
				{Output: `"Fixed."`, End: 5 * time.Second, Usage: record.Usage{Calls: 1, Unreported: 1}},
			},
		}}},
	} {
		t.Run(c.mapping, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", c.file))
			must(t, err)
			defer f.Close()
			im := imports.New(mapping(t, c.mapping))
			var got []*imports.Imported
			problems := 0
			for i, err := range im.Read(c.file, f) {
				if err == nil {
					got = append(got, i)
				} else if problems++; c.problems == 0 {
					t.Error(err)
				}
			}
			compare(t, tellAll(got), c.want)
			if problems != c.problems || im.Notes().Orphans != c.orphans || len(im.Notes().Warnings) != 0 {
				t.Errorf("%d problems, %+v", problems, im.Notes())
			}
			if thought := got[0].Run.Iterations[0].Thinking; thought != c.thinking {
				t.Errorf("thinking %q", thought)
			}
			again := 0
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			for i, err := range im.Read("copy.jsonl", f) {
				if again++; err == nil && mapping(t, c.mapping).Session != nil {
					t.Errorf("the same session once more: %s", i.Run.ID)
				}
			}
			if again < len(got) {
				t.Errorf("read again: %d", again)
			}
		})
	}
}
