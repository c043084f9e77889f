package imports_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// written loads a mapping from its text.
func written(t testing.TB, text string) *spec.Import {
	t.Helper()
	d, faults := spec.LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(text)}}, "m.yaml", spec.Options{})
	if d == nil {
		t.Fatal(faults)
	}
	return d.Import
}

// lines tells what reading a text gives: a line a run, and a line a problem.
func lines(im *imports.Importer, name, text string) string {
	var b strings.Builder
	for i, err := range im.Read(name, iotest.OneByteReader(strings.NewReader(text))) {
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		fmt.Fprintf(&b, "%s %v %v\n", i.Run.ID, len(i.Run.Iterations), i.Task.Input)
	}
	return b.String()
}

const plain = "import: m\ntask: row.id\ninput: row.?q.orValue(\"\")\niterations: {of: 'row.?steps.orValue([])'}\n"

func TestWhereRowsAre(t *testing.T) {
	for _, c := range []struct{ name, each, file, text, want string }{
		{"a list", "", "f.json", `[{"id": "a"}, {"id": "b", "steps": [1, 2]}]`, "m/a/1 0 \nm/b/1 2 \n"},
		{"quotes and brackets in texts", "", "f.json", `[{"id": "a\"]}"}, {"id": "b\\"}]`, "m/a\"]}/1 0 \nm/b\\/1 0 \n"},
		{"doc", "each: doc\n", "f.json", `[{"id": "a"}]`, "m/a/1 0 \n"},
		{"one document", "", "f.json", "\ufeff {\"id\": \"a\"} ", "m/a/1 0 \n"},
		{"documents", "", "f.json", `{"id": "a"} {"id": "b"}[{"id": "c"}]`, "m/a/1 0 \nm/b/1 0 \nm/c/1 0 \n"},
		{"below a path", "each: doc.log.runs\n", "f.json", `{"x": 1, "log": {"y": [], "runs": [{"id": "a"}, {"id": "b"}], "z": 1}, "w": 2}`, "m/a/1 0 \nm/b/1 0 \n"},
		{"values", "each: doc.map(k, doc[k])\n", "f.json", `{"1": {"id": "a"}, "0": {"id": "b"}}`, "m/a/1 0 \nm/b/1 0 \n"},
		{"an expression", "each: doc.runs.filter(r, r.id != 'a')\n", "f.json", `{"runs": [{"id": "a"}, {"id": "b"}]}`, "m/b/1 0 \n"},
		{"lines", "", "f.jsonl", "{\"id\": \"a\"}\r\n\n{\"id\": \"b\"}", "m/a/1 0 \nm/b/1 0 \n"},
		{"lists in lines", "each: doc.runs\n", "f.jsonl", `{"runs": [{"id": "a"}, {"id": "b"}]}`, "m/a/1 0 \nm/b/1 0 \n"},
		{"columns", "", "f.csv", "id,q\na,\"x\ny\"\nb,z\n", "m/a/1 0 x\ny\nm/b/1 0 z\n"},

		{"nothing", "", "f.json", " ", "f.json: the file is empty\n"},
		{"an empty list", "", "f.json", "[]", ""},
		{"no path", "each: doc.runs\n", "f.json", `{"rows": []}`, "f.json:1: doc.runs is missing\n"},
		{"no list", "each: doc.runs\n", "f.json", "{\n\"runs\": {}}", "f.json:2: want a list of rows\n"},
		{"the list of a path alone", "each: doc.runs\n", "f.json", `[{"id": "a"}]`, "m/a/1 0 \n"},
		{"nothing in lines", "", "f.jsonl", "", "f.jsonl: the file is empty\n"},
		{"cut off", "", "f.json", "[{\"id\": \"a\"},\n {\"id\": \"b", "m/a/1 0 \nf.json:2: the file ends inside a value that begins here\n"},
		{"cut off behind", "", "f.json", "[{\"id\": \"a\"}", "m/a/1 0 \nf.json:1: want a comma or ]\n"},
		{"a bad row", "", "f.json", "[{\"id\": \"a\"},\n {\"id\": nope},\n {\"id\": \"c\"}]", "m/a/1 0 \nf.json:2: not JSON: invalid character 'o' in literal null (expecting 'u')\nm/c/1 0 \n"},
		{"a bad line", "", "f.jsonl", "{\"id\": \"a\"}\n{\n{\"id\": \"c\"}\n", "m/a/1 0 \nf.jsonl:2: not JSON: the text ends too early\nm/c/1 0 \n"},
		{"a row of another kind", "", "f.json", `[1, {"id": "b"}]`, "f.json:1: key \"id\" not found (by the expression at m.yaml:2:7)\nm/b/1 0 \n"},
		{"a bad column", "", "f.csv", "id,q\na,b,c\nb,z\n", "f.csv:2: not CSV: wrong number of fields\nm/b/1 0 z\n"},
		{"no zip", "", "f.eval", "PK\x03\x04", "f.eval: a zip file cannot be read from a pipe\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := written(t, plain+c.each)
			if got := lines(imports.New(m), c.file, c.text); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestDocIsWhatStandsBefore: rows that are read one by one see what stands before
// them in their document.
func TestDocIsWhatStandsBefore(t *testing.T) {
	m := written(t, "import: m\neach: doc.runs\nconfiguration: doc.?model.orValue('none') + doc.?after.orValue('')\ntask: row\niterations: {of: '[]'}\n")
	if got := lines(imports.New(m), "f.json", `{"model": "gpt", "runs": ["a"], "after": "x"}`); got != "gpt/a/1 0 <nil>\n" {
		t.Error(got)
	}
}

func TestIDsThatStandTwice(t *testing.T) {
	m := written(t, plain)
	im := imports.New(m)
	got := lines(im, "x/one.json", `[{"id": 1, "q": "a"}, {"id": 1, "q": "a"}, {"id": 1, "q": "b"}, {"id": 1, "q": "c"}]`) +
		lines(im, "two.json", `[{"id": 1, "q": "a"}, {"id": 1, "q": "d"}]`)
	want := "m/1/1 0 a\nm/1/2 0 a\nm/one:1/1 0 b\nm/x%2Fone.json:1:1/1 0 c\nm/1/3 0 a\nm/two:1/1 0 d\n"
	if n := im.Notes(); got != want || n.Renamed != 3 || n.Retried != 0 {
		t.Errorf("got %q, %+v", got, n)
	}
}

func TestTrialsThatStandTwice(t *testing.T) {
	im := imports.New(written(t, plain+"trial: row.n\n"))
	got := lines(im, "f.json", `[{"id": 1, "n": 2}, {"id": 1, "n": 2}, {"id": 1, "n": 1}, {"id": 1, "n": 0}, {"id": 1, "n": 1.5}, {"id": 1, "n": null}]`)
	want := "m/1/2 0 \nm/1/3 0 \nm/1/1 0 \n" +
		"f.json:1: trials are counted from 1, got 0 (by the expression at m.yaml:5:8)\n" +
		"f.json:1: want a whole number from 0, got 1.5 (by the expression at m.yaml:5:8)\nm/1/4 0 \n"
	if got != want || im.Notes().Retried != 1 {
		t.Errorf("got  %q\nwant %q, %+v", got, want, im.Notes())
	}
}

// usages reads runs and gives what each used.
func usages(t *testing.T, im *imports.Importer, texts ...string) (used []record.Usage) {
	t.Helper()
	for n, text := range texts {
		for i, err := range im.Read(fmt.Sprint(n, ".json"), strings.NewReader(text)) {
			must(t, err)
			used = append(used, i.Run.Usage)
		}
	}
	return used
}

// TestCountersThatGoOn: a counter of a file goes on from row to row and begins
// anew with the next file; one that falls was restarted.
func TestCountersThatGoOn(t *testing.T) {
	im := imports.New(written(t, `
import: m
iterations:
  of: row.steps
  cost_usd: it.usd
  usage: {input_tokens: it.tokens, output_tokens: "0"}
cumulative: {cost_usd: file, input_tokens: run}
`))
	used := usages(t, im, `[{"steps": [{"usd": 0.1, "tokens": 5}, {"usd": 0.3, "tokens": 7}]},
		{"steps": [{"usd": 0.35, "tokens": 4}, {"usd": 0.05, "tokens": 3}, {"usd": 0.05, "tokens": null}]}]`,
		`[{"steps": [{"usd": 0.01, "tokens": 1}]}]`)
	want := []record.Usage{
		{Calls: 2, InputTokens: 7, Cost: 300_000_000_000},
		{Calls: 3, InputTokens: 7, Cost: 100_000_000_000, Uncounted: 1},
		{Calls: 1, InputTokens: 1, Cost: 10_000_000_000},
	}
	if fmt.Sprint(used) != fmt.Sprint(want) || im.Notes().Restarts != 2 {
		t.Errorf("got %+v, %+v", used, im.Notes())
	}
}

// TestUnknownStaysUnknown: a price or tokens that the log does not tell are not 0.
func TestUnknownStaysUnknown(t *testing.T) {
	const mapping = "import: m\niterations:\n  of: row\n  cost_usd: it.?usd.orValue(null)\n  usage:\n    calls: it.?calls.orValue(null)\n    input_tokens: it.?tokens.orValue(null)\n"
	for _, c := range []struct {
		text string
		zero bool
		want record.Usage
	}{
		{`[[{"usd": 0.5, "tokens": 3}]]`, true, record.Usage{Calls: 1, InputTokens: 3, Cost: record.USD / 2}},
		{`[[{"usd": 0, "tokens": 3}]]`, false, record.Usage{Calls: 1, InputTokens: 3}},
		{`[[{"usd": 0, "tokens": 3}]]`, true, record.Usage{Calls: 1, InputTokens: 3, Unpriced: 1}},
		{`[[{"usd": null, "tokens": 3, "calls": 4}]]`, false, record.Usage{Calls: 4, InputTokens: 3, Unpriced: 4}},
		{`[[{"usd": 0.25}]]`, false, record.Usage{Calls: 1, Cost: record.USD / 4, Uncounted: 1}},
		{`[[{"usd": 0.25}, {"usd": 0.25, "tokens": 3}]]`, false, record.Usage{Calls: 2, InputTokens: 3, Cost: record.USD / 2, Uncounted: 1}},
		{`[[{}]]`, false, record.Usage{Calls: 1, Unreported: 1}},
		{`[[{"usd": 0, "calls": 0}]]`, false, record.Usage{}},
	} {
		used := usages(t, imports.New(written(t, fmt.Sprintf("%sunknown_cost_zero: %v\n", mapping, c.zero))), c.text)
		if len(used) != 1 || used[0] != c.want {
			t.Errorf("%s: got %+v, want %+v", c.text, used, c.want)
		}
	}
}

// TestArraysOfUnequalLength: what is missing at the end of an array is null, and
// a missing reward is no score and no evaluation.
// A run that the agent gave up returns its best iteration, one that it or its user ended
// the last; of what cut the others the log may say anything or nothing.
func TestWhatEndedARun(t *testing.T) {
	im := imports.New(written(t, `
import: m
task: row.id
iterations: {of: row.rewards, output: it, confidence: it}
ended: row.?ended.orValue(false)
gave_up: row.?gave_up.orValue(false)
stop: row.?stop.orValue(null)
recorded_under: {terminate: {max_iterations: 4}}
`))
	var got strings.Builder
	for i, err := range im.Read("f.json", strings.NewReader(`[
		{"id": "gave up", "rewards": [0.2, 0.6, 0.3], "gave_up": true},
		{"id": "gave up, whatever else", "rewards": [0.6, 0.3], "gave_up": true, "ended": true, "stop": "final_response"},
		{"id": "ended", "rewards": [0.6, 0.3], "ended": true},
		{"id": "by its user", "rewards": [0.6, 0.3], "ended": true, "stop": "user_ended"},
		{"id": "not ended", "rewards": [0.6, 0.3], "stop": "user_ended"},
		{"id": "silent", "rewards": [0.6, 0.3]},
		{"id": "errors", "rewards": [0.6, 0.3], "stop": "too_many_errors"},
		{"id": "environment", "rewards": [0.6, 0.3], "stop": "environment_error"},
		{"id": "messages", "rewards": [0.6, 0.3], "stop": "max_steps"},
		{"id": "the limit", "rewards": [0.6, 0.3, 0.1, 0.2]},
		{"id": "nothing", "rewards": [], "gave_up": true},
		{"id": "no reason", "rewards": [0.6], "stop": "whim"}]`)) {
		if err != nil {
			fmt.Fprintln(&got, err)
			continue
		}
		o := i.Run.Outcome
		fmt.Fprintln(&got, i.Task.ID, "->", o.Status, o.Reason, o.Class, o.Returned)
	}
	want := `gave up -> completed gave_up agent 2
gave up, whatever else -> completed gave_up agent 1
ended -> completed agent_ended agent 2
by its user -> completed user_ended agent 2
not ended -> completed unknown unknown 1
silent -> completed unknown unknown 1
errors -> completed too_many_errors guard 1
environment -> completed environment_error fault 1
messages -> completed max_steps condition 1
the limit -> completed max_iterations condition 1
nothing -> completed agent_ended agent 0
f.json:13: unknown stop reason "whim" (by the expression at m.yaml:7:7)
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// Runs under several limits are several configurations, each with the loop of its own.
func TestLimitsOfEachRun(t *testing.T) {
	im := imports.New(written(t, `
import: m
configuration: row.model
task: row.id
iterations: {of: row.steps, output: it}
recorded_under: row.?limits.orValue(null)
`))
	got := lines(im, "f.json", `[
		{"model": "small", "id": "a", "steps": [1, 2, 3], "limits": {"terminate": {"max_iterations": 3}}},
		{"model": "small", "id": "a", "steps": [1], "limits": {"terminate": {"max_iterations": 1.0}}},
		{"model": "small", "id": "b", "steps": [1, 2], "limits": {"terminate": {"max_iterations": 3, "timeout": "60s"}, "guards": {"budget": {"calls": 2}}}},
		{"model": "small", "id": "b", "steps": [1, 2, 3], "limits": {"terminate": {"max_iterations": 3}}},
		{"model": "small", "id": "c", "steps": [1]},
		{"model": "large", "id": "a", "steps": [1], "limits": {"terminate": {"max_iterations": 1}}},
		{"model": "large", "id": "b", "steps": [1], "limits": {"terminate": {"max_turns": 1}}},
		{"model": "large", "id": "c", "steps": [1], "limits": 3}]`)
	want := `small/a/1 3 <nil>
small@max_iterations=1/a/1 1 <nil>
small@timeout=60s,calls=2/b/1 2 <nil>
small/b/1 3 <nil>
small@max_iterations=unknown/c/1 1 <nil>
large/a/1 1 <nil>
`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, `"max_turns"`) || !strings.Contains(got, "want an object with terminate and guards, got 3") {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for name, limit := range map[string]int{"small": 3, "small@max_iterations=1": 1, "small@max_iterations=unknown": 0, "large": 1} {
		recorded, err := im.Recorded(name)
		must(t, err)
		if most, _, _ := recorded.Loop.EffectiveMax(); most != limit {
			t.Errorf("%s has %d iterations at most, want %d", name, most, limit)
		}
	}
	if parted := im.Notes().Parted; fmt.Sprint(parted) != "[small]" {
		t.Errorf("parted: %v", parted)
	}
}

// A time that the log does not tell is unknown: of durations all later ends are, of
// elapsed times the one.
func TestTimesThatAreUnknown(t *testing.T) {
	for _, c := range []struct{ times, want string }{
		{"elapsed: it", "[true false true] true"},
		{"duration: it", "[true true true] true"},
		{"output: it", "[true true true] true"},
	} {
		im := imports.New(written(t, "import: m\niterations: {of: row, "+c.times+"}\n"))
		for i, err := range im.Read("f.json", strings.NewReader("[[null, 3, null]]")) {
			must(t, err)
			var untimed []bool
			for _, it := range i.Run.Iterations {
				untimed = append(untimed, it.Untimed)
			}
			if got := fmt.Sprint(untimed, i.Run.Untimed); got != c.want {
				t.Errorf("%s: %s, want %s", c.times, got, c.want)
			}
		}
	}
}

func TestArraysOfUnequalLength(t *testing.T) {
	im := imports.New(written(t, `
import: m
iterations:
  of: row.actions
  output: it
  confidence: row.rewards[?i].orValue(null)
  scores: {reward: "row.rewards[?i].orValue(null)"}
when_cut: score
`))
	var all []*imports.Imported
	for i, err := range im.Read("f.json", strings.NewReader(`[{"actions": ["a", "b", "c"], "rewards": [-0.5, 2]}]`)) {
		must(t, err)
		all = append(all, i)
	}
	run, scores := all[0].Run, all[0].Scores
	if run.Iterations[0].Evaluation.Confidence != -0.5 || run.Iterations[2].Evaluation != nil || run.Outcome.Returned != 2 ||
		run.Iterations[0].Skipped || run.Iterations[2].Skipped {
		t.Errorf("%+v", run.Iterations)
	}
	var told []string
	for _, score := range scores {
		told = append(told, fmt.Sprint(score.Run, " ", score.Name, " ", score.Iteration, " ", score.Value, score.Unscored))
	}
	want := "[m/f.json:1/1 reward 0 2 m/f.json:1/1 reward 1 -0.5 m/f.json:1/1 reward 2 2 m/f.json:1/1 reward 3 0the log has no score]"
	if got := fmt.Sprint(told); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWhenCutZero: a run that is stopped before its end is worth nothing.
func TestWhenCutZero(t *testing.T) {
	im := imports.New(written(t, "import: m\niterations: {of: row.steps}\nscores: {reward: row.reward}\nended: true\nwhen_cut: 0\n"))
	for i, err := range im.Read("f.json", strings.NewReader(`{"steps": [1, 2, 3], "reward": 0.5}`)) {
		must(t, err)
		var values []float64
		for n, s := range i.Scores {
			if s.Iteration != n {
				t.Fatalf("%+v", i.Scores)
			}
			values = append(values, s.Value)
		}
		if fmt.Sprint(values) != "[0.5 0 0 0.5]" {
			t.Error(values)
		}
	}
}

// TestReadingStopsWhenAskedTo: who has seen enough gets no more rows.
func TestReadingStopsWhenAskedTo(t *testing.T) {
	for _, name := range []string{"f.json", "f.jsonl"} {
		n := 0
		for range imports.New(written(t, plain)).Read(name, strings.NewReader(strings.Repeat("{\"id\": 1}\n", 100))) {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("%s: %d", name, n)
		}
	}
}

// FuzzRead: whatever a file holds, reading it ends, never panics, and what comes
// out can be written down; lines and a list of the same rows give the same runs.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"id": "a", "steps": [{"role": "assistant", "n": 1}]}`, `[{"id": 1}]`, "{", `{"id": [}`, "PK\x03\x04", "\ufeff[]", `"\ud800"`, `{"id":"` + strings.Repeat("x", 300)} {
		f.Add("f.json", []byte(text))
		f.Add("f.jsonl", []byte(text+"\n"+text))
		f.Add("f.csv", []byte(text))
	}
	m := written(f, `
import: m
task: row.?id.orValue("none")
input: row
iterations:
  of: row.?steps.orValue([])
  begin: it.role == "assistant"
  output: it
  tool_calls: it.?calls.orValue([])
  observations: after
  confidence: it.?n.orValue(null)
  cost_usd: it.?usd.orValue(null)
  usage:
    input_tokens: it.?input.orValue(null)
    output_tokens: it.?output.orValue(null)
  elapsed: it.?t.orValue(null)
scores: "row.?scores.orValue({})"
cumulative: {cost_usd: file}
`)
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		im := imports.New(m)
		ids := map[string]bool{}
		for i, err := range im.Read(name, bytes.NewReader(text)) {
			var problem *imports.Problem
			if err != nil {
				if !errors.As(err, &problem) || problem.File == "" && name != "" {
					t.Fatalf("%T %v", err, err)
				}
				continue
			}
			if ids[i.Run.ID] {
				t.Fatalf("%s stands twice", i.Run.ID)
			}
			ids[i.Run.ID] = true
			s := i.Run.Light()
			if len(s.Iterations) != len(i.Run.Iterations) || s.Usage.Cost < 0 || s.Elapsed < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// TestElapsedThatFalls: a clock that was restarted counts on from where it stood.
func TestElapsedThatFalls(t *testing.T) {
	im := imports.New(written(t, "import: m\niterations: {of: row, elapsed: it}\nrecorded_under: {terminate: {max_iterations: 3}}\n"))
	for i, err := range im.Read("f.json", strings.NewReader(`[[1, 2.5, 0.5, 1, null, 3]]`)) {
		must(t, err)
		var ends []float64
		for _, it := range i.Run.Iterations {
			ends = append(ends, it.End.Seconds())
		}
		if fmt.Sprint(ends) != "[1 2.5 3 3.5 3.5 5.5]" || i.Run.Elapsed.Seconds() != 5.5 {
			t.Error(ends)
		}
	}
	if n := im.Notes(); n.Restarts != 1 || n.Contradicted != 1 || n.First != "f.json:1, at iteration 3 of 6" {
		t.Errorf("%+v", n)
	}
}
