package results

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

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
		spectest.Must(t, json.Unmarshal([]byte(tools), &list))
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

func TestExcerptsShowWhereLongTextsDiffer(t *testing.T) {
	long := strings.Repeat("x", 100)
	was, is := excerpt(long+"one", long+"two"), excerpt(long+"two", long+"one")
	if was != "…"+strings.Repeat("x", 12)+"one" || is != "…"+strings.Repeat("x", 12)+"two" {
		t.Errorf("%s, %s", was, is)
	}
}

// loadedSuite is a suite with two models that are asked, and one that is not.
func loadedSuite(t *testing.T, name string) *spec.Document {
	t.Helper()
	files := map[string]string{
		"s.yaml": `suite: s
tasks: [{id: t, input: x}]
models: {agent: {provider: script, price: free, responses: [NAME]}, helper: {provider: script, price: free, responses: [NAME]}, judge: {provider: script, price: free, responses: [NAME]}}
configurations: [{name: a, loop: l.yaml}]
scorers: [{name: good, type: judge, model: judge, rubric: r}]
`,
		"l.yaml": "loop: l\nagent: {model: agent, delegates: [{name: d, loop: d.yaml}]}\nprompt: p\n",
		"d.yaml": "loop: d\nagent: {model: helper}\nprompt: p\n",
	}
	files["s.yaml"] = strings.ReplaceAll(files["s.yaml"], "NAME", name)
	return spectest.Document(t, "s.yaml", files)
}

// A model that a recorded loop asks stays as it was recorded, also where a delegate asks it; one that scorers ask is as the suite
// says that judged last.
func TestModelsThatLoopsAskStay(t *testing.T) {
	f := &Folder{Manifest: record.Manifest{
		Scorers: []string{"good"}, Configurations: []record.ConfigurationHead{{Name: "a"}},
		Specs: []record.Spec{{Dir: "spec/1", Configurations: []string{"a"}}, {Dir: "spec/2", Scorers: []string{"good"}}},
	}}
	spectest.Must(t, f.join([]*spec.Document{loadedSuite(t, "recorded"), loadedSuite(t, "now")}))
	for name, want := range map[string]string{"agent": "recorded", "helper": "recorded", "judge": "now"} {
		if m, _ := f.Document.Suite.Models.Get(name); m.Responses.List[0].Text != want {
			t.Errorf("%s answers %q, want %q", name, m.Responses.List[0].Text, want)
		}
	}
}

func TestDifferencesNameAProgramsFile(t *testing.T) {
	d := loadedSuite(t, "m")
	bound := func(loop string) *Binding {
		b, err := Writer{}.Binding(d.Suite, &record.Manifest{Configurations: []record.ConfigurationHead{{Name: "a", Loop: loop}}})
		spectest.Must(t, err)
		return b
	}
	got := linesOf(DifferencesBetween(bound("1"), bound("2")))
	if want := []string{"configurations.a: a file that its programs are given has changed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
