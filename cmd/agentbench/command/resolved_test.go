package command

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec"
)

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
	text, err := resolvedSpec(doc.Suite, doc.Suite.Resolved)
	if err != nil {
		t.Fatal(err)
	}
	var written struct{ Configurations, Delegates map[string]json.RawMessage }
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"one": `"loop":"delegate-helper"`, "two": `{"name":"d","loop":"delegate-helper"},{"name":"e","loop":"delegate-helper-2"}`} {
		if !strings.Contains(string(written.Configurations[name]), want) {
			t.Errorf("%s is %s", name, written.Configurations[name])
		}
	}
	if !strings.Contains(string(written.Delegates["delegate-helper"]), `"loop":"delegate-helper-2"`) || len(written.Delegates) != 2 || len(written.Delegates["delegate-helper-2"]) == 0 {
		t.Errorf("the delegates are %s", written.Delegates)
	}
}
