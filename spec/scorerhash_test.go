package spec

import (
	"maps"
	"strings"
	"testing"
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
