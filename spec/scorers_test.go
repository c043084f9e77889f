package spec

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
)

// suiteOfScorers has all that scorers name.
var suiteOfScorers = map[string]string{
	"s.yaml": `suite: s
tasks: [{input: a, target: b}]
models: {m: {provider: script, responses: [a]}, j: {provider: openai, name: judge-1, base_url: "http://localhost:1", price: free}}
configurations: [{name: c, loop: l.yaml}, {name: d, loop: l.yaml, set: {prompt: q}}]
baseline: c
scorers:
  - {name: shaped, type: json_schema, schema_file: schema.json}
  - {name: tested, type: command, command: [sh, score.sh]}
  - {name: helpful, type: judge, model: j, rubric: good}
  - {name: better, type: pairwise, model: j, rubric: better}
  - {name: both, type: all_of, scorers: [shaped, {name: own, type: any_of, scorers: [helpful]}]}
  - {name: plain, type: exact}
`,
	"l.yaml":      "loop: l\nagent: {model: m}\nprompt: p\n",
	"schema.json": `{"type": "string"}`,
	"score.sh":    "echo 1\n",
}

// hashes are those of the suite's scorers where some texts of its files are others.
func hashes(t *testing.T, replaced ...string) map[string]string {
	files := maps.Clone(suiteOfScorers)
	for i := 0; i < len(replaced); i += 3 {
		before := files[replaced[i]]
		if files[replaced[i]] = strings.Replace(before, replaced[i+1], replaced[i+2], 1); before == files[replaced[i]] {
			t.Fatalf("nothing is replaced in %s", replaced[i])
		}
	}
	args := []string{"s.yaml", files["s.yaml"]}
	for name, text := range files {
		if name != "s.yaml" {
			args = append(args, name, text)
		}
	}
	found := map[string]string{}
	d := loaded(t, args...)
	for i := range d.Suite.Scorers {
		found[d.Suite.Scorers[i].Name] = d.Suite.Scorers[i].Hash()
	}
	return found
}

// A scorer is another one where what it names has changed, and only then.
func TestAScorerIsKnownByWhatItNames(t *testing.T) {
	before := hashes(t)
	for _, c := range []struct {
		file, from, to string
		changed        []string
	}{
		{"schema.json", "string", "number", []string{"shaped", "both"}},
		{"score.sh", "1", "2", []string{"tested"}},
		{"s.yaml", "judge-1", "judge-2", []string{"helpful", "better", "both"}},
		{"s.yaml", "localhost:1", "localhost:2", []string{"helpful", "better", "both"}},
		{"s.yaml", "rubric: good", "rubric: fair", []string{"helpful", "both"}},
		{"s.yaml", "baseline: c", "baseline: d", []string{"better"}},
		{"s.yaml", "price: free", "price: {input: 1, output: 2}", nil},
		{"s.yaml", "responses: [a]", "responses: [b]", nil},
		{"l.yaml", "prompt: p", "prompt: r", nil},
	} {
		after := hashes(t, c.file, c.from, c.to)
		want := map[string]bool{}
		for _, name := range c.changed {
			want[name] = true
		}
		for name := range before {
			if changed := before[name] != after[name]; changed != want[name] {
				t.Errorf("%s -> %s: the hash of %s changed: %v", c.from, c.to, name, changed)
			}
		}
	}
	if plain := before["plain"]; plain == before["shaped"] || len(plain) != 16 {
		t.Errorf("the hashes are %v", before)
	}
}

// A suite whose sets are made of one another over and over is checked within seconds.
func TestSetsOfManyParts(t *testing.T) {
	suite := func(sets, each int) string {
		var text strings.Builder
		text.WriteString("suite: s\ntasks: [{input: a, target: b}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\nscorers:\n  - {name: s0, type: command, command: [sh], score: every_iteration}\n")
		for i := 1; i <= sets; i++ {
			fmt.Fprintf(&text, "  - {name: s%d, type: all_of, score: every_iteration, scorers: [s%d", i, i-1)
			for j := 2; j <= min(each, i); j++ {
				fmt.Fprintf(&text, ", s%d", i-j)
			}
			text.WriteString("]}\n")
		}
		return text.String()
	}
	for _, c := range []struct {
		sets, each int
		want       string
	}{
		{500, 2, ""},
		{600, 600, "the sets of a suite may have 1000 parts together"},
	} {
		began := time.Now()
		files := fstest.MapFS{"suite.yaml": {Data: []byte(suite(c.sets, c.each))}, "l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")}}
		if got := printed(check(files)); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%d sets of %d: %s", c.sets, c.each, got)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%d sets of %d took %v", c.sets, c.each, took)
		}
	}
}

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
	expect.Equal(t, "groups", strings.Join(groups, " "), "a=3 b=")
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

// TestShippedMappingsAreFine also makes the loop of each.
func TestShippedMappingsAreFine(t *testing.T) {
	files, err := filepath.Glob("../suites/mappings/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		d, faults := Load(file, Options{Env: os.Getenv})
		if len(faults) > 0 {
			t.Errorf("%s:\n%s", file, printed(faults))
			continue
		}
		var limits *Limits
		if under := d.Import.RecordedUnder; under != nil {
			limits = &under.Limits
		}
		if _, err := d.Import.LoopUnder("gpt-4", limits); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
