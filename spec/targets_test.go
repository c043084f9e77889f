package spec

import "testing"

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
		if needs := d.Suite.needsTarget() != ""; needs != c.needs {
			t.Errorf("%s needs a target: %v", c.scorer, needs)
		}
	}
}
