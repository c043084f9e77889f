package results

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// YAML escapes can write every character, and JSON holds most of them as they are.
func TestTextsOfAnyCharactersAreReadAgain(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x11000) {
		if r < 0x300 || r > 0x1ffe && r < 0x3100 || r > 0xd7f0 && r < 0xd800 || r > 0xdfff && r < 0xe010 || r > 0xfe00 {
			all.WriteRune(r)
		}
	}
	text, err := json.Marshal(map[string]string{"\u0085k\ufeff": all.String()})
	if err != nil {
		t.Fatal(err)
	}
	read, err := files{texts: map[string][]byte{"s": text}}.Open("s")
	if err != nil {
		t.Fatal(err)
	}
	written, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	tree, faults := source.Parse(source.NewFile("s", written))
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	if got := tree.Plain(); !reflect.DeepEqual(got, source.ObjectOf("\u0085k\ufeff", all.String())) {
		t.Errorf("the text is another one: %.200q", fmt.Sprint(got))
	}
}

// Loops to which others hand tasks are written once, whoever names their files,
// and loops of one name are told apart.
func TestDelegatesStandInTheResolvedSpec(t *testing.T) {
	loop := func(name, delegates string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("loop: " + name + "\nagent: {model: m" + delegates + "}\nprompt: p\n")}
	}
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: {m: {provider: script, price: free, responses: [a]}}\n" +
			"configurations: [{name: one, loop: one.yaml}, {name: two, loop: a/two.yaml}]\n")},
		"one.yaml":        loop("one", ", delegates: [{name: d, loop: a/helper.yaml}]"),
		"a/two.yaml":      {Data: []byte("loop: two\nagent: {model: m}\nphases: [{name: p, prompt: p, agent: {delegates: [{name: d, loop: helper.yaml}, {name: e, loop: b/helper.yaml}]}}]\n")},
		"a/helper.yaml":   loop("helper", ", delegates: [{name: deep, loop: b/helper.yaml}]"),
		"a/b/helper.yaml": loop("helper", ""),
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	resolved, err := Resolve(doc.Suite, doc.Suite.Resolved)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"one": `"loop":"delegate-helper"`, "two": `{"name":"d","loop":"delegate-helper"},{"name":"e","loop":"delegate-helper-2"}`} {
		if !strings.Contains(string(resolved.Configurations.Get(name)), want) {
			t.Errorf("%s is %s", name, resolved.Configurations.Get(name))
		}
	}
	if !strings.Contains(string(resolved.Delegates.Get("delegate-helper")), `"loop":"delegate-helper-2"`) || len(resolved.Delegates) != 2 || len(resolved.Delegates.Get("delegate-helper-2")) == 0 {
		t.Errorf("the delegates are %s", resolved.Delegates)
	}
}

func linesOf(found Differences) (lines []string) {
	for i := range found {
		lines = append(lines, found[i].Line())
	}
	return lines
}

// Tools are compared by what they are called, whatever stands before them in the
// list and whether they have a name.
func TestSpecDifferencesNameTools(t *testing.T) {
	lists := func(tools string) any {
		var list any
		if err := json.Unmarshal([]byte(tools), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	const all = `[{"name": "price", "cel": "1"}, {"mcp": {"command": ["files"]}}, {"builtin": "ask_question"}]`
	for now, want := range map[string][]string{
		`[{"mcp": {"command": ["files"]}}, {"builtin": "ask_question"}, {"name": "price", "cel": "1"}]`: nil,
		`[{"name": "price", "cel": "2"}, {"builtin": "ask_question"}]`: {
			`agent.tools.mcp: {"mcp":{"command":["files"]}} -> absent`, `agent.tools.price.cel: "1" -> "2"`},
		`[{"name": "price", "cel": "1"}, {"mcp": {"command": ["files"]}}, {"builtin": "ask_question", "description": "Ask!"}]`: {
			`agent.tools.ask_question.description: absent -> "Ask!"`},
	} {
		var found Differences
		found.Compare("agent.tools", lists(all), lists(now))
		if got := linesOf(found); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", now, got, want)
		}
	}
}

func TestSpecDifferencesNameAProgramsFile(t *testing.T) {
	before := record.Manifest{Spec: []byte(`{"suite":{},"configurations":{"a":{}}}`), Configurations: []record.ConfigurationHead{{Name: "a", Loop: "1"}}}
	now := before
	now.Configurations = []record.ConfigurationHead{{Name: "a", Loop: "2"}}
	found, err := DifferencesBetween(&before, &now)
	got := linesOf(found)
	if want := []string{"configurations.a: a file that its programs are given has changed"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestExcerptsShowWhereLongTextsDiffer(t *testing.T) {
	long := strings.Repeat("x", 100)
	was, is := excerpt(long+"one", long+"two"), excerpt(long+"two", long+"one")
	if was != "…"+strings.Repeat("x", 12)+"one" || is != "…"+strings.Repeat("x", 12)+"two" {
		t.Errorf("%s, %s", was, is)
	}
}

// A resolved spec of another shape is told in the words of YAML, whoever reads it.
func TestSpecsOfAnotherShapeAreToldInPlainWords(t *testing.T) {
	readers := map[string]func(*record.Manifest) error{
		"bounds":  func(m *record.Manifest) error { _, err := BoundsOf(m); return err },
		"compare": func(m *record.Manifest) error { _, err := BindingOf(m); return err },
		"widen": func(m *record.Manifest) error {
			return KeepConfigurations(m, &record.Manifest{Spec: json.RawMessage(`{"suite":{},"configurations":{}}`)})
		},
	}
	for text, wants := range map[string]map[string]string{
		`[]`:                               {"bounds": "it is a list, want a map", "compare": "it is a list, want a map", "widen": "it is a list, want a map"},
		`{"suite":[]}`:                     {"bounds": "suite is a list, want a map", "compare": "suite is a list, want a map"},
		`{"configurations":"a"}`:           {"compare": "configurations is a text, want a map", "widen": "configurations is a text, want a map"},
		`{"suite":{"thresholds":{}}}`:      {"bounds": "suite.thresholds is a map, want a list"},
		`{"suite":{"min_coverage":"all"}}`: {"bounds": "suite.min_coverage is a text, want a number"},
		`{"suite":`:                        {"bounds": "unexpected EOF", "compare": "unexpected EOF", "widen": "unexpected EOF"},
	} {
		for reader, want := range wants {
			err := readers[reader](&record.Manifest{Spec: json.RawMessage(text)})
			if err == nil || !strings.Contains(err.Error(), "reading the resolved spec: "+want) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("%s of %s: %v, want %s", reader, text, err, want)
			}
		}
	}
	m := &record.Manifest{Spec: json.RawMessage(`{"configurations":{}}`), Configurations: []record.ConfigurationHead{{Name: "lost"}}}
	if err := readers["widen"](m); err == nil || !strings.Contains(err.Error(), `no configuration "lost"`) {
		t.Errorf("a configuration without its loop: %v", err)
	}
}

// A model that a recorded loop asks stays as it was recorded, also where a delegate asks it or a program is served by it.
func TestModelsThatLoopsAskStay(t *testing.T) {
	models := func(of string) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(`{"agent":"OF","delegate":"OF","served":"OF","judge":"OF"}`, "OF", of))
	}
	r := &Resolved{
		Suite:          Object{{"models", models("recorded")}},
		Configurations: Object{{"a", json.RawMessage(`{"agent":{"model":"agent"}}`)}, {"b", json.RawMessage(`{"phases":[{"agent":{"models":{"default":"served"}}}]}`)}},
		Delegates:      Object{{"d", json.RawMessage(`{"agent":{"model":"delegate"}}`)}},
	}
	if err := r.takeModels(&Resolved{Suite: Object{{"models", models("now")}}}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Suite.Get("models")), `{"agent":"recorded","delegate":"recorded","served":"recorded","judge":"now"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
