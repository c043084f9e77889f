package spec

import (
	"strings"
	"testing"
)

// Whatever an expression gives that can be a name is one; null is none.
func TestClusters(t *testing.T) {
	const tasks = "tasks: [{id: a, input: 1, metadata: {db: x}}, {id: b, input: 2, metadata: {db: y}}, {id: c, input: 2.5}]\n"
	for expression, want := range map[string]string{
		"":                                "a= b= c=",
		`task.id + "!"`:                   "a=a! b=b! c=c!",
		`task.metadata.?db.orValue(null)`: "a=x b=y c=",
		`task.input`:                      "a=1 b=2 c=2.5",
		`task.id == "a"`:                  "a=true b=false c=false",
		`size(task.metadata)`:             "a=1 b=1 c=0",
		`null`:                            "a= b= c=",
	} {
		cluster := ""
		if expression != "" {
			cluster = "cluster: '" + expression + "'\n"
		}
		d := loaded(t, "s.yaml", "suite: s\n"+tasks+cluster+"models: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n",
			"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
		var got []string
		for task, err := range d.Tasks() {
			if err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			got = append(got, task.ID+"="+task.Cluster)
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("cluster %q: %s, want %s", expression, all, want)
		}
	}
}

// A group is named as a cluster is; without metrics it has the means of the scores.
func TestGroups(t *testing.T) {
	d := loaded(t, "s.yaml", `suite: s
tasks: [{id: a, input: 1, metadata: {level: 3}}, {id: b, input: 2}, {id: c, input: 3, metadata: {level: {of: 1}}}]
group_by: task.metadata.?level.orValue(null)
models: {m: {provider: script, responses: [a]}}
configurations: [{name: a, loop: l.yaml}]
scorers: [{name: long, type: word_count, max: 1}, {name: said, type: regex, pattern: a}]
`, "l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
	var groups []string
	for task, err := range d.Tasks() {
		if err != nil {
			if want := "the group of this task is an object, not text, a number or a truth value"; !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			continue
		}
		groups = append(groups, task.ID+"="+task.Group)
	}
	if got := strings.Join(groups, " "); got != "a=3 b=" {
		t.Errorf("groups: %s", got)
	}
	all := d.Suite.SingleMetrics()
	if len(all) != 2 || all[0].Name != "long mean" || all[1] != (SingleMetric{Name: "said mean", Score: "said", Reduce: ReduceMean}) {
		t.Errorf("%+v", all)
	}
}

// The hash of a scorer is that of what it does, not of how it is written.
func TestScorersAreKnownByWhatTheyDo(t *testing.T) {
	hash := func(scorer string) string {
		d := loaded(t, "s.yaml", "suite: s\ntasks: [{input: a, target: b}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\nscorers:\n"+scorer,
			"l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
		return d.Suite.Scorers[0].Hash()
	}
	plain := hash("  - {name: right, type: exact}\n")
	if other := hash("  # the same\n  - name: 'right'\n    type: exact\n"); other != plain || len(plain) != 16 {
		t.Errorf("%q and %q", plain, other)
	}
	if other := hash("  - {name: right, type: exact, not: true}\n"); other == plain {
		t.Errorf("both are %q", plain)
	}
	if none := (&Scorer{Name: "right"}).Hash(); none != "" {
		t.Errorf("without a file it is %q", none)
	}
}
