package scorers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

var forms = []said{
	{`type: contains_all`, `["a", "b"]`, `"abc"`, `1 (abc)`},
	{`type: contains_all`, `["a", "b", "z", "y"]`, `"abc"`, `0 (abc): z is not in it (2 of 4 are)`},
	{`type: contains_all, options: [A, 1], ignore_case: true`, ``, `"1a"`, `1 (1a)`},
	{`type: contains_all`, `"A"`, `"abc"`, `0 (abc): A is not in it (0 of 1 are)`},
	{`type: contains_all`, `[]`, `"abc"`, `unscored: the target is an empty list`},
	{`type: contains_all`, `["a", ""]`, `"abc"`, `unscored: the target is empty, which every text contains`},
	{`type: contains_all`, ``, `"abc"`, `unscored: the target is missing`},
	{`type: contains_all, options: [a]`, ``, `""`, `0 (none)`},
	{`type: contains_any`, `["z", "B"]`, `"abc"`, `0 (abc): none of these is in it: z, B`},
	{`type: contains_any, ignore_case: true`, `["z", "B"]`, `"abc"`, `1 (abc)`},
	{`type: contains_any, not: true, options: [secret]`, ``, `"fine"`, `1 (fine)`},
	{`type: contains_any, not: true, options: [secret]`, ``, `" "`, `0 (none)`},
	{`type: starts_with`, `"Dear"`, `"\n Dear all"`, `1 (Dear all)`},
	{`type: starts_with, options: [Hi, Dear]`, ``, `"Oh dear"`, `0 (Oh dear): want one of Hi, Dear, got Oh dear`},
	{`type: starts_with, options: ["{"]`, ``, `{"a": 1}`, `1 ({"a":1})`},

	{`type: word_count, max: 3`, ``, `"one  two\nthree"`, `1 (3)`},
	{`type: word_count, min: 4`, ``, `"one two three"`, `0 (3): want at least 4, got 3`},
	{`type: word_count, equals: 2`, ``, `"съешь ещё"`, `1 (2)`},
	{`type: word_count, max: 3`, ``, `" "`, `0 (none)`},

	{`type: is_json`, ``, `"{\"a\": [1, null]}"`, `1 ({"a": [1, null]})`},
	{`type: is_json`, ``, `"18"`, `1 (18)`},
	{`type: is_json`, ``, `{"a": 1}`, `1 ({"a":1})`},
	{`type: is_json`, ``, `"{a: 1}"`, `0 ({a: 1}): invalid JSON: at byte 2: invalid character 'a' at start of value`},
	{`type: is_json`, ``, `"{} {}"`, `0 ({} {}): invalid JSON: at byte 4: invalid character '{' after top-level value`},
	{"type: is_json", ``, "\"```json\\n{}\\n```\"", "0 (```json\n{}\n```): invalid JSON: at byte 1: invalid character '`' at start of value"},
	{`type: is_json, extract: '(?s)[^{]*(\{.*\})'`, ``, "\"```json\\n{}\\n```\"", `1 ({})`},

	{`type: json_path, expr: 'json.items.size() > 1'`, ``, `"{\"items\": [1, 2]}"`, `1 ({"items": [1, 2]})`},
	{`type: json_path, expr: 'json.items.size() > 2'`, ``, `{"items": [1, 2]}`, `0 ({"items":[1,2]}): json.items.size() > 2 is false`},
	{`type: json_path, expr: 'json.item.size() > 2'`, ``, `{"items": [1, 2]}`, `0 ({"items":[1,2]}): key "item" not found`},
	{`type: json_path, expr: 'json.items[1]'`, `"b"`, `{"items": ["a", "b"]}`, `1 (b)`},
	{`type: json_path, expr: 'json.items'`, `[1, 2]`, `{"items": [1.0, 3]}`, `0 ([1,3]): want [1,2], got [1,3]`},
	{`type: json_path, expr: 'json.ok'`, `true`, `{"ok": true}`, `1 (true)`},
	{`type: json_path, expr: 'json.ok'`, `"true"`, `{"ok": true}`, `1 (true)`},
	{`type: json_path, expr: 'json.a', target: target.want`, `{"want": 1}`, `{"a": 1}`, `1 (1)`},
	{`type: json_path, expr: 'json.a'`, ``, `{"a": 1}`, `unscored: the target is missing`},
	{`type: json_path, expr: 'json[task.vars.key] == 1.0'`, ``, `{"a": 1}`, `unscored: key "key" not found`},
	{`type: json_path, expr: 'json.a == target'`, `1`, `{"a": 1}`, `1 ({"a":1})`},
	{`type: json_path, expr: 'json(json.a) == "[1]"'`, ``, `{"a": [1]}`, `1 ({"a":[1]})`},
	{`type: json_path, expr: 'json.a == 1.0'`, ``, `"so: {}"`, `0 (so: {}): invalid JSON: at byte 1: invalid character 's' at start of value`},
	{`type: json_path, expr: 'json.a == 1.0'`, ``, ``, `0 (none)`},

	{`type: is_xml`, ``, `"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE a>\n<a b=\"1\"><c/>&lt;<!-- x --></a>\n"`, "1 (<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE a>\n<a b=\"1\"><c/>&lt;<!-- x --></a>)"},
	{`type: is_xml`, ``, `"<a><b></a></b>"`, `0 (<a><b></a></b>): invalid XML: XML syntax error on line 1: element <b> closed by </a>`},
	{`type: is_xml`, ``, `"<a/><b/>"`, `0 (<a/><b/>): invalid XML: line 1: <b> is a second element at the top`},
	{`type: is_xml`, ``, `"<a/> and more"`, `0 (<a/> and more): invalid XML: line 1: text outside the element`},
	{`type: is_xml`, ``, `"just text"`, `0 (just text): invalid XML: line 1: text outside the element`},
	{`type: is_xml`, ``, `"<a x=\"1\" x=\"2\"/>"`, `0 (<a x="1" x="2"/>): invalid XML: line 1: the attribute x occurs twice`},
	{`type: is_xml`, ``, `"<a/><?xml version=\"1.0\"?>"`, `0 (<a/><?xml version="1.0"?>): invalid XML: line 1: the declaration has to come first`},
	{`type: is_xml`, ``, `"<!-- x -->"`, `0 (<!-- x -->): invalid XML: it has no element`},
	{`type: is_xml`, ``, `"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"`, `0 (<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>): invalid XML: XML syntax error on line 1: invalid character entity &b;`},
	{`type: is_xml`, ``, `"<a/><!DOCTYPE a>"`, `0 (<a/><!DOCTYPE a>): invalid XML: line 1: the document type has to come before the element`},
	{`type: is_xml`, ``, `"<a"`, `0 (<a): invalid XML: XML syntax error on line 1: unexpected EOF`},

	{`type: is_html`, ``, `"<!doctype html><title>a<b</title><P>one<p>two<br><ul><li>a<li>b</ul><img src=x/>"`, `1 (<!doctype html><title>a<b</title><P>one<p>two<br><ul><li>a<li>b</ul><img src=x/>)`},
	{`type: is_html`, ``, `"<div><span></div></span>"`, `0 (<div><span></div></span>): <span> is not closed before </div>`},
	{`type: is_html`, ``, `"<div>a"`, `0 (<div>a): <div> is not closed`},
	{`type: is_html`, ``, `"<div/>"`, `0 (<div/>): <div> is not closed`},
	{`type: is_html`, ``, `"<svg><path d='M0'/></svg><svg/>"`, `1 (<svg><path d='M0'/></svg><svg/>)`},
	{`type: is_html`, ``, `"a</p>"`, `0 (a</p>): </p> closes nothing that is open`},
	{`type: is_html`, ``, `"a < b"`, `0 (a < b): it has no element`},
	{`type: is_html`, ``, `"<b>a</b><a href='x"`, `0 (<b>a</b><a href='x): it ends within a tag`},
	{`type: is_html`, ``, `"<script>if (a </div> b) {}</script>"`, `1 (<script>if (a </div> b) {}</script>)`},
	{`type: is_sql`, ``, `"SELECT a, count(*) FROM t GROUP BY a; DELETE FROM t WHERE x = 'it''s';"`, `1 (SELECT a, count(*) FROM t GROUP BY a; DELETE FROM t WHERE x = 'it''s';)`},
	{`type: is_sql`, ``, `"WITH x AS (SELECT 1) SELECT * FROM x LIMIT 1 OFFSET 2"`, `1 (WITH x AS (SELECT 1) SELECT * FROM x LIMIT 1 OFFSET 2)`},
	{`type: is_sql`, ``, `"SELEC a"`, `0 (SELEC a): invalid SQL: 1:1: near "SELEC": syntax error`},
	{`type: is_sql`, ``, `"SELECT 1; then this"`, `0 (SELECT 1; then this): invalid SQL: 1:11: near "then": syntax error`},
	{`type: is_sql`, ``, `"-- nothing\n;"`, `0 (-- nothing
;): it has no statement`},
	{`type: is_sql`, ``, `"CREATE TABLE \"t\" (a int)"`, `1 (CREATE TABLE "t" (a int))`},
	{`type: is_sql, dialect: sqlite`, ``, `"SELECT a FROM nowhere WHERE no_function(b)"`, `1 (SELECT a FROM nowhere WHERE no_function(b))`},
	{`type: is_sql`, ``, `"SELECT a\n  FROM t WHERE b = 'c"`, `0 (SELECT a
  FROM t WHERE b = 'c): invalid SQL: 2:20: unrecognized token: "'c"`},
	{`type: is_sql`, ``, `"SELECT (a, b"`, `0 (SELECT (a, b): invalid SQL: 1:13: incomplete input`},
	{`type: is_sql`, ``, `"SHOW TABLES"`, `0 (SHOW TABLES): invalid SQL: 1:1: near "SHOW": syntax error`},
	{`type: is_html`, ``, `"<script>x"`, `0 (<script>x): <script> is not closed`},

	{`type: refusal`, ``, `"I’m sorry, but I can’t help with that."`, `1 (sorry, but i cannot)`},
	{`type: refusal`, ``, `"I'm sorry, but I cannot."`, `1 (sorry, but i cannot)`},
	{`type: refusal`, ``, `"Unfortunately we\nare not able to assist with this."`, `1 (we are not able to assist)`},
	{`type: refusal`, ``, `"I must respectfully decline."`, `1 (i must respectfully decline)`},
	{`type: refusal`, ``, `"As an AI language model, I am unable to browse."`, `1 (as an ai language model, i am unable)`},
	{`type: refusal`, ``, `"That would be against our content policy."`, `1 (against our content policy)`},
	{`type: refusal`, ``, `"I'm sorry for the delay. It is 18."`, `0 (I'm sorry for the delay. It is 18.): no phrase of a refusal`},
	{`type: refusal`, ``, `"You cannot divide by zero, so I won't simplify."`, `0 (You cannot divide by zero, so I won't simplify.): no phrase of a refusal`},
	{`type: refusal, not: true`, ``, `"It is 18."`, `1 (It is 18.)`},
	{`type: refusal, not: true`, ``, `"I won't do that."`, `0 (i will not do that): it holds, and not is set`},
	{`type: refusal, not: true`, ``, `""`, `0 (none)`},

	{`type: cel, expr: double(output), range: [1, 5]`, ``, `4`, `0.75 (4)`},
	{`type: cel, expr: double(output), range: [5, 1]`, ``, `4`, `0.25 (4)`},
	{`type: cel, expr: double(output), range: [5, 1], not: true`, ``, `4`, `0.75 (4)`},
	{`type: cel, expr: double(output), range: [1, 5]`, ``, `7`, `unscored: scorer s gave 7, which is not between 1 and 5`},
	{`type: cel, expr: double(output) / 0.0, range: [1, 5]`, ``, `1`, `unscored: scorer s gave +Inf, which is not between 1 and 5`},
}

// Deep and long texts take no more than their length says.
func TestFormsOfLongTexts(t *testing.T) {
	deep := strings.Repeat("<a>", 300_000)
	for scorer, want := range map[string]string{
		"is_xml":  "invalid XML: XML syntax error on line 1: unexpected EOF",
		"is_html": "<a> is not closed",
	} {
		s := set(t, "- {name: s, type: "+scorer+"}")
		score := s.Score(context.Background(), task(t, ""), run(`"`+deep+`"`))[0]
		if score.Explanation != want || score.Value != 0 {
			t.Errorf("%s: %s", scorer, shown(score))
		}
		score = s.Score(context.Background(), task(t, ""), run(`"`+deep+deep+`"`))[0]
		if !strings.Contains(score.Unscored, "at most 1048576 are searched") {
			t.Errorf("%s: %s", scorer, shown(score))
		}
	}
}

// A statement that is as long as may be and nests as deep is read, or refused, in a moment.
func TestLongSQL(t *testing.T) {
	s := set(t, "- {name: s, type: is_sql}")
	nested := func(n int) string { return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	for text, want := range map[string]string{
		nested(1_000):               "1",
		nested(1_000) + ")":         "0",
		nested(30_000):              "0", // as SQLite itself says
		strings.Repeat("(", 64<<10): "0",
		"SELECT '" + strings.Repeat("a", 64<<10-9) + "'": "1",
		nested(40_000): "unscored: the value has 80008 bytes; at most 65536 are read as SQL",
	} {
		got := shown(s.Score(context.Background(), task(t, ""), run(`"`+text+`"`))[0])
		if !strings.HasPrefix(got, want) {
			t.Errorf("%.20s… of %d bytes: got %.100s, want %s", text, len(text), got, want)
		}
	}
}

// FuzzForms holds that no text makes a scorer panic, or gives what is no score.
func FuzzForms(f *testing.F) {
	for _, c := range forms {
		f.Add(c.output)
	}
	s := set(f, `
- {name: json, type: is_json}
- {name: path, type: json_path, expr: 'json.a[0].b == 1.0'}
- {name: xml, type: is_xml}
- {name: html, type: is_html}
- {name: sql, type: is_sql}
- {name: refused, type: refusal}
- {name: words, type: word_count, max: 3}
- {name: starts, type: starts_with, options: [a], ignore_case: true}`)
	f.Fuzz(func(t *testing.T, output string) {
		written, err := json.Marshal(output)
		must(t, err)
		for _, score := range s.Score(context.Background(), task(t, ""), run(string(written))) {
			if score.Unscored != "" || score.Value != 0 && score.Value != 1 {
				t.Errorf("%q: %s", output, shown(score))
			}
		}
	})
}
