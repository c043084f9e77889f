package spec

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func compiledSchema(t *testing.T, make func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := make()
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	compiler := jsonschema.NewCompiler()
	must(t, compiler.AddResource("schema.json", document))
	return compiler.MustCompile("schema.json")
}

type schemas struct{ suite, loop *jsonschema.Schema }

func (s schemas) validate(t testing.TB, tree *source.Node) error {
	text, err := expr.AppendJSON(nil, valueOf(tree.Plain()))
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	if tree.Get("suite") != nil {
		return s.suite.Validate(document)
	}
	return s.loop.Validate(document)
}

func parsed(t testing.TB, file string) *source.Node {
	text, err := os.ReadFile(file)
	must(t, err)
	tree, faults := source.Parse(source.NewFile(file, text))
	must(t, faults.Err())
	return tree
}

func TestExamplesMeetTheSchema(t *testing.T) {
	s := schemas{compiledSchema(t, SchemaSuite), compiledSchema(t, SchemaLoop)}
	for _, file := range exampleFiles(t) {
		if err := s.validate(t, parsed(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// What the loader takes in the cases of testdata without a fault, the schema takes as well.
func TestSchemaTakesTheShortForms(t *testing.T) {
	s := schemas{compiledSchema(t, SchemaSuite), compiledSchema(t, SchemaLoop)}
	for _, text := range []string{
		"loop: l\nmax_iterations: off\nterminate: {timeout: 5s, confidence: off, no_improvement: {patience: off}, any: [{name: n, timeout: 5s}, {max_iterations: 3}, {all: [{when: passed}]}]}",
		"loop: l\nguards: {stagnation: off, repeated: {of: output, times: 2}, consecutive: [{name: n, when: true, times: off}]}",
		"loop: l\nevaluate: {command: [cat], confidence: 0.5}\nphases: [{name: a, tools: []}]",
		"loop: l\nevaluate: {command: {command: [cat], timeout: 5s}}",
		"suite: s\ntasks: a.jsonl\nconfigurations: [{name: a, loop: b, set: {x.y: off}, sweep: {a.b: [1, {c: d}]}}]",
		"suite: s\ntasks: [{input: 5}]\nconfigurations: [{name: a, loop: b}]\nmodels: {m: {provider: script, price: free, responses: [a, {b: 1}]}, n: {provider: openai, price: {input: 1, output: 2}}}",
		"suite: s\ntasks: {files: [a], vars: {x: row.x}}\nconfigurations: [{name: a, loop: b}]\nscorers: [{name: s, type: exact, extract: a}, {name: t, type: exact, extract: {expr: output}}]",
		"suite: s\ntasks: a\nconfigurations: [{name: a, loop: b}]\nthresholds: [a > 1]\ntune: {parameters: {a.b: [1, off], c.d: {from: 0, to: 1}}}",
	} {
		tree, _ := source.Parse(source.NewFile("text", []byte(text)))
		if err := s.validate(t, tree); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

// Whatever the schema forbids, the loader forbids: mutations of every example.
func TestTheLoaderForbidsWhatTheSchemaForbids(t *testing.T) {
	s := schemas{compiledSchema(t, SchemaSuite), compiledSchema(t, SchemaLoop)}
	var trees []*source.Node
	var folders []fstest.MapFS
	for _, file := range exampleFiles(t) {
		trees = append(trees, parsed(t, file))
		folders = append(folders, memoryFolder(t, filepath.Dir(file)))
	}
	for _, text := range dense {
		tree, _ := source.Parse(source.NewFile("dense", []byte(text)))
		trees, folders = append(trees, tree), append(folders, fstest.MapFS{"l.yaml": {Data: []byte(dense[0])}, "t.jsonl": {}})
	}
	propertytest.Check(t, func(r *rapid.T) {
		i := rapid.IntRange(0, len(trees)-1).Draw(r, "file")
		tree := trees[i].Clone()
		for range rapid.IntRange(1, 3).Draw(r, "mutations") {
			mutate(r, tree)
		}
		if s.validate(t, tree) == nil {
			return
		}
		text, _ := expr.AppendJSON(nil, valueOf(tree.Plain()))
		folder := fstest.MapFS{"mutated.yaml": {Data: text}}
		for name, file := range folders[i] {
			folder[name] = file
		}
		if _, faults := LoadFS(folder, "mutated.yaml", Options{}); faults.Err() == nil {
			r.Fatalf("the schema forbids what the loader takes: %s\n%v", text, s.validate(t, tree))
		}
	})
}

// dense files hold what the examples do not.
var dense = []string{
	`loop: l
pattern: multi_strategy
agent: {model: m, temperature: 0.5, top_p: 0.5, seed: 3, timeout: 5s, max_steps: 3, final_response: passed, tool_calls: native, tool_choice: e, memory: {max_tokens: 5}, warn_remaining: 2, tools: [{name: c, description: d, parameters: {type: object, required: [q], properties: {q: {type: string}}}, command: [cat], env: [A], retries: 1, pure: true, breaks_loop: true, success: true, timeout: 1s}, {name: e, cel: args.q}, {name: h, http: "http://localhost/", headers: {A: b, B: {env: C, prefix: d}}}, {builtin: converse, description: d}, {name: s, mcp: {command: [cat], env: [A], shared: true, only: [x], pure: [x]}}, {mcp: {url: "http://localhost/", headers: {A: b}}}], delegates: [{name: d, description: d, a2a: "http://localhost/", headers: {A: b}, timeout: 5s}]}
prompt: p
user: {model: m, system: s, until: turn > 2, max_turns: 3}
strategies: [{name: a, max_iterations: 2, agent: {system: s}}, {name: b}]
evaluate: {checks: [{name: c, expr: passed, weight: 2, feedback: f}], judge: {model: m, rubric: r}, command: {command: [cat], timeout: 5s}, fix: one}
terminate: {timeout: {after: 5s, cancel: true}, repeated: {of: output, times: 3}, consecutive: {when: passed, times: off}, all: [{name: n, when: passed}, {max_iterations: 3}]}
guards: {absolute_max_iterations: 9, budget: {tokens: 5, calls: 5, hard: true}, degradation: {window: 3}, stagnation: {window: 3, times: 2, signature: calls, scope: step}, repeated: [{name: a, of: output, times: 3, window: 4, scope: step}], consecutive: {when: step.number > 1, times: 2, scope: step}}
on_error: {continue_if: passed}
`,
	`suite: s
roots: {data: {env: DATA, default: .}}
tasks: {files: [t.jsonl], each: doc, id: string(line), input: row, target: row, vars: {a: row}, metadata: {b: row}}
models:
  m: {provider: simulate, price: {input: 1, cached_input: 0.5, output: 2}, quality: {start: 0.1, limit: 0.9, rate: 0.5, spread: 0.1, noise: 0.1}, latency: {median: 1s, sigma: 0.5}, tokens: {input: 5, output: 5, spread: 0.1}, errors: 0.1, sleep: true, reply: r}
  n: {provider: script, responses: [a], after_last: end}
configurations: [{name: a, loop: l.yaml, set: {max_iterations: 3}, sweep: {agent.temperature: [0, 1]}}]
baseline: "a@temperature=0"
scorers: [{name: a, type: exact, value: output, target: target, extract: {regex: a}, not: true, ignore_case: true, trim: false}, {name: b, type: numeric, tolerance: 1, relative: 0.1}, {name: c, type: one_of, options: [a, 1]}]
trials: 3
seed: 5
concurrency: 4
budget: {cost_usd: 1, calls: 5, tokens: 5, duration: 5m}
thresholds: ["true"]
tune: {parameters: {max_iterations: [1, 2], agent.temperature: {from: 0, to: 1}}, objective: success, minimize: true, constraints: [success > 0.5], choose: {rule: max_loss, max_loss: 0.1}, folds: {k: 3, by: task.id}}
min_coverage: 0.9
margin: {scores: 0.1, a: 0.2}
`,
}

func TestDenseFilesLoad(t *testing.T) {
	files := fstest.MapFS{"l.yaml": {Data: []byte(dense[0])}, "s.yaml": {Data: []byte(dense[1])}, "t.jsonl": {Data: []byte("{}")}}
	for _, name := range []string{"l.yaml", "s.yaml"} {
		if _, faults := LoadFS(files, name, Options{}); faults.Err() != nil {
			t.Error(printed(faults))
		}
	}
}

func memoryFolder(t *testing.T, dir string) fstest.MapFS {
	files := fstest.MapFS{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		if text, err := os.ReadFile(filepath.Join(dir, entry.Name())); err == nil {
			files[entry.Name()] = &fstest.MapFile{Data: text}
		}
	}
	return files
}

// mutate changes one place of a tree.
func mutate(r *rapid.T, tree *source.Node) {
	n := tree
	for n.Len() > 0 && rapid.IntRange(0, 3).Draw(r, "deeper") > 0 {
		i := rapid.IntRange(0, n.Len()-1).Draw(r, "child")
		if n.Kind == source.List {
			n = n.Items[i]
		} else {
			n = n.Entries[i].Value
		}
	}
	switch {
	case n.Kind == source.Map && n.Len() > 0 && rapid.Bool().Draw(r, "delete"):
		n.Delete(n.Entries[rapid.IntRange(0, n.Len()-1).Draw(r, "key")].Key)
	case n.Kind == source.Map && rapid.Bool().Draw(r, "add"):
		n.Set(rapid.SampledFrom([]string{"name", "max_iterations", "zzz", "any", "timeout", "window"}).Draw(r, "new"), randomNode(r))
	case n.Kind == source.List && n.Len() > 0 && rapid.Bool().Draw(r, "empty"):
		n.Items = nil
	default:
		*n = *randomNode(r)
	}
}

func randomNode(r *rapid.T) *source.Node {
	return source.New(nil, rapid.SampledFrom([]any{
		nil, true, int64(0), int64(1), int64(-1), int64(5), 0.5, 1.5, "", "off", "free", "text", "5s", "1.5", "json", "output", "true",
		[]any{}, []any{"a"}, []any{int64(1)}, &source.Object{}, &source.Object{Keys: []string{"name"}, Values: []any{"n"}},
		&source.Object{Keys: []string{"expr"}, Values: []any{"true"}}, []any{&source.Object{Keys: []string{"name", "when"}, Values: []any{"n", "true"}}},
	}).Draw(r, "value"))
}

func TestSchemaNamesAreReadable(t *testing.T) {
	for _, make := range []func() ([]byte, error){SchemaSuite, SchemaLoop} {
		text, err := make()
		must(t, err)
		for _, bad := range []string{"github.com", "interface", "\"$ref\": \"\""} {
			if strings.Contains(string(text), bad) {
				t.Errorf("the schema holds %q", bad)
			}
		}
	}
}

// The bound that flags have is that of the tag.
func TestMostTrials(t *testing.T) {
	field, _ := reflect.TypeFor[Suite]().FieldByName("Trials")
	if most := field.Tag.Get("max"); most != strconv.Itoa(MostTrials) {
		t.Errorf("trials are at most %s, and MostTrials is %d", most, MostTrials)
	}
}

// A key of the table that no scorer has would belong to every type.
func TestTheTableOfScorersNamesKeysOfScorers(t *testing.T) {
	keys := map[string]bool{}
	for field := range reflect.TypeFor[Scorer]().Fields() {
		keys[field.Tag.Get("yaml")] = true
	}
	for _, kind := range scorerKinds {
		for _, key := range append(strings.Fields(kind.keys), strings.Fields(kind.needs)...) {
			if !keys[key] {
				t.Errorf("%s: scorers have no key %q", kind.Type, key)
			}
		}
		if kind.needs != "" && !slices.Contains(strings.Fields(kind.keys), kind.needs) {
			t.Errorf("%s needs %s, which is not its key", kind.Type, kind.needs)
		}
	}
}
