package scorers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/spec/expr"
)

func quotedJSON(t testing.TB, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	return string(text)
}

// F58: patterns that blow up other engines take time linear in the text, and a text over the cap is unscored.
func TestF58_EvilPatterns(t *testing.T) {
	long := strings.Repeat("a", 1<<17) + "!"
	longer := strings.Repeat("a", maxSearch+1)
	for _, c := range []struct{ scorer, output, want string }{
		{`type: regex, pattern: '(a+)+$'`, long, `0`},
		{`type: regex, pattern: '^(a|a)*$'`, long, `0`},
		{`type: regex, pattern: '(.*a){12}!'`, long, `1`},
		{`type: exact, extract: '(a+)+$'`, long, `0`},
		{`type: exact, extract: '(a*)*!'`, long, `0`},
		{`type: regex, pattern: 'a'`, longer, "unscored: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: exact, extract: 'a'`, longer, "unscored: extract: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: json_equal`, longer, "unscored: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: json_schema, schema: {}`, longer, "unscored: the value has 1048577 bytes; at most 1048576 are searched"},
		{`type: contains`, long + "a", `1`},
		{`type: exact`, long + "a", `0`},
		{`type: numeric`, long, "unscored: the target is not a number: !a"},
	} {
		score := scored(t, c.scorer, `"!a"`, quotedJSON(t, c.output))
		if c.scorer != `type: contains` {
			score.Answer, score.Explanation = "", ""
		}
		if got := shown(score); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %.200s, want %s", c.scorer, got, c.want)
		}
	}
}

// C.22, F58: a search that would take too long is refused before it begins, with both numbers, in every scorer that takes
// a regular expression; and so are matches that look at the rest of the text again and again.
func TestF58_SearchesOfScorersAreBounded(t *testing.T) {
	long := strings.Repeat("a", 1_000_000)
	xs := strings.Repeat("x", 50_000) // every x looks at the rest of the text in vain for a y
	tooLong := "the regular expression takes too long: 1002 instructions x 1000000 bytes = 1002000000 steps; at most 50000000 are allowed"
	for _, c := range []struct{ scorer, output, want string }{
		{`type: regex, pattern: '(.*?,){200}'`, long, "unscored: " + tooLong},
		{`type: regex, ignore_case: true, pattern: '(.*?,){200}'`, long, "unscored: " + tooLong},
		{`type: exact, extract: '(.*?,){200}'`, long, "unscored: extract: " + tooLong},
		{`type: exact, extract: {regex: '(.*?,){200}'}`, long, "unscored: extract: " + tooLong},
		{`type: exact, extract: {expr: "regex.extract(output, '(.*?,){200}')"}`, long, "unscored: extract: " + tooLong},
		{`type: exact, value: "regex.replace(output, '(.*?,){200}', '')"`, long, "unscored: value: " + tooLong},
		{`type: cel, expr: "output.matches('(.*?,){200}')"`, long, "unscored: " + tooLong},
		{`type: json_schema, schema: {pattern: '(.*?,){200}'}, value: '{"a": output}.a'`, `"` + long + `"`, "unscored: the regular expression takes too long: 1002 instructions x 1000000 bytes = "},
		{`type: regex, pattern: '(?:x+y)|x'`, xs, "1"},
	} {
		score := scored(t, c.scorer, `"!a"`, quotedJSON(t, c.output))
		if got := shown(score); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %.300s\nwant %s", c.scorer, got, c.want)
		}
	}
}

// F58: elements that close themselves within very many that are open take time linear in the text.
func TestF58_DeepHTMLEndsInTime(t *testing.T) {
	deep := strings.Repeat("<a>", maxSearch/8) + strings.Repeat("<b/>", maxSearch/8)
	begin := time.Now()
	score := scored(t, "type: is_html", "", quotedJSON(t, deep))
	if took := time.Since(begin); score.Value != 0 || took > 10*time.Second {
		t.Errorf("%s took %v", score.Explanation, took)
	}
	for html, want := range map[string]float64{
		"<svg><a/></svg>": 1, "<svg><g><a/></g></svg><b></b>": 1, "<svg></svg><a/>": 0, "<svg><svg></svg><a/></svg>": 1, "<math/><svg/>": 1, "<a><svg/></a>": 1,
	} {
		if got := scored(t, "type: is_html", "", quotedJSON(t, html)); got.Value != want {
			t.Errorf("%s: %v, %s", html, got.Value, got.Explanation)
		}
	}
}

// An extraction that has many matches finds the last one, beyond those that are found at once as well.
func TestLastOfManyMatches(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 500, 20_000} {
		answers := strings.Repeat("A: 1\n", n-1) + "A: 2\n"
		score := scored(t, `type: exact, extract: '(?m)^A: (\d+)$'`, `2`, quotedJSON(t, answers))
		expect.Equal(t, n, shown(score), "1 (2)")
	}
	empty := scored(t, "type: exact, extract: 'z*'", `2`, quotedJSON(t, strings.Repeat("a", 1000)))
	expect.Equal(t, "a thousand empty matches", shown(empty), "0 (none)")
}

func TestScoresAreSmallValidText(t *testing.T) {
	long := strings.Repeat("é\n", 100_000)
	for _, scorer := range []string{
		`type: exact`, `type: contains`, `type: regex, pattern: zzz`, `type: numeric, target: "1"`, `type: one_of`, `type: json_equal`,
		`type: json_schema, schema: {type: object}`, `type: json_schema, schema: {maxLength: 2}`, `type: cel, expr: output == target`,
	} {
		r := run(quotedJSON(t, long), `"broken `+"\xff\xfe"+`"`, `no JSON`)
		task := task(t, quotedJSON(t, "x"+long))
		for _, score := range set(t, "- {name: s, "+scorer+"}").Score(context.Background(), task, r) {
			for _, s := range []string{score.Answer, score.Explanation, score.Unscored} {
				if n := utf8.RuneCountInString(s); n > maxAnswer || !utf8.ValidString(s) {
					t.Errorf("%s: %d characters: %q", scorer, n, s)
				}
			}
		}
	}
}

// Whatever an agent puts out, scores are between 0 and 1 or say why they are not there, and can be written.
func FuzzScore(f *testing.F) {
	for _, output := range []string{`"18"`, `{"a": [1, null]}`, ``, `"`, "\xff", `-1e308`, `[[[[1]]]]`, `"$ 1,234.50"`, `"A: 18\nA: 19"`} {
		f.Add([]byte(output), []byte(`18`))
		f.Add([]byte(`18`), []byte(output))
	}
	s := set(f, `
- {name: exact, type: exact, ignore_case: true}
- {name: contains, type: contains, ignore_case: true}
- {name: regex, type: regex, pattern: '(\w+)\s*$'}
- {name: numeric, type: numeric, relative: 0.1}
- {name: one_of, type: one_of}
- {name: json_equal, type: json_equal}
- {name: json_schema, type: json_schema, schema: {type: object, properties: {a: {type: array, uniqueItems: true}}, patternProperties: {"^x": {multipleOf: 0.1}}}}
- {name: cel, type: cel, expr: double(output) * 2.0, not: true}
- {name: extract, type: exact, extract: '(?m)^A: (.*)$'}
- {name: dig, type: exact, value: 'output.a[0]', target: target.a}`)
	f.Fuzz(func(t *testing.T, output, target []byte) {
		wanted := task(t, "")
		wanted.Target, _ = expr.ParseJSON(target)
		r := run(string(output), "")
		for _, score := range s.Score(context.Background(), wanted, r) {
			if score.Unscored == "" && !(score.Value >= 0 && score.Value <= 1) || score.Unscored != "" && score.Value != 0 {
				t.Fatalf("%s gave %v, %q", score.Name, score.Value, score.Unscored)
			}
			if strings.HasPrefix(score.Unscored, "panic") {
				t.Fatalf("%s: %s", score.Name, score.Unscored)
			}
			if !utf8.ValidString(score.Answer + score.Explanation + score.Unscored) {
				t.Fatalf("%s is no text: %+v", score.Name, score)
			}
		}
	})
}
