package spec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec/expr"
)

// tasksInShort is id=input of every task.
func tasksInShort(t *testing.T, d *Document) string {
	t.Helper()
	var parts []string
	for task, err := range d.Tasks() {
		must(t, err)
		parts = append(parts, task.ID+"="+fmt.Sprint(task.Input))
	}
	return strings.Join(parts, " ")
}

func suiteWithTasks(t testing.TB, tasks string, files ...string) *Document {
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
		expect.Equal(t, c.name, tasksInShort(t, d), c.want)
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
		must(t, err)
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
	if n != 5 || len(faults) != 2*maxAlike+1 {
		t.Errorf("%d tasks and %d faults, want 5, and %d of either kind and a remark", n, len(faults), maxAlike)
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
	must(t, err)
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

func TestAnswersOfConversations(t *testing.T) {
	script := scriptSuite(t, nil, `, conversations: {main: [a, {b: 1}], "sub*": [{tool_calls: [{name: ls}]}]}`)
	if keys := script.Conversations.Keys(); fmt.Sprint(keys) != "[main sub*]" || script.List != nil {
		t.Errorf("got %v, %v", keys, script.List)
	}
	main, _ := script.Conversations.Get("main")
	sub, _ := script.Conversations.Get("sub*")
	if fmt.Sprint(said(main)) != `[a {"b":1}]` || len(sub) != 1 || sub[0].ToolCalls[0].Name != "ls" {
		t.Errorf("got %+v, %+v", main, sub)
	}
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
		expect.Equal(t, c.model, fmt.Sprint("{", byTask, " ", said(script.List), " ", script.AfterLast, "}"), c.want)
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

func TestDataFilesAreThoseOfTasksAndAnswers(t *testing.T) {
	look := func(row string) []DataFile {
		t.Helper()
		dir := folderWith(t, `{files: ["data:/*.jsonl", cases/, packed.jsonl.gz], id: string(row.path), input: row}
roots: {data: {default: ../data}}`, map[string]string{"answers.json": `["yes"]`, "../data/b.jsonl": row, "../data/a.jsonl": `{"id": "a"}`,
			"cases/a.txt": "x", "cases/b.txt": "y", "packed.jsonl.gz": gzipped(`{"id": "p"}`)})
		file := filepath.Join(dir, "suite.yaml")
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, bytes.Replace(text, []byte("responses: [a]"), []byte("responses: answers.json"), 1), 0o644))
		document, faults := Load(file, Options{})
		must(t, faults.Err())
		files, err := document.DataFiles()
		must(t, err)
		return files
	}
	names := ""
	before, after := look(`{"id": "b"}`), look(`{"id": "c"}`)
	for i, f := range before {
		if names += f.Name + " "; (f != after[i]) != (f.Name == "data:/b.jsonl") {
			t.Errorf("%v became %v", f, after[i])
		}
	}
	if want := "data:/a.jsonl data:/b.jsonl cases/a.txt cases/b.txt packed.jsonl.gz answers.json "; names != want {
		t.Errorf("files %s", names)
	}
}

// Whether a scorer needs the target of each task follows from what it compares with.
func TestWhichScorersNeedATarget(t *testing.T) {
	for _, c := range []struct {
		scorer string
		needs  bool
	}{
		{`type: exact`, true},
		{`type: exact, target: task.metadata.answer`, false},
		{`type: contains_any`, true},
		{`type: contains_any, options: [a]`, false},
		{`type: math`, true},
		{`type: regex, pattern: a`, false},
		{`type: json_path, expr: json.a`, true},
		{`type: json_path, expr: json.a, target: "1"`, false},
		{`type: json_path, expr: json.a == 1.0`, false},
		{`type: tools_called`, true},
		{`type: tools_called, tools: [x]`, false},
		{`type: judge, model: m, rubric: good`, false},
		{`type: judge, model: m, rubric: good, reference: true`, true},
		{`type: judge, model: m, rubric: "like {{ target }}"`, true},
		{`type: judge, model: m, criteria: [{name: a, rubric: "like {{ task.target.text }}"}]`, true},
		{`type: judge, model: m, rubric: "{{ task.input }}"`, false},
		{`type: all_of, scorers: [{name: part, type: exact}]`, true},
		{`type: latency, at_most: 3`, false},
	} {
		d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: a, target: b}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\nscorers:\n  - {name: right, "+c.scorer+"}\n",
			"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
		if needy, _ := d.Suite.needsTarget(); (needy != "") != c.needs {
			t.Errorf("%s needs a target: %v", c.scorer, needy)
		}
	}
}

// gzipped is a text as gzip packs it, in one part after the other.
func gzipped(parts ...string) string {
	var b bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&b)
		w.Write([]byte(part))
		w.Close()
	}
	return b.String()
}

func TestFilesOfAFolder(t *testing.T) {
	files := []string{
		"cases/b.txt", "second\n", "cases/a.md", "first", "cases/c.jsonl", "{\"id\": \"third\", \"input\": 3}\n",
		"cases/.hidden", "no", "cases/deeper/d.txt", "no", "cases/log", "\ufefffourth", "cases/z.txt.gz", gzipped("fifth"),
	}
	for tasks, want := range map[string]string{
		"cases/":                   "a=first b=second\n third=3 log=fourth z=fifth",
		"{files: [cases/]}":        "a=first b=second\n third=3 log=fourth z=fifth",
		`"cases/*.txt"`:            "b=second\n",
		"cases/a.md":               "a=first",
		"{files: [cases/deeper/]}": "d=no",
		`{files: ["**/*.txt"]}`:    "b=second\n d=no",
		`{files: [cases/deeper/, cases/a.md], id: string(row.path + "|" + row.name + "|" + row.stem), input: row.text}`: "cases/deeper/d.txt|d.txt|d=no cases/a.md|a.md|a=first",
	} {
		d := suiteWithTasks(t, tasks, files...)
		expect.Equal(t, tasks, tasksInShort(t, d), want)
		if n, faults := d.CountTasks(); len(faults) > 0 || n != len(strings.Fields(want)) {
			t.Errorf("%s: %d tasks, %v", tasks, n, faults)
		}
	}
}

func TestPackedFiles(t *testing.T) {
	for name, text := range map[string]string{
		"t.jsonl": "{\"id\": \"one\", \"input\": \"a\"}\n{\"id\": 2, \"input\": \"b\"}\n",
		"t.csv":   "id,input\none,a\n2,b\n",
		"t.json":  `[{"id": "one", "input": "a"}, {"id": 2, "input": "b"}]`,
		"t.yaml":  "- {id: one, input: a}\n- {id: 2, input: b}\n",
		"T.YML":   "- {id: one, input: a}\n- {id: 2, input: b}\n",
	} {
		for _, packed := range []string{gzipped(text), gzipped(text[:9], text[9:])} {
			d := suiteWithTasks(t, name+".gz", name+".gz", packed)
			expect.Equal(t, name, tasksInShort(t, d), "one=a 2=b")
		}
	}
}

// Damage is a fault that names the file, of which nothing is read.
func TestDamagedPackedFiles(t *testing.T) {
	whole := gzipped(strings.Repeat("{\"input\": 1}\n", 10))
	wrongSum := []byte(whole)
	wrongSum[len(wrongSum)-5] ^= 1
	for what, text := range map[string]string{
		"it ends too early":                        whole[:len(whole)-4],
		"it is not what gzip writes":               "{\"input\": 1}\n",
		"it is damaged, its checksum is another":   string(wrongSum),
		"t.jsonl.gz cannot be unpacked: it ends t": "",
	} {
		n, faults := suiteWithTasks(t, "t.jsonl.gz", "t.jsonl.gz", text).CountTasks()
		if n != 0 || len(faults) != 1 || !strings.Contains(faults[0].What, what) || faults[0].File.Name != "s.yaml" {
			t.Errorf("%s: %d tasks, %v", what, n, faults)
		}
	}
}

// C.23: what a packed file costs to read is bounded, in bytes and in tasks.
func TestFilesThatUnpackToTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	packed := strings.Repeat(gzipped(strings.Repeat(" ", 1<<20)), maxUnpackedBytes>>20+1)
	for _, file := range []string{"t.json.gz", "t.jsonl.gz", "t.csv.gz"} {
		_, faults := suiteWithTasks(t, file, file, packed).CountTasks()
		if len(faults) != 1 || !strings.Contains(faults[0].What, "unpacks to more than") {
			t.Errorf("%s: %v", file, faults)
		}
	}
}

// C.23: no more tasks than fit into memory are read, whatever the files hold.
func TestMoreTasksThanASuiteMayHave(t *testing.T) {
	for keys, wrong := range map[string]bool{"": true, ", shuffle: 1, limit: 2": true, ", limit: 3": false, ", where: line > 6": false} {
		set := &taskSet{}
		set.read(suiteWithTasks(t, "{files: [t.jsonl]"+keys+"}", "t.jsonl", strings.Repeat("{\"input\": 1}\n", 9)), 3)
		if err := set.faults.Err(); (err != nil) != wrong || err != nil && !strings.HasSuffix(set.faults[0].What, "more than 3 tasks") {
			t.Errorf("%s: %v", keys, err)
		}
	}
}

// Blank lines are passed over at once, and counted.
func TestRowsBehindBlankLinesKeepTheirNumbers(t *testing.T) {
	blank := strings.Repeat("\n \t\r\n", 20_000) // longer than what is read at once
	text := "\ufeff\n" + blank + "{\"input\": 1}\n" + blank + "{\"input\": 2\n" + blank + "  "
	n, faults := suiteWithTasks(t, "t.jsonl", "t.jsonl", text).CountTasks()
	if n != 1 || len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "t.jsonl:80003:") {
		t.Errorf("%d tasks, %v", n, faults)
	}
}

func TestFoldersThatCannotBeRead(t *testing.T) {
	for tasks, want := range map[string]string{
		"none/":     "folder not found: none",
		"cases":     "cases is a folder or a device, not a file",
		"hidden/":   "the folder hidden holds no files",
		"../cases/": `"../cases/" leads out of the folder that it is relative to`,
	} {
		_, faults := LoadFS(fstest.MapFS{"cases/a.txt": {}, "hidden/.keep": {}, "l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
			"s.yaml": {Data: []byte("suite: s\ntasks: " + tasks + "\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n")},
		}, "s.yaml", Options{Env: onlyPath})
		if len(faults) != 1 || faults[0].What != want {
			t.Errorf("%s: %v", tasks, faults)
		}
	}
}

// A file of bytes that are no text is a fault, not a task.
func TestTextIsUTF8(t *testing.T) {
	n, faults := suiteWithTasks(t, "cases/", "cases/a.txt", "fine", "cases/b.bin", "a\nb\xff").CountTasks()
	if n != 1 || len(faults) != 1 || faults[0].Error() != "cases/b.bin:2:2: the byte 0xFF is not UTF-8" {
		t.Errorf("%d tasks, %v", n, faults)
	}
}
