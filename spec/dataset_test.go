package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/spec/expr"
)

// tasksInShort is id=input of every task.
func tasksInShort(t *testing.T, d *Document) string {
	t.Helper()
	var parts []string
	for task, err := range d.Tasks() {
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, task.ID+"="+fmt.Sprint(task.Input))
	}
	return strings.Join(parts, " ")
}

func suiteWithTasks(t *testing.T, tasks string, files ...string) *Document {
	t.Helper()
	all := append([]string{"s.yaml", "suite: s\ntasks: " + tasks + "\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n",
		"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n"}, files...)
	return loaded(t, all...)
}

func TestTaskFormats(t *testing.T) {
	cases := []struct{ name, tasks, file, text, want string }{
		{"inline", "[{input: a}, {id: two, input: b}, {vars: {x: 1}}]", "", "", "task-1=a two=b task-3=<nil>"},
		{"jsonl", "t.jsonl", "t.jsonl", "{\"id\": \"one\", \"input\": \"a\"}\n\n{\"input\": 2}\r\n{\"id\": 17, \"input\": true}", "one=a t.jsonl:3=2 17=true"},
		{"jsonl with a mark", "t.jsonl", "t.jsonl", "\ufeff{\"id\": \"one\", \"input\": \"a\"}", "one=a"},
		{"json", "t.json", "t.json", `[{"id": "one", "input": "a"}, {"input": "b"}]`, "one=a t.json:2=b"},
		{"yaml", "t.yaml", "t.yaml", "- {id: one, input: a}\n- {input: 5}\n", "one=a t.yaml:2=5"},
		{"yml", "t.yml", "t.yml", "- {id: one, input: a}\n", "one=a"},
		{"csv", "t.csv", "t.csv", "\ufeffid,input,vars.kind\n1,\"two\nlines\",easy\n,x,hard\n", "1=two\nlines t.csv:4=x"},
		{"upper case", "T.JSONL", "T.JSONL", `{"id": "one", "input": "a"}`, "one=a"},
		{"pattern", `"**/t.json"`, "deep/er/t.json", `[{"input": "a"}]`, "deep/er/t.json:1=a"},
		{"file with a bracket", `"t[1].json"`, "t[1].json", `[{"input": "a"}]`, "t[1].json:1=a"},
		{"mapped json", "{files: [t.json], each: 'doc.map(key, doc[key])', id: string(row.n), input: row.q}", "t.json", `{"b": {"n": 1, "q": "x"}, "a": {"n": 2, "q": "y"}}`, "1=x 2=y"},
		{"mapped jsonl", "{files: [t.jsonl], id: string(line), input: row.q}", "t.jsonl", "{\"q\": 1}\n\n{\"q\": 2}\n", "1=1 3=2"},
		{"gathered jsonl", "{files: [t.jsonl], each: 'doc.filter(r, r.q > 1)', input: row.q}", "t.jsonl", "{\"q\": 1}\n\n{\"q\": 2}\n", "t.jsonl:1=2"},
		{"mapped csv", "{files: [t.csv], id: string(row.name), input: row.name + row.size}", "t.csv", "name,size\na,1\nb,2\n", "a=a1 b=b2"},
		{"ids of any form", "t.jsonl", "t.jsonl", "{\"id\": \"../a b/ü\", \"input\": 1}\n{\"id\": \"A\", \"input\": 2}\n{\"id\": \"a\", \"input\": 3}\n", "../a b/ü=1 A=2 a=3"},
	}
	for _, c := range cases {
		d := suiteWithTasks(t, c.tasks, c.file+".", "", c.file, c.text)
		if got := tasksInShort(t, d); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if _, faults := d.CountTasks(); len(faults) > 0 {
			t.Errorf("%s: %v", c.name, faults)
		}
	}
}

// Values of tasks are those of expressions: numbers are doubles, objects keep their order.
func TestTaskValues(t *testing.T) {
	d := suiteWithTasks(t, "[{input: {z: 1, a: [1.5, ~, true, 2026-01-31]}, target: 8, vars: {n: 2}, metadata: {m: x}}]")
	for task := range d.Tasks() {
		input, err := expr.AppendJSON(nil, task.Input)
		if err != nil || string(input) != `{"z":1,"a":[1.5,null,true,"2026-01-31"]}` {
			t.Errorf("input is %s (%v)", input, err)
		}
		if task.Target != 8.0 {
			t.Errorf("target is %T(%v), want float64(8)", task.Target, task.Target)
		}
		if n, _ := task.Vars.(*expr.Object).Get("n"); n != 2.0 {
			t.Errorf("vars.n is %T(%v)", n, n)
		}
	}
}

func TestMappedTask(t *testing.T) {
	d := suiteWithTasks(t, `{files: [t.json], id: row.id + "@" + file, input: row.q, target: "row.?a.orValue(null)", vars: {level: row.level, n: size(doc)}, metadata: {place: line}}`,
		"t.json", `[{"id": "one", "q": "x", "level": 3}]`)
	for task, err := range d.Tasks() {
		if err != nil {
			t.Fatal(err)
		}
		vars, _ := expr.AppendJSON(nil, task.Vars)
		metadata, _ := expr.AppendJSON(nil, task.Metadata)
		got := fmt.Sprint(task.ID, " ", task.Target, " ", string(vars), string(metadata))
		if want := `one@t.json <nil> {"level":3,"n":1}{"place":1}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// One bad row does not hide the next, and many are told in part.
func TestCountTasksGoesOn(t *testing.T) {
	d := suiteWithTasks(t, "t.jsonl", "t.jsonl", strings.Repeat("{\"input\": 1}\n{}\n", 5)+strings.Repeat("x\n", 100))
	n, faults := d.CountTasks()
	if n != 5 || len(faults) != maxTaskFaults+1 {
		t.Errorf("%d tasks and %d faults, want 5, and %d and a remark", n, len(faults), maxTaskFaults)
	}
}

func TestTasksStopWhenTheReaderDoes(t *testing.T) {
	d := suiteWithTasks(t, `"*.jsonl"`, "a.jsonl", "{\"input\": 1}\nx\n{\"input\": 2}\n", "b.jsonl", "{\"input\": 3}\n")
	for stopAfter := range 5 {
		seen := 0
		for range d.Tasks() {
			if seen++; seen > stopAfter {
				break
			}
		}
		if want := min(stopAfter+1, 4); seen != want {
			t.Errorf("%d tasks were seen, want %d", seen, want)
		}
	}
}

func scriptSuite(t *testing.T, env map[string]string, model string, files ...string) Script {
	t.Helper()
	all := append([]string{"s.yaml", "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script" + model + "}}\nconfigurations: [{name: a, loop: l.yaml}]\n",
		"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n"}, files...)
	d := loadedWith(t, Options{Env: func(name string) string { return env[name] }}, all...)
	script, err := d.Answers("m")
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// said are the texts of answers that are nothing else.
func said(answers []Answer) []string {
	texts := []string{}
	for _, a := range answers {
		if a.ToolCalls != nil || a.Thinking != "" || a.Finish != "" {
			return []string{fmt.Sprintf("%+v", answers)}
		}
		texts = append(texts, a.Text)
	}
	return texts
}

func TestAnswers(t *testing.T) {
	cases := []struct{ model, file, text, want string }{
		{", responses: [a, 5, {b: 1}]", "", "", `{map[] [a 5 {"b":1}] error}`},
		{", responses: r.yaml, after_last: end", "r.yaml", "- a\n- {b: [1]}\n", `{map[] [a {"b":[1]}] end}`},
		{", responses: r.jsonl, after_last: repeat", "r.jsonl", "\"a\"\n{\"b\": 1}\n", `{map[] [a {"b":1}] repeat}`},
		{", files: [r.jsonl], key: row.id, answers: row.replies", "r.jsonl", "{\"id\": \"one\", \"replies\": [\"a\", {\"z\": 1, \"b\": 2}]}\n{\"id\": \"two\", \"replies\": []}\n", `{map[one:[a {"z":1,"b":2}] two:[]] [] error}`},
		{", files: [r.json], each: doc.rows, key: string(line), answers: '[row]'", "r.json", `{"rows": ["a", "b"]}`, `{map[1:[a] 2:[b]] [] error}`},
	}
	for _, c := range cases {
		model := strings.ReplaceAll(c.model, "key: row.id", "key: string(row.id)")
		script := scriptSuite(t, nil, model, c.file+".", "", c.file, c.text)
		byTask := map[string][]string{}
		for task, answers := range script.ByTask {
			byTask[task] = said(answers)
		}
		if got := fmt.Sprint("{", byTask, " ", said(script.List), " ", script.AfterLast, "}"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.model, got, c.want)
		}
	}
}

// Deterministic mock responses from an environment variable that holds a JSON list.
func TestS4_8_MockResponsesFromTheEnvironment(t *testing.T) {
	for variable, other := range map[string]string{"AGENTBENCH_MOCK_RESPONSES": "DEBUG_MOCK_RESPONSES", "DEBUG_MOCK_RESPONSES": ""} {
		env := map[string]string{variable: `["one", {"answer": 2}]`, other: `["ignored"]`}
		script := scriptSuite(t, env, "")
		if got := fmt.Sprint(said(script.List)); got != `[one {"answer":2}]` {
			t.Errorf("%s: got %s", variable, got)
		}
		if declared := scriptSuite(t, env, ", responses: [own]"); fmt.Sprint(said(declared.List)) != "[own]" {
			t.Errorf("%s: a model that declares its replies gets %v", variable, declared.List)
		}
	}
}
